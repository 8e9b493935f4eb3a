"""From raw utterances to turns: consecutive utterances of one voice become one turn, and nothing of them is lost."""

from collections.abc import Sequence
from typing import NamedTuple

from mascot_data.sources.conversation import Utterance


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


def kept_texts(texts: Sequence[str], raw: list[str], joint: str = "\n") -> tuple[str, list[str]]:
    """Join the texts of merged utterances; the second value is ``raw`` unless the joined text shows it already."""
    text = joint.join(texts)
    return text, [] if text.split("\n") == raw else raw


def repeats(utterances: Sequence[Utterance]) -> set[int]:
    """Return the numbers of utterances whose speaker has just said exactly the same."""
    return {
        number
        for number, (before, now) in enumerate(zip(utterances, utterances[1:], strict=False), start=1)
        if now.text == before.text and now.speaker == before.speaker
    }
