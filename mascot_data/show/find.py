"""Find one dialogue in a dataset directory."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mascot_data.build.staging import recover
from mascot_data.errors import DatasetError, UsageError
from mascot_data.records import Dialogue
from mascot_data.records.dialogue import SPLITS


def find_dialogue(
    directory: str | Path, dialogue: str | None = None, *, split: str | None = None, number: int = 0
) -> Dialogue:
    """Return a dialogue by its id (with or without the source before it), else the ``number``-th of the split.

    Args:
        directory: the dataset directory.
        dialogue: ``esconv:17`` or ``17``.
        split: where to look; all splits when None.
        number: 0-based position among the rows looked at, used without ``dialogue``.

    Raises:
        DatasetError: there is no such directory or dialogue, or it cannot be read.
        UsageError: there is no such split, or the number is negative.
    """
    root = Path(directory)
    recover(root)
    if split is not None and split not in SPLITS:
        raise UsageError(f"--split {split}: choose one of {', '.join(SPLITS)}")
    if number < 0:
        raise UsageError(f"--number {number}: give a position from 0 on")
    files = list(_files(root, split))
    if not files:
        raise DatasetError(
            f"{root}: has no dialogues{f' in {split}' if split else ''}; make them with  mascot-data build"
        )
    for path in files:
        try:
            count, place = _place(path, dialogue, number)
            if place is not None:
                return _row(path, place)
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            what = str(error).partition("\n")[0]
            raise DatasetError(f"{path}: cannot be read ({what}); build the dataset again") from error
        number -= count
    wanted = f"dialogue {dialogue!r}" if dialogue is not None else "so many dialogues"
    raise DatasetError(f"{root}: has no {wanted}{f' in {split}' if split else ''}")


def _files(root: Path, split: str | None) -> Iterator[Path]:
    for name in SPLITS if split is None else (split,):
        yield from sorted((root / "data" / "dialogues").glob(f"{name}-*.parquet"))


def _place(path: Path, dialogue: str | None, number: int) -> tuple[int, int | None]:
    """Return how many rows a file has, and the position of the row that is looked for."""
    if dialogue is None:
        count = pq.read_metadata(path).num_rows
        return count, number if number < count else None
    ids = pq.read_table(path, columns=["id", "source_id"])
    for column in ("id", "source_id"):
        values = ids[column].to_pylist()
        if dialogue in values:
            return ids.num_rows, values.index(dialogue)
    return ids.num_rows, None


def _row(path: Path, place: int) -> Dialogue:
    with pq.ParquetFile(path) as file:
        group = 0
        while place >= (rows := file.metadata.row_group(group).num_rows):
            place -= rows
            group += 1
        return Dialogue.model_validate(file.read_row_group(group).slice(place, 1).to_pylist()[0])
