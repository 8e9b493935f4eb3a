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
from typing import Any, NamedTuple

import pyarrow as pa

from mascot_data.build.columns import to_table
from mascot_data.build.directives import tones, verbs_and_focuses
from mascot_data.build.projection import SILENCE, Message, speaker_messages, to_line
from mascot_data.errors import UsageError
from mascot_data.personas import Personas, director_message, system_message
from mascot_data.records import Block, DirectorTurn, SpeakerTurn, arrow_schema
from mascot_data.records.dialogue import SCHEMA_VERSION
from mascot_data.records.rows import DialogueRow, DirectiveRow, ScenarioRow, SpeakerRow, TurnRow

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


class RoomTurn(NamedTuple):
    """A turn in the room: ``line`` is how the others hear it."""

    speaker: str
    name: str
    kind: str
    persona: str | None
    text: str
    line: str
    directive: DirectiveRow | None
    acts_origin: str | None
    flags: list[str]


class Room:
    """A dialogue as its agents and the Director see it."""

    def __init__(self, row: DialogueRow, turns: list[RoomTurn], budget: Budget) -> None:
        self.id = row.id
        self.source = row.source
        self.domain = row.domain
        self.subset = row.subset
        self.license = row.license
        # Only a meeting's outline is told to the agents: a person's own description is what they are to find out.
        self.outline = ScenarioRow._make(row.scenario).situation if row.source == "qmsum" else None
        self.turns = turns
        self._starts = self._all_starts(budget)

    def _all_starts(self, budget: Budget) -> list[int] | None:
        """Return for each turn the first one that its context shows; None when all contexts are whole."""
        count = len(self.turns)
        starts = [0 if budget.turns is None else max(0, index - budget.turns) for index in range(count + 1)]
        if budget.tokens is not None:
            tokens = list(accumulate([budget.count_tokens(turn.line) for turn in self.turns], initial=0))
            if tokens[-1] > budget.tokens:
                starts = [
                    min(max(start, bisect_left(tokens, tokens[index] - budget.tokens)), max(index - 1, 0))
                    for index, start in enumerate(starts)
                ]
        return starts if any(starts) else None

    def start(self, index: int) -> int:
        """Return the first turn that the context of turn ``index`` shows."""
        return self._starts[index] if self._starts else 0


class Views:
    """Makes the tables of all views; system messages are rendered once."""

    def __init__(self, options: ViewOptions) -> None:
        self._options = options
        self._systems: dict[tuple[str, str], str] = {}
        self._directors: dict[tuple[str, str], str] = {}

    def tables(self, dialogues: Sequence[Sequence[Any]]) -> dict[str, pa.Table]:
        """Return config name to table, for rows of dialogues."""
        rooms = [_room(DialogueRow._make(row), self._options) for row in dialogues]
        return {
            "speaker_turns": to_table(
                [row for room in rooms for row in self._speaker_turns(room)], SCHEMAS["speaker_turns"]
            ),
            "director_turns": to_table(
                [row for room in rooms for row in self._director_turns(room)], SCHEMAS["director_turns"]
            ),
            "blocks": to_table([row for room in rooms for row in self._blocks(room)], SCHEMAS["blocks"]),
        }

    def _speaker_turns(self, room: Room) -> Iterator[tuple[Any, ...]]:
        for index, turn in enumerate(room.turns):
            if turn.directive is None or turn.persona is None:
                continue
            start = room.start(index)
            heard = [(before.name, before.line, before.text) for before in room.turns[start:index]]
            asked = f"{turn.directive[1]}; {turn.directive[2]}"
            heard.append((DIRECTOR, to_line(DIRECTOR, asked), asked))
            prompt = [("system", self._system(room, turn.persona)), *speaker_messages(heard, turn.name)]
            yield (
                f"{room.id}/{index}",
                room.id,
                index,
                turn.persona,
                room.subset,
                turn.directive,
                prompt,
                [("assistant", turn.text)],
                index - start,
                start,
                turn.flags,
                room.license,
                SCHEMA_VERSION,
            )

    def _director_turns(self, room: Room) -> Iterator[tuple[Any, ...]]:
        roster = self._options.cards.roster_for(room.domain).personas
        for index, turn in enumerate(room.turns):
            if turn.directive is None:
                continue
            start = room.start(index)
            agent, action, tone, origin = turn.directive
            last = room.turns[index - 1].persona if index else None
            answer = decision(agent, action, tone)
            by_act = turn.acts_origin is not None and "neighbour-persona" not in turn.flags
            yield (
                f"{room.id}/{index}",
                room.id,
                index,
                room.subset,
                self._room_so_far(room, start, index),
                [("assistant", answer)],
                agent,
                action,
                tone,
                [persona for persona in roster if persona != last or persona == agent],
                origin if by_act else "rule",
                origin,
                "rule",
                index - start,
                start,
                turn.flags,
                room.license,
                SCHEMA_VERSION,
            )

    def _blocks(self, room: Room) -> Iterator[tuple[Any, ...]]:
        size = self._options.block_turns
        for first in range(0, len(room.turns), size):
            turns = room.turns[first : first + size]
            if not any(turn.persona for turn in turns):
                continue
            start = room.start(first) if first else 0
            yield (
                f"{room.id}/{first}+{len(turns)}",
                room.id,
                room.subset,
                first,
                [(turn.speaker, turn.kind, turn.persona, turn.text, turn.directive) for turn in turns],
                self._room_so_far(room, start, first),
                first - start,
                start,
                "corpus",
                None,
                room.license,
                SCHEMA_VERSION,
            )

    def _room_so_far(self, room: Room, start: int, end: int) -> list[Message]:
        lines = "\n".join([turn.line for turn in room.turns[start:end]])
        return [("system", self._director(room)), ("user", lines or SILENCE)]

    def _system(self, room: Room, persona: str) -> str:
        key = (room.domain, persona)
        if key not in self._systems:
            cards = self._options.cards
            others = cards.others(persona, cards.roster_for(room.domain))
            self._systems[key] = system_message(cards.cards[persona], others)
        return _with_outline(self._systems[key], room)

    def _director(self, room: Room) -> str:
        key = (room.domain, room.source)
        if key not in self._directors:
            cards = self._options.cards
            roster = cards.roster_for(room.domain).personas
            named = [cards.cards[persona] for persona in roster]
            self._directors[key] = director_message(named, *verbs_and_focuses(room.source), tones(roster))
        return _with_outline(self._directors[key], room)


@cache
def decision(agent: str, action: str, tone: str) -> str:
    """Return the JSON that a Director answers with."""
    return json.dumps({"agent": agent, "action": action, "tone": tone}, ensure_ascii=False)


def _with_outline(message: str, room: Room) -> str:
    return f"{message}\n\n{room.outline}" if room.outline else message


def _room(row: DialogueRow, options: ViewOptions) -> Room:
    names = room_names(row.speakers, options.cards)
    turns = [
        RoomTurn(
            turn.speaker,
            names[turn.speaker],
            turn.kind,
            turn.persona,
            turn.text,
            f"{names[turn.speaker]}: {turn.text}" if "\n" not in turn.text else to_line(names[turn.speaker], turn.text),
            turn.directive,
            turn.acts_origin,
            turn.flags,
        )
        for turn in map(TurnRow._make, row.turns)
    ]
    return Room(row, turns, options.budget)


def room_names(speakers: Sequence[Sequence[Any]], cards: Personas) -> dict[str, str]:
    """Give every speaker the name under which the room hears it: unique, and none that reads as another's line."""
    names: dict[str, str] = {}
    taken = {DIRECTOR}
    for speaker in map(SpeakerRow._make, speakers):
        if speaker.persona is not None:
            name = cards.cards[speaker.persona].name
        else:
            name = USER_NAME if speaker.kind == "user" else speaker.id
        name = " ".join(name.replace(": ", " ").split()) or "Somebody"
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
