"""One resumable, verified HTTP transfer, and how its progress is shown.

The modules for HTTP and for the bar take a while to import; they are imported when a transfer starts.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mascot_data.errors import DownloadError
from mascot_data.sources.releases import ReleaseFile, content_digest, matched_digest

if TYPE_CHECKING:
    from requests import RequestException, Response, Session
    from rich.console import Console
    from rich.progress import Progress

CHUNK_BYTES = 64 * 2**10
_WAY_OUT = "give the files with --input DIR, or try --sample"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to bear with a server; all times in seconds.

    ``attempts`` is the number of requests for a file before giving up; ``backoff`` the wait after the first failure,
    doubled after each; ``longest_wait`` bounds that and what a server asks for in ``Retry-After``; ``connect`` and
    ``read`` are the timeouts for the connection and for a silent server.
    """

    attempts: int = 5
    backoff: float = 1.0
    longest_wait: float = 60.0
    connect: float = 10.0
    read: float = 30.0


PATIENCE = Patience()


class Watch:
    """Tells the user how a download goes; without a console, nothing."""

    def __init__(self, console: "Console | None" = None, bar: "Progress | None" = None) -> None:
        self._console, self._bar = console, bar

    def say(self, line: str) -> None:
        """Write a line."""
        if self._console:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def at(self, name: str, done: int, total: int | None) -> None:
        """Move the bar of a file to ``done`` of ``total`` bytes; None when the server does not say how many."""
        if not self._bar:
            return
        for task in self._bar.tasks:
            if task.description == name:
                self._bar.update(task.id, completed=done, total=total)
                return
        self._bar.add_task(name, completed=done, total=total)


@contextmanager
def watching(progress: bool) -> Iterator[Watch]:
    """Yield what tells the user about downloads on standard error: a bar on a terminal, lines elsewhere, or nothing."""
    if not progress:
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Watch(console)
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        yield Watch(console, bar)


class _DroppedError(Exception):
    """A failure that may pass; ``wait`` is what the server asks for, ``reached`` whether there was one."""

    def __init__(self, why: str, wait: float | None = None, reached: bool = True) -> None:
        super().__init__(why)
        self.wait = wait
        self.reached = reached


class Transfer:
    """Brings the part file of one download to its full, verified content.

    Its caller makes sure that nobody else writes to the part.
    """

    def __init__(self, file: ReleaseFile, part: Path, max_bytes: int, patience: Patience, watch: Watch) -> None:
        self.file, self.part, self.max_bytes, self.patience, self.watch = file, part, max_bytes, patience, watch
        # Only for retries: over a restart the pinned digest tells whether the old part fits.
        self.etag: str | None = None

    def run(self) -> None:
        """Download what is missing of the part, again from the start when that does not give the pinned content.

        Raises:
            DownloadError: the server cannot be reached, fails, or sends something else.
            OSError: the part cannot be written.
        """
        resumed = self._size() > 0
        matched = matched_digest(self.file, self.part) if resumed else None
        matched = matched or self._pull()
        if matched is None and resumed:  # the old part may be of something else
            self.part.unlink()
            matched = self._pull()
        if matched is None:
            raise self._mismatch()
        self.watch.say(f"{self.file.name}: {self._size() / 1e6:.1f} MB, verified ({matched})")

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _pull(self) -> str | None:
        import requests

        self.watch.say(f"downloading {self.file.name} from {self.file.url}")
        with requests.Session() as session:
            for attempt in range(1, self.patience.attempts + 1):
                try:
                    self._request(session)
                    break
                except _DroppedError as error:
                    self._wait_or_give_up(error, attempt)
        return matched_digest(self.file, self.part)

    def _wait_or_give_up(self, error: _DroppedError, attempt: int) -> None:
        if attempt >= self.patience.attempts or (attempt == 1 and not error.reached):
            again = " run again to continue," if self._size() else ""
            raise DownloadError(f"could not download {self.file.name} ({error}):{again} {_WAY_OUT}") from error
        wait = self.patience.backoff * 2 ** (attempt - 1) if error.wait is None else error.wait
        wait = min(wait, self.patience.longest_wait)
        self.watch.say(f"{self.file.name}: {error}, next attempt in {wait:.0f} s")
        time.sleep(wait)

    def _request(self, session: "Session") -> None:
        import requests
        import urllib3

        offset = self._size()
        # Compressed on the way, a byte range would not be one of the file.
        headers = {"Accept-Encoding": "identity", "User-Agent": "mascot-data"}
        if offset:
            headers |= {"Range": f"bytes={offset}-"} | ({"If-Range": self.etag} if self.etag else {})
        timeout = (self.patience.connect, self.patience.read)
        try:
            with session.get(self.file.url, headers=headers, stream=True, timeout=timeout) as response:
                self._take(response, offset)
        except requests.RequestException as error:
            raise self._as_ours(error) from error
        except urllib3.exceptions.HTTPError as error:
            raise _DroppedError("the connection broke") from error

    def _as_ours(self, error: "RequestException") -> Exception:
        import requests
        import urllib3

        reason = getattr(error.args[0], "reason", None) if error.args else None
        if isinstance(error, requests.exceptions.SSLError):
            return _DroppedError("no secure connection", reached=False)
        if isinstance(error, requests.exceptions.ConnectTimeout | requests.exceptions.ProxyError):
            return _DroppedError("no connection", reached=False)
        if isinstance(reason, urllib3.exceptions.NewConnectionError):
            return _DroppedError("no connection", reached=False)
        if isinstance(error, requests.ConnectionError | requests.Timeout):
            return _DroppedError("the connection broke")
        return self._refused(str(error))

    def _take(self, response: "Response", offset: int) -> None:
        status = response.status_code
        starts = response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
        if status == 416 or (status == 206 and not starts):
            self.part.unlink(missing_ok=True)
            raise _DroppedError("the server cannot continue the download", wait=0.0)
        if status == 429 or status >= 500:
            wait = _retry_after(response.headers.get("Retry-After"))
            raise _DroppedError(f"the server answers {status} {response.reason}", wait)
        if status not in (200, 206):
            raise self._refused(f"{self.file.url} answers {status} {response.reason}")
        etag = response.headers.get("ETag", "")
        self.etag = etag if etag.startswith('"') else None  # a weak one is not allowed in If-Range
        self._store(response, offset if status == 206 else 0)

    def _store(self, response: "Response", done: int) -> None:
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else None
        self._check_size(total or 0)
        with self.part.open("ab" if done else "wb") as out:
            for chunk in response.raw.stream(CHUNK_BYTES, decode_content=False):
                done += len(chunk)
                self._check_size(done)
                out.write(chunk)
                self.watch.at(self.file.name, done, total)

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            self.part.unlink(missing_ok=True)
            raise self._refused(f"{self.file.url} sends more than {self.max_bytes:,} bytes, which is not the release")

    def _refused(self, why: str) -> DownloadError:
        return DownloadError(f"could not download {self.file.name} ({why}): {_WAY_OUT}")

    def _mismatch(self) -> DownloadError:
        got = content_digest(self.file, self.part)
        self.part.unlink()
        expected = " or ".join(f"{digest} ({name})" for name, digest in self.file.digests.items())
        what = f"{self.file.url} is not the pinned {self.file.name} and was removed (expected {expected}, got {got})"
        return DownloadError(f"{what}: try again later, {_WAY_OUT}")


def _retry_after(value: str | None) -> float | None:
    import urllib3

    try:
        return urllib3.Retry().parse_retry_after(value) if value else None
    except urllib3.exceptions.InvalidHeader:
        return None
