"""Files of a dataset directory against its provenance."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mascot_data.build.writing import sha256_of


def parquet_files(root: Path, config: str, split: str) -> list[Path]:
    """Return the files of a config and split, in order."""
    return sorted((root / "data" / config).glob(f"{split}-*-of-*.parquet"))


def file_problems(root: Path, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the files that the provenance names, and files it does not name."""
    known: dict[str, dict[str, Any]] = facts["files"]
    for name, stated in known.items():
        path = root / name
        if not path.is_file():
            yield name, "is missing; build the dataset again"
        elif sha256_of(path) != stated["sha256"]:
            yield name, "is not the file that was built (its SHA-256 differs); build the dataset again"
        elif "rows" in stated:
            yield from _row_count(path, name, stated["rows"])
    for path in sorted((root / "data" / "dialogues").glob("*")):
        name = path.relative_to(root).as_posix()
        if name not in known:
            yield name, "is not named in provenance.json, but loading would read it; remove it"


def _row_count(path: Path, name: str, stated: int) -> Iterator[tuple[str, str]]:
    try:
        rows = pq.read_metadata(path).num_rows
    except pa.ArrowException as error:
        yield name, f"is no Parquet file ({error})"
        return
    if rows != stated:
        yield name, f"has {rows:,} rows where provenance.json says {stated:,}"
