"""``provenance.json``: what a build was made from and with, enough to make the same bytes again."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mascot_data.build.writing import Written
from mascot_data.errors import DatasetError
from mascot_data.records.dialogue import SCHEMA_VERSION
from mascot_data.version import __version__

FILE = "provenance.json"


def source_digest(files: Sequence[tuple[str, str]]) -> str:
    """Return one digest over the source files: the SHA-256 over their sorted digests, whatever their names."""
    return hashlib.sha256("\n".join(sorted(digest for _, digest in files)).encode()).hexdigest()


def provenance(
    corpus: str,
    source_files: Sequence[tuple[str, str]],
    options: dict[str, Any],
    account: dict[str, Any],
    written: Sequence[Written],
    others: dict[str, str],
    digest: str,
) -> dict[str, Any]:
    """Put the facts of a build together; ``others`` are files that are no Parquet, with their SHA-256."""
    files = stated_files(written)
    return {
        "tool": {"name": "mascot-data", "version": __version__, "pyarrow": pa.__version__},
        "schema_version": SCHEMA_VERSION,
        "source": {
            "corpus": corpus,
            "digest": source_digest(source_files),
            "files": [{"name": name, "sha256": sha256} for name, sha256 in source_files],
        },
        "options": options,
        "account": account,
        "rows_digest": digest,
        "files": files | {path: {"sha256": sha256} for path, sha256 in others.items()},
    }


def stated_files(written: Sequence[Written]) -> dict[str, dict[str, Any]]:
    """Return what a provenance says of Parquet files: rows, size of the rows in Arrow, and SHA-256, by path."""
    return {file.path: {"rows": file.rows, "bytes": file.bytes, "sha256": file.sha256} for file in written}


def provenance_file(part: str) -> str:
    """Return the name of the provenance of what a later command added."""
    return f"provenance-{part}.json"


def write_provenance(root: Path, facts: dict[str, Any]) -> None:
    """Write the facts to the dataset directory."""
    (root / FILE).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_provenance(root: Path) -> dict[str, Any]:
    """Read the facts of a dataset directory.

    Raises:
        DatasetError: the directory was not made by a build, or the file is damaged.
    """
    try:
        facts: dict[str, Any] = json.loads((root / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DatasetError(f"{root}: has no {FILE}; make the dataset with  mascot-data build") from error
    except ValueError as error:
        raise DatasetError(f"{root / FILE}: is damaged ({error}); build the dataset again") from error
    if not isinstance(facts, dict) or "files" not in facts:
        raise DatasetError(f"{root / FILE}: is not the provenance of a build; build the dataset again")
    return facts
