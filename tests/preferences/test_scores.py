"""Comparing replies by their scores."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.preferences.scores import Scored, compare, higher, mean_score

POINTS = st.floats(1, 5)
NAMES = ("emotion", "empathy", "consistency")


@st.composite
def distributions(draw: st.DrawFn) -> tuple[float, ...]:
    weights = draw(st.lists(st.floats(0.01, 1), min_size=5, max_size=5))
    return tuple(weight / math.fsum(weights) for weight in weights)


def scored(*points: float, judge: str = "one") -> list[Scored]:
    return [Scored(judge, name, score) for name, score in zip(NAMES, points, strict=False)]


def test_the_mean_is_over_criteria_and_judges_and_leaves_the_composite_out() -> None:
    first = [*scored(4, 2), *scored(5, 3, judge="two"), Scored("one", "composite", 1.0)]
    compared = compare(first, [*scored(2, 2), *scored(3, 1, judge="two")])
    assert compared is not None
    assert compared.criteria == (("emotion", 4.5, 2.5), ("empathy", 2.5, 1.5))
    assert (compared.first, compared.second, compared.gap) == (3.5, 2.0, 1.5)
    assert compared.judges == ("one", "two")
    assert compared.probability == pytest.approx(1 / (1 + math.exp(-1.5)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (scored(4, 2), scored(4)),
        (scored(4), scored(4, judge="two")),
        ([], []),
        ([*scored(4), *scored(4, judge="two")], scored(4)),
    ],
)
def test_what_only_one_of_them_has_is_not_compared(first: list[Scored], second: list[Scored]) -> None:
    assert compare(first, second) is None


@given(st.lists(POINTS, min_size=3, max_size=3), st.lists(POINTS, min_size=3, max_size=3))
def test_turning_the_pair_round_turns_the_result_round(mine: list[float], theirs: list[float]) -> None:
    one, other = compare(scored(*mine), scored(*theirs)), compare(scored(*theirs), scored(*mine))
    assert one is not None
    assert other is not None
    assert one.gap == -other.gap
    assert one.probability == pytest.approx(1 - other.probability)
    assert (one.probability >= 0.5) == (one.gap >= 0)


@given(distributions(), distributions())
def test_a_higher_level_is_as_likely_as_counting_all_pairs_of_levels(
    mine: tuple[float, ...], theirs: tuple[float, ...]
) -> None:
    counted = math.fsum(
        a * b * (1.0 if i > j else 0.5 if i == j else 0.0) for i, a in enumerate(mine) for j, b in enumerate(theirs)
    )
    assert higher(mine, theirs) == pytest.approx(counted)
    assert higher(mine, theirs) + higher(theirs, mine) == pytest.approx(1)


def test_distributions_decide_the_probability_when_all_scores_have_one() -> None:
    sure, even = (0.0, 0.0, 0.0, 0.0, 1.0), (0.2,) * 5
    first, second = [Scored("one", "emotion", 5, sure)], [Scored("one", "emotion", 3, even)]
    compared = compare(first, second)
    assert compared is not None
    assert compared.probability == pytest.approx(0.9)
    mixed = compare([*first, Scored("one", "empathy", 3)], [*second, Scored("one", "empathy", 3)])
    assert mixed is not None
    assert mixed.probability == pytest.approx(1 / (1 + math.exp(-1)))


def test_the_mean_score_of_nothing_is_nothing() -> None:
    assert mean_score([]) is None
    assert mean_score([*scored(2, 4), *scored(4, 4, judge="two")]) == 3.5
