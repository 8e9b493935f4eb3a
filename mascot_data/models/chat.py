"""The one interface to a chat model: what is asked, what comes back, and how it fails.

A model is asked for samples (``Ask``) or for the log-probabilities of given answers (``Choice``). What goes wrong with
one question is a ``Failure`` in its place; it never harms the others. What makes the whole model unusable is a
``ModelError``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

Message = tuple[str, str]
"""Role (system, user or assistant) and content."""

Stop = Literal["stop", "length"]
"""Why a model stopped: it was done (or came to a stop string), or it had said ``max_tokens`` tokens."""

Reason = Literal[
    "context-too-long",
    "out-of-memory",
    "nan-logits",
    "template",
    "http-error",
    "rate-limit",
    "timeout",
    "connection",
    "garbage",
    "empty",
    "no-logprobs",
    "max-cost",
]
"""What can go wrong with one question."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample: softmax temperature (0: the likeliest token), nucleus mass (0 to 1], tokens at most, stop strings.

    A stop string ends the sample and is not part of it.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 128
    stop: tuple[str, ...] = ()


class Ask(NamedTuple):
    """Ask for ``len(seeds)`` samples of the next assistant message.

    ``prefix`` is how that message begins (empty: freely); samples do not repeat it. Each sample has a seed of its own,
    so that it does not depend on what else is asked.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    seeds: tuple[int, ...]
    prefix: str = ""


class Choice(NamedTuple):
    """Ask how likely each of several answers is as the next assistant message, after ``prefix`` and before ``suffix``.

    ``suffix`` is what must follow an answer (a closing quotation mark, say): it keeps an answer that begins another one
    apart from it. An answer's log-probability is the sum over its own tokens and the suffix's.
    """

    messages: tuple[Message, ...]
    answers: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""


class Sample(NamedTuple):
    """One sampled message.

    ``logprob`` is the sum of the log-probabilities (natural, at temperature 1, without the nucleus) of its tokens, the
    end-of-turn token included where it was sampled; None where the model does not tell. ``tokens`` and
    ``prompt_tokens`` are counts; ``prompt_tokens`` of an Ask are the same for each of its samples.
    """

    text: str
    finish_reason: Stop
    logprob: float | None
    tokens: int
    prompt_tokens: int


class Chances(NamedTuple):
    """Log-probability of every answer of a ``Choice``, in its order, as the model gives them.

    ``mass`` is the probability that the model gave to all of the answers together, 0 to 1; None where it is not known.
    """

    logprobs: tuple[float, ...]
    mass: float | None
    prompt_tokens: int


class Failure(NamedTuple):
    """Why there is no answer to a question; ``what`` is one sentence for a person."""

    reason: Reason
    what: str


Answer = list[Sample] | Failure
"""What an ``Ask`` gets."""


class ModelInfo(NamedTuple):
    """What a model is, as it is written to each row.

    ``revision`` is the commit on the Hub, a digest of the files for a directory, or what a server says (empty:
    nothing). ``dtype`` is that of the weights (empty for a server that does not tell).
    """

    name: str
    revision: str
    backend: Literal["transformers", "openai", "vllm"]
    dtype: str


class Usage(NamedTuple):
    """What was asked of a model so far: requests (retries included), tokens, and their price (0 without prices)."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


class ChatModel(Protocol):
    """A model to ask. Use it as a context manager: leaving it frees memory, processes and connections."""

    @property
    def info(self) -> ModelInfo:
        """What the model is."""

    @property
    def context_tokens(self) -> int | None:
        """Most tokens of prompt and answer together; None where it is not known."""

    @property
    def usage(self) -> Usage:
        """What was asked of it so far."""

    def count_tokens(self, messages: Sequence[Message], prefix: str = "") -> int:
        """Count the tokens of a prompt, as exactly as the backend can (a server: an estimate)."""

    def batches(self, questions: Sequence[Ask | Choice]) -> list[list[int]]:
        """Part questions (indices into them) into batches that are best asked together.

        The parting depends on the questions alone, so that a run that was killed asks the same batches again: numbers
        can differ in their last digits between batches of different make-up. A batch holds only Asks or only Choices.
        """

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer one batch, in its order."""

    def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
        """Answer one batch, in its order."""

    def __enter__(self) -> "ChatModel": ...

    def __exit__(self, *_: object) -> None: ...
