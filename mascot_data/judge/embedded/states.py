"""What the small chat model makes of a text half way through its layers: one vector a text."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mascot_data.models.checkpoints import open_checkpoint
from mascot_data.models.embedded import CHAT, directory
from mascot_data.models.options import ModelOptions

Array = npt.NDArray[np.float32]

FIRST, LAST = 10, 15
"""Layers whose output is averaged; the later ones are never run."""
MOST_TOKENS = 256
"""Tokens of a text that are read."""

_BEFORE = "<|im_start|>assistant\n"
_BATCH_TOKENS = 2048


class Reader:
    """The first half of a chat model, on the CPU in float32.

    A text is read as a reply to nothing. Its vector is the mean of the layers ``FIRST`` to ``LAST`` over its tokens,
    the model's own beginning of a reply left out.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Take a loaded Llama-like model; it is cut down to the layers that are needed."""
        self._trunk, self._tokenizer = model.model, tokenizer
        self._trunk.layers = self._trunk.layers[:LAST]
        self._before = tokenizer.encode(_BEFORE, add_special_tokens=False)
        self._sum: Any = None
        for layer in self._trunk.layers[FIRST - 1 :]:
            layer.register_forward_hook(self._add)
        self.width = int(model.config.hidden_size)

    def _add(self, _: Any, __: Any, output: Any) -> None:
        self._sum = output if self._sum is None else self._sum + output

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return a row a text, in their order; texts of like length are read together."""
        tokens = [self._tokens(text) for text in texts]
        found = np.zeros((len(texts), self.width), np.float32)
        for batch in _batches([len(one) for one in tokens]):
            found[batch] = self._read([tokens[place] for place in batch])
        return found

    def _tokens(self, text: str) -> list[int]:
        # No text can pose as a control token; one without any token is read as a line break.
        own = self._tokenizer.encode(text or "\n", add_special_tokens=False, split_special_tokens=True)
        return [*self._before, *own[:MOST_TOKENS]]

    def _read(self, rows: Sequence[Sequence[int]]) -> Array:
        width = max(map(len, rows))
        tokens = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        self._sum = None
        with torch.inference_mode():
            self._trunk(input_ids=tokens, attention_mask=mask, use_cache=False)
            own = mask.clone()
            own[:, : len(self._before)] = 0
            pooled = (self._sum * own.unsqueeze(-1)).sum(1) / own.sum(1, keepdim=True) / (LAST - FIRST + 1)
        self._sum = None
        found: Array = pooled.numpy()
        return found


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Part places into batches of a bounded number of tokens, padding included, the longest first."""
    batches: list[list[int]] = []
    longest = 0
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if batches and longest * (len(batches[-1]) + 1) <= _BATCH_TOKENS:
            batches[-1].append(place)
        else:
            batches.append([place])
            longest = lengths[place]
    return batches


@cache
def load_reader() -> Reader:
    """Return the reader over the embedded model; loaded once, it stays in memory (about 350 MB).

    Raises:
        ModelError: the model is neither installed nor can it be fetched.
        OutputError: the cache for it cannot be written.
    """
    model, tokenizer = open_checkpoint(directory(), CHAT.name, ModelOptions(dtype="float32"), "cpu")
    return Reader(model, tokenizer)
