"""A build as a whole: the same bytes from the same corpus, whatever the order, layout, process or hash seed."""

import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mascot_data.build.run import build
from mascot_data.errors import AccountError, UsageError
from tests.conftest import SAMPLE

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")


def data_digests(output: Path, source: str) -> dict[str, str]:
    facts = json.loads((output / f"{source}-multiagent" / "provenance.json").read_text(encoding="utf-8"))
    return {path: entry["sha256"] for path, entry in facts["files"].items()}


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("source", CORPORA)
def test_two_builds_are_equal_to_the_byte(source: str, sample_build: Path, tmp_path: Path) -> None:
    build(source, sample=True, output=tmp_path)
    directory = f"{source}-multiagent"
    assert files_of(tmp_path / directory) == files_of(sample_build / directory)


def test_another_process_with_another_hash_seed_gives_the_same_bytes(sample_build: Path, tmp_path: Path) -> None:
    for seed in ("0", "4711"):
        command = [sys.executable, "-m", "mascot_data", "build", "--sample", "--output", str(tmp_path / seed)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
        for source in CORPORA:
            directory = f"{source}-multiagent"
            assert files_of(tmp_path / seed / directory) == files_of(sample_build / directory)


def test_rows_of_a_csv_in_any_order_give_the_same_rows(sample_build: Path, tmp_path: Path) -> None:
    source = tmp_path / "empathetic_dialogues"
    source.mkdir()
    for name in ("train.csv", "valid.csv", "test.csv"):
        header, *lines = (SAMPLE / "empathetic_dialogues" / name).read_bytes().splitlines(keepends=True)
        random.Random(5).shuffle(lines)
        (source / name).write_bytes(header + b"".join(lines))
    build("empathetic-dialogues", input=source, output=tmp_path / "out", allow_partial=True)
    ours = data_digests(tmp_path / "out", "empathetic-dialogues")
    assert ours == data_digests(sample_build, "empathetic-dialogues")


def test_members_of_a_zip_in_any_order_give_the_same_rows(sample_build: Path, tmp_path: Path) -> None:
    paths = [path for path in (SAMPLE / "qmsum").rglob("*") if path.is_file()]
    random.Random(6).shuffle(paths)
    archive = tmp_path / "QMSum-main.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        for path in paths:
            members.write(path, f"QMSum-main/{path.relative_to(SAMPLE / 'qmsum').as_posix()}")
    build("qmsum", input=archive, output=tmp_path / "out", allow_partial=True)
    assert data_digests(tmp_path / "out", "qmsum") == data_digests(sample_build, "qmsum")


def test_a_rebuild_keeps_what_later_steps_put_into_the_directory(tmp_path: Path) -> None:
    build("esconv", sample=True, output=tmp_path)
    directory = tmp_path / "esconv-multiagent"
    annotations = directory / "data" / "annotations" / "train-00000-of-00001.parquet"
    annotations.parent.mkdir()
    annotations.write_bytes(b"people's work")
    build("esconv", sample=True, output=tmp_path, clean=False)
    assert annotations.read_bytes() == b"people's work"


def test_a_corpus_that_is_not_the_published_one_is_refused_and_the_old_dataset_stays(tmp_path: Path) -> None:
    build("esconv", sample=True, output=tmp_path)
    before = files_of(tmp_path / "esconv-multiagent")
    with pytest.raises(AccountError, match=r"12 instead of 1,300.*--allow-partial"):
        build("esconv", input=SAMPLE / "esconv", output=tmp_path)
    assert files_of(tmp_path / "esconv-multiagent") == before
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == ["esconv-multiagent"]


def test_limit_takes_the_first_conversations(tmp_path: Path) -> None:
    (report,) = build("esconv", sample=True, output=tmp_path, limit=3)
    assert report.account.conversations == 3
    assert report.account.dialogues.total() == 3


def test_failed_conversations_come_only_when_asked_for(tmp_path: Path) -> None:
    (without,) = build("esconv", sample=True, output=tmp_path / "a")
    (with_failed,) = build("esconv", sample=True, output=tmp_path / "b", include_failed=True)
    assert without.account.failed_conversations == 0
    assert with_failed.account.failed_conversations == 3
    assert with_failed.account.dialogues["train"] == without.account.dialogues["train"] + 3


def test_personas_of_the_user_are_used(tmp_path: Path) -> None:
    cards = Path(__file__).resolve().parents[2] / "mascot_data" / "personas" / "cards"
    own = tmp_path / "own"
    own.mkdir()
    text = (cards / "anchor.yaml").read_text(encoding="utf-8")
    (own / "anchor.yaml").write_text(text.replace("name: Anchor", "name: Harbour"), encoding="utf-8")
    build("esconv", sample=True, output=tmp_path / "out", personas=own)
    import pyarrow.parquet as pq

    turns = pq.read_table(tmp_path / "out" / "esconv-multiagent" / "data" / "speaker_turns").to_pylist()
    systems = {row["prompt"][0]["content"].splitlines()[0] for row in turns if row["persona"] == "anchor"}
    assert len(systems) == 1
    assert "You are Harbour" in systems.pop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "nosuch"}, "no such corpus"),
        ({"source": "esconv", "intents": "x"}, "--intents"),
        ({"source": "esconv", "limit": 0}, "--limit"),
        ({"source": "esconv", "sample": True, "input": "x"}, "exclude each other"),
        ({"source": "esconv", "sample": True, "block_turns": 0}, "block"),
        ({"source": "esconv", "sample": True, "context_tokens": 0}, "budget"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        build(output=tmp_path, **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_sources_are_found_through_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SAMPLE / "esconv", tmp_path / "corpora" / "esconv")
    monkeypatch.setenv("MASCOT_SOURCES", str(tmp_path / "corpora"))
    (report,) = build("esconv", output=tmp_path / "out", allow_partial=True)
    assert report.account.conversations == 12
