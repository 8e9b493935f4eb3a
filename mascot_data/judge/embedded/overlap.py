"""How much of a reply was said before, word for word. No model; it finds copies, not paraphrases."""

from collections.abc import Sequence

import numpy as np

from mascot_data.stats.words import ngrams, words

FULL = 10
"""New words from which on a reply counts as full; no more are asked for, so that the longer one does not win."""

_ALLOWED, _COPY = 0.20, 0.60
_MOST, _LEAST = 5.0, 1.5


def overlap(text: str, earlier: Sequence[str]) -> float:
    """Return the largest share of a text's pairs of words that a single earlier text has.

    Returns:
        0 (nothing) to 1 (all of it). A text of a single word counts by that word; one without words gives 0.
    """
    own = _runs(text)
    if not own or not earlier:
        return 0.0
    return max(sum(run in known for run in own) / len(own) for known in map(_known, earlier))


def _runs(text: str) -> list[tuple[str, ...]]:
    found = words(text)
    return list(ngrams(found, 2)) or list(ngrams(found, 1))


def _known(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {*ngrams(found, 1), *ngrams(found, 2)}


def parroting_cap(share: float) -> float:
    """Return the most that a reply can score in relevance which has so much of one of the person's turns.

    Up to a share of 0.20, as in many true turns, there is no cap (5); it falls to 1.5 for a share of 0.60 and more.
    """
    return float(np.interp(share, (_ALLOWED, _COPY), (_MOST, _LEAST)))


def originality(text: str, agents: Sequence[str], people: Sequence[str]) -> float:
    """Return how much of its own a reply brings: the share that nobody said before, less for a very short reply.

    Args:
        text: The reply.
        agents: What agents said before.
        people: What people said before.

    Returns:
        0 (a copy, or no words) to 1 (at least ``FULL`` words that nobody has used before or all of it new).
    """
    said = set(words(text))
    known = {word for turn in (*agents, *people) for word in words(turn)}
    return (1.0 - overlap(text, [*agents, *people])) * min(1.0, len(said - known) / FULL) if said else 0.0
