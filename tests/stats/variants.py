"""Blocks made worse on purpose, to see measures move: shuffled, in one voice, stuck, sycophantic."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Row = dict[str, Any]


def agent_turns(rows: list[Row]) -> Iterator[tuple[Row, int, Row]]:
    """Yield row, index and turn of every agent turn."""
    for row in rows:
        for index, turn in enumerate(row["turns"]):
            if turn["kind"] == "agent":
                yield row, index, turn


def _changed(rows: list[Row], change: Callable[[Row, int, Row], None]) -> list[Row]:
    rows = copy.deepcopy(rows)
    for row, index, turn in agent_turns(rows):
        change(row, index, turn)
    return rows


def shuffled(rows: list[Row], seed: int = 1) -> list[Row]:
    """Every agent turn says what another one, anywhere, said."""
    texts = [turn["text"] for _, _, turn in agent_turns(rows)]
    random.Random(seed).shuffle(texts)
    said = iter(texts)
    return _changed(rows, lambda row, index, turn: turn.update(text=next(said)))


def one_voice(rows: list[Row], voice: str, seed: int = 1) -> list[Row]:
    """Every persona says what one of them said somewhere."""
    texts = [turn["text"] for _, _, turn in agent_turns(rows) if turn["persona"] == voice]
    chance = random.Random(seed)
    return _changed(rows, lambda row, index, turn: turn.update(text=chance.choice(texts)))


def one_persona(rows: list[Row], voice: str) -> list[Row]:
    """One persona speaks all the time."""
    return _changed(rows, lambda row, index, turn: turn.update(persona=voice))


def stuck(rows: list[Row]) -> list[Row]:
    """All agents of a block say what the first one said."""

    def repeat(row: Row, index: int, turn: Row) -> None:
        turn["text"] = next(turn["text"] for turn in row["turns"] if turn["kind"] == "agent")

    return _changed(rows, repeat)


def flattering(rows: list[Row]) -> list[Row]:
    """Agents agree with the turn before and say it again."""

    def flatter(row: Row, index: int, turn: Row) -> None:
        turn["text"] = "You are so right. " + (row["turns"][index - 1]["text"] if index else "")

    return _changed(rows, flatter)
