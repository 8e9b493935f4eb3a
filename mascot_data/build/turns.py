"""From raw utterances to turns: consecutive utterances of one voice become one turn, and nothing of them is lost."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.columns import Marks, Numbers, integers, lists, scalar, sums, take, true
from mascot_data.build.spool import SCHEMA
from mascot_data.build.texts import matches
from mascot_data.sources.conversation import Utterance

TURN: pa.StructType = SCHEMA.field("turns").type.value_type
"""Arrow type of a turn."""


class Dropped(NamedTuple):
    """A raw utterance that is in no turn, and why."""

    source_id: str
    source_turn: int
    speaker: str
    text: str
    reason: str


DROP_REASONS = {
    "blank": "Nothing but white space.",
    "noise-only": "A speech transcript's utterance of noise tokens and punctuation only (laughter, coughs, pauses).",
}


class Runs:
    """Which utterances make which turn: the numbers ``said`` of utterances stand in the order of turns.

    ``count`` is how many a turn has, ``at`` where they begin in ``said`` (and after the last where all end), ``first``
    the first of them.
    """

    def __init__(self, said: Numbers, begins: Marks) -> None:
        """Make runs of utterances; ``begins`` tells which of them begin a turn."""
        self.said = said
        self.at = np.append(np.flatnonzero(begins), len(said))
        self.count = np.diff(self.at)
        self.first: Numbers = said[self.at[:-1]]

    def any(self, marked: Marks) -> Marks:
        """Tell which turns have a marked utterance."""
        return sums(marked[self.said], self.at) > 0

    def all(self, marked: Marks) -> Marks:
        """Tell of which turns every utterance is marked."""
        return ~self.any(~marked)

    def flags(self, found: Numbers) -> Numbers:
        """Return all flags of each turn's utterances, as bits."""
        return self._reduced(np.bitwise_or, found)

    def least(self, values: Numbers) -> Numbers:
        """Return the least value of each turn's utterances."""
        return self._reduced(np.minimum, values)

    def _reduced(self, function: np.ufunc, values: Numbers) -> Numbers:
        found: Numbers = function.reduceat(values[self.said], self.at[:-1]) if len(self.first) else self.first
        return found

    def foremost(self, values: Numbers) -> Numbers:
        """Return the first of those utterances of each turn that have the greatest value."""
        if len(self.first) == len(self.said):
            return self.first
        turn = np.repeat(np.arange(len(self.count)), self.count)
        order = np.lexsort((-values[self.said], turn))
        longest: Numbers = self.said[order[self.at[:-1]]]
        return longest

    def texts(self, texts: pa.StringArray, joint: str) -> pa.StringArray:
        """Join the texts of each turn's utterances."""
        each = take(texts, self.said)
        return each if len(self.first) == len(self.said) else pc.binary_join(lists(self.count, each), scalar(joint))

    def kept(self, values: pa.Array, needless: Marks) -> pa.ListArray:
        """List the values of each turn's utterances; nothing for turns where that is ``needless``."""
        held = np.repeat(~needless, self.count)
        return lists(np.where(needless, 0, self.count), take(values, self.said[held]))

    def numbers(self, number: Numbers) -> pa.ListArray:
        """List the numbers of each turn's utterances in their conversation."""
        return lists(self.count, integers(number[self.said]))


def shown(texts: pa.StringArray, raw: pa.StringArray) -> Marks:
    """Tell which texts are the raw ones, and on one line: where that goes for a whole turn, splitting it gives them."""
    return true(pc.equal(texts, raw)) & ~matches(raw, r"\n")


def repeats(utterances: Sequence[Utterance], home: Numbers) -> Marks:
    """Tell which utterances say exactly what their speaker has just said; ``home`` is the conversation of each."""
    pairs = zip(utterances, utterances[1:], strict=False)
    again = [now.text == before.text and now.speaker == before.speaker for before, now in pairs]
    found = np.array([False, *again][: len(utterances)], np.bool_)
    found[1:] &= home[1:] == home[:-1]
    return found
