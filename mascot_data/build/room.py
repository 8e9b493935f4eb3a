"""A dialogue as its agents and the Director see it: names, lines, and how much of what was said a prompt shows.

Contexts are cut to a budget from the front, never inside a turn; the last turn before the reply is always shown,
however long it is.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from mascot_data.build.columns import Numbers, bounds
from mascot_data.build.projection import to_line
from mascot_data.errors import UsageError
from mascot_data.personas import Personas
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
    tokens = np.array([budget.count_tokens(line) for line in lines], np.int64)
    starts: list[int] = shown_from(tokens, np.array([0, len(lines)]), budget).tolist()
    return starts if any(starts) else None


def shown_from(tokens: Numbers, first: Numbers, budget: Budget) -> Numbers:
    """Return for each turn of many dialogues the first one that its context shows.

    Args:
        tokens: the tokens of each turn's line.
        first: the first turn of each dialogue, and the number of all turns.
        budget: how much a context shows.
    """
    earliest = np.repeat(first[:-1], np.diff(first))
    turns = np.arange(len(tokens))
    starts = earliest if budget.turns is None else np.maximum(earliest, turns - budget.turns)
    if budget.tokens is not None:
        before = bounds(tokens)[:-1]
        starts = np.maximum(starts, np.searchsorted(before, before - budget.tokens))
    return np.minimum(starts, np.maximum(turns - 1, earliest))


@cache
def decision(agent: str, action: str, tone: str) -> str:
    """Return the JSON that a Director answers with."""
    return json.dumps({"agent": agent, "action": action, "tone": tone}, ensure_ascii=False)


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
