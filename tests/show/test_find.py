"""A dialogue is found by id, with or without its source, by position and split; what is not there is said."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mascot_data.build import dataset, writing
from mascot_data.build.run import build
from mascot_data.errors import DatasetError, UsageError
from mascot_data.show import find_dialogue, show

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def esconv(sample_build: Path) -> Path:
    return sample_build / "esconv-multiagent"


def test_by_id_with_and_without_the_source(esconv: Path) -> None:
    assert find_dialogue(esconv, "esconv:7").id == "esconv:7"
    assert find_dialogue(esconv, "7") == find_dialogue(esconv, "esconv:7", split="test")


def test_ids_of_the_other_corpora(sample_build: Path) -> None:
    assert find_dialogue(sample_build / "qmsum-multiagent", "TS9002b#all").source_id == "TS9002b#all"
    found = find_dialogue(sample_build / "empathetic-dialogues-multiagent", "hit:90001_conv:180002")
    assert found.id == "empathetic-dialogues:hit:90001_conv:180002"


def test_by_position_over_all_splits_and_in_one(esconv: Path) -> None:
    found = [find_dialogue(esconv, number=number).id for number in range(12)]
    assert len(set(found)) == 12
    assert found[0] == find_dialogue(esconv).id == find_dialogue(esconv, split="train").id
    assert found[-2] == find_dialogue(esconv, split="validation").id == "esconv:8"
    assert found[-1] == find_dialogue(esconv, split="test").id == "esconv:7"


def test_by_position_over_row_groups_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "SHARD_BYTES", 30_000)
    for module in (writing, dataset):
        monkeypatch.setattr(module, "ROWS_PER_GROUP", 2)
    (report,) = build("esconv", sample=True, output=tmp_path)
    files = sorted((report.directory / "data" / "dialogues").glob("train-*"))
    assert len(files) > 1
    assert pq.read_metadata(files[0]).num_row_groups > 1
    ids = [name for path in files for name in pq.read_table(path)["id"].to_pylist()]
    assert [find_dialogue(report.directory, split="train", number=n).id for n in range(len(ids))] == ids
    assert [find_dialogue(report.directory, name).id for name in ids] == ids


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dialogue": "esconv:404"}, DatasetError, "has no dialogue 'esconv:404'"),
        ({"dialogue": ""}, DatasetError, "has no dialogue ''"),
        ({"dialogue": "7", "split": "train"}, DatasetError, "has no dialogue '7' in train"),
        ({"number": 12}, DatasetError, "has no so many dialogues"),
        ({"number": 1, "split": "test"}, DatasetError, "has no so many dialogues in test"),
        ({"number": -1}, UsageError, "--number -1: give a position from 0 on"),
        ({"split": "dev"}, UsageError, "--split dev: choose one of train, validation, test"),
    ],
)
def test_what_is_not_there(esconv: Path, arguments: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        find_dialogue(esconv, **arguments)  # type: ignore[arg-type]


def test_a_missing_directory_and_one_without_a_split(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"has no dialogues; make them with  mascot-data build"):
        find_dialogue(tmp_path / "nowhere")
    (report,) = build("esconv", sample=True, limit=1, output=tmp_path)
    with pytest.raises(DatasetError, match="has no dialogues in test"):
        find_dialogue(report.directory, split="test")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(path.read_bytes()[:3000]),
        lambda path: path.write_text("id\n1\n"),
        lambda path: pq.write_table(pa.table({"x": [1]}), path),
        lambda path: pq.write_table(pa.table({"id": ["esconv:0"], "source_id": ["0"]}), path),
    ],
    ids=["cut", "no Parquet", "foreign", "columns missing"],
)
def test_a_file_that_cannot_be_read_is_one_sentence(
    esconv: Path, tmp_path: Path, command: Command, spoil: Callable[[Path], object]
) -> None:
    root = Path(shutil.copytree(esconv, tmp_path / "copy"))
    spoil(root / "data/dialogues/train-00000-of-00001.parquet")
    for arguments in ([], ["0"]):
        status, out, err = command("show", root, *arguments)
        assert (status, out) == (2, "")
        assert err.startswith(f"mascot-data: {root}/data/dialogues/train-00000-of-00001.parquet: cannot be read (")
        assert err.count("\n") == 1


def test_the_command(esconv: Path, tmp_path: Path, command: Command) -> None:
    status, out, _ = command("show", esconv, "7")
    assert status == 0
    assert out.startswith("esconv:7\n")
    status, out, _ = command("show", esconv, "7", "--json")
    assert json.loads(out) == find_dialogue(esconv, "7").model_dump()
    status, out, _ = command("show", esconv, "--split", "validation", "--html", tmp_path / "page.html")
    assert (status, out) == (0, f"esconv:8 -> {tmp_path / 'page.html'}\n")
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    status, out, err = command("show", esconv, "--html", tmp_path / "nowhere" / "page.html")
    assert (status, out) == (2, "")
    assert "page.html: cannot be written" in err
    status, _, err = command("show", esconv, "404")
    assert (status, err) == (2, f"mascot-data: {esconv}: has no dialogue '404'\n")


def test_the_function(esconv: Path, tmp_path: Path) -> None:
    shown = show(esconv, "7", html=tmp_path / "page.html")
    row = find_dialogue(esconv, "7")
    for turn in row.turns:
        assert f"\n{turn.speaker}" in shown
        assert turn.text in shown
    assert (tmp_path / "page.html").stat().st_size > len(shown)
