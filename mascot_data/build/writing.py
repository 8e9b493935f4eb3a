"""Write tables as Parquet: zstd, row groups, page index, content-defined chunks; the same rows give the same bytes."""

import hashlib
import math
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq

from mascot_data.build.columns import content
from mascot_data.records.dialogue import Split

ROWS_PER_GROUP = 1000
MAX_ROWS_PER_GROUP = 5000
SHARD_BYTES = 2**30
"""JSON bytes of rows that go into one file; Parquet is about a tenth of it."""


class Written(NamedTuple):
    """A Parquet file as it was written; ``bytes`` is the size of its rows in Arrow."""

    config: str
    split: Split
    path: str
    rows: int
    bytes: int
    sha256: str


def shards_of(rows: int, json_bytes: int) -> tuple[int, int]:
    """Return how many files a split gets whose rows are this large as JSON, and the rows of each but the last."""
    groups = max(1, math.ceil(rows / ROWS_PER_GROUP))
    share = math.ceil(groups / max(1, math.ceil(json_bytes / SHARD_BYTES)))
    return math.ceil(groups / share), share * ROWS_PER_GROUP


class SplitWriter:
    """Writes the tables of one split of one config to its files; use as a context manager.

    Each table is a row group (or several); ``roll`` goes on to the next of the split's ``shards`` files.
    """

    def __init__(
        self, root: Path, config: str, split: Split, schema: pa.Schema, shards: int = 1, label: str = ""
    ) -> None:
        self._root, self._config, self._split, self._schema = root, config, split, schema
        name = f"{split}-{label}" if label else split
        self._names = [f"data/{config}/{name}-{i:05d}-of-{shards:05d}.parquet" for i in range(shards)]
        self._writer: pq.ParquetWriter | None = None
        self._shard = self._rows = self._bytes = 0
        self.written: list[Written] = []

    def __enter__(self) -> Self:
        return self

    def write(self, table: pa.Table) -> None:
        """Append a table; one without rows leaves no trace, since ``datasets`` cannot read a file without rows."""
        if not table.num_rows:
            return
        if self._writer is None:
            self._open()
        assert self._writer is not None
        self._writer.write_table(table, row_group_size=MAX_ROWS_PER_GROUP)
        self._rows += table.num_rows
        self._bytes += sum(part.nbytes for column in table.columns for part in content(column.combine_chunks()))

    def roll(self) -> None:
        """Close the file; the next table begins another."""
        self._close()
        self._shard += 1

    def _open(self) -> None:
        (self._root / self._names[0]).parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(
            self._root / self._names[self._shard],
            self._schema,
            compression="zstd",
            compression_level=3,
            write_page_index=True,
            use_content_defined_chunking=True,
        )

    def _close(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        name = self._names[self._shard]
        self.written.append(
            Written(self._config, self._split, name, self._rows, self._bytes, sha256_of(self._root / name))
        )
        self._writer, self._rows, self._bytes = None, 0, 0

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._close()
        elif self._writer is not None:
            with suppress(OSError):  # the disk may be full; the first error is the one to tell
                self._writer.close()


def config_digest(sha256s: Iterable[str]) -> str:
    """Return one digest for the files of a config, which changes whenever one of them does."""
    return hashlib.sha256("".join(sha256s).encode()).hexdigest()[:32]


def sha256_of(path: Path) -> str:
    """Digest of a file, as hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
