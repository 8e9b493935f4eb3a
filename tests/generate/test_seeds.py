import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.generate.seeds import pick, seed_of

seeds = st.integers(0, 2**31 - 1)
logprob = st.floats(-50, 0)
logprobs = st.lists(logprob, min_size=1, max_size=8)
temperatures = st.floats(0.05, 5)


def test_a_seed_stays_what_it_is() -> None:
    assert seed_of(1, "esconv:17", 3) == 79_016_660


@given(st.integers(), st.lists(st.integers() | st.text(max_size=5), max_size=4))
def test_a_seed_is_what_every_server_takes(seed: int, of: list[object]) -> None:
    assert 0 <= seed_of(seed, *of) < 2**31
    assert seed_of(seed, *of) == seed_of(seed, *of)


def test_seeds_differ_by_what_they_are_for() -> None:
    found = [seed_of(seed, name, k) for seed in range(10) for name in ("a", "b", "ab") for k in range(30)]
    assert len(set(found)) == len(found)
    assert seed_of(1, 23) != seed_of(12, 3)
    assert seed_of(1, "2", "3") != seed_of(1, "23")


@given(logprobs, seeds)
def test_at_temperature_nought_the_likeliest_is_chosen(found: list[float], seed: int) -> None:
    assert found[pick(found, 0, seed)] == max(found)


@given(st.lists(logprob | st.just(-math.inf), min_size=1, max_size=8), temperatures, seeds)
def test_what_is_impossible_is_not_chosen(found: list[float], temperature: float, seed: int) -> None:
    for heat in (temperature, 0):
        chosen = pick(found, heat, seed)
        assert 0 <= chosen < len(found)
        assert found[chosen] > -math.inf or max(found) == -math.inf


@given(st.integers(1, 6))
def test_where_all_is_impossible_the_draw_is_even(number: int) -> None:
    counts = Counter(pick([-math.inf] * number, 1, seed) for seed in range(6 * number))
    assert counts == dict.fromkeys(range(number), 6)


@given(logprobs, temperatures, seeds, seeds)
def test_a_greater_seed_never_chooses_an_earlier_answer(
    found: list[float], temperature: float, one: int, two: int
) -> None:
    first, last = sorted((one, two))
    assert pick(found, temperature, first) <= pick(found, temperature, last)


@given(st.lists(st.floats(-4, 0), min_size=2, max_size=5), st.floats(0.5, 2))
def test_the_share_of_seeds_is_the_probability(found: list[float], temperature: float) -> None:
    steps = 2000
    counts = Counter(pick(found, temperature, step * 2**31 // steps) for step in range(steps))
    whole = math.fsum(math.exp(logprob / temperature) for logprob in found)
    for index, chance in enumerate(found):
        assert counts[index] / steps == pytest.approx(math.exp(chance / temperature) / whole, abs=2 / steps)


@given(logprobs, st.floats(-1000, 1000), temperatures, seeds)
def test_only_differences_count(found: list[float], shift: float, temperature: float, seed: int) -> None:
    whole = [round(logprob) for logprob in found]
    moved = [logprob + round(shift) for logprob in whole]
    assert pick(whole, temperature, seed) == pick(moved, temperature, seed)
