"""Read the rows of a dataset directory, for the commands that go on from it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mascot_data.build.staging import recover
from mascot_data.errors import DatasetError, UsageError
from mascot_data.records.dialogue import SPLITS, Split

_BATCH_ROWS = 500


def splits_of(names: Sequence[str]) -> list[Split]:
    """Return splits in their order; all of them for no names.

    Raises:
        UsageError: there is no such split.
    """
    if wrong := sorted(set(names) - set(SPLITS)):
        raise UsageError(f"--split {wrong[0]}: choose one of {', '.join(SPLITS)}")
    return [split for split in SPLITS if split in names or not names]


def read_rows(
    root: Path, config: str, split: Split, columns: Sequence[str] | None = None, *, label: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split of a config as plain data, in their order.

    Args:
        root: The dataset directory.
        config: The config.
        split: The split; one that has no file has no rows.
        columns: The columns wanted; all of them when None.
        label: Only the files with this label (``rollouts`` of ``blocks``, say); empty: those without one.

    Raises:
        DatasetError: there is no dataset directory with this config, or a file cannot be read.
    """
    recover(root)
    if not (root / "data" / config).is_dir():
        raise DatasetError(f"{root}: has no {config}; make them with  {_maker(config, label)}")
    pattern = f"{split}-{label}-*-of-*.parquet" if label else f"{split}-[0-9]*-of-*.parquet"
    for path in sorted((root / "data" / config).glob(pattern)):
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(_BATCH_ROWS, columns=None if columns is None else list(columns)):
                    yield from batch.to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            what = str(error).partition("\n")[0]
            raise DatasetError(f"{path}: cannot be read ({what}); {_maker(config, label)}  makes it again") from error


_MAKERS = {"candidates": "candidates", "judgments": "judge", "preferences": "pairs", "ties": "pairs"}


def _maker(config: str, label: str) -> str:
    command = _MAKERS.get(config) or ("rollouts" if label == "rollouts" else "build")
    return f"mascot-data {command}"
