"""What a reader yields: a conversation as the raw file holds it, in one shape for all corpora."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from mascot_data.records.dialogue import Split

SPLIT_NAMES: dict[str, Split] = {
    "train": "train",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "validation": "validation",
    "test": "test",
}
"""The names that files use for a split, and ours."""


_DIGITS = re.compile(r"\d+")


def natural(text: str) -> str:
    """Sort key under which numbers count: hit:9 comes before hit:10, failed-2 before failed-10."""
    return _DIGITS.sub(lambda match: match[0].zfill(12), text)


class Utterance(NamedTuple):
    """One raw utterance; its number is its position in the conversation."""

    speaker: str
    text: str
    act: str | None = None
    feedback: str | None = None


@dataclass(slots=True)
class Conversation:
    """A two-party conversation of ESConv or Empathetic Dialogues, nothing changed but the file's own escapes.

    ``where`` names file and record for messages. ``fields`` are the conversation's other fields, word for word.
    ``agents`` are the raw speaker names of the supporting side.
    """

    where: str
    source_id: str
    split: Split
    subset: str
    situation: str
    emotion: str
    utterances: list[Utterance]
    agents: frozenset[str]
    fields: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)


class Topic(NamedTuple):
    """A topic segment of a meeting; spans as the raw file has them."""

    topic: str
    spans: list[list[str]]


class Query(NamedTuple):
    """A query and its answer; ``spans`` is None for a general query, which has no evidence."""

    query: str
    answer: str
    spans: list[list[str]] | None


@dataclass(slots=True)
class Meeting:
    """A meeting of QMSum with its annotations; ``queries`` are the general ones, then the specific ones."""

    where: str
    name: str
    split: Split
    utterances: list[Utterance]
    topics: list[Topic]
    queries: list[Query]
    general: int
