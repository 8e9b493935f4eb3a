"""What people said a turn does: the labels that the embedded judge learns from."""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import yaml

from mascot_data.build.directives import verbs_and_focuses
from mascot_data.build.reading import read_rows
from mascot_data.records.dialogue import Split

FAILED = "failed"
"""Subset of conversations in which the help failed: nothing is learnt from them."""


class Said(NamedTuple):
    """A turn of a dialogue as the judge learns from it.

    ``persona`` is None for people; ``by_persona`` tells whether a label made it so, and not a neighbouring turn.
    ``verb`` is that of the directive, None where no label gave it.
    """

    name: str
    text: str
    persona: str | None
    by_persona: bool
    verb: str | None


class Talk(NamedTuple):
    """A dialogue."""

    id: str
    source: str
    subset: str
    turns: tuple[Said, ...]


def read_talks(root: Path, split: Split) -> Iterator[Talk]:
    """Yield the dialogues of a split, with the labels that people, or a published model, gave."""
    for row in read_rows(root, "dialogues", split, ("id", "source", "subset", "turns")):
        yield Talk(row["id"], row["source"], row["subset"], tuple(_said(row["source"], turn) for turn in row["turns"]))


def _said(source: str, turn: dict[str, object]) -> Said:
    directive, flags = turn["directive"], turn["flags"]
    labelled = turn["acts_origin"] in ("human", "model")
    verb = verb_of(source, directive["action"]) if labelled and isinstance(directive, dict) else None
    persona = turn["persona"]
    by_label = labelled and isinstance(flags, list) and "neighbour-persona" not in flags
    return Said(str(turn["speaker"]), str(turn["text"]), str(persona) if persona else None, by_label, verb)


@cache
def verb_of(source: str, action: str) -> str | None:
    """Return the verb of a directive's action; None for an action that is not in the corpus's closed list."""
    verbs, _ = verbs_and_focuses(source)
    found = [verb for verb in verbs if action == verb or action.startswith(f"{verb} ")]
    return max(found, key=len, default=None)


class Forms(NamedTuple):
    """The judge's own examples by verb, and which verbs are warm and which factual."""

    warm: tuple[str, ...]
    factual: tuple[str, ...]
    verbs: dict[str, tuple[str, ...]]


@cache
def forms() -> Forms:
    """Read ``forms.yaml``."""
    found = yaml.safe_load(resources.files(__package__).joinpath("forms.yaml").read_text("utf-8"))
    verbs = {verb: tuple(sentences) for verb, sentences in found["verbs"].items()}
    return Forms(tuple(found["warm"]), tuple(found["factual"]), verbs)
