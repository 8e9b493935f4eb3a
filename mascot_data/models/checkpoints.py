"""Load model directories without running foreign code."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from mascot_data.errors import ModelError
from mascot_data.models.options import ModelOptions


class Checkpoint(NamedTuple):
    """A loaded model with its tokenizer."""

    model: Any
    tokenizer: Any


def open_checkpoint(directory: Path, name: str, options: ModelOptions, device: str) -> Checkpoint:
    """Load a checked directory onto a device, in the dtype of the options.

    Attention is torch's own (``sdpa``) where the architecture allows it, which is what transformers chooses by itself.

    Raises:
        ModelError: it needs code of its own, is broken, or does not fit on the device.
    """
    dtype = dtype_of(options, device)
    safely: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(directory, **safely)
            model, report = AutoModelForCausalLM.from_pretrained(
                directory,
                dtype=getattr(torch, dtype),
                use_safetensors=True,
                output_loading_info=True,
                **safely,
            )
            model = model.to(device).eval()
    except Exception as error:  # what transformers raises over a broken directory is of many types
        raise _unusable(name, device, error) from error
    if missing := sorted(report["missing_keys"]):
        raise ModelError(f"{name}: the weights lack {len(missing)} tensors, {missing[0]} for one")
    return Checkpoint(model, tokenizer)


def dtype_of(options: ModelOptions, device: str) -> str:
    """Return the dtype of the weights: the chosen one, or float32 on a CPU and bfloat16 elsewhere."""
    if options.dtype != "auto":
        return options.dtype
    return "float32" if torch.device(device).type == "cpu" else "bfloat16"


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens with which a message ends."""
    found = getattr(model.generation_config, "eos_token_id", None)
    known = found if isinstance(found, list) else [found]
    return frozenset(int(token) for token in (*known, tokenizer.eos_token_id) if token is not None)


def context_of(model: Any) -> int | None:
    """Return how many tokens a model takes at most; None where its config does not say."""
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else None


@contextmanager
def quiet() -> Iterator[None]:
    """Show no progress bars and no advice of the libraries meanwhile."""
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def _unusable(name: str, device: str, error: Exception) -> ModelError:
    if "trust_remote_code" in str(error):
        return ModelError(f"{name}: the model needs code of its own, which is never run; choose one transformers has")
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return ModelError(f"{name}: the model does not fit on {device}; choose a smaller one or --dtype bfloat16")
    return ModelError(f"{name}: the model cannot be loaded ({_first_sentence(error)})")


def _first_sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return re.split(r"(?<=[.;!?])\s", text)[0].rstrip(".")[:200]
