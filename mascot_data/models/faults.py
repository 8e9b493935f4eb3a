"""What a server's error means: whether it can pass, concerns one question, or all of them. Pure functions."""

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import NamedTuple

from mascot_data.errors import ModelError
from mascot_data.models.chat import Failure, Reason
from mascot_data.models.replies import error_in, parse, shown

NO_KEY = "-"
"""Stands for no key; servers on the own machine need none."""

_TOO_LONG = re.compile(
    r"context.{0,30}(length|window|size|limit)|(maximum|max).{0,20}(model|sequence|input) len|max_model_len|"
    r"(prompt|input|request).{0,30}too (long|large|many tokens)",
    re.IGNORECASE,
)
_FOR_ALL = (401, 402, 403, 404, 405)
_REASONS: dict[int, Reason] = {408: "timeout", 429: "rate-limit"}


class Refusal(NamedTuple):
    """A 400 or 422: the server does not take this body. ``param`` is the field it names."""

    status: int
    param: str
    what: str

    @property
    def failure(self) -> Failure:
        """The refusal as the outcome of a question."""
        return Failure("http-error", f"the server refused the request ({self.status}): {self.what}")


class Passing(NamedTuple):
    """An error that can pass; ``wait`` is how many seconds the server asks to wait.

    ``unknown``: the server may have done its work, and count it, all the same.
    """

    reason: Reason
    what: str
    wait: float | None = None
    unknown: bool = False


class Answered(NamedTuple):
    """An answer that is no success."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def fault(url: str, key: str, answer: Answered, *, optional: bool) -> Failure | Refusal | Passing:
    """Say what an error means for the question that it answers; a route that is ``optional`` may be missing.

    Raises:
        ModelError: no other question can be answered either.
    """
    status, headers, content = answer
    message, code, param = error_in(parse(content))
    what = shown(message or content[:4000].decode(errors="replace"), key) or "no more is said"
    failure = Failure(_REASONS.get(status, "http-error"), f"the server answered {status}: {what}")
    if status == 429 and code == "insufficient_quota":
        raise ModelError(f"{url}: no credit is left for this key ({what})")
    if status in (408, 429) or (status >= 500 and status != 501):
        return Passing(*failure, _retry_after(headers))
    if status in (400, 413, 422) and (code == "context_length_exceeded" or _TOO_LONG.search(message)):
        return Failure("context-too-long", what)
    if status in (400, 422):
        return Refusal(status, param, what)
    if (300 <= status < 400 or status in _FOR_ALL) and not (optional and status in (404, 405)):
        raise ModelError(_for_all(url, key, answer, what))
    return failure


def _for_all(url: str, key: str, answer: Answered, what: str) -> str:
    if answer.status in (401, 403):
        told = "set OPENAI_API_KEY" if key == NO_KEY else "the key in OPENAI_API_KEY is not accepted"
        return f"{url} answered {answer.status}: {told} ({what})"
    if answer.status < 400:
        target = shown(answer.headers.get("location", "nowhere"), key)
        return f"{url} redirects to {target}: name that address if it is the one you mean"
    return f"{url} answered {answer.status}: is this the address, and the name of a model there? ({what})"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
