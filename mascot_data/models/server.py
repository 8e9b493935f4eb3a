"""A chat model on any OpenAI-compatible server.

One request for each seed: what a run has got is not asked for again, and a server with a prefix cache computes the
prompt once. What a server can do beyond the common protocol is found out once, from what it tells about itself:

- vLLM goes on from a given beginning, and tells exact chances, token by token (``exact``).
- ``transformers serve`` tells chances through ``/v1/systemone``, on a prompt that it writes itself. It gets one request
  at a time: its seed belongs to the process.
- Any other tells chances of answers of one character each, by its likeliest first tokens; of longer answers it gives
  the likeliest one, which counts as certain. It cannot go on from a given beginning.

Fields that a server refuses (``seed``, ``logprobs``, …) are left out from then on.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self
from urllib.parse import urlsplit

from mascot_data.build.views import estimate_tokens
from mascot_data.errors import ModelError
from mascot_data.models import bodies
from mascot_data.models.batch_api import Batches
from mascot_data.models.bodies import Dialect
from mascot_data.models.calls import Caller, Waits
from mascot_data.models.chat import Answer, Ask, Chances, Choice, Failure, Message, ModelInfo, Usage
from mascot_data.models.client import api_key
from mascot_data.models.loop import Loop, gather
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.questions import Questions, Server
from mascot_data.models.replies import shown

_DAY = 86_400.0
_ATTEMPTS = 3
_TEMPLATE_TOKENS = 4


def connect(parsed: ModelName, options: ModelOptions, waits: Waits | None = None) -> "ServerModel":
    """Connect to the server of a name; ``waits`` is how long is waited between attempts.

    Raises:
        ModelError: the server cannot be reached, or does not accept the key.
    """
    url = parsed.url or ""
    base = url if urlsplit(url).path.strip("/") else f"{url}/v1"
    return ServerModel(parsed.name, base, api_key(), options, waits=waits)


class ServerModel:
    """A model on a server; see ``ChatModel`` for what its methods do. Use as a context manager.

    Args:
        name: What the server calls the model.
        url: Base of the protocol's routes, with ``/v1``.
        key: The API key.
        options: See ``ModelOptions``.
        info: What the model is, where that is known better than the server tells it.
        waits: How long is waited between attempts.
        lost: Tells why a server whose connection broke cannot come back; None: it may.

    Raises:
        ModelError: the server cannot be reached, or does not accept the key.
    """

    def __init__(
        self,
        name: str,
        url: str,
        key: str,
        options: ModelOptions,
        *,
        info: ModelInfo | None = None,
        waits: Waits | None = None,
        lost: Callable[[], str | None] | None = None,
    ) -> None:
        self._options, self._waits = options, waits or Waits()
        self._caller = Caller(url, key, options, self._waits, lost)
        self._loop = Loop()
        try:
            told, self._server = self._loop.run(_meet(self._caller, name, url.removesuffix("/v1")))
        except BaseException:
            self.close()
            raise
        if self._server.dialect == "transformers":
            self._caller.limit(1)
        self._questions = Questions(self._caller, self._server)
        self._info = info or ModelInfo(name, _revision(told), "openai", "")
        length = told.get("max_model_len")
        self._context = length if isinstance(length, int) and length > 0 else None

    @property
    def url(self) -> str:
        """Base of the protocol's routes on the server."""
        return self._caller.url

    @property
    def info(self) -> ModelInfo:
        """What the model is; ``revision`` is where the server has it from or when it was made, if the server tells."""
        return self._info

    @property
    def context_tokens(self) -> int | None:
        """Most tokens of prompt and answer together; vLLM tells."""
        return self._context

    @property
    def usage(self) -> Usage:
        """What was asked so far: all requests, also those that ask the server what it is."""
        return self._caller.ledger.usage

    def count_tokens(self, messages: Sequence[Message], prefix: str = "") -> int:
        """Count the tokens of a prompt: exactly on vLLM, elsewhere at four characters a token."""
        if self._server.dialect == "vllm":
            found = self._loop.run(self._questions.count(messages, prefix))
            if not isinstance(found, Failure):
                return found
        texts = [content for _, content in messages]
        return sum(estimate_tokens(text) + _TEMPLATE_TOKENS for text in texts) + (
            estimate_tokens(prefix) if prefix else 0
        )

    def batches(self, questions: Sequence[Ask | Choice]) -> list[list[int]]:
        """Part questions into batches that keep the server busy; like prompts go together. The Batch API gets all."""
        places: dict[tuple[bool, tuple[Message, ...]], list[int]] = {}
        for index, question in enumerate(questions):
            places.setdefault((isinstance(question, Choice), question.messages), []).append(index)
        most = len(questions) if self._options.batch_api else 4 * self._options.concurrency
        found: list[list[int]] = []
        for is_choice in (False, True):
            ordered = [index for key, part in places.items() if key[0] is is_choice for index in part]
            found += [ordered[start : start + most] for start in range(0, len(ordered), most)]
        return found

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer one batch, in its order."""
        if self._options.batch_api:
            return self._loop.run(self._batches().sample(asks))
        return self._loop.run(gather(self._questions.sample(ask) for ask in asks))

    def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
        """Answer one batch, in its order."""
        if self._options.batch_api:
            return self._loop.run(self._batches().choose(choices))
        return self._loop.run(gather(self._questions.choose(choice) for choice in choices))

    def _batches(self) -> Batches:
        return Batches(self._caller, self._questions, self._server.model, self._options, self._waits)

    def close(self) -> None:
        """Close all connections, and end what is still under way."""
        self._loop.close(self._caller.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _meet(caller: Caller, name: str, root: str) -> tuple[Mapping[str, Any], Server]:
    """Ask a server for its models and its routes: what it tells about the model, and what it can do."""
    models = await caller.get("/models", _ATTEMPTS)
    if isinstance(models, Failure) and models.reason in ("connection", "timeout"):
        raise ModelError(f"the model {name} cannot be reached: {models.what}")
    data = models.get("data") if isinstance(models, dict) else None
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    routes = await _routes(caller, root)
    is_vllm = any(entry.get("owned_by") == "vllm" for entry in entries) and await _tokenizes(caller, name, root)
    dialect: Dialect = "vllm" if is_vllm else "transformers" if "/load_model" in routes else "plain"
    told = next((entry for entry in entries if entry.get("id") == name), {})
    return told, Server(name, root, dialect, "/v1/systemone" in routes)


async def _tokenizes(caller: Caller, name: str, root: str) -> bool:
    """Tell whether vLLM's own routes can be reached; a gateway may hide them."""
    try:
        found = await caller.post(f"{root}/tokenize", bodies.tokenize_text_body(name, "a"), optional=True, attempts=1)
    except ModelError:
        return False
    return isinstance(found, dict) and isinstance(found.get("tokens"), list)


async def _routes(caller: Caller, root: str) -> set[str]:
    """Return the routes of a server that describes itself, as those of vLLM and ``transformers serve`` do."""
    try:
        described = await caller.get(f"{root}/openapi.json", 1)
    except ModelError:  # a vendor's front door may send such a request anywhere
        return set()
    paths = described.get("paths") if isinstance(described, dict) else None
    return set(paths) if isinstance(paths, dict) else set()


def _revision(told: Mapping[str, Any]) -> str:
    """Return what tells one state of a model from another: where it is from, or when it was made.

    Some servers give the present moment as the date of a model; that tells nothing. Of a path only the end is kept.
    """
    root, created = told.get("root"), told.get("created")
    if isinstance(root, str) and root and root != told.get("id"):
        return shown(root.rstrip("/").rpartition("/")[2] if root.startswith("/") else root)
    is_date = isinstance(created, int) and 0 < created < time.time() - _DAY
    return f"created {created}" if is_date else ""
