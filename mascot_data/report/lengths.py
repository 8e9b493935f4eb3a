"""Distributions of lengths: exact quantiles and bins from counts."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

BINS = 30


class Lengths(NamedTuple):
    """A distribution in numbers: how many, their sum, and quantiles (p5 means 5 in 100 are at most this long)."""

    number: int
    total: int
    p5: int
    p25: int
    median: int
    p75: int
    p95: int
    longest: int

    @property
    def mean(self) -> float:
        """The arithmetic mean."""
        return self.total / self.number


class Bin(NamedTuple):
    """Lengths from ``low`` to ``high``, both inclusive; ``high`` is None for the last bin, which has no bound."""

    low: int
    high: int | None
    number: int


def lengths(counts: Mapping[int, int]) -> Lengths:
    """Sum a distribution up; ``counts`` has how often each length occurs and is not empty."""
    quantiles = [quantile(counts, share) for share in (5, 25, 50, 75, 95, 100)]
    return Lengths(sum(counts.values()), sum(length * number for length, number in counts.items()), *quantiles)


def quantile(counts: Mapping[int, int], percent: int) -> int:
    """Return the smallest length that at least ``percent`` in 100 of all do not exceed."""
    wanted, seen = percent * sum(counts.values()), 0
    for length in sorted(counts):
        seen += counts[length]
        if seen * 100 >= wanted:
            return length
    raise ValueError("no counts")


def bins(counts: Mapping[int, int]) -> list[Bin]:
    """Put lengths of 1 and more in some 30 bins of one round width up to the 99th percentile; the last has the rest."""
    width = round_up(quantile(counts, 99) / BINS)
    last = (quantile(counts, 99) - 1) // width + 1
    found = [0] * (last + 1)
    for length, number in counts.items():
        found[min(max(length - 1, 0) // width, last)] += number
    closed = [Bin(i * width + 1, (i + 1) * width, number) for i, number in enumerate(found[:last])]
    return [*closed, Bin(last * width + 1, None, found[last])] if found[last] else closed


def round_up(value: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50, ... that is not below the value."""
    return next(step * power for power in _powers() for step in (1, 2, 5) if step * power >= value)


def _powers() -> Iterator[int]:
    power = 1
    while True:
        yield power
        power *= 10


def as_dict(found: Lengths) -> dict[str, Any]:
    """Return the distribution as plain data; the mean to two decimals."""
    return found._asdict() | {"mean": round(found.mean, 2)}
