"""A local model with random weights of a given shape, measured against the bandwidth of the memory; see generate.py."""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from mascot_data.models import Ask, Sampling
from mascot_data.models.decoding import Engine
from mascot_data.models.devices import batch_tokens, chunk_tokens
from mascot_data.models.reading import Readings

SHAPES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4},
    "8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32},
}
WORDS = {"tiny": 512, "8b": 128256}
KEY_HEADS = {"tiny": 2, "8b": 8}


class _NoText:
    """Stands in for a tokenizer: tokens are counted, not read."""

    def inside(self, _: str) -> tuple[int, ...]:
        return ()

    def text(self, *_: Any) -> str:
        return ""


def saturate(options: argparse.Namespace) -> dict[str, Any]:
    """Measure random weights of a shape: tokens a second, and the share of what the memory's bandwidth allows.

    A step has to read all weights once and the keys and values of every row; nothing is faster than that.
    """
    model = _random_model(options.shape, options.device)
    budget = options.batch_tokens or batch_tokens(model, options.device)
    chunk = chunk_tokens(options.device)
    generator = torch.Generator().manual_seed(1)
    most = options.longest
    count = max(1, budget // ((most + options.max_tokens) * options.samples))
    lengths = torch.randint(most // 2, most + 1, (count,), generator=generator).tolist()
    encoded = [torch.randint(0, WORDS[options.shape], (length,), generator=generator).tolist() for length in lengths]
    asks = [Ask((), Sampling(max_tokens=options.max_tokens), tuple(range(options.samples))) for _ in encoded]
    engine = Engine(model, _NoText(), frozenset(), chunk)  # type: ignore[arg-type]
    engine.sample(asks, encoded)
    with torch.inference_mode():
        reading = _seconds(lambda: Readings(model, encoded, chunk), options.device)
    whole = _seconds(lambda: engine.sample(asks, encoded), options.device)
    rows, width = count * options.samples, sum(lengths) / count + options.max_tokens / 2
    steps = (whole - reading) / options.max_tokens
    limit = (model.get_memory_footprint() + rows * width * _token_bytes(model)) / options.bandwidth
    found = {
        "rows": rows,
        "read_tokens_per_second": sum(lengths) / reading,
        "tokens_per_second": rows * options.max_tokens / whole,
        "decoded_tokens_per_second": rows / steps,
        "share_of_bandwidth": limit / steps,
    }
    print(*(f"{name.replace('_', ' '):28}{value:.4g}" for name, value in found.items()), sep="\n")
    return found


def _random_model(shape: str, device: str) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": WORDS[shape], "num_key_value_heads": KEY_HEADS[shape], "max_position_embeddings": 8192}
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            return LlamaForCausalLM(LlamaConfig(**SHAPES[shape], **sizes)).eval()
    finally:
        torch.set_default_dtype(before)


def _token_bytes(model: Any) -> int:
    config = model.config
    return int(2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * model.dtype.itemsize)


def _seconds(work: Callable[[], object], device: str) -> float:
    times = []
    for _ in range(3):
        before = time.perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - before)
    return median(times)
