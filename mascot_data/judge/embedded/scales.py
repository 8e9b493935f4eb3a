"""From what is measured to scores of 1 to 5: lines between fixed points, so that every difference shows."""

from collections.abc import Sequence

import numpy as np

LIKELIHOOD = (0.10, 0.20, 0.35, 0.60)
"""Where the level changes for the probability of one of four classes; chance, 0.25, is near the middle of the scale."""
EVEN = (0.2, 0.4, 0.6, 0.8)
"""Where the level changes for the probability of one of two classes, and for shares."""

_BORDERS = (1.0, 1.5, 2.5, 3.5, 4.5, 5.0)


def points(value: float, cuts: Sequence[float]) -> float:
    """Map 0 to 1 onto 1 to 5; a cut lies half way between two levels.

    >>> points(0.2, EVEN), points(0.5, EVEN)
    (1.5, 3.0)
    """
    return float(np.interp(value, (0.0, *cuts, 1.0), _BORDERS))


def as_of_four(probability: float, classes: int) -> float:
    """Turn the probability of one of so many classes into that of one of four, chance staying chance.

    >>> as_of_four(0.125, 8)
    0.25
    """
    if classes < 2 or probability >= 1:
        return probability
    odds = probability / (1 - probability) * (classes - 1) / 3
    return odds / (1 + odds)
