import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.stats.turn_taking import longest_run, next_speaker_entropy, roster_share, speaker_entropy

SPEAKERS = st.lists(st.sampled_from("abcd"), max_size=9)


def value(found: float | None) -> float:
    assert found is not None
    return found


@given(st.integers(2, 9), st.integers(2, 5))
def test_evenness_reaches_both_ends(turns: int, roster: int) -> None:
    assert speaker_entropy(["a"] * turns, roster).value == 0
    as_even_as_can_be = [str(number % roster) for number in range(turns)]
    assert speaker_entropy(as_even_as_can_be, roster).value == pytest.approx(1)


@given(SPEAKERS)
def test_evenness_is_entropy_over_its_most(speakers: list[str]) -> None:
    found = speaker_entropy(speakers, 4)
    assert found.n == len(speakers)
    if len(speakers) < 2:
        assert (found.value, found.why) == (None, "fewer than two agent turns")
        return

    def bits(counts: list[int]) -> float:
        return -sum(c / len(speakers) * math.log2(c / len(speakers)) for c in counts if c)

    even = [len(range(number, len(speakers), 4)) for number in range(4)]
    assert found.value == pytest.approx(bits(list(Counter(speakers).values())) / bits(even))


def test_one_agent_alone_has_no_evenness() -> None:
    assert speaker_entropy(["a", "a"], 1) == (None, 2, None, None, "fewer than two agents on the roster")


def test_always_the_same_is_less_even_than_taking_turns() -> None:
    ranked = ["aaaa", "aaab", "aabb", "aabc", "abcd"]
    values = [value(speaker_entropy(list(block), 4).value) for block in ranked]
    assert values == sorted(set(values))


def test_a_round_is_even_but_not_open() -> None:
    round_ = list("abcd") * 5
    assert speaker_entropy(round_, 4).value == pytest.approx(1)
    assert next_speaker_entropy([round_], 4).value == pytest.approx(0, abs=1e-9)


def test_anybody_after_anybody_is_open() -> None:
    every = [[first, second] for first in "abcd" for second in "abcd"]
    found = next_speaker_entropy(every, 4)
    assert found.value == pytest.approx(1)
    assert found.n == 16


def test_transitions_stay_within_blocks() -> None:
    assert next_speaker_entropy([["a"], ["b"]], 4) == (None, 0, None, None, "no two agent turns in a block")
    assert next_speaker_entropy([["a", "a"]], 1).why == "fewer than two agents on the roster"


@given(st.lists(SPEAKERS), st.integers(0, 6))
def test_values_stay_in_their_range(blocks: list[list[str]], roster: int) -> None:
    for found in (next_speaker_entropy(blocks, roster), *(speaker_entropy(block, roster) for block in blocks)):
        assert (found.value is None) == bool(found.why)
        assert found.value is None or 0 <= found.value <= 1


def test_share_of_the_roster() -> None:
    assert roster_share(list("aabb"), 4).value == 0.5
    assert roster_share(list("abc"), 4).value == 1
    assert roster_share(["a"], 4).value == 1
    assert roster_share([], 4).why == "no agent turn"
    assert roster_share(["a"], 1).why == "fewer than two agents on the roster"


@given(SPEAKERS)
def test_the_longest_run_is_the_longest_repetition(speakers: list[str]) -> None:
    text = "".join(speakers)
    expected = max((n for n in range(len(text) + 1) if any(letter * n in text for letter in "abcd")), default=0)
    assert longest_run(speakers) == expected
