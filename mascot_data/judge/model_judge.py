"""What the methods that ask a model have in common."""

import hashlib
from collections.abc import Sequence
from typing import ClassVar, Self

from mascot_data.judge.rubric import Rubric
from mascot_data.judge.subject import Context
from mascot_data.judge.verdict import JudgeInfo, Verdicts
from mascot_data.models import Answer, Ask, Chances, ChatModel, Choice, Failure
from mascot_data.models.store import key_of
from mascot_data.records.judgments import Method

BATCH_CONTEXTS = 8


class ModelJudge:
    """A judge that asks a model; see ``verdict.Judge``. Subclasses say how.

    ``version`` is raised whenever the prompt, or the way from answers to a score, changes.
    """

    method: ClassVar[Method]
    version: ClassVar[str]
    compares: ClassVar[bool] = False

    def __init__(self, model: ChatModel, rubric: Rubric) -> None:
        """Take an opened model and what is judged by."""
        self.model, self.rubric = model, rubric
        self.name = model.info.name if self.method == "rating" else f"{model.info.name}+{self.method}"
        self.info = JudgeInfo(*model.info)
        self.criteria = tuple(criterion.id for criterion in rubric.criteria)

    @property
    def identity(self) -> str:
        """A digest of all that a verdict depends on beside the context."""
        digest = hashlib.sha256(self.rubric.model_dump_json().encode()).hexdigest()
        return key_of(self.method, self.version, self.model.info, digest, self.criteria)

    def batches(self, contexts: Sequence[Context]) -> list[list[int]]:
        """Part contexts, the longest first, a few at a time."""
        order = sorted(range(len(contexts)), key=lambda place: (-_size(contexts[place]), place))
        return [order[start : start + BATCH_CONTEXTS] for start in range(0, len(order), BATCH_CONTEXTS)]

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge one batch: for every context, in order, what is said of each of its replies."""
        raise NotImplementedError

    def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
        """Have the model answer choices, in their order, in batches of its own."""
        found: dict[int, Chances | Failure] = {}
        for batch in self.model.batches(choices):
            found |= zip(batch, self.model.choose([choices[place] for place in batch]), strict=True)
        return [found[place] for place in range(len(choices))]

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Have the model answer asks, in their order, in batches of its own."""
        found: dict[int, Answer] = {}
        for batch in self.model.batches(asks):
            found |= zip(batch, self.model.sample([asks[place] for place in batch]), strict=True)
        return [found[place] for place in range(len(asks))]

    def __enter__(self) -> Self:
        self.model.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.model.__exit__(*error)


def _size(context: Context) -> int:
    return sum(len(one.text) for one in context.heard) + sum(len(reply.text) for reply in context.replies)
