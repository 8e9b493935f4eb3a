import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.stats.embedding import Vectors
from mascot_data.stats.redundancy import block_redundancy, chance_similarity


def at(*degrees: float) -> Vectors:
    """Return vectors of length 1 at angles of a plane, in degrees."""
    return np.array([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees], np.float32).reshape(
        -1, 2
    )


def test_pairs_are_of_different_agents() -> None:
    found = block_redundancy(at(0, 60, 90), ["a", "a", "b"])
    assert sorted(found.others) == pytest.approx([0, math.cos(math.radians(30))], abs=1e-6)
    assert found.previous == pytest.approx([0.5, math.cos(math.radians(30))], abs=1e-6)
    assert found.earlier == pytest.approx([0.5, math.cos(math.radians(30))], abs=1e-6)


def test_the_same_again_is_one_and_no_more() -> None:
    found = block_redundancy(at(33, 33, 33), ["a", "b", "c"])
    assert found.others == pytest.approx([1, 1, 1])
    assert max(found.others) <= 1


def test_one_turn_has_nothing_to_compare() -> None:
    assert block_redundancy(at(1), ["a"]) == ([], [], [])
    assert block_redundancy(at(), []) == ([], [], [])


@given(st.lists(st.tuples(st.floats(0, 360), st.sampled_from("abc")), max_size=12))
def test_chance_is_the_mean_over_pairs_of_different_dialogues(turns: list[tuple[float, str]]) -> None:
    vectors, dialogues = at(*(angle for angle, _ in turns)), [name for _, name in turns]
    pairs = [
        float(vectors[i] @ vectors[j])
        for i in range(len(turns))
        for j in range(i)
        if dialogues[i] != dialogues[j]
    ]  # fmt: skip
    found = chance_similarity(vectors, dialogues)
    assert found.n == len(pairs)
    assert found.value == (pytest.approx(sum(pairs) / len(pairs), abs=1e-5) if pairs else None)
    assert bool(found.why) == (not pairs)
