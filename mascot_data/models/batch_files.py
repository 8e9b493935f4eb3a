"""Files of the Batch API: what is uploaded, what comes back, and the note that is kept of a batch."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mascot_data.errors import ModelError, OutputError
from mascot_data.models import replies
from mascot_data.models.bodies import Body
from mascot_data.models.chat import Failure, Reason
from mascot_data.models.faults import Answered, Refusal, fault
from mascot_data.models.spending import Tokens

MOST_REQUESTS = 50_000
MOST_BYTES = 150_000_000
ROUTE = "/v1/chat/completions"

Found = dict[str, Any] | Failure


class Line(NamedTuple):
    """A request of a batch: its name there, its body, and the most tokens that it can use."""

    name: str
    body: Body
    most: Tokens

    def as_json(self, fit: Callable[[Body], Body]) -> bytes:
        """Return the line of the file to upload."""
        request = {"custom_id": self.name, "method": "POST", "url": ROUTE, "body": fit(self.body)}
        return json.dumps(request, separators=(",", ":")).encode() + b"\n"


class Kept(NamedTuple):
    """What is kept of a batch: the uploaded file, how many lines it has, and the batch once it is created."""

    file: str
    sent: int
    batch: str | None


class State:
    """The file that keeps a batch; without a folder nothing is kept.

    Raises:
        OutputError: it cannot be read or written.
    """

    def __init__(self, folder: Path | None, asked: object) -> None:
        text = json.dumps(asked, ensure_ascii=False, sort_keys=True)
        self._path = folder and folder / f"batch-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:32]}.json"

    def read(self) -> Kept | None:
        """Return what is kept, if anything is."""
        if self._path is None or not self._path.is_file():
            return None
        try:
            return Kept(**json.loads(self._path.read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise OutputError(f"{self._path}: not what was written there ({error}); remove it to ask anew") from error

    def write(self, kept: Kept) -> None:
        """Keep a batch."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(kept._asdict()), encoding="utf-8")
            part.replace(self._path)
        except OSError as error:
            raise OutputError(f"{self._path}: cannot be written ({error.strerror or error})") from error

    def remove(self) -> None:
        """Forget the batch."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def parted(lines: Sequence[Line]) -> list[list[Line]]:
    """Part lines by how many requests and bytes one file may have."""
    parts: list[list[Line]] = []
    size = MOST_BYTES
    for line in lines:
        length = len(line.as_json(dict))
        if size + length > MOST_BYTES or len(parts[-1]) == MOST_REQUESTS:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += length
    return parts


def read_results(url: str, content: bytes) -> dict[str, Found]:
    """Read the lines of a result file."""
    found: dict[str, Found] = {}
    for value in filter(None, map(replies.parse, content.splitlines())):
        name, response, error = (value.get(key) for key in ("custom_id", "response", "error"))
        status = response.get("status_code") if isinstance(response, dict) else None
        body = response.get("body") if isinstance(response, dict) else None
        if isinstance(name, str):
            is_answer = status == 200 and isinstance(body, dict)
            found[name] = body if is_answer else _failed(url, status, body or {"error": error})  # type: ignore[assignment]
    return found


def _failed(url: str, status: object, body: object) -> Failure:
    code = status if isinstance(status, int) and status >= 400 else 400
    try:
        found = fault(url, "", Answered(code, {}, json.dumps(body).encode()), optional=False)
    except ModelError as error:
        return Failure("http-error", str(error))
    return found.failure if isinstance(found, Refusal) else Failure(found.reason, found.what)


def untold(ended: Mapping[str, Any]) -> Failure:
    """Say why a batch has no answer to a line."""
    errors = ended.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    first = data[0].get("message") if isinstance(data, list) and data and isinstance(data[0], dict) else None
    why = f": {replies.shown(str(first))}" if first else ""
    reason: Reason = "timeout" if ended.get("status") == "expired" else "http-error"
    return Failure(reason, f"the batch is {ended.get('status')} and has no answer to this{why}")
