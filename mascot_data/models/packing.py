"""Choices as trees in one sequence: what begins alike is computed once, and everything behind it in the same pass.

The tokens of many prompts and their answers form a tree (rubric and context, then a branch a reply, then a leaf a
criterion, then the labels). The root, which all of a pack share, is read into a cache. The rest is laid out depth first
in one sequence: each token has the position that it has in its own prompt, and sees only the root and the tokens on its
way from there. So every probability is that of the prompt read alone, up to the last digits, and a context with many
replies and criteria takes one pass instead of one for each pair of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from mascot_data.models.parting import Tokens, branch_tokens, shared_tokens
from mascot_data.models.prompting import Parts
from mascot_data.models.rows import Reading

WORTH_SHARING = 32
"""Tokens of the last root that the next one begins with from which on they are kept."""

TRIAL = [Parts((5, 6, 7, 8, *branch), ((5, 6), (5, 7), (8,))) for branch in ((5, 9, 6), (7, 5), (8, 6, 5, 9))]
"""Choices on which a model shows whether it keeps to masks and positions: not every architecture does."""
_CLOSE, _CLOSE_COARSE = 1e-3, 0.25


class Tree:
    """Sequences of tokens that share the places of what they begin with; they are added in sorted order."""

    def __init__(self) -> None:
        """Begin empty."""
        self.tokens: list[int] = []
        self.depths: list[int] = []
        self.ends: list[int] = []
        self._path: list[int] = []

    def add(self, sequence: Tokens) -> list[int]:
        """Add a sequence that sorts after all before it, and return the place of each of its tokens."""
        kept = shared_tokens([self.tokens[place] for place in self._path], sequence)
        del self._path[kept:]
        for depth in range(kept, len(sequence)):
            self._path.append(len(self.tokens))
            self.tokens.append(sequence[depth])
            self.depths.append(depth)
            self.ends.append(0)
        for place in self._path:
            self.ends[place] = len(self.tokens)
        return list(self._path)


class Pack(NamedTuple):
    """Choices that are read together: their places, and how many tokens all of them begin with alike.

    The root leaves at least the last token of every prompt to the tree.
    """

    places: list[int]
    root: int


def packs(choices: Sequence[Parts], most: int) -> list[Pack]:
    """Part choices, in the order of their tokens, into packs whose trees have at most ``most`` tokens behind the root.

    A single choice is a pack, whatever its length.
    """
    found: list[Pack] = []
    tokens = 0  # of the whole tree, the root included
    last: Tokens = ()
    for place in sorted(range(len(choices)), key=lambda place: (choices[place].common, place)):
        prompt, branches = choices[place].common, branch_tokens(choices[place])
        more = tokens + len(prompt) - shared_tokens(last, prompt) + branches
        root = min(shared_tokens(last, prompt), len(prompt) - 1, found[-1].root) if found else 0
        if found and more - root <= most:
            found[-1] = Pack([*found[-1].places, place], root)
            tokens = more
        else:
            found.append(Pack([place], len(prompt) - 1))
            tokens = len(prompt) + branches
        last = prompt
    return found


class _Laid(NamedTuple):
    """A tree behind a root, and for each choice and answer where its log-probability is read: places and tokens."""

    tree: Tree
    steps: list[list[tuple[tuple[int, int], ...]]]


def laid_out(choices: Sequence[Parts], root: int) -> _Laid:
    """Lay choices out as one tree behind their first ``root`` tokens."""
    steps: list[list[tuple[tuple[int, int], ...]]] = [[() for _ in parts.answers] for parts in choices]
    ways = [
        (parts.common[root:] + answer[:-1], row, number)
        for row, parts in enumerate(choices)
        for number, answer in enumerate(parts.answers)
        if answer
    ]
    tree = Tree()
    for way, row, number in sorted(ways):
        places = tree.add(way)[len(choices[row].common) - root - 1 :]
        steps[row][number] = tuple(zip(places, choices[row].answers[number], strict=True))
    return _Laid(tree, steps)


def read_packs(model: Any, choices: Sequence[Parts], most: int, chunk: int) -> Iterator[tuple[int, list[float]]]:
    """Yield the place of every choice with the log-probabilities of its answers, pack by pack.

    Args:
        model: Where ``Reading.is_plain`` holds.
        choices: What is asked.
        most: Tokens of a pack behind its root.
        chunk: Tokens of a root that are read at a time.
    """
    reading = Reading(model)
    known: tuple[int, ...] = ()
    for pack in packs(choices, most):
        first = choices[pack.places[0]].common
        kept = shared_tokens(known, first[: pack.root])
        kept = kept if kept >= WORTH_SHARING else 0
        reading = reading.beginning(0, kept, 1) if kept else Reading(model)
        known = first[: pack.root]
        if len(known) > kept:
            reading.read([known[kept:]], chunk)
        own = [choices[place] for place in pack.places]
        yield from zip(pack.places, _read(reading, laid_out(own, pack.root)), strict=True)


def _read(root: Reading, laid: _Laid) -> list[list[float]]:
    """Return the log-probability of every answer of every choice, in one pass behind what was read."""
    places = sorted({place for choice in laid.steps for answer in choice for place, _ in answer})
    if not places:
        return [[0.0 for _ in choice] for choice in laid.steps]
    rows = {place: row for row, place in enumerate(places)}
    pairs = [(rows[place], token) for choice in laid.steps for answer in choice for place, token in answer]
    logits = root.branched(laid.tree.tokens, laid.tree.depths, laid.tree.ends, places)
    at, tokens = (torch.tensor(part, device=logits.device) for part in zip(*pairs, strict=True))
    each = iter((logits[at, tokens].double() - logits.logsumexp(-1).double()[at]).tolist())
    return [[sum(next(each) for _ in answer) for answer in choice] for choice in laid.steps]


def close(found: Sequence[Sequence[float]], wanted: Sequence[Sequence[float]], dtype: torch.dtype) -> bool:
    """Tell whether log-probabilities are the same but for what the dtype cannot hold."""
    most = max(abs(one - other) for row in zip(found, wanted, strict=True) for one, other in zip(*row, strict=True))
    return most <= (_CLOSE if dtype in (torch.float32, torch.float64) else _CLOSE_COARSE)
