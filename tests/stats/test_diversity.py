import random
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.stats.diversity import distinct, distinct_of_size, sampled_self_bleu, self_bleu
from mascot_data.stats.measure import Measure
from mascot_data.stats.words import words

TEXTS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=9).map(" ".join), max_size=8)


@given(TEXTS, st.integers(1, 3))
def test_distinct_is_a_plain_count(texts: list[str], n: int) -> None:
    runs = [tuple(text.split()[i : i + n]) for text in texts for i in range(len(text.split()) - n + 1)]
    found = distinct(texts, n)
    assert found.n == len(runs)
    assert found.value == (len(set(runs)) / len(runs) if runs else None)
    assert bool(found.why) == (not runs)


def test_distinct_of_a_known_text() -> None:
    assert distinct(["the cat and the dog", "the cat"], 1).value == pytest.approx(4 / 7)
    assert distinct(["the cat and the dog", "the cat"], 2).value == pytest.approx(4 / 5)


def test_distinct_falls_with_the_number_of_words_but_not_of_a_size() -> None:
    chance = random.Random(0)
    texts = [" ".join(chance.choice("abcdefghij") + chance.choice("abcdefghij") for _ in range(10)) for _ in range(900)]
    few, many = texts[:60], texts
    assert distinct(many, 1).value < (distinct(few, 1).value or 0) / 3  # type: ignore[operator]
    assert distinct_of_size(many, 1).value == pytest.approx(distinct_of_size(few, 1).value, abs=0.02)


@given(TEXTS, st.integers(1, 12), st.integers(1, 3))
def test_pieces_have_their_size(texts: list[str], size: int, n: int) -> None:
    found = distinct_of_size(texts, n, size=size, most=1000)
    whole = sum(len(text.split()) for text in texts)
    assert found.n <= whole // size
    if found.value is None:
        assert found.why
    else:
        assert 0 < found.value <= 1
    if n == 1:
        assert found.n == whole // size


@pytest.mark.parametrize(
    "measure", [partial(distinct_of_size, n=2, size=50, most=3), partial(sampled_self_bleu, draws=3)]
)
def test_what_is_drawn_depends_on_the_seed_alone(measure: Callable[..., Measure]) -> None:
    texts = [f"{number % 7} {number % 11} and {number % 13}" for number in range(400)]
    assert measure(texts, seed=1) == measure(texts, seed=1)
    assert measure(texts, seed=1) != measure(texts, seed=2)


def by_nltk(said: list[list[str]]) -> float:
    """Compute self-BLEU as Texygen does, text by text, by the library it uses."""
    bleu: Any = pytest.importorskip("nltk.translate.bleu_score", reason="self-BLEU is checked against nltk")
    smooth = bleu.SmoothingFunction().method1
    scores = [
        bleu.sentence_bleu(said[:i] + said[i + 1 :], text, smoothing_function=smooth) for i, text in enumerate(said)
    ]
    return float(fmean(scores))


@given(TEXTS)
def test_self_bleu_is_that_of_nltk(texts: list[str]) -> None:
    said = [text.split() for text in texts if text]
    found = self_bleu(texts)
    assert found.n == len(said)
    if len(said) < 2:
        assert found.value is None
        assert found.why
    else:
        assert found.value == pytest.approx(by_nltk(said), abs=1e-12)


def test_self_bleu_of_real_sentences_is_that_of_nltk() -> None:
    texts = [
        "I'm so sorry to hear that, it must have been hard.",
        "That must have been hard for you and for her.",
        "What would you like to happen next?",
        "You could ask her what she would like to happen.",
        "Yes.",
    ]
    assert self_bleu(texts).value == pytest.approx(by_nltk([list(words(text)) for text in texts]), abs=1e-12)


def test_self_bleu_of_copies_is_one_and_of_strangers_nothing() -> None:
    assert self_bleu(["it was a very long day"] * 3).value == pytest.approx(1)
    assert self_bleu(["one two three four", "five six seven eight"]).value == 0
    assert self_bleu(["...", "hello there"]).value is None


def test_a_sample_of_too_few_texts_has_no_value() -> None:
    found = sampled_self_bleu(["hello there"] * 49)
    assert (found.value, found.n, found.why) == (None, 49, "49 texts, 50 are needed")
    assert sampled_self_bleu(["hello there my old friend"] * 50).value == pytest.approx(1)
