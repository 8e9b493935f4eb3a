"""Find one dialogue in a dataset directory."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.compute as pc
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
        DatasetError: there is no such directory or dialogue.
        UsageError: there is no such split.
    """
    root = Path(directory)
    recover(root)
    if split is not None and split not in SPLITS:
        raise UsageError(f"--split {split}: choose one of {', '.join(SPLITS)}")
    files = list(_files(root, split))
    if not files:
        raise DatasetError(
            f"{root}: has no dialogues{f' in {split}' if split else ''}; make them with  mascot-data build"
        )
    for path in files:
        ids = pq.read_table(path, columns=["id", "source_id"])
        if dialogue is None:
            if number < ids.num_rows:
                return _row(path, number)
            number -= ids.num_rows
            continue
        found = pc.index(ids["id"], dialogue).as_py()
        if found < 0:
            found = pc.index(ids["source_id"], dialogue).as_py()
        if found >= 0:
            return _row(path, found)
    wanted = f"dialogue {dialogue!r}" if dialogue is not None else "so many dialogues"
    raise DatasetError(f"{root}: has no {wanted}{f' in {split}' if split else ''}")


def _files(root: Path, split: str | None) -> Iterator[Path]:
    for name in SPLITS if split is None else (split,):
        yield from sorted((root / "data" / "dialogues").glob(f"{name}-*-of-*.parquet"))


def _row(path: Path, number: int) -> Dialogue:
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if number < rows:
            return Dialogue.model_validate(file.read_row_group(group).slice(number, 1).to_pylist()[0])
        number -= rows
    raise DatasetError(f"{path}: has no row {number}")
