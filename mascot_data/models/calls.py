"""Requests to a server: one policy for what is repeated, and how fast requests go out.

The client's own retries are off. Repeated, with growing waits and as often as ``ModelOptions.attempts`` says: 408, 429
(the server's ``Retry-After`` is honoured), 5xx, broken connections and timeouts. Everything else is final.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from mascot_data.errors import ModelError
from mascot_data.models.bodies import Body
from mascot_data.models.chat import Failure
from mascot_data.models.client import UnreadableError, httpx2, new_client, openai
from mascot_data.models.faults import Answered, Passing, Refusal, fault
from mascot_data.models.options import ModelOptions
from mascot_data.models.replies import SECRET, parse, shown, tokens_used
from mascot_data.models.spending import Ledger, Tokens

NOTHING = Tokens()

Send = Callable[[], Awaitable[httpx2.Response]]
Reply = dict[str, Any] | Failure | Refusal


class Waits(NamedTuple):
    """Seconds: before the first repetition (the next one waits twice as long), at most, before a batch is looked at."""

    first: float = 0.5
    most: float = 60.0
    poll: float = 5.0


class Caller:
    """Makes the requests to one server. It belongs to one event loop: all its methods are called there.

    Args:
        url: Base of the protocol's routes, with ``/v1``.
        key: The API key.
        options: Concurrency, rate, timeout, attempts, prices.
        waits: How long is waited between attempts.
        lost: Tells why a server whose connection broke cannot come back; None: it may.
    """

    def __init__(
        self,
        url: str,
        key: str,
        options: ModelOptions,
        waits: Waits | None = None,
        lost: Callable[[], str | None] | None = None,
    ) -> None:
        self.url, self._key, self._options, self._lost = url, key, options, lost
        self._waits = waits or Waits()
        self.ledger = Ledger(options.prices, options.max_cost)
        self._slots = asyncio.Semaphore(options.concurrency)
        self._next = 0.0
        self._over: ModelError | None = None
        self._client = new_client(url, key, options.timeout)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def limit(self, concurrency: int) -> None:
        """Set how many requests may be under way at once from now on."""
        self._slots = asyncio.Semaphore(concurrency)

    async def get(self, path: str, attempts: int | None = None) -> Reply:
        """Fetch a JSON object; a route that is not there is a Failure."""
        return _json(await self._repeat(lambda: self._get(path), attempts=attempts, optional=True))

    async def download(self, path: str) -> bytes | Failure | Refusal:
        """Fetch a file."""
        return await self._repeat(lambda: self._get(path), optional=True, is_json=False)

    async def upload(self, path: str, fields: dict[str, str], name: str, content: bytes) -> Reply:
        """Send a file."""
        file = ("file", (name, content, "application/jsonl"))
        options: Any = {"headers": {"Content-Type": "multipart/form-data"}}
        return _json(
            await self._repeat(
                lambda: self._client.post(path, cast_to=httpx2.Response, body=fields, files=[file], options=options)
            )
        )

    async def post(
        self, path: str, body: Body, most: Tokens = NOTHING, *, optional: bool = False, attempts: int | None = None
    ) -> Reply:
        """Put a question; ``most`` is what it can use at most, ``optional`` that the route may be missing.

        Raises:
            ModelError: no other question can be answered either (key or model not accepted, a redirect, no credit).
        """
        return _json(
            await self._repeat(
                lambda: self._client.post(path, cast_to=httpx2.Response, body=body), most, attempts, optional=optional
            )
        )

    async def _get(self, path: str) -> httpx2.Response:
        return await self._client.get(path, cast_to=httpx2.Response)

    async def _repeat(
        self,
        send: Send,
        most: Tokens = NOTHING,
        attempts: int | None = None,
        *,
        optional: bool = False,
        is_json: bool = True,
    ) -> bytes | Failure | Refusal:
        attempts = attempts or self._options.attempts
        async with self._slots:
            for attempt in itertools.count(1):
                if self._over:
                    raise self._over
                if not await self.ledger.set_aside(most):
                    return Failure("max-cost", f"not asked: more than {self._options.max_cost:g} could be spent")
                found = await self._counted(send, most, optional=optional, is_json=is_json)
                if not isinstance(found, Passing):
                    return found
                if attempt == attempts:
                    return Failure(found.reason, f"{found.what} (tried {attempts} times)")
                await asyncio.sleep(self._wait(attempt, found.wait))
        raise AssertionError

    def _wait(self, attempt: int, asked: float | None) -> float:
        grown: float = self._waits.first * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311  # jitter, no secret
        if asked is not None:
            # Whoever else begins a request now would be turned away as well.
            self._next = max(self._next, time.monotonic() + min(asked, self._waits.most))
        return min(max(grown, asked or 0.0), self._waits.most)

    async def _turn(self) -> None:
        """Wait for the next moment at which the rate allows a request."""
        begin = max(self._next, now := time.monotonic())
        if self._options.requests_per_minute:
            self._next = begin + 60.0 / self._options.requests_per_minute
        await asyncio.sleep(begin - now)

    async def _counted(
        self, send: Send, most: Tokens, *, optional: bool, is_json: bool
    ) -> bytes | Failure | Refusal | Passing:
        """Make one request and enter it in the ledger."""
        used: Tokens | None = None
        sent = False
        try:
            await self._turn()
            sent = True
            found = await self._answer(send, optional=optional)
            if not isinstance(found, bytes):
                used = None if isinstance(found, Passing) and found.unknown else NOTHING
                return found
            value = parse(found) if is_json else {}
            if value is None:
                what = shown(found[:4000].decode(errors="replace"), self._key)
                return Failure("garbage", f"the server answered no JSON object: {what}")
            counted = tokens_used(value)
            used = Tokens(*counted) if counted else None
            return found
        finally:
            await self.ledger.settle(most, used, sent=sent)

    async def _answer(self, send: Send, *, optional: bool) -> bytes | Failure | Refusal | Passing:
        try:
            async with asyncio.timeout(self._options.timeout):
                return self._without_key((await send()).content)
        except openai.APIStatusError as error:
            return self._fault(error.response, optional=optional)
        except (openai.APITimeoutError, TimeoutError):
            return Passing("timeout", f"no answer from {self.url} within {self._options.timeout:g} s", unknown=True)
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            return self._broken(error)
        except UnreadableError as error:
            return Failure("garbage", str(error))

    def _without_key(self, content: bytes) -> bytes:
        """A server may say the key back anywhere."""
        return content.replace(self._key.encode(), b"***") if len(self._key) >= SECRET else content

    def _fault(self, bad: httpx2.Response, *, optional: bool) -> Failure | Refusal | Passing:
        try:
            return fault(self.url, self._key, Answered(bad.status_code, bad.headers, bad.content), optional=optional)
        except ModelError as error:
            self._over = None if optional else error
            raise error from None

    def _broken(self, error: Exception) -> Passing:
        if self._lost and (why := self._lost()):
            self._over = ModelError(why)
            raise self._over from None
        cause = error.__cause__ or error
        what = f"the connection to {self.url} failed: {shown(str(cause), self._key)}"
        return Passing("connection", what, unknown=not isinstance(cause, httpx2.ConnectError))


def _json(found: bytes | Failure | Refusal) -> Reply:
    return parse(found) or {} if isinstance(found, bytes) else found
