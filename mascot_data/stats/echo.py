"""Forms of agreeing: openers, turns that bring nothing of their own, words said again, and marks of another angle.

These find forms in a text, not what was meant: "Yes, and ..." can be warmth, and saying back what somebody feels is
some personas' work. What they can show is that one system does it much more often than another.
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import yaml

from mascot_data.stats.words import ngrams, words

FEW_WORDS = 5
"""New words up to which a turn that agrees brings nothing of its own."""


def agreement_opener(text: str, before: str) -> str | None:
    """Return the words of agreement that a turn begins with, from a closed list; None where there are none.

    Args:
        text: The turn.
        before: The turn right before. After its question, ``yes`` is an answer and does not count.
    """
    said, lists = words(text), _lists()
    is_question = before.rstrip().endswith("?")
    for start in range(len(said)):
        if _longest(said, start, lists.not_openers):
            return None
        length = _longest(said, start, lists.agrees)
        if not is_question:
            length = max(length, _longest(said, start, lists.agrees_or_answers))
        if length:
            return " ".join(said[start : start + length])
        if said[start] not in lists.fillers:
            return None
    return None


def merely_agrees(text: str, before: str) -> bool:
    """Tell whether a turn opens with agreement, has no mark of another angle, and at most 5 other new words.

    New are words (each once) that are neither in its opener nor in the turn right before.
    """
    opener = agreement_opener(text, before)
    if opener is None or other_angle(text):
        return False
    new = set(words(text)) - set(words(before)) - set(opener.split())
    return len(new - _lists().fillers.keys()) <= FEW_WORDS


def other_angle(text: str) -> bool:
    """Tell whether a turn asks something or has one of a closed list of words for another side."""
    said = words(text)
    return "?" in text or any(_longest(said, start, _lists().other_angle) for start in range(len(said)))


def echo(text: str, earlier: Sequence[str], n: int = 2) -> float | None:
    """Return how much of a turn was said before: the share of its runs of n words that are in an earlier turn.

    Returns:
        0 (all new) to 1 (all a repetition); None for a turn of fewer than n words, or with nothing before it.
    """
    own = list(ngrams(words(text), n))
    if not own or not earlier:
        return None
    known = {run for turn in earlier for run in ngrams(words(turn), n)}
    return sum(run in known for run in own) / len(own)


Phrases = dict[str, list[tuple[str, ...]]]
"""First word to the phrases that begin with it, as words."""


class _Lists(NamedTuple):
    fillers: Phrases
    agrees: Phrases
    agrees_or_answers: Phrases
    not_openers: Phrases
    other_angle: Phrases


@cache
def _lists() -> _Lists:
    found = yaml.safe_load(resources.files("mascot_data.stats").joinpath("phrases.yaml").read_text("utf-8"))
    return _Lists(*(_by_first_word(found[name]) for name in _Lists._fields))


def _by_first_word(texts: Sequence[str]) -> Phrases:
    phrases: Phrases = {}
    for phrase in map(words, texts):
        phrases.setdefault(phrase[0], []).append(phrase)
    return phrases


def _longest(said: tuple[str, ...], start: int, phrases: Phrases) -> int:
    """Return how many words the longest phrase at a place has, 0 where none is there."""
    possible = phrases.get(said[start], ()) if start < len(said) else ()
    return max((len(one) for one in possible if said[start : start + len(one)] == one), default=0)
