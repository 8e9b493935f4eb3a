"""Many dialogues as their agents and the Director see them, in columns; ``room.py`` has the rules for one dialogue."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.columns import (
    Numbers,
    bounds,
    cut,
    flat,
    integers,
    lists,
    numbers,
    scalar,
    sizes,
    strings,
    take,
)
from mascot_data.build.projection import GO_ON, SILENCE
from mascot_data.build.room import Budget, ViewOptions, estimate_tokens, room_names, shown_from
from mascot_data.personas import Personas
from mascot_data.records.rows import SpeakerRow

_TURN = ("speaker", "kind", "persona", "text", "acts_origin", "directive", "flags")


class Rooms:
    """Dialogues with their turns in one row, numbered through; what is known of turns are columns over all of them.

    ``first`` is the first turn of each dialogue, followed by the number of all turns; ``home`` the dialogue of each
    turn; ``who`` its speaker, numbered over all dialogues; ``start`` the first turn that its context shows.
    """

    def __init__(self, dialogues: pa.Table, options: ViewOptions) -> None:
        columns = {name: dialogues.column(name).combine_chunks() for name in dialogues.schema.names}
        self.id, self.subset, self.license = columns["id"], columns["subset"], columns["license"]
        self.domains, self.sources = columns["domain"].to_pylist(), columns["source"].to_pylist()
        # Only a meeting's outline is told to the agents: a person's own description is what they are to find out.
        situations = columns["scenario"].field("situation").to_pylist()
        self.outlines = [
            situation if source == "qmsum" else None for situation, source in zip(situations, self.sources, strict=True)
        ]
        counts, turns = flat(columns["turns"])
        self.first = bounds(counts)
        self.home = np.repeat(np.arange(len(counts)), counts)
        self.turns = {name: turns.field(name) for name in _TURN}
        called, self.who = _speakers(columns["speakers"], self.turns["speaker"], self.home, options.cards)
        texts = pc.replace_substring(self.turns["text"], "\n", "\n  ")
        lines = pc.binary_join_element_wise(take(called, self.who), texts, scalar(": "))
        self.start = shown_from(_tokens(lines, options.budget), self.first, options.budget)
        self._heard = _Heard(lines)

    def heard(self, begin: Numbers, end: Numbers, nothing: str = SILENCE) -> pa.StringArray:
        """Return the lines from one turn on up to another, as one text; ``nothing`` (a note) where there are none."""
        return self._heard.between(begin, end, nothing)

    def ids(self, turns: Numbers) -> pa.StringArray:
        """Return the ids of rows about turns."""
        home = self.home[turns]
        index = integers(turns - self.first[home]).cast(pa.string())
        return pc.binary_join_element_wise(take(self.id, home), index, scalar("/"))


class _Heard:
    """All lines as the bytes of one text, with the notes at its end, to cut what is heard from."""

    def __init__(self, lines: pa.StringArray) -> None:
        (joined,) = pc.binary_join(lists(np.array([len(lines)]), lines), scalar("\n"))
        self._at = bounds(sizes(lines) + 1)
        self._text = joined.as_buffer().to_pybytes()
        self._notes: dict[str, tuple[int, int]] = {}
        for note in (SILENCE, GO_ON):
            self._notes[note] = len(self._text), len(self._text) + len(note)
            self._text += note.encode()

    def between(self, begin: Numbers, end: Numbers, nothing: str) -> pa.StringArray:
        first, last = self._notes[nothing]
        none = begin == end
        return cut(self._text, np.where(none, first, self._at[begin]), np.where(none, last, self._at[end] - 1))


def _tokens(lines: pa.StringArray, budget: Budget) -> Numbers:
    if budget.tokens is None:
        return np.zeros(len(lines), np.int64)
    if budget.count_tokens is estimate_tokens:  # the same in columns
        return numbers(pc.utf8_length(lines)) // 4 + 1
    return np.array([budget.count_tokens(line) for line in lines.to_pylist()], np.int64)


def _speakers(
    speakers: pa.ListArray, spoken: pa.StringArray, home: Numbers, cards: Personas
) -> tuple[pa.StringArray, Numbers]:
    """Return the name in the room of every speaker of every dialogue, and which of them speaks each turn."""
    counts, listed = flat(speakers)
    keys = pa.concat_arrays([listed.field("id"), spoken]).dictionary_encode()
    codes, many = numbers(keys.indices), len(keys.dictionary)
    places = np.repeat(np.arange(len(counts)), counts) * many + codes[: len(listed)]
    order = np.argsort(places)
    who = order[np.searchsorted(places[order], home * many + codes[len(listed) :])]
    return strings(_names(bounds(counts), listed, cards)), who


def _names(first: Numbers, speakers: pa.StructArray, cards: Personas) -> list[str]:
    fields = [speakers.field(name).to_pylist() for name in ("id", "kind", "persona")]
    rows = list(zip(*fields, strict=True))
    known: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    names: list[str] = []
    for begin, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        group = tuple(rows[begin:end])
        if group not in known:
            found = [SpeakerRow(name, kind, persona, None, "") for name, kind, persona in group]
            called = room_names(found, cards)
            known[group] = [called[speaker.id] for speaker in found]
        names += known[group]
    return names
