"""Files of a dataset directory against its provenance."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from mascot_data.build.added import Part, built_part
from mascot_data.build.writing import sha256_of
from mascot_data.records import ADDED_CONFIGS, CONFIGS
from mascot_data.validate.facts import Facts, StatedFile

PARQUET_ERRORS = (pa.ArrowException, OSError, ValueError)
"""What reading a damaged Parquet file can raise; ValueError for text that is no UTF-8."""


def parquet_files(root: Path, config: str, split: str) -> list[Path]:
    """Return the files of a config and split, in order; those of the build come first."""
    return sorted((root / "data" / config).glob(f"{split}-*.parquet"))


def built_files(root: Path, config: str, split: str) -> list[Path]:
    """Return the files of a config and split that a build writes, in order."""
    return part_files(root, built_part(config), split)


def part_files(root: Path, part: Part, split: str) -> list[Path]:
    """Return the files of a part and split, in order."""
    return [path for path in parquet_files(root, part.config, split) if part.owns(path.relative_to(root).as_posix())]


def file_problems(root: Path, facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the files that the provenance names, and files it does not name."""
    for name, stated in facts.all_files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            yield name, "is outside the dataset directory, but provenance.json names it"
        else:
            yield from _file_problems(root / name, name, stated)
    for config in CONFIGS | ADDED_CONFIGS:
        for path in sorted((root / "data" / config).glob("*")):
            name = path.relative_to(root).as_posix()
            if name not in facts.all_files:
                yield name, "is not named in provenance.json, but loading could read it; remove it"


def _file_problems(path: Path, name: str, stated: StatedFile) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        yield name, "is missing; build the dataset again"
        return
    try:
        digest = sha256_of(path)
        rows = stated.rows if stated.rows is None else pq.read_metadata(path).num_rows
    except PARQUET_ERRORS as error:
        yield name, f"cannot be read ({error}); build the dataset again"
        return
    if digest != stated.sha256:
        yield name, "is not the file that was built (its SHA-256 differs); build the dataset again"
    elif rows != stated.rows:
        yield name, f"has {rows:,} rows where provenance.json says {stated.rows:,}"
