"""The Director's labels from the corpus: who spoke, what it did and about what, in which tone (MASCOT, phase 2).

The agent is who really spoke. The action follows from the act and from what the turn's words refer to, the tone from
persona and valence; both come from closed lists in ``tables/``.
"""

import string
from collections.abc import Sequence
from functools import cache

from mascot_data.build.tables import table
from mascot_data.records.dialogue import Origin, Valence
from mascot_data.records.rows import DirectiveRow

_NO_PUNCTUATION = str.maketrans(string.punctuation.replace("'", "") + "\n’“”", " " * (len(string.punctuation) + 3))


@cache
def _focuses() -> tuple[tuple[str, ...], dict[str, int], frozenset[str]]:
    """Return the focuses, the rank of each cue word, and all cue words."""
    focuses: dict[str, str] = table("directives")["focuses"]
    ranks: dict[str, int] = {}
    for rank, words in enumerate(focuses.values()):
        for word in words.split():
            ranks.setdefault(word, rank)
    return tuple(focuses), ranks, frozenset(ranks)


def focus_of(text: str) -> str:
    """Tell what a turn refers to: the first focus of the table with one of its words in the text, else the last."""
    focuses, ranks, cues = _focuses()
    found = cues.intersection(text.lower().translate(_NO_PUNCTUATION).split())
    return focuses[min([ranks[word] for word in found])] if found else focuses[-1]


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
    return tuple(dict.fromkeys(table("acts")[corpus]["actions"].values())), _focuses()[0]


@cache
def actions(corpus: str) -> tuple[str, ...]:
    """Return every legal action of a corpus, the closed list from which a Director chooses."""
    verbs, focuses = verbs_and_focuses(corpus)
    return tuple(f"{verb} {focus}" for verb in verbs for focus in focuses) if focuses else verbs


def tones(personas: Sequence[str]) -> tuple[str, ...]:
    """Return every legal tone for the given personas."""
    found = {tone_of(persona, valence): None for persona in personas for valence in ("positive", "negative", "neutral")}
    return tuple(found)


def directive(corpus: str, persona: str, act: str, text: str, valence: Valence | None, origin: Origin) -> DirectiveRow:
    """Label an agent turn of a two-party corpus; ``act`` is a label of the corpus's table."""
    return _directive(corpus, persona, act, focus_of(text), valence, origin)


@cache
def _directive(
    corpus: str, persona: str, act: str, focus: str, valence: Valence | None, origin: Origin
) -> DirectiveRow:
    return DirectiveRow(persona, action_of(corpus, act, focus), tone_of(persona, valence), origin)


def meeting_directive(persona: str) -> DirectiveRow:
    """Label the answer of a workplace persona to a query; the query decided the persona, by rule."""
    meeting = table("directives")["meeting"]
    action = meeting.get(persona, meeting["scribe"])
    return DirectiveRow(persona, action, tone_of(persona, None), "rule")
