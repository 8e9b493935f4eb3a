"""Rows on their way to disk: kept in a scratch file of Arrow, so that any order of input gives one order of output.

In memory stay only short keys: what the order follows from, where a row comes from, and what links it to others (the
same situation, the same pair of workers). So a source id that occurs twice is found, and what splits share.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.columns import (
    Numbers,
    bounds,
    flat,
    integers,
    lists,
    numbers,
    present,
    sizes,
    strings,
    sums,
    take,
)
from mascot_data.errors import InputError
from mascot_data.records import Dialogue, arrow_schema
from mascot_data.records.dialogue import SPLITS, Split
from mascot_data.sources.conversation import natural

Link = tuple[str, str]
"""Kind and key of what a row shares with others."""

LINK_FLAGS: dict[str, tuple[str | None, str]] = {
    "pair": (None, "pair-in-two-splits"),
    "situation": ("duplicate-situation", "situation-in-two-splits"),
    "annotations": ("duplicate-annotations", "annotations-in-two-splits"),
}
"""Kind of link to the flags that rows get: when two owners share a key, and when rows of two splits do."""

_FLAGS = sorted({flag for flags in LINK_FLAGS.values() for flag in flags if flag})
_KINDS = list(LINK_FLAGS)
_TURN_BYTES = 250
SCHEMA = arrow_schema(Dialogue)


class Origin(NamedTuple):
    """Where a row comes from: its place in the input, its split, its conversation, and its links to other rows."""

    where: str
    split: Split
    owner: str
    links: Sequence[Link]


class _Keys(NamedTuple):
    """What is known of rows, by column; a link knows the number of its row, and its key and owner by a hash."""

    id: pa.StringArray
    place: pa.StringArray
    where: pa.StringArray
    split: Numbers
    agents: Numbers
    size: Numbers
    link_row: Numbers
    link_kind: Numbers
    link_key: Numbers
    link_owner: Numbers


class Spool:
    """A scratch store of rows; ``add`` them all, ``link`` them, then read ``rows`` in the ``order`` of each split."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._writer: pa.RecordBatchFileWriter | None = pa.ipc.new_file(str(file), SCHEMA)
        self._first = [0]
        nothing = pa.Table.from_arrays([pa.nulls(0, field.type) for field in SCHEMA], schema=SCHEMA)
        self._parts = [_keys(nothing, [], 0)]

    def add(self, dialogues: pa.Table, origins: Sequence[Origin]) -> None:
        """Store rows; there is an origin for each."""
        if not dialogues.num_rows:
            return
        assert self._writer is not None
        (batch,) = dialogues.combine_chunks().to_batches()
        self._writer.write_batch(batch)
        self._parts.append(_keys(dialogues, origins, self._first[-1]))
        self._first.append(self._first[-1] + batch.num_rows)

    def link(self) -> None:
        """Put the rows in order and work out the flags that follow from links; to be called once, after the last add.

        Raises:
            InputError: two rows have one source id.
        """
        self.close()
        keys = _joined(self._parts)
        self._parts.clear()
        _refuse_doubles(keys)
        names = ["split", "place", "id"]
        table = pa.Table.from_arrays([integers(keys.split), keys.place, keys.id], names)
        self._order = numbers(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names]))
        self._split, self._agents, self._size = keys.split, keys.agents, keys.size
        self._marks = _marks(keys)

    def order(self, split: Split) -> Numbers:
        """Return the numbers of a split's rows, ordered by their source ids."""
        mine: Numbers = self._order[self._split[self._order] == SPLITS.index(split)]
        return mine

    def size(self, rows: Numbers) -> int:
        """Return about how many bytes rows have as JSON."""
        return int(self._size[rows].sum())

    def agents(self, rows: Numbers) -> Numbers:
        """Return how many agent turns each row has."""
        return self._agents[rows]

    def rows(self, rows: Numbers) -> pa.Table:
        """Return rows by their numbers, with the flags of their links."""
        with pa.memory_map(str(self._file)) as source:  # opened anew, so that what was read does not stay in memory
            reader = pa.ipc.open_file(source)
            batch = np.searchsorted(self._first, rows, "right") - 1
            parts = [
                reader.get_batch(number).take(integers(rows[batch == number] - self._first[number]))
                for number in np.unique(batch).tolist()
            ]
        found = pa.Table.from_batches(parts, SCHEMA)
        if len(parts) > 1:
            found = found.take(integers(np.argsort(np.argsort(batch, kind="stable"), kind="stable")))
        return _with_marks(found.combine_chunks(), self._marks[rows])

    def close(self) -> None:
        """Release the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _keys(dialogues: pa.Table, origins: Sequence[Origin], first: int) -> _Keys:
    columns = {name: dialogues.column(name).combine_chunks() for name in ("id", "source_id", "turns")}
    counts, turns = flat(columns["turns"])
    at = bounds(counts)
    links = [(first + row, link, origin.owner) for row, origin in enumerate(origins) for link in origin.links]
    return _Keys(
        id=columns["id"],
        place=strings([natural(source_id) for source_id in columns["source_id"].to_pylist()]),
        where=strings([origin.where for origin in origins]),
        split=np.array([SPLITS.index(origin.split) for origin in origins], np.int64),
        agents=sums(present(turns.field("directive")), at),
        size=sums(sizes(turns.field("text")) + _TURN_BYTES, at),
        link_row=np.array([row for row, _, _ in links], np.int64),
        link_kind=np.array([_KINDS.index(kind) for _, (kind, _), _ in links], np.int64),
        link_key=np.array([hash(link) for _, link, _ in links], np.int64),
        link_owner=np.array([hash(owner) for _, _, owner in links], np.int64),
    )


def _joined(parts: Sequence[_Keys]) -> _Keys:
    columns = zip(*parts, strict=True)
    return _Keys(*(np.concatenate(c) if isinstance(c[0], np.ndarray) else pa.concat_arrays(c) for c in columns))


def _refuse_doubles(keys: _Keys) -> None:
    codes = numbers(keys.id.dictionary_encode().indices)
    first = np.unique(codes, return_index=True)[1]
    if len(first) < len(codes):
        double = codes[np.setdiff1d(np.arange(len(codes)), first)]
        same = np.flatnonzero(codes == double.min())
        places = " and ".join(take(keys.where, same).to_pylist())
        raise InputError(places, "hold the same conversation; a corpus has each once, so remove one copy")


def _marks(keys: _Keys) -> Numbers:
    """Return the flags of links by row, as bits: of keys that two owners share, and of those, that two splits do."""
    found = np.zeros(len(keys.split), np.int64)
    if not len(keys.link_key):
        return found
    order = np.argsort(keys.link_key, kind="stable")
    row, key, owner = keys.link_row[order], keys.link_key[order], keys.link_owner[order]
    start = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    count = np.diff(np.append(start, len(key)))
    shared = np.logical_or.reduceat(owner != np.repeat(owner[start], count), start)
    splits = np.bitwise_or.reduceat(1 << keys.split[row], start)
    across = shared & ((splits & (splits - 1)) > 0)
    bits = np.array([[_bit(flag) for flag in LINK_FLAGS[kind]] for kind in _KINDS])[keys.link_kind[order[start]]]
    np.bitwise_or.at(found, row, np.repeat(bits[:, 0] * shared | bits[:, 1] * across, count))
    return found


def _bit(flag: str | None) -> int:
    return 1 << _FLAGS.index(flag) if flag else 0


def _with_marks(dialogues: pa.Table, marks: Numbers) -> pa.Table:
    if not marks.any():
        return dialogues
    column = dialogues.schema.get_field_index("flags")
    flags = dialogues.column(column).to_pylist()
    for row in np.flatnonzero(marks).tolist():
        found = [flag for flag in _FLAGS if marks[row] & _bit(flag)]
        flags[row] = sorted({*flags[row], *found})
    counts = np.array(list(map(len, flags)), np.int64)
    made = lists(counts, strings([flag for each in flags for flag in each]))
    return dialogues.set_column(column, SCHEMA.field(column), made)
