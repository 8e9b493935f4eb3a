"""What a judge is to the rest: contexts with replies in, verdicts out."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mascot_data.judge.subject import Context
from mascot_data.models.chat import Failure
from mascot_data.records.judgments import Method


class JudgeInfo(NamedTuple):
    """What judged, as it is written to rows; the fields of ``records.JudgeModel``."""

    model: str
    revision: str
    backend: str
    dtype: str


class Verdict(NamedTuple):
    """A score under one criterion; see ``records.Judgment`` for the fields."""

    criterion: str
    score: float
    method: Method
    distribution: tuple[float, ...] | None = None
    label_mass: float | None = None
    value: float | None = None
    prompt_hash: str = ""
    order_gap: float | None = None


Verdicts = list[Verdict] | Failure
"""What a judge says of one reply: a verdict for each criterion that it could score; a missing score has none."""


class Judge(Protocol):
    """Judges replies. Use it as a context manager: leaving it frees memory and connections."""

    @property
    def name(self) -> str:
        """What rows call it."""

    @property
    def info(self) -> JudgeInfo:
        """The model behind it."""

    @property
    def criteria(self) -> tuple[str, ...]:
        """Ids of the criteria that it scores."""

    @property
    def identity(self) -> str:
        """A digest of all that a verdict depends on beside the context: model, rubric, method, version."""

    @property
    def compares(self) -> bool:
        """Whether a verdict depends on the other replies of its context."""

    def batches(self, contexts: Sequence[Context]) -> list[list[int]]:
        """Part contexts (indices) into batches that are best judged together; depends on them alone."""

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge one batch: for every context, in order, what is said of each of its replies."""

    def __enter__(self) -> "Judge": ...

    def __exit__(self, *_: object) -> None: ...
