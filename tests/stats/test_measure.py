import random

import pytest

from mascot_data.stats.measure import ratios

WHY = {"x": "no x", "y": "no y"}


def test_a_ratio_is_over_all_blocks() -> None:
    found = ratios(["a", "a", "b"], [{"x": (1, 2)}, {"x": (1, 1), "y": (0, 3)}, {}], WHY)
    assert found["x"].value == pytest.approx(2 / 3)
    assert found["x"].n == 3
    assert found["y"][:2] == (0, 3)


def test_nothing_counted_has_a_reason() -> None:
    assert ratios([], [], WHY)["x"] == (None, 0, None, None, "no x")
    assert ratios(["a", "b"], [{}, {}], WHY)["y"].why == "no y"


def test_one_dialogue_has_no_interval() -> None:
    assert ratios(["a", "a"], [{"x": (1, 2)}, {"x": (2, 2)}], WHY)["x"] == (0.75, 4, None, None, "")


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = 0
    for run in range(200):
        chance = random.Random(run)
        blocks = [{"x": (float(sum(chance.random() < 0.3 for _ in range(5))), 5.0)} for _ in range(60)]
        found = ratios([str(number) for number in range(60)], blocks, {"x": "no x"}, seed=run)["x"]
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.3 <= found.high
    assert 0.88 <= covered / 200 <= 0.99


def test_copies_within_a_dialogue_are_no_more_evidence() -> None:
    blocks = [{"x": (float(number % 2), 1.0)} for number in range(40)]
    names = [str(number) for number in range(40)]
    once = ratios(names, blocks, WHY)["x"]
    thrice = ratios(names * 3, blocks * 3, WHY)["x"]
    assert thrice.n == 3 * once.n
    assert thrice.low == pytest.approx(once.low)
    assert thrice.high == pytest.approx(once.high)
