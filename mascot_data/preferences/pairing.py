"""Choose pairs among the replies to one prompt, and keep length from deciding."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from mascot_data.generate.candidates import plain
from mascot_data.preferences.scores import Compared, Scored, compare

Strategy = Literal["all", "best-worst"]


class Judged(NamedTuple):
    """A reply with its scores."""

    id: str
    k: int
    text: str
    scores: tuple[Scored, ...]


class Pair(NamedTuple):
    """Two replies, the better one first; ``compared`` is from its point of view."""

    prompt_id: str
    chosen: Judged
    rejected: Judged
    compared: Compared

    @property
    def longer_wins(self) -> bool | None:
        """Whether the chosen reply is the longer one, in characters; None where both are equally long."""
        mine, theirs = len(self.chosen.text), len(self.rejected.text)
        return None if mine == theirs else mine > theirs


class Refused(NamedTuple):
    """Two replies that are no pair, and why: equal-texts, or missing-scores."""

    reason: Literal["equal-texts", "missing-scores"]


def pairs_of(prompt_id: str, replies: Sequence[Judged], strategy: Strategy) -> Iterator[Pair | Refused]:
    """Yield the pairs of a prompt: of every two replies, or only of the best and the worst.

    Of two equally good replies the one with the smaller number comes first.
    """
    found: list[Pair] = []
    for first, second in combinations(sorted(replies, key=lambda reply: reply.k), 2):
        pair = _pair(prompt_id, first, second)
        if isinstance(pair, Refused):
            yield pair
        else:
            found.append(pair)
    if strategy == "best-worst" and found:
        found = [max(found, key=lambda pair: pair.compared.gap)]
    yield from found


def _pair(prompt_id: str, first: Judged, second: Judged) -> Pair | Refused:
    if plain(first.text) == plain(second.text):
        return Refused("equal-texts")
    compared = compare(first.scores, second.scores)
    if compared is None:
        return Refused("missing-scores")
    if compared.gap >= 0:
        return Pair(prompt_id, first, second, compared)
    turned = compare(second.scores, first.scores)
    assert turned is not None
    return Pair(prompt_id, second, first, turned)


def balanced(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """Leave out as many pairs as needed so that the longer reply wins as often as the shorter one.

    Which ones go is drawn by the seed and does not depend on the order. Pairs of equally long replies stay.
    """
    sides = {side: [pair for pair in pairs if pair.longer_wins is side] for side in (True, False)}
    keep = min(len(sides[True]), len(sides[False]))
    gone = {
        _name(pair) for found in sides.values() for pair in sorted(found, key=lambda pair: _draw(seed, pair))[keep:]
    }
    return [pair for pair in pairs if _name(pair) not in gone]


def _name(pair: Pair) -> tuple[str, str]:
    return pair.chosen.id, pair.rejected.id


def _draw(seed: int, pair: Pair) -> str:
    return hashlib.blake2b(f"{seed}\x1f{pair.chosen.id}\x1f{pair.rejected.id}".encode()).hexdigest()
