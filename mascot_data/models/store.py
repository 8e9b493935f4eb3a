"""Answers of models, kept under what was asked: a run that was killed asks for nothing twice.

One SQLite file, only ever added to. Several processes may use it at once; each write is whole or not there.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from mascot_data.errors import OutputError

_BATCH = 500
_WAIT_SECONDS = 120.0

IN_MEMORY = Path(":memory:")
"""For a store that is empty and leaves no file."""


def key_of(*parts: Any) -> str:
    """Return the key of what was asked: a digest over its parts as JSON."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Store:
    """Keys to answers (plain data), in a file. Use as a context manager.

    Raises:
        OutputError: the file cannot be opened or written, or is no store.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
            self._base.execute("pragma journal_mode=wal")
            self._base.execute("pragma synchronous=normal")
            self._base.execute("create table if not exists answers (key text primary key, answer text) without rowid")
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def get(self, keys: Sequence[str]) -> dict[str, Any]:
        """Return the answers that are there, by key."""
        found: dict[str, Any] = {}
        try:
            for start in range(0, len(keys), _BATCH):
                part = keys[start : start + _BATCH]
                marks = ",".join("?" * len(part))
                query = f"select key, answer from answers where key in ({marks})"  # noqa: S608  # marks are ours
                found.update((key, json.loads(answer)) for key, answer in self._base.execute(query, part))
        except (sqlite3.Error, ValueError) as error:
            raise self._failed(error) from error
        return found

    def put(self, answers: Mapping[str, Any]) -> None:
        """Add answers, all or none of them; what is there already stays."""
        rows: Iterable[tuple[str, str]] = [(key, json.dumps(answer)) for key, answer in answers.items()]
        try:
            with self._base:
                self._base.execute("begin immediate")
                self._base.executemany("insert or ignore into answers values (?, ?)", rows)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> OutputError:
        full = "full" in str(error) or "disk I/O" in str(error)
        hint = "free some space, and run again to go on" if full else "give another file with --store"
        return OutputError(f"{self.path}: the store of answers cannot be used ({error}); {hint}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()


def default_store(directory: Path) -> Path:
    """Return where the answers for a dataset directory are kept: beside it, so that they are not published with it."""
    real = directory.resolve()
    return real.parent / f".{real.name}.store" / "answers.sqlite3"
