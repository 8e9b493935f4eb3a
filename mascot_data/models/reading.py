"""Prompts as a local model reads them: what begins alike is read once, and little padding is computed.

Prompts are read in the order of their tokens. Each goes on from what it shares with the one before: a persona card,
or a whole conversation up to the turn in question. Afterwards their caches are joined to one batch, in which shorter
rows have masked padding before their first token.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mascot_data.models.parting import shared_tokens
from mascot_data.models.rows import SPARE, Prompt, Reading, RoomyLayer

_WORTH_SHARING = 32

Move = tuple[list[int], list[int]]
"""To which rows, from which ones."""


class Readings:
    """All prompts of a batch, read; ``logits`` are those of each prompt's next token."""

    def __init__(self, model: Any, prompts: Sequence[Prompt], chunk: int) -> None:
        """Read prompts, none of them empty, about ``chunk`` tokens at a time."""
        self._model = model
        self._groups: list[Reading] = []
        self._places: dict[int, tuple[int, int]] = {}
        plain = Reading(model).is_plain
        last: Prompt = ()
        for number, group in enumerate(_grouped(prompts, chunk) if plain else [list(range(len(prompts)))]):
            rows = [prompts[place] for place in group]
            self._groups.append(self._read(rows, last, chunk) if plain else Reading(model).read(rows, chunk))
            self._places |= {place: (number, row) for row, place in enumerate(group)}
            last = max(rows, key=len)
            self._last_row = rows.index(last)
        order = [self._places[place] for place in range(len(prompts))]
        self.logits = torch.stack([self._groups[group].logits[row] for group, row in order])

    def _read(self, rows: Sequence[Prompt], last: Prompt, chunk: int) -> Reading:
        shared = min(_common(rows), min(map(len, rows)) - 1)
        known = min(_common([last, rows[0]]), shared)
        reading = Reading(self._model)
        if known >= _WORTH_SHARING:
            reading = self._groups[-1].beginning(self._last_row, known, 1)
        else:
            known = 0
        if len(rows) > 1 and shared - known >= _WORTH_SHARING:
            reading.read([rows[0][known:shared]], chunk)
            known = shared
        if len(rows) > 1 and known:
            reading = reading.beginning(0, known, len(rows))
        return reading.read([row[known:] for row in rows], chunk)

    def joined(self, places: Sequence[int]) -> Reading:
        """Return one batch with a row for each of these prompts; a prompt can have several rows."""
        rows = [self._places[place] for place in places]
        if len(self._groups) == 1:
            self._groups[0].take([row for _, row in rows])
            return self._groups[0]
        width = max(group.mask.shape[1] for group in self._groups)
        moves: list[Move] = [([], []) for _ in self._groups]
        for to, (number, of) in enumerate(rows):
            moves[number][0].append(to)
            moves[number][1].append(of)
        layers = []
        for parts in zip(*(group.layers for group in self._groups), strict=True):
            keys = _joined([part.keys for part in parts], moves, width, SPARE)
            layers.append(RoomyLayer(keys, _joined([part.values for part in parts], moves, width, SPARE), width))
        masks = [group.mask[:, None, :, None] for group in self._groups]
        reading = Reading(self._model, layers, _joined(masks, moves, width, 0)[:, 0, :, 0])
        reading.logits = self.logits[list(places)]
        return reading


def _joined(parts: Sequence[Tensor], moves: Sequence[Move], width: int, spare: int) -> Tensor:
    """Return rows of tensors of different lengths as one, with zeros (nothing else is safe) as padding on the left."""
    _, heads, _, size = parts[0].shape
    room = parts[0].new_zeros((sum(len(to) for to, _ in moves), heads, width + spare, size))
    for part, (to, of) in zip(parts, moves, strict=True):
        room[to, :, width - part.shape[2] : width] = part[of]
    return room


def _grouped(prompts: Sequence[Prompt], chunk: int) -> list[list[int]]:
    """Part prompts, in the order of their tokens, into groups of at most ``chunk`` tokens, padding included."""
    groups: list[list[int]] = []
    longest = 0
    for place in sorted(range(len(prompts)), key=lambda place: tuple(prompts[place])):
        longest = max(longest, len(prompts[place]))
        if groups and longest * (len(groups[-1]) + 1) <= chunk:
            groups[-1].append(place)
        else:
            groups.append([place])
            longest = len(prompts[place])
    return groups


def _common(rows: Sequence[Prompt]) -> int:
    """Return how many first tokens rows share."""
    return shared_tokens(min(map(tuple, rows)), max(map(tuple, rows)))
