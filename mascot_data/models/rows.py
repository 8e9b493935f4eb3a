"""Rows of tokens that a local model has read, side by side, with the cache that lets it go on."""

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

SPARE = 64
"""Tokens for which a cache has room beyond those in it."""

Prompt = Sequence[int]


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """A layer of a cache with room for tokens to come: a step writes its own token and copies nothing else."""

    def __init__(self, keys: Tensor | None = None, values: Tensor | None = None, length: int = 0) -> None:
        """Begin empty, or with tensors that hold ``length`` tokens and perhaps room for more."""
        super().__init__()
        self._rooms: list[Tensor] = []
        if keys is not None and values is not None:
            self.lazy_initialization(keys, values)
            self._rooms = [keys, values]
            self.keys, self.values = keys[..., :length, :], values[..., :length, :]

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new tokens, and return those of all tokens."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if not self._rooms or end > self._rooms[0].shape[-2]:
            pairs = ((self.keys, key_states), (self.values, value_states))
            self._rooms = [_moved(old, new, start, end + SPARE) for old, new in pairs]
        for room, new in zip(self._rooms, (key_states, value_states), strict=True):
            room[..., start:end, :] = new
        self.keys, self.values = (room[..., :end, :] for room in self._rooms)
        return self.keys, self.values

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Take these rows, in this order; a row can be taken several times."""
        super().reorder_cache(beam_idx)
        self._rooms = []

    def beginning(self, row: int, length: int, rows: int) -> "RoomyLayer":
        """Return a layer of ``rows`` rows that all begin with the first tokens of one row of this one."""
        layer = RoomyLayer()
        layer.lazy_initialization(self.keys, self.values)
        layer.keys, layer.values = (
            part[row : row + 1, :, :length].expand(rows, -1, -1, -1) for part in (self.keys, self.values)
        )
        return layer


def _moved(old: Tensor, new: Tensor, length: int, size: int) -> Tensor:
    room = new.new_empty((*new.shape[:-2], size, new.shape[-1]))
    if length:
        room[..., :length, :] = old
    return room


class Reading:
    """Rows that a model has read, with its cache; ``logits`` (float32) are those of each row's next token."""

    logits: Tensor

    def __init__(self, model: Any, layers: list[Any] | None = None, mask: Tensor | None = None) -> None:
        """Begin with nothing, or where others left off: their layers, and which of their tokens are real."""
        self._model = model
        self._cache = DynamicCache(config=model.config)
        fresh = (RoomyLayer() if type(layer) is DynamicLayer else layer for layer in self._cache.layers)
        self._cache.layers[:] = fresh if layers is None else layers
        self.mask = torch.ones((1, 0), dtype=torch.long, device=model.device) if mask is None else mask

    @property
    def layers(self) -> list[Any]:
        """The layers of the cache."""
        return list(self._cache.layers)

    @property
    def is_plain(self) -> bool:
        """Whether every layer keeps every token, so that rows can be cut, shared and joined."""
        return all(type(layer) is RoomyLayer for layer in self._cache.layers)

    def beginning(self, row: int, length: int, rows: int) -> "Reading":
        """Return a reading of ``rows`` rows that begin with the first tokens of a row without padding."""
        layers = [layer.beginning(row, length, rows) for layer in self._cache.layers]
        return Reading(self._model, layers, self.mask.new_ones((rows, length)))

    def read(self, rows: Sequence[Prompt], chunk: int) -> Self:
        """Read on in every row, at most about ``chunk`` tokens at a time; shorter rows are padded on the left."""
        tokens, mask = (part.to(self._model.device) for part in _padded(rows))
        width = max(1, chunk // len(rows))
        for start in range(0, tokens.shape[1], width):
            part = slice(start, start + width)
            self.logits = self._forward(tokens[:, part], mask[:, part], 1)[:, -1]
        return self

    def take(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; a row can be taken several times."""
        if list(rows) != list(range(len(self.mask))):
            index = torch.tensor(rows, device=self._model.device)
            self._cache.reorder_cache(index)
            self.mask, self.logits = self.mask[index], self.logits[index]

    def step(self, tokens: Tensor) -> None:
        """Read one more token in every row."""
        self.logits = self.ahead(tokens[:, None])[:, -1]

    def ahead(self, tokens: Tensor) -> Tensor:
        """Read several more tokens in every row and return the logits (float32) after each of them."""
        return self._forward(tokens, torch.ones_like(tokens), 0)

    def branched(self, tokens: Prompt, depths: Sequence[int], ends: Sequence[int], places: Sequence[int]) -> Tensor:
        """Read a tree behind what was read (one row without padding), and return the logits (float32) at places of it.

        ``depths`` are the tokens' distances from the root, ``ends`` where the subtree of each token is over. A token
        sees all that was read and the tokens in whose subtrees it is. Nothing else can be read afterwards.
        """
        device, known = self._model.device, self.mask.shape[1]
        order, until = torch.arange(len(tokens), device=device), torch.tensor(ends, device=device)
        hidden = (order[None, :] > order[:, None]) | (order[:, None] >= until[None, :])
        mask = torch.zeros((len(tokens), known + len(tokens)), dtype=self._model.dtype, device=device)
        mask[:, known:].masked_fill_(hidden, torch.finfo(mask.dtype).min)
        found = self._model(
            input_ids=torch.tensor([list(tokens)], device=device),
            attention_mask=mask[None, None],
            position_ids=known + torch.tensor([list(depths)], device=device),
            cache=self._cache,
            use_cache=True,
            logits_to_keep=torch.tensor(places, device=device),
        )
        logits: Tensor = found.logits[0].float()
        return logits

    def _forward(self, tokens: Tensor, mask: Tensor, kept: int) -> Tensor:
        read = self.mask.sum(1, keepdim=True).expand(len(tokens), 1)
        self.mask = torch.cat([self.mask.expand(len(tokens), -1), mask], dim=1)
        found = self._model(
            input_ids=tokens,
            attention_mask=self.mask,
            position_ids=(read + mask.cumsum(1) - 1).clamp(min=0),
            cache=self._cache,
            use_cache=True,
            logits_to_keep=kept,
        )
        logits: Tensor = found.logits.float()
        return logits


def _padded(rows: Sequence[Prompt]) -> tuple[Tensor, Tensor]:
    """Return tokens and mask, padded on the left to the longest row."""
    width = max(map(len, rows))
    tokens = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    return tokens, mask
