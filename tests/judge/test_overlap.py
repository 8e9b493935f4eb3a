import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.judge.embedded.overlap import FULL, originality, overlap, parroting_cap

TEXTS = st.text(alphabet="abc ?.", max_size=40)


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_shares_are_shares(text: str, earlier: list[str]) -> None:
    assert 0 <= overlap(text, earlier) <= 1
    assert 0 <= originality(text, earlier, earlier) <= 1


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_a_copy_overlaps_wholly_and_brings_nothing(text: str, earlier: list[str]) -> None:
    assert overlap(text, [*earlier, text]) == (1.0 if text.strip(" ?.") else 0.0)
    assert originality(text, [*earlier, text], []) == 0
    assert originality(text, [], [*earlier, text]) == 0


@given(TEXTS, st.lists(TEXTS, max_size=3), TEXTS)
def test_more_said_before_never_makes_a_reply_newer(text: str, earlier: list[str], more: str) -> None:
    assert overlap(text, [*earlier, more]) >= overlap(text, earlier)
    assert originality(text, [*earlier, more], []) <= originality(text, earlier, [])


def test_overlap_counts_pairs_of_words_of_one_earlier_text() -> None:
    assert overlap("I like the red house", ["We like the red car", "no"]) == 0.5
    assert overlap("one two three", ["one two", "two three"]) == 0.5, "parts of several texts do not add up"
    assert overlap("red the like", ["like the red"]) == 0, "the order counts"
    assert overlap("ONE, two!", ["one two"]) == 1, "case and marks do not"


def test_a_reply_of_one_word_counts_by_that_word() -> None:
    assert overlap("Yes", ["yes of course"]) == 1
    assert overlap("Yes", ["no"]) == 0
    assert overlap("?!", ["?!"]) == 0


def test_the_cap_leaves_true_turns_alone_and_falls_for_copies() -> None:
    assert parroting_cap(0) == parroting_cap(0.2) == 5
    assert parroting_cap(0.4) == pytest.approx(3.25)
    assert parroting_cap(0.6) == parroting_cap(1) == 1.5


def test_a_longer_reply_is_no_more_original_once_it_is_full() -> None:
    def fresh(number: int) -> str:
        return " ".join(f"word{place}" for place in range(number))

    assert originality(fresh(FULL), [], []) == originality(fresh(5 * FULL), [], []) == 1
    assert originality(fresh(2), [], []) == pytest.approx(2 / FULL)
    assert originality("ok ok ok ok", [], []) == pytest.approx(1 / FULL), "the same word again is not new"
