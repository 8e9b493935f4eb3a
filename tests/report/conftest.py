"""The slow measures are taken once of the same texts: the tests here make some sixty reports of three datasets."""

from collections.abc import Callable, Sequence
from functools import cache

import pytest

from mascot_data.stats import blocks
from mascot_data.stats.embedding import Vectors, load_embedder
from mascot_data.stats.separability import Separability, separability

Texts = tuple[str, ...]


@cache
def _separability(texts: Texts, personas: Texts, dialogues: Texts, names: Texts, seed: int) -> Separability:
    return separability(texts, personas, dialogues, names=names, seed=seed)


@cache
def _vectors(texts: Texts) -> Vectors:
    return load_embedder()(texts)


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    def remembered(*texts: Sequence[str], names: Sequence[str], seed: int) -> Separability:
        return _separability(*map(tuple, texts), tuple(names), seed)

    def embedder() -> Callable[[Sequence[str]], Vectors]:
        load_embedder()
        return lambda texts: _vectors(tuple(texts))

    monkeypatch.setattr(blocks, "separability", remembered)
    monkeypatch.setattr(blocks, "load_embedder", embedder)
