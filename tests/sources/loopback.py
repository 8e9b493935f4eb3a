"""A server on the loopback interface that answers as upstream servers do, and as they should not."""

import gzip
import hashlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

MAIN = bytes(i * i % 251 for i in range(300_000))
FAILED = b"[]\n"


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Seen(NamedTuple):
    """A request that reached the server."""

    name: str
    range: str | None
    if_range: str | None


class Origin(ThreadingHTTPServer):
    """A loopback server; ``script`` says how the next requests are answered, after that with `ranged`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents = {"main.json": MAIN, "failed.json": FAILED}
        self.script: list[Answer] = []
        self.seen: list[Seen] = []

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"

    def handle_error(self, *_: object) -> None:
        """Say nothing when a client goes away in the middle."""


class Handler(BaseHTTPRequestHandler):
    server: Origin
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path[1:]
        self.server.seen.append(Seen(name, self.headers.get("Range"), self.headers.get("If-Range")))
        answer = self.server.script.pop(0) if self.server.script else ranged
        answer(self, self.server.contents[name])

    def reply(self, code: int, **headers: object) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


Answer = Callable[[Handler, bytes], None]


def begin(handler: Handler, content: bytes) -> bytes:
    """Send the headers as a server with ranges does; return the body to send."""
    etag = f'"{git_blob(content)}"'
    asked = handler.headers.get("Range")
    if asked is None or handler.headers.get("If-Range", etag) != etag:
        handler.reply(200, Content_Length=len(content), ETag=etag)
        return content
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    if start >= len(content):
        handler.reply(416, Content_Length=0, Content_Range=f"bytes */{len(content)}")
        return b""
    where = f"bytes {start}-{len(content) - 1}/{len(content)}"
    handler.reply(206, Content_Length=len(content) - start, Content_Range=where, ETag=etag)
    return content[start:]


def ranged(handler: Handler, content: bytes) -> None:
    handler.wfile.write(begin(handler, content))


def cut(size: int) -> Answer:
    def answer(handler: Handler, content: bytes) -> None:
        handler.wfile.write(begin(handler, content)[:size])
        handler.close_connection = True

    return answer


def held(release: threading.Event, size: int, longest: float) -> Answer:
    """Send ``size`` bytes, the rest after ``release`` is set or ``longest`` seconds."""

    def answer(handler: Handler, content: bytes) -> None:
        body = begin(handler, content)
        handler.wfile.write(body[:size])
        release.wait(longest)
        handler.wfile.write(body[size:])

    return answer


def whole(handler: Handler, content: bytes) -> None:
    handler.reply(200, Content_Length=len(content))
    handler.wfile.write(content)


def compressing(handler: Handler, content: bytes) -> None:
    if "gzip" not in handler.headers.get("Accept-Encoding", ""):
        return whole(handler, content)
    body = gzip.compress(content)
    handler.reply(200, Content_Length=len(body), Content_Encoding="gzip")
    handler.wfile.write(body)


def announcing(handler: Handler, _: bytes) -> None:
    handler.reply(200, Content_Length=10**12, Connection="close")
    handler.close_connection = True


def endless(handler: Handler, content: bytes) -> None:
    handler.reply(200, Connection="close")
    handler.wfile.write(content)
    handler.close_connection = True


def shifted(handler: Handler, content: bytes) -> None:
    handler.reply(206, Content_Length=len(content), Content_Range=f"bytes 0-{len(content) - 1}/{len(content)}")
    handler.wfile.write(content)


def status(code: int, **headers: object) -> Answer:
    return lambda handler, _: handler.reply(code, Content_Length=0, **headers)
