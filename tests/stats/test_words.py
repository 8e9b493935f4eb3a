from hypothesis import given
from hypothesis import strategies as st

from mascot_data.stats.words import ngrams, without_names, words


def test_words_are_lower_case_without_punctuation() -> None:
    assert words("Don't PANIC: it's 5 o’clock, snake_case!") == (
        "dont", "panic", "its", "5", "oclock", "snake", "case"
    )  # fmt: skip
    assert words("...!? '' --") == ()


@given(st.text())
def test_words_are_found_again_in_words(text: str) -> None:
    found = words(text)
    assert all(word and word == "".join(words(word)) for word in found)
    assert words(" ".join(found)) == found


@given(st.lists(st.sampled_from("abc")), st.integers(1, 4))
def test_ngrams_are_the_neighbours(letters: list[str], n: int) -> None:
    assert list(ngrams(letters, n)) == [tuple(letters[i : i + n]) for i in range(len(letters) - n + 1)]


def test_names_go_as_whole_words_in_any_case() -> None:
    text = "As ANCHOR's friend, the decision-logger anchored Guide and guides; Decision Logger left."
    left = without_names(text, ["anchor", "guide", "decision logger", "decision-logger"])
    assert words(left) == ("as", "friend", "the", "anchored", "and", "guides", "left")
    assert without_names(text, []) == text


def test_a_name_with_signs_of_a_pattern_is_only_a_name() -> None:
    assert words(without_names("a.b met aXb", ["a.b"])) == ("met", "axb")
