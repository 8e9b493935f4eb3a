"""From raw utterances to turns: consecutive utterances of one voice become one turn, and nothing of them is lost."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypedDict

from mascot_data.sources.conversation import Utterance


class Piece(NamedTuple):
    """A raw utterance on its way into a turn: ``text`` is the cleaned text, ``voice`` who speaks in our dialogue."""

    number: int
    voice: str
    text: str
    raw: Utterance
    flags: tuple[str, ...] = ()


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


def clean_chat(text: str) -> str:
    """Normalise white space: every run of it, line breaks and no-break spaces included, is one space."""
    return " ".join(text.split())


def runs(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Group consecutive pieces of one voice."""
    for _, group in groupby(pieces, key=lambda piece: piece.voice):
        yield list(group)


class SourceFields(TypedDict):
    """The fields of a turn that hold its words and their origin."""

    text: str
    source_turns: list[int]
    source_texts: list[str]
    source_speakers: list[str]


def source_fields(run: Sequence[Piece], name: str, joint: str) -> SourceFields:
    """Give the fields of a turn that keep its raw utterances: text, numbers, and whatever ``text`` does not show."""
    text = joint.join(piece.text for piece in run)
    raw = [piece.raw.text for piece in run]
    speakers = [piece.raw.speaker for piece in run]
    return SourceFields(
        text=text,
        source_turns=[piece.number for piece in run],
        source_texts=[] if text.split("\n") == raw else raw,
        source_speakers=[] if all(speaker == name for speaker in speakers) else speakers,
    )


def repeats(utterances: Sequence[Utterance]) -> set[int]:
    """Return the numbers of utterances whose speaker has just said exactly the same."""
    return {
        number
        for number, (before, now) in enumerate(zip(utterances, utterances[1:], strict=False), start=1)
        if now.text == before.text and now.speaker == before.speaker
    }
