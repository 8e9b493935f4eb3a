"""Ratings by one forward pass: a forced beginning, and the probabilities of the labels 1 to 5 as what comes next."""

import hashlib
import math
from collections.abc import Sequence
from typing import Self

from mascot_data.judge.asking import PREFIX, Tree, prompt_hash, tree
from mascot_data.judge.rubric import Rubric
from mascot_data.judge.subject import Context
from mascot_data.judge.verdict import JudgeInfo, Verdict, Verdicts
from mascot_data.models import Chances, ChatModel, Failure
from mascot_data.models.store import key_of

VERSION = "1"
"""Raised whenever the prompt or the way from probabilities to a score changes."""

BATCH_CONTEXTS = 8


class RatingJudge:
    """A judge whose score is the expected label under the probabilities that a model gives to the labels 1 to 5.

    For capable models (about 8B parameters and more): small ones rate no better than chance. Nothing is decoded, so
    that there is nothing to parse. A score's ``label_mass`` says how much the model wanted to answer with a label.
    """

    def __init__(self, model: ChatModel, rubric: Rubric) -> None:
        self._model, self._rubric = model, rubric
        self.name = model.info.name
        self.info = JudgeInfo(*model.info)
        self.criteria = tuple(criterion.id for criterion in rubric.criteria)
        self.identity = key_of("rating", VERSION, PREFIX, model.info, hashlib.sha256(_text(rubric)).hexdigest())

    def batches(self, contexts: Sequence[Context]) -> list[list[int]]:
        """Part contexts, the longest first, a few at a time."""
        order = sorted(range(len(contexts)), key=lambda place: (-_size(contexts[place]), place))
        return [order[start : start + BATCH_CONTEXTS] for start in range(0, len(order), BATCH_CONTEXTS)]

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge a batch; see ``verdict.Judge``."""
        trees = [tree(context, self._rubric) for context in contexts]
        found = iter(self._chances(trees))
        return [
            [self._verdicts(tree, branch, [next(found) for _ in tree.leaves]) for branch in range(len(tree.branches))]
            for tree in trees
        ]

    def _chances(self, trees: Sequence[Tree]) -> list[Chances | Failure]:
        choices = [
            tree.choice(branch, leaf)
            for tree in trees
            for branch in range(len(tree.branches))
            for leaf in range(len(tree.leaves))
        ]
        found: dict[int, Chances | Failure] = {}
        for batch in self._model.batches(choices):
            found |= zip(batch, self._model.choose([choices[place] for place in batch]), strict=True)
        return [found[place] for place in range(len(choices))]

    def _verdicts(self, tree: Tree, branch: int, answers: Sequence[Chances | Failure]) -> Verdicts:
        if all(isinstance(answer, Failure) for answer in answers) and isinstance(answers[0], Failure):
            return answers[0]
        digest = prompt_hash(tree, branch)
        return [
            rated(criterion, answer, digest)
            for criterion, answer in zip(self.criteria, answers, strict=True)
            if isinstance(answer, Chances)
        ]

    def __enter__(self) -> Self:
        self._model.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._model.__exit__(*error)


def rated(criterion: str, chances: Chances, digest: str) -> Verdict:
    """Return the verdict of label log-probabilities: the distribution over the labels and its expected value."""
    best = max(chances.logprobs)
    weights = [math.exp(logprob - best) for logprob in chances.logprobs]
    total = math.fsum(weights)
    shares = tuple(weight / total for weight in weights)
    score = math.fsum(level * share for level, share in enumerate(shares, start=1))
    return Verdict(criterion, min(5.0, max(1.0, score)), "rating", shares, chances.mass, None, digest)


def _size(context: Context) -> int:
    return sum(len(one.text) for one in context.heard) + sum(len(reply.text) for reply in context.replies)


def _text(rubric: Rubric) -> bytes:
    return rubric.model_dump_json().encode()
