"""Sound datasets have no problem, whatever options they were built with and whatever later stages add."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from mascot_data.build import dataset, writing
from mascot_data.build.run import build
from mascot_data.errors import DatasetError
from mascot_data.personas import load_personas
from mascot_data.records import SCHEMA_VERSION
from mascot_data.validate import validate
from tests.conftest import SAMPLE
from tests.validate.tampering import ED, ES, QM, edit_card, facts

CORPORA = (ES, ED, QM)


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_sample_build_has_no_problem(sample_build: Path, corpus: str) -> None:
    report = validate(sample_build / corpus)
    assert report.problems == []
    assert report.rows == sum(facts(sample_build / corpus)["account"]["dialogues"].values()) > 10


@pytest.mark.parametrize(
    "options",
    [
        {"context_turns": 2, "block_turns": 3},
        {"context_tokens": 20, "block_turns": 1},
        {"context_tokens": None, "clean": False, "block_turns": 1000},
        {"limit": 1},
        {"include_failed": True},
    ],
    ids=str,
)
def test_any_options_give_a_sound_build(tmp_path: Path, options: dict[str, Any]) -> None:
    for report in build("all", sample=True, output=tmp_path, **options):
        assert validate(report.directory).problems == []


def test_cards_of_ones_own_are_no_problem(tmp_path: Path) -> None:
    for report in build("all", sample=True, output=tmp_path / "mascot", personas=_own_cards(tmp_path)):
        assert validate(report.directory).problems == []
    assert facts(tmp_path / "mascot" / ES)["account"]["personas"].keys() == {"listener", "mentor"}


def _own_cards(folder: Path) -> Path:
    """Write a roster of two, whose cards divide all acts among them, and a card that replaces a built-in one."""
    built_in = load_personas().cards
    cards = {
        "listener": ("The Listener (2)", ["anchor", "catalyst"]),
        "mentor": ("Mentor", ["beacon", "guide"]),
        "scribe": ("Protokoll", ["scribe"]),
    }
    (folder / "own").mkdir()
    for number, (card, (name, parts)) in enumerate(cards.items()):
        fields = built_in[parts[0]].model_dump(mode="json") | {"id": card, "name": name, "never": []}
        fields["never"] = [{"what": f"{what} {number}", "belongs_to": None} for what in ("Shout", "Lie", "Leave")]
        fields["examples"] = [f"{name} says {word}." for word in ("one", "two", "three", "four")]
        fields["acts"] = {
            corpus: [act for part in parts for act in built_in[part].acts.get(corpus, ())]
            for corpus in ("esconv", "empathetic-dialogues")
        }
        (folder / "own" / f"{card}.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")
    roster = {"pair": {"domain": "psychological-support", "kind": "agent", "personas": ["listener", "mentor"]}}
    (folder / "own" / "rosters.yaml").write_text(yaml.safe_dump(roster), encoding="utf-8")
    return folder / "own"


def test_a_split_without_an_agent_turn_is_no_problem(tmp_path: Path) -> None:
    lines = (SAMPLE / "empathetic_dialogues" / "train.csv").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "train.csv").write_text("".join(lines[:2]), "utf-8")
    (report,) = build("empathetic-dialogues", input=tmp_path / "in", allow_partial=True, output=tmp_path)
    assert sorted(path.name for path in (report.directory / "data").iterdir()) == ["dialogues"]
    assert validate(report.directory).problems == []


def test_several_files_a_split_are_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "SHARD_BYTES", 15_000)
    for module in (writing, dataset):
        monkeypatch.setattr(module, "ROWS_PER_GROUP", 2)
    (report,) = build("esconv", sample=True, output=tmp_path)
    assert len(list((report.directory / "data" / "speaker_turns").glob("train-*"))) > 1
    assert validate(report.directory).problems == []


def test_configs_of_later_stages_are_left_alone(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    for config in ("annotations", "mine"):
        (root / "data" / config).mkdir()
        pq.write_table(pa.table({"x": [1]}), root / "data" / config / "train-00000-of-00001.parquet")
    (root / "notes.md").write_text("mine", encoding="utf-8")
    edit_card(
        root,
        lambda header: header["configs"].append(
            {"config_name": "mine", "data_files": [{"split": "train", "path": "data/mine/train-*.parquet"}]}
        ),
    )
    assert validate(root).problems == []


def test_a_directory_taken_away_by_a_killed_build_is_put_back(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    root.rename(root.parent / f".{root.name}.old")
    assert validate(root).problems == []


def test_checking_changes_nothing(copy: Callable[[str], Path]) -> None:
    root = copy(QM)
    (root.parent / f".{root.name}.old").mkdir()
    before = sorted((str(path), path.stat().st_mtime_ns) for path in root.parent.rglob("*"))
    validate(root)
    assert sorted((str(path), path.stat().st_mtime_ns) for path in root.parent.rglob("*")) == before


def test_the_directory_may_be_the_working_directory(sample_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sample_build / ES)
    assert validate(".").problems == []


def test_the_command_says_so_and_ends_with_0(sample_build: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = command("validate", sample_build / ES)
    assert (status, out) == (0, f"{sample_build / ES}: 12 rows checked, no problem\n")
    status, out, _ = command("validate", "--json", sample_build / ES)
    assert status == 0
    assert json.loads(out) == {"directory": str(sample_build / ES), "rows": 12, "problems": []}


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (shutil.rmtree, "there is no such dataset directory"),
        (lambda root: (root / "provenance.json").unlink(), "has no provenance.json"),
        (lambda root: (root / "provenance.json").write_text("{"), "is damaged"),
        (lambda root: (root / "provenance.json").write_text("[]"), "is not the provenance"),
        (lambda root: (root / "provenance.json").write_text('{"files": []}'), "schema version None"),
        (
            lambda root: (root / "provenance.json").write_text(
                f'{{"files": [], "schema_version": "{SCHEMA_VERSION}"}}'
            ),
            r"is damaged \(options: Field required\)",
        ),
    ],
)
def test_what_is_no_dataset_is_an_error(
    copy: Callable[[str], Path],
    command: Callable[..., tuple[int, str, str]],
    spoil: Callable[[Path], object],
    expected: str,
) -> None:
    root = copy(ES)
    spoil(root)
    with pytest.raises(DatasetError, match=expected):
        validate(root)
    status, out, err = command("validate", root)
    assert (status, out) == (2, "")
    assert err.startswith(f"mascot-data: {root}")
    assert err.count("\n") == 1
