"""The Batch API on the loopback interface: it keeps files, and answers a batch once it is looked at often enough."""

import json
from typing import Any, NamedTuple

from tests.models.faulty_server import Body, Faulty, Handler, completion, raw


class Vendor:
    """Adds the Batch API to a server.

    ``looks`` is how often a batch is looked at before it ends, ``ends`` its last status. ``outcomes`` maps the last
    message of a question to status and body of its line; None leaves the line out.
    """

    def __init__(self, server: Faulty) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.outcomes: dict[str, tuple[int, Body] | None] = {}
        self.looks, self.ends = 2, "completed"
        self.errors: object = None
        self.loses_creation = False
        server.routes |= {
            "/v1/files": self._upload,
            "/v1/batches": self._batches,
            "/v1/batches/": self._look,
        }
        self._server = server

    def _upload(self, handler: Handler, body: Body) -> None:
        name = f"file-{len(self.files)}"
        content = body["content"].split(b"\r\n\r\n")
        lines = [line for part in content for line in part.splitlines() if line.startswith(b"{")]
        self.files[name] = b"\n".join(lines)
        assert b'name="purpose"' in body["content"]
        handler.reply(200, {"id": name, "object": "file"})

    def _batches(self, handler: Handler, body: Body) -> None:
        if handler.command == "GET":
            return handler.reply(200, {"object": "list", "data": list(self.batches.values())})
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {"id": name, "status": "validating", "looked": 0} | body
        if self.loses_creation:
            self.loses_creation = False
            handler.close_connection = True
            return None
        return handler.reply(200, self.batches[name])

    def _look(self, handler: Handler, _: Body) -> None:
        name = handler.path.rpartition("/")[2]
        if name not in self.batches:
            return handler.reply(404, {"error": {"message": "no such batch"}})
        batch = self.batches[name]
        batch["looked"] += 1
        if batch["looked"] >= self.looks and batch["status"] != self.ends:
            batch |= {"status": self.ends, "errors": self.errors} | self._answer(
                name, self.files[batch["input_file_id"]]
            )
        return handler.reply(200, batch)

    def _answer(self, name: str, content: bytes) -> dict[str, Any]:
        good: list[str] = []
        bad: list[str] = []
        for line in content.splitlines():
            request = json.loads(line)
            asked = request["body"]["messages"][-1]["content"]
            well = (200, completion(f"{asked} {request['body'].get('seed')}"))
            outcome = self.outcomes.get(asked, well)
            if outcome is not None:
                status, body = outcome
                told = {"custom_id": request["custom_id"], "response": {"status_code": status, "body": body}}
                (good if status == 200 else bad).append(json.dumps(told | {"error": None}))
        found: dict[str, Any] = {"output_file_id": None, "error_file_id": None}
        for field, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines and self.ends != "failed":
                file = f"{field}-{name}"
                text = "\n".join(lines).encode()
                self._server.routes[f"/v1/files/{file}/content"] = raw(text)
                found[field] = file
        return found


class Line(NamedTuple):
    """A line of an uploaded file."""

    custom_id: str
    method: str
    url: str
    body: Body


def lines(vendor: Vendor) -> list[list[Line]]:
    """The lines of all uploaded files."""
    return [[Line(**json.loads(line)) for line in content.splitlines()] for content in vendor.files.values()]
