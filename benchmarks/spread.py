"""What the rounds of a benchmark come to."""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple


class Spread(NamedTuple):
    """Median, smallest and largest of the rounds."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g}-{self.high:.3g})"


def spread(values: Iterable[float]) -> Spread:
    """Return median, smallest and largest."""
    found = list(values)
    return Spread(median(found), min(found), max(found))
