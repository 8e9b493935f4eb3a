"""Rows are read in their order, split by split and label by label; what is not there or broken is an error."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mascot_data.build.reading import read_rows, splits_of
from mascot_data.errors import DatasetError, UsageError


def put(root: Path, name: str, *numbers: int) -> None:
    path = root / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": numbers, "text": [f"t{number}" for number in numbers]}), path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "blocks/train-00001-of-00002.parquet", 4, 3)
    put(tmp_path, "blocks/train-00000-of-00002.parquet", *range(1000, 2200))
    put(tmp_path, "blocks/test-00000-of-00001.parquet", 7)
    put(tmp_path, "blocks/train-rollouts-00000-of-00001.parquet", 9)
    put(tmp_path, "blocks/train-mine.parquet", 8)
    return tmp_path


def ids(root: Path, label: str = "") -> list[int]:
    return [row["id"] for row in read_rows(root, "blocks", "train", label=label)]


def test_the_files_of_a_split_come_one_after_the_other(root: Path) -> None:
    assert ids(root) == [*range(1000, 2200), 4, 3]


def test_a_label_takes_only_its_files(root: Path) -> None:
    assert ids(root, "rollouts") == [9]
    assert ids(root, "other") == []


def test_only_the_columns_asked_for_are_read(root: Path) -> None:
    assert list(read_rows(root, "blocks", "test")) == [{"id": 7, "text": "t7"}]
    assert list(read_rows(root, "blocks", "test", ["text"])) == [{"text": "t7"}]


def test_a_split_without_a_file_has_no_rows(root: Path) -> None:
    assert list(read_rows(root, "blocks", "validation")) == []


@pytest.mark.parametrize(
    ("config", "label", "maker"),
    [("dialogues", "", "build"), ("candidates", "", "candidates"), ("speaker_turns", "rollouts", "rollouts")],
)
def test_a_config_that_is_not_there_is_an_error_with_its_maker(root: Path, config: str, label: str, maker: str) -> None:
    with pytest.raises(DatasetError, match=rf"has no {config}; make them with  mascot-data {maker}$"):
        list(read_rows(root, config, "train", label=label))


def test_a_broken_file_is_an_error_with_its_name(root: Path) -> None:
    (root / "data/blocks/test-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        DatasetError, match=r"test-00000-of-00001\.parquet: cannot be read \(.*mascot-data build  makes"
    ):
        list(read_rows(root, "blocks", "test"))


def test_a_directory_taken_away_by_a_killed_build_is_put_back(root: Path) -> None:
    root.rename(root.parent / f".{root.name}.old")
    assert ids(root, "rollouts") == [9]


def test_splits_come_in_their_order() -> None:
    assert splits_of([]) == ["train", "validation", "test"]
    assert splits_of(["test", "train", "test"]) == ["train", "test"]
    with pytest.raises(UsageError, match="--split dev: choose one of train, validation, test"):
        splits_of(["train", "dev"])
