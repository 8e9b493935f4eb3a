"""The client of the ``openai`` package, bound: no redirects, no retries of its own, no answers of any size.

Importing this module needs the package.
"""

import os
import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from mascot_data.errors import ModelError, PrerequisiteError
from mascot_data.models.faults import NO_KEY

try:
    import httpx2
    import openai
except ImportError as error:
    raise PrerequisiteError("a model on a server", "openai") from error

__all__ = ["MOST_BYTES", "MOST_FILE_BYTES", "UnreadableError", "api_key", "httpx2", "new_client", "openai"]

MOST_BYTES = 32 * 1024 * 1024
"""Size of the largest answer that is read."""

MOST_FILE_BYTES = 2 * 1024**3
"""Size of the largest file that is downloaded."""


def api_key() -> str:
    """Return the key of ``OPENAI_API_KEY``, or ``-``.

    Raises:
        ModelError: it holds what cannot be sent.
    """
    key = os.environ.get("OPENAI_API_KEY", "").strip() or NO_KEY
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ModelError("OPENAI_API_KEY holds characters that no key has: set it again")
    return key


def new_client(url: str, key: str, timeout: float) -> openai.AsyncOpenAI:
    """Return a client for a server; ``timeout`` is in seconds."""
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=timeout,
        default_headers={"Accept-Encoding": "identity"},
        http_client=openai.DefaultAsyncHttpxClient(
            # A redirect would hand prompts to a host that nobody named.
            follow_redirects=False,
            trust_env=urlsplit(url).hostname not in ("127.0.0.1", "localhost", "::1"),
            event_hooks={"response": [_bound]},
            timeout=timeout,
        ),
    )


class UnreadableError(Exception):
    """A body that is not read."""


class _Bounded(httpx2.AsyncByteStream):  # type: ignore[misc]  # mypy sees no type in it
    """A body that must not grow beyond a bound."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream, self._left = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._left -= len(part)
            if self._left < 0:
                raise UnreadableError("the server's answer is too large to be one")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Bound an answer's size. One that is compressed, though nobody asked for it, could hide any size."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnreadableError("the server's answer is compressed, which was not asked for")
    most = MOST_FILE_BYTES if response.request.url.path.endswith("/content") else MOST_BYTES
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, most)
