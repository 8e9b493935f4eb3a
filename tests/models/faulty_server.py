"""A server on the loopback interface that speaks the protocol as it should, and as it should not."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Body = dict[str, Any]


class Seen(NamedTuple):
    """A request that reached the server; names of headers are in lower case."""

    method: str
    path: str
    body: Body
    headers: dict[str, str]


class Faulty(ThreadingHTTPServer):
    """Answers questions well, except those with a script.

    ``scripts`` maps the last message of a question to how it is answered, one entry a request; what comes after the
    last entry is answered well. ``always`` does so for every request. ``routes`` maps paths to answers, or all paths of
    a folder (which ends with a slash).
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scripts: dict[str, list[Act]] = {}
        self.always: dict[str, Act] = {}
        self.routes: dict[str, Act] = {}
        self.seen: list[Seen] = []
        self.release = threading.Event()
        self.under_way = self.most_under_way = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def asked(self, path: str = "/v1/chat/completions") -> list[Seen]:
        """Requests to a route so far."""
        return [seen for seen in self.seen if seen.path.partition("?")[0] == path]

    def handle_error(self, *_: object) -> None:
        """Say nothing when a client goes away in the middle."""


class Handler(BaseHTTPRequestHandler):
    server: Faulty
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._do({})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_json = "json" in self.headers.get("Content-Type", "")
        self._do(json.loads(content) if is_json else {"content": content})

    def _do(self, body: Body) -> None:
        headers = {name.lower(): text for name, text in self.headers.items()}
        with self.server.lock:
            self.server.seen.append(Seen(self.command, self.path, body, headers))
            self.server.under_way += 1
            self.server.most_under_way = max(self.server.most_under_way, self.server.under_way)
            act = self._act(body)
        try:
            act(self, body)
        finally:
            with self.server.lock:
                self.server.under_way -= 1

    def _act(self, body: Body) -> "Act":
        path = self.path.partition("?")[0]
        if found := self.server.routes.get(path) or self.server.routes.get(f"{path.rpartition('/')[0]}/"):
            return found
        if self.path == "/v1/models":
            return lambda handler, _: handler.reply(
                200, {"object": "list", "data": [{"id": "m", "created": 1700000000}]}
            )
        if self.path != "/v1/chat/completions":
            return status(404)
        asked = body["messages"][-1]["content"]
        script = self.server.scripts.get(asked)
        return script.pop(0) if script else self.server.always.get(asked, well)

    def reply(self, code: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.begin(code, {"Content-Length": str(len(content))} | (headers or {}))
        self.wfile.write(content)

    def begin(self, code: int, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


Act = Callable[[Handler, Body], None]


def completion(text: object, **changes: Any) -> Body:
    """A chat completion as a vendor answers it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return {
        "id": "any",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    } | changes


def says(text: object, **changes: Any) -> Act:
    return lambda handler, _: handler.reply(200, completion(text, **changes))


def well(handler: Handler, body: Body) -> None:
    """Say back what was asked and with which seed."""
    says(f"{body['messages'][-1]['content']} {body.get('seed')}")(handler, body)


def status(code: int, body: object = None, **headers: str) -> Act:
    told = {"error": {"message": f"told {code}"}} if body is None else body
    return lambda handler, _: handler.reply(
        code, told, {name.replace("_", "-"): text for name, text in headers.items()}
    )


def raw(content: bytes) -> Act:
    return lambda handler, _: handler.reply(200, content)


def cut(handler: Handler, _: Body) -> None:
    """Promise more than is sent, and hang up."""
    handler.begin(200, {"Content-Length": "1000"})
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def hang_up(handler: Handler, _: Body) -> None:
    """Say nothing at all and close."""
    handler.close_connection = True


def never(handler: Handler, _: Body) -> None:
    """Answer nothing until the test is over."""
    handler.server.release.wait(30)
    handler.close_connection = True


def drip(handler: Handler, _: Body) -> None:
    """Send a byte now and then, so that no single wait is long."""
    handler.begin(200, {"Content-Length": "100000"})
    while not handler.server.release.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()
    handler.close_connection = True


def flood(handler: Handler, _: Body) -> None:
    """Send more than anybody would read."""
    handler.begin(200, {"Content-Length": str(1 << 40)})
    try:
        for _part in range(1 << 12):
            handler.wfile.write(b" " * (1 << 16))
    except OSError:
        pass
    handler.close_connection = True


@contextmanager
def running() -> Iterator[Faulty]:
    """A server that runs meanwhile."""
    server = Faulty()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
