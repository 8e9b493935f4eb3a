"""Model directories: where a name's files are, what identifies them, and loading them without running foreign code."""

import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from huggingface_hub import errors as hub_errors
from huggingface_hub import snapshot_download
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from mascot_data.errors import ModelError
from mascot_data.models.options import ModelOptions

_WANTED = ("*.json", "*.jinja", "*.safetensors", "*.model", "*.txt")
_UNWANTED = ("*/*", "consolidated*")  # other formats of the same weights
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


class Checkpoint(NamedTuple):
    """A loaded model with its tokenizer."""

    model: Any
    tokenizer: Any


def snapshot(name: str, revision: str | None) -> tuple[Path, str]:
    """Return the local directory of a repository of the Hub, and its commit; downloads what is missing.

    Raises:
        ModelError: there is no such repository or revision, it may not be read, or the Hub cannot be reached.
    """
    shown = f"{name}@{revision}" if revision else name
    try:
        with nullcontext() if sys.stderr.isatty() else quiet():
            found = snapshot_download(
                name, revision=revision, allow_patterns=list(_WANTED), ignore_patterns=list(_UNWANTED)
            )
    except hub_errors.GatedRepoError as error:
        raise ModelError(f"{shown}: its owner has to grant access on the Hub; then set HF_TOKEN") from error
    except hub_errors.RevisionNotFoundError as error:
        raise ModelError(f"{shown}: the repository has no such revision") from error
    except hub_errors.RepositoryNotFoundError as error:
        raise ModelError(f"{shown}: the Hub has no such model, or it is private and HF_TOKEN is not set") from error
    except (hub_errors.HfHubHTTPError, hub_errors.LocalEntryNotFoundError, OSError, ValueError) as error:
        raise ModelError(
            f"{shown}: it is not in the local cache and the Hub cannot be reached ({_first_sentence(error)})"
        ) from error
    return Path(found), Path(found).name


def digest(directory: Path) -> str:
    """Return what identifies the files of a model directory: 16 hex digits over weights, config and tokenizer."""
    total = hashlib.sha256()
    for path in _files(directory, _WANTED):
        with path.open("rb") as stream:
            total.update(f"{path.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def check(directory: Path, name: str) -> None:
    """Raise a ModelError unless a directory has a config and weights as safetensors."""
    if not directory.is_dir():
        raise ModelError(f"{name}: there is no such directory")
    if not (directory / "config.json").is_file():
        raise ModelError(f"{name}: there is no config.json, so this is no model in the format of transformers")
    if not _files(directory, ("*.safetensors",)):
        found = "only pickled weights, which can run code" if _files(directory, _PICKLES) else "no weights"
        raise ModelError(f"{name}: there are {found}; save the model with  save_pretrained  as safetensors")


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


def _files(directory: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in directory.glob(pattern) if path.is_file()})
