from importlib import resources

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.stats.echo import agreement_opener, echo, merely_agrees, other_angle
from mascot_data.stats.words import words


@pytest.mark.parametrize(
    ("text", "before", "opener"),
    [
        ("You're absolutely right, it was.", "It was awful.", "youre absolutely right"),
        ("Oh, so true! And well put.", "It hurts.", "so true"),
        ("Yes, that was hard.", "It was hard.", "yes"),
        ("Yes, last week.", "Have you slept?", None),
        ("I agree.", "Is it too much?  ", "i agree"),
        ("Right now, rest.", "I am tired.", None),
        ("Right, rest then.", "I am tired.", "right"),
        ("Absolutely not.", "It is my fault.", None),
        ("I hear you.", "It is my fault.", None),
        ("Thanks, I agree.", "It is my fault.", None),
        ("", "It is my fault.", None),
        ("Oh!", "It is my fault.", None),
    ],
)
def test_openers(text: str, before: str, opener: str | None) -> None:
    assert agreement_opener(text, before) == opener


def test_merely_agreeing_brings_nothing() -> None:
    before = "My sister never calls me on my birthday."
    assert merely_agrees("Yes, I agree, your sister never calls.", before)
    assert merely_agrees("So true.", before)
    assert not merely_agrees("So true. What would you like her to do?", before)
    assert not merely_agrees("So true, but she may have lost the number.", before)
    assert not merely_agrees("So true. Write down what a good day with her looks like.", before)
    assert not merely_agrees("Your sister never calls.", before)


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("What if she forgot?", True),
        ("On the other hand she wrote.", True),
        ("She wrote, though.", True),
        ("She wrote thoughtfully.", False),
        ("Button up.", False),
        ("", False),
    ],
)
def test_another_angle(text: str, has: bool) -> None:
    assert other_angle(text) == has


def test_an_echo_is_the_share_that_was_said() -> None:
    assert echo("It was a long day.", ["it WAS a long, long day"]) == 1
    assert echo("It was a short day.", ["it was a long day"]) == 0.5
    assert echo("Nothing of that", ["it was a long day"]) == 0
    assert echo("a b c", ["a b", "b c"]) == 1
    assert echo("a b c", ["a b", "b c"], n=3) == 0
    assert echo("Yes", ["yes"]) is None
    assert echo("It was", []) is None


@given(st.text(), st.lists(st.text(), min_size=1))
def test_what_was_said_before_is_all_echo(text: str, others: list[str]) -> None:
    if len(words(text)) > 1:
        assert echo(text, [*others, text]) == 1
        assert 0 <= (echo(text, others) or 0) <= 1


def test_phrases_are_written_as_they_are_compared() -> None:
    lists = yaml.safe_load(resources.files("mascot_data.stats").joinpath("phrases.yaml").read_text("utf-8"))
    for name, phrases in lists.items():
        assert all(isinstance(phrase, str) for phrase in phrases), name
        assert len(set(phrases)) == len(phrases), name
        assert [" ".join(words(phrase)) for phrase in phrases] == phrases, name
    assert all(len(words(filler)) == 1 for filler in lists["fillers"])


@given(st.text(), st.text())
def test_any_text_is_read(text: str, before: str) -> None:
    opener = agreement_opener(text, before)
    assert opener is None or opener in " ".join(words(text))
    assert not merely_agrees(text, before) or opener
