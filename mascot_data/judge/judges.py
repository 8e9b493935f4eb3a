"""From a judge's name to the judge."""

from pathlib import Path

from mascot_data.judge.embedded import embedded_judge
from mascot_data.judge.rating import RatingJudge
from mascot_data.judge.rubric import Rubric
from mascot_data.judge.verdict import Judge
from mascot_data.models import ModelOptions, load_model
from mascot_data.personas import Personas

EMBEDDED = "embedded"


def open_judge(name: str, rubric: Rubric, root: Path, cards: Personas, options: ModelOptions | None) -> Judge:
    """Open the judge of a name. Use the result as a context manager.

    Args:
        name: ``embedded``, or a model, which rates; see ``mascot_data.models.names``.
        rubric: What it judges by.
        root: The dataset directory, from whose human labels the embedded judge learns.
        cards: The persona cards.
        options: How a model is run.

    Raises:
        UsageError: there is no such form of name, or the judge cannot judge by this rubric.
        ModelError: the model cannot be used.
        PrerequisiteError: packages are missing.
    """
    if name == EMBEDDED:
        return embedded_judge(root, cards, rubric)
    return RatingJudge(load_model(name, options), rubric)
