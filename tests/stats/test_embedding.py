"""The embedding model, beside a plain computation of what it should give."""

import json
import sys
from typing import Any

import numpy as np
import pytest

from mascot_data.errors import MascotError, PrerequisiteError
from mascot_data.models.embedded import embedding_directory
from mascot_data.stats.embedding import Embedder, MeanPooled, load_embedder

TEXTS = [
    "I could not sleep at all last night.",
    "Yes.",
    "",
    "The committee will meet again in March, and then the budget is due.",
    "Ich konnte die ganze Nacht nicht schlafen. 🙂",
    "I lay awake until the morning came.",
]


@pytest.fixture(scope="module")
def embed() -> Embedder:
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason="sentence embeddings need the extra [judge]")
    try:
        return load_embedder()
    except MascotError as error:
        pytest.skip(f"no embedding model: {error}")


def plainly(texts: list[str]) -> Any:
    """Embed one text at a time: no padding, float64, the forward pass written out from the weights."""
    import safetensors.numpy

    tokenizers: Any = pytest.importorskip("tokenizers", reason="sentence embeddings need the extra [judge]")
    folder = embedding_directory()
    config = json.loads((folder / "config.json").read_text("utf-8"))
    weights = {
        k: v.astype(np.float64)
        for k, v in safetensors.numpy.load_file(folder / "model.safetensors").items()
        if v.dtype.kind == "f"
    }
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return np.stack([_forward(tokenizer.encode(text).ids, weights, config) for text in texts])


def _forward(ids: list[int], w: dict[str, Any], config: dict[str, Any]) -> Any:
    def dense(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return (
            x / np.sqrt((x**2).mean(-1, keepdims=True) + config["layer_norm_eps"]) * w[f"{name}.weight"]
            + w[f"{name}.bias"]
        )

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    heads = config["num_attention_heads"]
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        q, k, v = (
            dense(x, f"{layer}.attention.self.{part}").reshape(len(ids), heads, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
        x = norm(x + dense(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        inner = dense(x, f"{layer}.intermediate.dense")
        inner = 0.5 * inner * (1 + _erf(inner / np.sqrt(2)))
        x = norm(x + dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def _erf(x: Any) -> Any:
    import math

    return np.vectorize(math.erf)(x)


def test_it_gives_what_the_weights_say(embed: Embedder) -> None:
    assert np.abs(embed(TEXTS) - plainly(TEXTS)).max() < 1e-5


def test_what_else_is_embedded_does_not_matter(embed: Embedder) -> None:
    together = embed(TEXTS)
    assert together.shape == (len(TEXTS), 384)
    assert np.abs(together - np.concatenate([embed([text]) for text in TEXTS])).max() < 1e-5
    assert np.abs(together[::-1] - embed(TEXTS[::-1])).max() < 1e-5
    assert np.abs(embed(TEXTS * 20)[-len(TEXTS) :] - together).max() < 1e-5
    assert embed([]).shape == (0, 384)


def test_vectors_have_length_one_and_meaning_is_near(embed: Embedder) -> None:
    vectors = embed(TEXTS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    cosines = vectors @ vectors.T
    assert cosines[0, 5] > 0.5 > cosines[0, 3]


def test_a_long_text_is_cut(embed: Embedder) -> None:
    assert np.abs(embed(["word " * 300]) - embed(["word " * 3000])).max() < 1e-5


def test_it_is_loaded_once_and_quietly(embed: Embedder, capfd: pytest.CaptureFixture[str]) -> None:
    assert load_embedder() is embed
    MeanPooled(embedding_directory())
    assert capfd.readouterr() == ("", "")


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    load_embedder.cache_clear()
    with pytest.raises(PrerequisiteError, match=r"sentence embeddings needs the extra \[judge\]"):
        load_embedder()
