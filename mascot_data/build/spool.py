"""Rows on their way to disk: kept in a scratch SQLite file, so that any order of input gives one order of output.

Memory stays the same however many rows there are, a source id that occurs twice is found, and so is what links rows to
each other (the same situation, the same pair of workers) across splits.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from mascot_data.errors import InputError
from mascot_data.records.dialogue import SPLITS, Split
from mascot_data.records.rows import DialogueRow
from mascot_data.sources.conversation import natural

Link = tuple[str, str]
"""Kind and key of what a row shares with others."""

LINK_FLAGS: dict[str, tuple[str | None, str]] = {
    "pair": (None, "pair-in-two-splits"),
    "situation": ("duplicate-situation", "situation-in-two-splits"),
    "annotations": ("duplicate-annotations", "annotations-in-two-splits"),
}
"""Kind of link to the flags that rows get: when two owners share a key, and when rows of two splits do."""

_BATCH = 500
_FLAGS = DialogueRow._fields.index("flags")

_TABLES = """
CREATE TABLE rows (number INTEGER PRIMARY KEY, split INTEGER, place TEXT, id TEXT, source TEXT, body BLOB);
CREATE TABLE links (row INTEGER, split INTEGER, owner TEXT, kind TEXT, key TEXT);
"""
_MARKS = """
CREATE INDEX by_place ON rows (split, place);
CREATE INDEX by_link ON links (kind, key, owner, split, row);
CREATE TABLE shared AS
    SELECT kind, key, COUNT(DISTINCT split) AS splits FROM links
    GROUP BY kind, key HAVING COUNT(DISTINCT owner) > 1 AND (kind <> 'pair' OR splits > 1);
CREATE TABLE marks AS
    SELECT DISTINCT row, kind, splits FROM shared CROSS JOIN links USING (kind, key);
CREATE INDEX by_row ON marks (row);
"""
_DOUBLES = """
SELECT group_concat(source, ' and ') FROM rows GROUP BY id HAVING COUNT(*) > 1 ORDER BY MIN(number) LIMIT 1
"""
_IN_ORDER = """
SELECT body, (SELECT GROUP_CONCAT(kind || ':' || splits) FROM marks WHERE row = rows.number)
FROM rows WHERE split = ? ORDER BY split, place, id
"""


class Spool:
    """A scratch store of rows; ``add`` them all, ``link`` them, then read ``rows`` split by split in their order."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file, isolation_level=None)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16384", "temp_store = FILE"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(_TABLES)
        self._database.execute("BEGIN")
        self._count = 0
        self._rows: list[tuple[int, int, str, str, str, bytes]] = []
        self._links: list[tuple[int, int, str, str, str]] = []

    def add(self, where: str, split: Split, row: DialogueRow, owner: str, links: Iterable[Link]) -> None:
        """Store a row of a split; ``links`` are pairs of kind and key, ``owner`` is whom a link belongs to."""
        self._count += 1
        number = SPLITS.index(split)
        self._rows.append((self._count, number, natural(row.source_id), row.id, where, to_json(row)))
        for kind, key in links:
            self._links.append((self._count, number, owner, kind, key))
        if len(self._rows) == _BATCH:
            self._flush()

    def _flush(self) -> None:
        self._database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", self._rows)
        self._database.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?)", self._links)
        self._rows.clear()
        self._links.clear()

    def link(self) -> None:
        """Work out the flags that follow from links; to be called once, after the last ``add``.

        Raises:
            InputError: two rows have one source id.
        """
        self._flush()
        self._database.execute("COMMIT")
        self._database.executescript(_MARKS)
        if double := self._database.execute(_DOUBLES).fetchone():
            raise InputError(double[0], "hold the same conversation; a corpus has each once, so remove one copy")

    def size(self, split: Split) -> tuple[int, int]:
        """Return the number of rows of a split and of their bytes as JSON."""
        query = "SELECT COUNT(*), COALESCE(SUM(LENGTH(body)), 0) FROM rows WHERE split = ?"
        count, size = self._database.execute(query, (SPLITS.index(split),)).fetchone()
        return count, size

    def rows(self, split: Split) -> Iterator[tuple[bytes, list[Any]]]:
        """Yield the rows of a split, ordered by their source ids, with the flags of their links.

        Each comes as its canonical bytes (a JSON array in the order of the schema) and as plain nested lists.
        """
        for body, marks in self._database.execute(_IN_ORDER, (SPLITS.index(split),)):
            row = from_json(body)
            if marks:
                row[_FLAGS] = _with_marks(row[_FLAGS], marks)
                body = to_json(row)
            yield body, row

    def close(self) -> None:
        """Release the file."""
        self._database.close()


def _with_marks(flags: list[str], marks: str) -> list[str]:
    found = set(flags)
    for mark in marks.split(","):
        kind, splits = mark.split(":")
        shared, across = LINK_FLAGS[kind]
        found.update(flag for flag in (shared, across if int(splits) > 1 else None) if flag)
    return sorted(found)
