"""Read the blocks of a dataset directory and measure their agents."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mascot_data.errors import DatasetError
from mascot_data.records.dialogue import SPLITS
from mascot_data.stats import measure_blocks

BATCH_ROWS = 1000
_COLUMNS = ["dialogue_id", "subset", "origin", "rollout.mode"]
_COLUMNS += [f"turns.list.element.{field}" for field in ("speaker", "kind", "persona", "text")]


def measure(root: Path) -> list[dict[str, Any]]:
    """Measure the blocks of a dataset directory; plain data, a system each.

    Raises:
        DatasetError: a file cannot be read.
    """
    return [measured.as_dict() for measured in measure_blocks(_rows(root))]


def _rows(root: Path) -> Iterator[dict[str, Any]]:
    for split in SPLITS:
        for path in sorted((root / "data" / "blocks").glob(f"{split}-*.parquet")):
            try:
                with pq.ParquetFile(path) as file:
                    _check_columns(file)
                    for batch in file.iter_batches(BATCH_ROWS, columns=_COLUMNS):
                        yield from batch.to_pylist()
            except (pa.ArrowException, KeyError, OSError) as error:
                raise DatasetError(
                    f"{path}: cannot be read as blocks ({error}); see  mascot-data validate {root}"
                ) from error


def _check_columns(file: pq.ParquetFile) -> None:
    """Raise a KeyError for columns that are not there: they would only be missing from the rows."""
    found = {file.schema.column(number).path for number in range(len(file.schema))}
    if missing := set(_COLUMNS) - found:
        raise KeyError(*sorted(missing))
