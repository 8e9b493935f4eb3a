"""From a judge's name to the judge."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mascot_data.errors import UsageError
from mascot_data.judge.embedded import embedded_judge
from mascot_data.judge.likelihood import LikelihoodJudge
from mascot_data.judge.model_judge import ModelJudge
from mascot_data.judge.pairwise import PairwiseJudge
from mascot_data.judge.rating import RatingJudge
from mascot_data.judge.rubric import Rubric
from mascot_data.judge.text import TextJudge
from mascot_data.judge.verdict import Judge
from mascot_data.models import ModelOptions, load_model
from mascot_data.personas import Personas

EMBEDDED = "embedded"
RATING = "rating"
METHODS: Mapping[str, type[ModelJudge]] = {
    one.method: one for one in (RatingJudge, PairwiseJudge, LikelihoodJudge, TextJudge)
}
"""How a model can judge."""


def open_judge(
    name: str, method: str, rubric: Rubric, root: Path, cards: Personas, options: ModelOptions | None
) -> Judge:
    """Open the judge of a name. Use the result as a context manager.

    Args:
        name: ``embedded``, or a model; see ``mascot_data.models.names``.
        method: How a model judges; the embedded judge has methods of its own for each criterion.
        rubric: What it judges by.
        root: The dataset directory, from whose human labels the embedded judge learns.
        cards: The persona cards.
        options: How a model is run.

    Raises:
        UsageError: there is no such form of name, or the judge cannot judge by this rubric.
        ModelError: the model cannot be used, or not with this method.
        PrerequisiteError: packages are missing.
    """
    if name == EMBEDDED:
        return embedded_judge(root, cards, rubric)
    return METHODS[method](load_model(name, options), rubric)


def judges_of(names: Sequence[str], methods: Sequence[str]) -> list[tuple[str, str]]:
    """Return every judge that a run has, as name and method: a model judges with each method, embedded once.

    Raises:
        UsageError: there is no judge, one is there twice, or there is no such method.
    """
    if not names or len(set(names)) < len(names):
        raise UsageError("give at least one --judge, and none of them twice")
    if unknown := [method for method in methods if method not in METHODS]:
        raise UsageError(f"--method {unknown[0]}: choose {', '.join(METHODS)}")
    if not methods or len(set(methods)) < len(methods):
        raise UsageError("give at least one --method, and none of them twice")
    if list(methods) != [RATING] and set(names) == {EMBEDDED}:
        raise UsageError("--method is for models: the embedded judge has methods of its own")
    return [(name, method) for name in names for method in (methods if name != EMBEDDED else [RATING])]
