"""From judgments to one score a reply, and from two replies to which one is preferred and how surely."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mascot_data.records.judgments import COMPOSITE

LEVELS = (1, 2, 3, 4, 5)


class Scored(NamedTuple):
    """A score of a reply by one judge under one criterion; ``distribution`` is over the levels 1 to 5, or None."""

    judge: str
    criterion: str
    score: float
    distribution: tuple[float, ...] | None = None


class Compared(NamedTuple):
    """Two replies under the same judges and criteria.

    ``criteria`` has name and the two scores, means over the judges. ``first`` and ``second`` are the means over
    criteria and judges. ``probability`` is that the first one is preferred, 0 to 1.
    """

    criteria: tuple[tuple[str, float, float], ...]
    first: float
    second: float
    probability: float
    judges: tuple[str, ...]

    @property
    def gap(self) -> float:
        """How much better the first one is, -4 to 4."""
        return self.first - self.second


def compare(first: Sequence[Scored], second: Sequence[Scored]) -> Compared | None:
    """Compare two replies; None where a judge scored only one of them under some criterion, or there are no scores.

    Scores of different judges are never set against each other: each judge's score of the one reply stands against the
    same judge's score of the other under the same criterion.

    The probability is, where every score has a distribution, that of a higher level for the first reply (half of that
    of equal levels), averaged over judges and criteria; else the logistic of the gap, as in the Bradley-Terry model.
    Neither is calibrated against people.
    """
    ones, others = _by_place(first), _by_place(second)
    if not ones or ones.keys() != others.keys():
        return None
    judges = tuple(dict.fromkeys(judge for judge, _ in ones))
    names = dict.fromkeys(criterion for _, criterion in ones)
    criteria = tuple((name, _mean(ones, name), _mean(others, name)) for name in names)
    one = math.fsum(mine for _, mine, _ in criteria) / len(criteria)
    other = math.fsum(theirs for _, _, theirs in criteria) / len(criteria)
    return Compared(criteria, one, other, _probability(ones, others, one - other), judges)


def by_criterion(scores: Sequence[Scored]) -> dict[str, float]:
    """Return the mean over the judges, 1 to 5, under each criterion, in their order."""
    places = _by_place(scores)
    return {name: _mean(places, name) for name in dict.fromkeys(criterion for _, criterion in places)}


def mean_score(scores: Sequence[Scored]) -> float | None:
    """Return the mean over the criteria of the means over the judges, 1 to 5; None where there are none."""
    found = by_criterion(scores).values()
    return math.fsum(found) / len(found) if found else None


def _by_place(scores: Sequence[Scored]) -> dict[tuple[str, str], Scored]:
    return {(found.judge, found.criterion): found for found in scores if found.criterion != COMPOSITE}


def _mean(scores: Mapping[tuple[str, str], Scored], name: str) -> float:
    found = [scored.score for (_, criterion), scored in scores.items() if criterion == name]
    return math.fsum(found) / len(found)


def _probability(ones: Mapping[tuple[str, str], Scored], others: Mapping[tuple[str, str], Scored], gap: float) -> float:
    shares = []
    for place, scored in ones.items():
        mine, theirs = scored.distribution, others[place].distribution
        if mine is None or theirs is None:
            return 1 / (1 + math.exp(-gap))
        shares.append(higher(mine, theirs))
    return math.fsum(shares) / len(shares)


def higher(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the probability that a draw from the first distribution is above one from the second, ties halved."""
    below = 0.0
    total = 0.0
    for mine, theirs in zip(first, second, strict=True):
        total += mine * (below + theirs / 2)
        below += theirs
    return min(1.0, max(0.0, total))
