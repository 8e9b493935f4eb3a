"""Parquet as it is written: the schema, the compression, the page index, the groups and files, and the same bytes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mascot_data.build import dataset, writing
from mascot_data.build.columns import to_table
from mascot_data.build.run import build
from mascot_data.build.writing import SplitWriter, Written, config_digest, sha256_of, shards_of
from mascot_data.records import CONFIGS, arrow_schema

SCHEMA = pa.schema([("id", pa.string()), ("turns", pa.list_(pa.struct([("text", pa.string())])))])


def table(first: int, count: int) -> pa.Table:
    return to_table([(str(n), [(f"text {n}",)] * (n % 4)) for n in range(first, first + count)], SCHEMA)


def write(root: Path, parts: Sequence[Sequence[int]], shards: int = 1) -> list[Written]:
    """Write a file for each part, and a table of so many rows for each number in it."""
    row = 0
    with SplitWriter(root, "dialogues", "train", SCHEMA, shards) as writer:
        for number, part in enumerate(parts):
            if number:
                writer.roll()
            for count in part:
                writer.write(table(row, count))
                row += count
    return writer.written


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", [[700, 900]]), write(tmp_path / "b", [[700, 900]])
    assert first == second
    assert (tmp_path / "a" / first[0].path).read_bytes() == (tmp_path / "b" / second[0].path).read_bytes()


def test_a_changed_row_gives_another_digest(tmp_path: Path) -> None:
    assert write(tmp_path / "a", [[700]])[0].sha256 != write(tmp_path / "b", [[701]])[0].sha256


def test_what_was_written_is_told_and_can_be_read(tmp_path: Path) -> None:
    (told,) = write(tmp_path, [[5, 0, 7]])
    path = tmp_path / told.path
    assert told.path == "data/dialogues/train-00000-of-00001.parquet"
    assert (told.config, told.split, told.rows, told.sha256) == ("dialogues", "train", 12, sha256_of(path))
    assert told.bytes == sum(table(first, count).nbytes for first, count in ((0, 5), (5, 7)))
    assert pq.read_table(path).equals(table(0, 12))
    assert pq.read_schema(path).equals(SCHEMA)


def test_no_rows_leave_no_file(tmp_path: Path) -> None:
    assert write(tmp_path, [[0], []], shards=2) == []
    assert list(tmp_path.iterdir()) == []


def test_the_files_are_compressed_and_have_a_page_index(tmp_path: Path) -> None:
    (told,) = write(tmp_path, [[800]])
    group = pq.read_metadata(tmp_path / told.path).row_group(0)
    for number in range(group.num_columns):
        column = group.column(number)
        assert column.compression == "ZSTD"
        assert column.has_offset_index
        assert column.has_column_index


def test_a_table_is_a_row_group_and_a_long_one_several(tmp_path: Path) -> None:
    (told,) = write(tmp_path, [[1000, 700, 12_000]])
    metadata = pq.read_metadata(tmp_path / told.path)
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [1000, 700, 5000, 5000, 2000]


def test_rows_go_on_in_the_next_file(tmp_path: Path) -> None:
    told = write(tmp_path, [[10], [10, 5], [3]], shards=3)
    assert [file.path for file in told] == [f"data/dialogues/train-{n:05d}-of-00003.parquet" for n in range(3)]
    assert [file.rows for file in told] == [10, 15, 3]
    assert pa.concat_tables(pq.read_table(tmp_path / file.path) for file in told).equals(table(0, 28))


def test_a_failure_is_told_as_it_was_and_leaves_no_open_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), SplitWriter(tmp_path, "dialogues", "train", SCHEMA) as writer:
        writer.write(table(0, 1 // 0))
    assert writer.written == []


@pytest.mark.parametrize(
    ("rows", "size", "expected"),
    [
        (0, 0, (1, 1000)),
        (10, 1, (1, 1000)),
        (5000, 2**30, (1, 5000)),
        (5000, 2**30 + 1, (2, 3000)),
        (10_000, 5 * 2**30, (5, 2000)),
        (5000, 8 * 2**30, (5, 1000)),  # never more files than there are row groups
        (6000, 4 * 2**30, (3, 2000)),  # four files of 1,500 would split a row group
    ],
)
def test_a_file_holds_about_a_gibibyte_of_json_and_whole_row_groups(
    rows: int, size: int, expected: tuple[int, int]
) -> None:
    assert shards_of(rows, size) == expected


def test_the_digest_of_a_config_changes_with_any_file_and_their_order() -> None:
    digests = [config_digest(files) for files in (["a", "b"], ["b", "a"], ["a"], ["a", "c"], [])]
    assert len(set(digests)) == 5
    assert {len(digest) for digest in digests} == {32}


def read(root: Path, config: str) -> list[dict[str, Any]]:
    files = sorted((root / "data" / config).glob("train-*.parquet"))
    return [row for path in files for row in pq.read_table(path).to_pylist()]


def test_a_build_in_several_files_holds_the_same_rows_in_the_same_order(
    sample_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "SHARD_BYTES", 20_000)
    for module in (writing, dataset):
        monkeypatch.setattr(module, "ROWS_PER_GROUP", 2)
    (report,) = build("esconv", sample=True, output=tmp_path)
    whole = sample_build / "esconv-multiagent"
    for config in CONFIGS:
        files = sorted(path.name for path in (report.directory / "data" / config).glob("train-*"))
        assert len(files) > 1
        assert files == [f"train-{n:05d}-of-{len(files):05d}.parquet" for n in range(len(files))]
        assert read(report.directory, config) == read(whole, config)
        for path in (report.directory / "data" / config).glob("*.parquet"):
            assert pq.read_schema(path).equals(arrow_schema(CONFIGS[config]))
