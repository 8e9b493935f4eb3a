"""Past turns of a corpus, and a search for those in which a person said something similar."""

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from mascot_data.build.tables import table
from mascot_data.records.dialogue import Dialogue

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Case(NamedTuple):
    """A past turn: what a person said, the act label of the answer, and the answer."""

    dialogue_id: str
    said: str
    act: str
    answer: str


Cases = Callable[[str, int], list[Case]]
"""Find past cases: for what a person says, at most so many, the most similar first."""


def no_cases(said: str, most: int) -> list[Case]:
    """Find nothing."""
    return []


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def cases_in(dialogue: Dialogue) -> Iterator[Case]:
    """Give the turns of agents that answer the person and have an act label; labels that say nothing are left out."""
    acts = table("acts").get(dialogue.source, {"aliases": {}, "neutral": []})
    for before, turn in zip(dialogue.turns, dialogue.turns[1:], strict=False):
        if before.kind == "user" and turn.kind == "agent" and turn.acts:
            act = acts["aliases"].get(turn.acts[0], turn.acts[0])
            if act not in acts["neutral"]:
                yield Case(dialogue.id, before.text, act, turn.text)


class CaseBook:
    """Past cases, found by the cosine of their words' TF-IDF weights.

    Of two equally similar cases the one that was given first comes first. What shares no word is not found.
    """

    def __init__(self, cases: Iterable[Case]) -> None:
        self._cases = list(cases)
        bags = [Counter(words(case.said)) for case in self._cases]
        known = Counter(word for bag in bags for word in bag)
        self._rarity = {word: math.log(1 + len(bags) / count) for word, count in known.items()}
        self._places: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for index, bag in enumerate(bags):
            for word, weight in self._weights(bag).items():
                self._places[word].append((index, weight))

    def without(self, dialogue_id: str) -> Cases:
        """Return a search that never finds the turns of one dialogue: that which is being talked about."""
        return partial(self._like, dialogue_id)

    def _like(self, dialogue_id: str, said: str, most: int) -> list[Case]:
        scores: dict[int, float] = defaultdict(float)
        for word, weight in self._weights(Counter(words(said))).items():
            for index, other in self._places[word]:
                scores[index] += weight * other
        found = (index for index in scores if self._cases[index].dialogue_id != dialogue_id)
        best = heapq.nsmallest(most, found, key=lambda index: (-scores[index], index))
        return [self._cases[index] for index in best]

    def _weights(self, bag: Counter[str]) -> dict[str, float]:
        weights = {
            word: (1 + math.log(count)) * self._rarity[word] for word, count in bag.items() if word in self._rarity
        }
        length = math.hypot(*weights.values())
        return {word: weight / length for word, weight in weights.items()} if length else {}
