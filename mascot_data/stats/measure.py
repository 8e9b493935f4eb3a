"""What every measure returns, and intervals by resampling dialogues."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 500
LEVEL = 95
"""Percent of the resampled values that an interval spans."""

Sums = Mapping[str, tuple[float, float]]
"""Name to what is counted of a block, as numerator and denominator of a ratio over all blocks."""


class Measure(NamedTuple):
    """A measured value, or why there is none.

    Attributes:
        value: The value; None where it is not defined.
        n: How many turns, blocks, pairs or words it was measured over; each measure says which.
        low: Lower end of the 95% interval; None where there is no interval.
        high: Its upper end.
        why: Why there is no value; empty where there is one.
    """

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    why: str = ""


def missing(why: str, n: int = 0) -> Measure:
    """Return a measure without a value."""
    return Measure(None, n, why=why)


def ratios(
    dialogues: Sequence[str], blocks: Sequence[Sums], why: Mapping[str, str], seed: int = 0
) -> dict[str, Measure]:
    """Sum numerators and denominators over blocks; the intervals are percentiles of 500 resamples of whole dialogues.

    Args:
        dialogues: The dialogue of each block: turns of one dialogue are no independent evidence.
        blocks: What was counted of each block; a block can lack names.
        why: Every name, and why there is no value when its denominator is nothing.
        seed: Of the resampling.

    Returns:
        Name to measure, ``n`` being the denominator; with a single dialogue there is no interval.
    """
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(dialogue, len(numbers)) for dialogue in dialogues]
    names = list(why)
    sums = np.zeros((len(numbers), 2, len(names)))
    for row, block in zip(rows, blocks, strict=True):
        for column, name in enumerate(names):
            sums[row, :, column] += block.get(name, (0, 0))
    tops, bottoms = sums.sum(axis=0).tolist()
    lows, highs = _intervals(sums, seed)
    return {
        name: Measure(tops[i] / bottoms[i], round(bottoms[i]), lows[i], highs[i]) if bottoms[i] else missing(why[name])
        for i, name in enumerate(names)
    }


def _intervals(sums: npt.NDArray[np.float64], seed: int) -> tuple[list[float | None], list[float | None]]:
    """Resample the rows; a resample without any of a denominator says nothing of that ratio."""
    size = len(sums)
    if size < 2:
        return [None] * sums.shape[2], [None] * sums.shape[2]
    random = np.random.default_rng(seed)
    drawn = np.empty((RESAMPLES, *sums.shape[1:]))
    for number in range(RESAMPLES):
        times = np.bincount(random.integers(size, size=size), minlength=size)
        drawn[number] = np.tensordot(times, sums, axes=1)
    found: list[tuple[float | None, float | None]] = []
    for tops, bottoms in zip(drawn[:, 0].T, drawn[:, 1].T, strict=True):
        held = tops[bottoms > 0] / bottoms[bottoms > 0]
        edges = np.percentile(held, [(100 - LEVEL) / 2, (100 + LEVEL) / 2]).tolist() if len(held) else [None, None]
        found.append((edges[0], edges[1]))
    return [low for low, _ in found], [high for _, high in found]
