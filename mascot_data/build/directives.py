"""The Director's labels from the corpus: who spoke, what it did and about what, in which tone (MASCOT, phase 2).

The agent is who really spoke. The action follows from the act and from what the turn's words refer to, the tone from
persona and valence; both come from closed lists in ``tables/``.
"""

import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from mascot_data.build.columns import Numbers
from mascot_data.build.tables import table
from mascot_data.build.texts import SPACE, matches
from mascot_data.records.dialogue import Valence
from mascot_data.records.rows import DirectiveRow

_EDGE = rf"[{SPACE}!-&(-/:-@\[-`{{-~’“”]"
"""What parts words, in the notation of RE2: white space, and all ASCII punctuation but the apostrophe."""


@cache
def _focuses() -> dict[str, str]:
    """Return the focuses, each with the expression of RE2 for a text with one of its words; the last has none."""
    focuses: dict[str, str] = table("directives")["focuses"]
    return {
        focus: rf"(?:\A|{_EDGE})(?:{'|'.join(map(re.escape, words.split()))})(?:{_EDGE}|\z)" if words else ""
        for focus, words in focuses.items()
    }


def focuses() -> tuple[str, ...]:
    """Return what turns can refer to."""
    return tuple(_focuses())


def focuses_of(texts: pa.StringArray) -> Numbers:
    """Tell what lower-case texts refer to: the first of ``focuses`` with one of its words in them, else the last."""
    patterns = [pattern for pattern in _focuses().values() if pattern]
    found = np.full(len(texts), len(_focuses()) - 1)
    for number in range(len(patterns) - 1, -1, -1):
        found[matches(texts, patterns[number])] = number
    return found


@cache
def action_of(corpus: str, act: str, focus: str) -> str:
    """Compose the action for an act of a corpus and a focus."""
    return f"{table('acts')[corpus]['actions'][act]} {focus}"


@cache
def tone_of(persona: str, valence: Valence | None) -> str:
    """Give the tone for a persona and a valence; a persona without an entry has the default tone."""
    tones: dict[str, str] = table("directives")["tones"].get(persona, {})
    default: str = table("directives")["default_tone"]
    return tones.get(valence or "neutral", default)


@cache
def verbs_and_focuses(corpus: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the actions of a corpus are made of: verbs, and focuses (none for meetings)."""
    if corpus == "qmsum":
        return tuple(table("directives")["meeting"].values()), ()
    return tuple(dict.fromkeys(table("acts")[corpus]["actions"].values())), focuses()


@cache
def actions(corpus: str) -> tuple[str, ...]:
    """Return every legal action of a corpus, the closed list from which a Director chooses."""
    verbs, focuses = verbs_and_focuses(corpus)
    return tuple(f"{verb} {focus}" for verb in verbs for focus in focuses) if focuses else verbs


def tones(personas: Sequence[str]) -> tuple[str, ...]:
    """Return every legal tone for the given personas."""
    found = {tone_of(persona, valence): None for persona in personas for valence in ("positive", "negative", "neutral")}
    return tuple(found)


def meeting_directive(persona: str) -> DirectiveRow:
    """Label the answer of a workplace persona to a query; the query decided the persona, by rule."""
    meeting = table("directives")["meeting"]
    action = meeting.get(persona, meeting["scribe"])
    return DirectiveRow(persona, action, tone_of(persona, None), "rule")
