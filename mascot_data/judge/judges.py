"""From a judge's name to the judge."""

from mascot_data.judge.rating import RatingJudge
from mascot_data.judge.rubric import Rubric
from mascot_data.judge.verdict import Judge
from mascot_data.models import ModelOptions, load_model


def open_judge(name: str, rubric: Rubric, options: ModelOptions | None) -> Judge:
    """Open the judge of a name. Use the result as a context manager.

    Args:
        name: A model, which rates; see ``mascot_data.models.names``.
        rubric: What it judges by.
        options: How the model is run.

    Raises:
        UsageError: there is no such form of name.
        ModelError: the model cannot be used.
        PrerequisiteError: packages are missing.
    """
    return RatingJudge(load_model(name, options), rubric)
