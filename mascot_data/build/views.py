"""The configs that trainers read, made from rows of ``dialogues``: speaker turns, Director turns, blocks.

Contexts are cut to a budget from the front, never inside a turn; each row says how many turns it shows and how many
were cut. The last turn before the reply is always shown, however long it is.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Any

import pyarrow as pa

from mascot_data.build.columns import to_table
from mascot_data.build.directives import tones, verbs_and_focuses
from mascot_data.build.projection import SILENCE, Message, add_line, speaker_messages, to_line
from mascot_data.errors import UsageError
from mascot_data.personas import Personas, director_message, system_message
from mascot_data.records import Block, DirectorTurn, SpeakerTurn, arrow_schema
from mascot_data.records.dialogue import SCHEMA_VERSION
from mascot_data.records.rows import DialogueRow, ScenarioRow, SpeakerRow, TurnRow

DIRECTOR = "Director"
USER_NAME = "User"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text at four characters a token, rounded up; English text has about that many."""
    return len(text) // 4 + 1


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of the context a prompt shows: at most so many turns and so many tokens (None: no bound).

    ``count_tokens`` counts a line of the room; give a real tokenizer's count where the bound must be exact.
    """

    turns: int | None = None
    tokens: int | None = 2048
    count_tokens: Callable[[str], int] = estimate_tokens

    def __post_init__(self) -> None:
        if (self.turns is not None and self.turns < 1) or (self.tokens is not None and self.tokens < 1):
            raise UsageError("a context budget must be 1 or more")


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """What shapes the views: cards, budget, and how many turns a block has."""

    cards: Personas
    budget: Budget = field(default_factory=Budget)
    block_turns: int = 8

    def __post_init__(self) -> None:
        if self.block_turns < 1:
            raise UsageError("--block-turns must be 1 or more")


class Room:
    """A dialogue as its agents and the Director see it: by turn its name, its text, and the line that others hear."""

    def __init__(self, row: DialogueRow, options: ViewOptions) -> None:
        self.row = row
        self.turns = [TurnRow._make(turn) for turn in row.turns]
        called = room_names(row.speakers, options.cards)
        self.names = [called[turn.speaker] for turn in self.turns]
        self.texts = [turn.text for turn in self.turns]
        self.lines = [
            to_line(name, text) if "\n" in text else f"{name}: {text}"
            for name, text in zip(self.names, self.texts, strict=True)
        ]
        # Only a meeting's outline is told to the agents: a person's own description is what they are to find out.
        self.outline = ScenarioRow._make(row.scenario).situation if row.source == "qmsum" else None
        self._starts = context_starts(self.lines, options.budget)

    def start(self, index: int) -> int:
        """Return the first turn that the context of turn ``index`` shows."""
        return self._starts[index] if self._starts else 0


def context_starts(lines: Sequence[str], budget: Budget) -> list[int] | None:
    """Return for each turn the first one that its context shows; None when every context is whole."""
    starts = [0 if budget.turns is None else max(0, index - budget.turns) for index in range(len(lines))]
    if budget.tokens is not None:
        tokens = list(accumulate(map(budget.count_tokens, lines), initial=0))
        if tokens[-1] > budget.tokens:
            starts = [
                min(max(start, bisect_left(tokens, tokens[index] - budget.tokens)), max(index - 1, 0))
                for index, start in enumerate(starts)
            ]
    return starts if any(starts) else None


class Views:
    """Makes the tables of all views; system messages are rendered once."""

    def __init__(self, options: ViewOptions) -> None:
        self._options = options
        self._systems: dict[tuple[str, str], str] = {}
        self._directors: dict[tuple[str, str], str] = {}

    def tables(self, dialogues: Sequence[Sequence[Any]]) -> dict[str, pa.Table]:
        """Return config name to table, for rows of dialogues."""
        rooms = [Room(DialogueRow._make(row), self._options) for row in dialogues]
        rows = {
            "speaker_turns": [row for room in rooms for row in self._speaker_turns(room)],
            "director_turns": [row for room in rooms for row in self._director_turns(room)],
            "blocks": [row for room in rooms for row in self._blocks(room)],
        }
        return {config: to_table(rows[config], schema) for config, schema in SCHEMAS.items()}

    def _speaker_turns(self, room: Room) -> Iterator[tuple[Any, ...]]:
        names, lines, texts, row = room.names, room.lines, room.texts, room.row
        for index, turn in enumerate(room.turns):
            if turn.directive is None or turn.persona is None:
                continue
            start = room.start(index)
            _, action, tone, _ = turn.directive
            prompt = [
                ("system", self._system(room, turn.persona)),
                *speaker_messages(names[start:index], lines[start:index], texts[start:index], names[index]),
            ]
            prompt[-1] = ("user", add_line(prompt[-1][1], f"{DIRECTOR}: {action}; {tone}"))
            yield (
                f"{row.id}/{index}",
                row.id,
                index,
                turn.persona,
                row.subset,
                turn.directive,
                prompt,
                (("assistant", turn.text),),
                index - start,
                start,
                turn.flags,
                row.license,
                SCHEMA_VERSION,
            )

    def _director_turns(self, room: Room) -> Iterator[tuple[Any, ...]]:
        row = room.row
        roster = self._options.cards.roster_for(row.domain).personas
        last: str | None = None
        for index, turn in enumerate(room.turns):
            before, last = last, turn.persona
            if turn.directive is None:
                continue
            start = room.start(index)
            agent, action, tone, origin = turn.directive
            by_act = turn.acts_origin is not None and "neighbour-persona" not in turn.flags
            yield (
                f"{row.id}/{index}",
                row.id,
                index,
                row.subset,
                self._room_so_far(room, start, index),
                (("assistant", decision(agent, action, tone)),),
                agent,
                action,
                tone,
                roster if before is None else [p for p in roster if p != before or p == agent],
                origin if by_act else "rule",
                origin,
                "rule",
                index - start,
                start,
                turn.flags,
                row.license,
                SCHEMA_VERSION,
            )

    def _blocks(self, room: Room) -> Iterator[tuple[Any, ...]]:
        size, row = self._options.block_turns, room.row
        for first in range(0, len(room.turns), size):
            turns = room.turns[first : first + size]
            if not any(turn.persona for turn in turns):
                continue
            start = room.start(first)
            yield (
                f"{row.id}/{first}+{len(turns)}",
                row.id,
                row.subset,
                first,
                [(turn.speaker, turn.kind, turn.persona, turn.text, turn.directive) for turn in turns],
                self._room_so_far(room, start, first),
                first - start,
                start,
                "corpus",
                None,
                row.license,
                SCHEMA_VERSION,
            )

    def _room_so_far(self, room: Room, start: int, end: int) -> tuple[Message, Message]:
        return ("system", self._director(room)), ("user", "\n".join(room.lines[start:end]) or SILENCE)

    def _system(self, room: Room, persona: str) -> str:
        key = (room.row.domain, persona)
        if key not in self._systems:
            cards = self._options.cards
            others = cards.others(persona, cards.roster_for(room.row.domain))
            self._systems[key] = system_message(cards.cards[persona], others)
        return _with_outline(self._systems[key], room)

    def _director(self, room: Room) -> str:
        key = (room.row.domain, room.row.source)
        if key not in self._directors:
            cards = self._options.cards
            roster = cards.roster_for(room.row.domain).personas
            named = [cards.cards[persona] for persona in roster]
            self._directors[key] = director_message(named, *verbs_and_focuses(room.row.source), tones(roster))
        return _with_outline(self._directors[key], room)


@cache
def decision(agent: str, action: str, tone: str) -> str:
    """Return the JSON that a Director answers with."""
    return json.dumps({"agent": agent, "action": action, "tone": tone}, ensure_ascii=False)


def _with_outline(message: str, room: Room) -> str:
    return f"{message}\n\n{room.outline}" if room.outline else message


def room_names(speakers: Sequence[Sequence[Any]], cards: Personas) -> dict[str, str]:
    """Give every speaker the name under which the room hears it: unique, and none that reads as another's line."""
    names: dict[str, str] = {}
    taken = {DIRECTOR}
    for speaker in map(SpeakerRow._make, speakers):
        if speaker.persona is not None:
            name = cards.cards[speaker.persona].name
        else:
            name = USER_NAME if speaker.kind == "user" else speaker.id
        name = " ".join(f"{name} ".replace(": ", " ").split())
        while ": " in name:
            name = " ".join(name.replace(": ", " ").split())
        name = name or "Somebody"
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name} ({number})"
        taken.add(unique)
        names[speaker.id] = unique
    return names


SCHEMAS = {
    "speaker_turns": arrow_schema(SpeakerTurn),
    "director_turns": arrow_schema(DirectorTurn),
    "blocks": arrow_schema(Block),
}
"""Arrow schema of each view."""
