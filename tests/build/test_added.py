"""What later commands add: in place as a whole or not at all, named by the card, and carried over by a rebuild."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mascot_data.build import staging
from mascot_data.build.added import CANDIDATES, ROLLOUTS, add_part, built, check_options, read_added, read_base
from mascot_data.build.run import build
from mascot_data.errors import DatasetError, OutputError, UsageError
from mascot_data.generate import candidates, rollouts
from mascot_data.records.dialogue import SCHEMA_VERSION
from mascot_data.validate import validate
from tests.build.test_card import header
from tests.cli.commands import left_in
from tests.models.scripted import Scripted, installed

ES = "esconv-multiagent"
MODEL = "scripted"
STRAY = "data/mine/test-00000-of-00001.parquet"


@pytest.fixture(scope="module")
def made(sample_build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a dataset with candidates, rollouts and a file of a user's own; not to be changed."""
    folder = tmp_path_factory.mktemp("added") / "mascot"
    root = Path(shutil.copytree(sample_build / ES, folder / ES))
    with installed(Scripted()):
        candidates(root, [MODEL], k=2, splits=["train", "test"], limit=12)
        rollouts(root, MODEL, modes=["mascot", "zero-shot"], limit=3, turns=3)
    (root / "data/mine").mkdir()
    pq.write_table(pa.table({"x": [1, 2]}), root / STRAY)
    build("esconv", sample=True, output=folder)
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "mascot")) / ES


def test_a_part_owns_its_files_and_no_others() -> None:
    mine = ["provenance-rollouts.json", "data/blocks/train-rollouts-00000-of-00001.parquet"]
    others = [
        "data/blocks/train-00000-of-00001.parquet",
        "data/blocks/dev-rollouts-00000-of-00001.parquet",
        "data/dialogues/train-rollouts-00000-of-00001.parquet",
        "data/blocks/train-rollouts-00000-of-00001.parquet.bak",
        "provenance.json",
        "provenance-candidates.json",
    ]
    assert [ROLLOUTS.owns(name) for name in [*mine, *others]] == [True] * 2 + [False] * 6
    assert CANDIDATES.owns("data/candidates/test-00003-of-00010.parquet")
    assert not CANDIDATES.owns("data/candidates/test-mine-00003-of-00010.parquet")
    assert [built(name) for name in [*mine, others[0], "data/candidates/test-00003-of-00010.parquet"]] == [
        *(False, False, True, False),
    ]


def test_the_text_of_the_card_tells_of_each_part_and_no_name_can_break_it(root: Path) -> None:
    rows = sum(pq.read_metadata(path).num_rows for path in root.glob("data/candidates/*.parquet"))
    assert "seed: 0, personas: " in (text := (root / "README.md").read_text("utf-8"))
    assert f"| {rows} |" in text
    options = {"models": ["a|b", "<script>alert(1)</script>", "[x](y) `z`\nnew line"]}
    add_part(root, CANDIDATES, {}, options, dict)
    text = (root / "README.md").read_text("utf-8").split("---\n", 2)[2]
    (line,) = [line for line in text.splitlines() if line.startswith("| candidates |")]
    assert line.count("|") == 5
    assert "<script>" not in text
    assert "[x](y)" not in text
    assert "new line" in line


def test_the_card_names_what_was_added_after_a_rebuild(made: Path) -> None:
    root = made / ES
    assert validate(root).problems == []
    card = header(root)
    configs = {config["config_name"]: config for config in card["configs"]}
    infos = {info["config_name"]: info for info in card["dataset_info"]}
    assert [*configs] == ["dialogues", "speaker_turns", "director_turns", "blocks", "candidates", "mine"]
    assert [*infos] == [*configs][:-1]
    assert [entry["split"] for entry in configs["candidates"]["data_files"]] == ["train", "test"]
    assert configs["mine"]["data_files"] == [{"split": "test", "path": "data/mine/test-*.parquet"}]
    for config, info in infos.items():
        for split in info["splits"]:
            files = (root / "data" / config).glob(f"{split['name']}-*.parquet")
            assert split["num_examples"] == sum(pq.read_metadata(path).num_rows for path in files) > 0


LOAD = """
import json, sys
from datasets import load_dataset
found = {}
for config in sys.argv[1:]:
    whole = load_dataset("mascot/esconv-multiagent", config)
    streamed = load_dataset("mascot/esconv-multiagent", config, streaming=True)
    for split in whole:
        found[f"{config} {split}"] = list(whole[split])
        assert list(streamed[split]) == found[f"{config} {split}"]
print(json.dumps(found))
"""


def test_load_dataset_gives_what_was_added_offline(made: Path, tmp_path: Path) -> None:
    offline = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, "candidates", "blocks", "mine"],
        cwd=made.parent,
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr
    found = json.loads(loaded.stdout)
    splits = {"candidates": ("train", "test"), "blocks": ("train", "validation", "test"), "mine": ("test",)}
    assert {*found} == {f"{config} {split}" for config in splits for split in splits[config]}
    for key, loaded_rows in found.items():
        config, split = key.split()
        paths = sorted((made / ES / "data" / config).glob(f"{split}-*.parquet"))
        assert loaded_rows == [row for path in paths for row in pq.read_table(path).to_pylist()]
    assert {row["origin"] for row in found["blocks train"]} == {"corpus", "rollout"}
    assert {row["origin"] for row in found["candidates test"]} == {"human", "model"}


def test_the_provenance_says_what_it_was_made_with_and_on(made: Path) -> None:
    root = made / ES
    base = json.loads((root / "provenance.json").read_text("utf-8"))
    found = {facts["part"]: facts for facts in read_added(root)}
    assert [*found] == ["candidates", "rollouts"]
    for facts in found.values():
        assert (facts["built_on"], facts["schema_version"]) == (base["rows_digest"], SCHEMA_VERSION)
        for name, stated in facts["files"].items():
            assert stated["rows"] == pq.read_metadata(root / name).num_rows
    assert found["candidates"]["options"]["k"] == 2
    assert found["candidates"]["summary"]["models"] == [list_of(Scripted().info)]
    counted = found["candidates"]["summary"]["rows"]
    assert sum(counted.values()) == sum(stated["rows"] for stated in found["candidates"]["files"].values())
    assert counted["human"] == 12 + 8
    assert found["rollouts"]["options"]["modes"] == ["mascot", "zero-shot"]


def list_of(info: Any) -> dict[str, str]:
    return dict(info._asdict())


def test_a_rebuild_carries_every_byte_over(root: Path) -> None:
    before = left_in(root)
    build("esconv", sample=True, output=root.parent)
    assert left_in(root) == before
    build("esconv", sample=True, output=root.parent, context_turns=1)
    after = left_in(root)
    added = [name for name in before if name == STRAY or CANDIDATES.owns(name) or ROLLOUTS.owns(name)]
    assert len(added) == 8
    assert {name: after[name] for name in added} == {name: before[name] for name in added}
    assert after["README.md"] != before["README.md"]


def test_a_part_takes_the_place_of_the_one_before_and_leaves_the_other(root: Path) -> None:
    before = left_in(root)
    with installed(Scripted()):
        candidates(root, [MODEL], k=2, splits=["validation"], replace=True)
    after = left_in(root)
    assert {name for name in after if CANDIDATES.owns(name)} == {
        "data/candidates/validation-00000-of-00001.parquet",
        "provenance-candidates.json",
    }
    others = [name for name in before if not CANDIDATES.owns(name) and name != "README.md"]
    assert {name: after[name] for name in others} == {name: before[name] for name in others}
    assert validate(root).problems == []


def failing(error: BaseException) -> Iterator[tuple[Any, ...]]:
    raise error
    yield ()


def test_whatever_goes_wrong_the_directory_stays_as_it_was(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = left_in(root.parent)
    for error in (RuntimeError(), KeyboardInterrupt(), MemoryError()):
        with pytest.raises(type(error)):
            add_part(root, CANDIDATES, {"train": failing(error)}, {}, dict)
        assert left_in(root.parent) == before

    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr(staging, "_sync", full)
    with pytest.raises(OutputError, match="the disk is full"):
        add_part(root, CANDIDATES, {}, {}, dict)
    assert left_in(root.parent) == before


def test_rows_made_from_a_build_that_is_gone_are_not_written(root: Path) -> None:
    base = read_base(root, CANDIDATES)
    build("esconv", sample=True, output=root.parent, context_turns=1)
    before = left_in(root.parent)
    with pytest.raises(DatasetError, match="was built anew meanwhile; run again"):
        add_part(root, CANDIDATES, {}, {}, dict, base)
    assert left_in(root.parent) == before


Change = Callable[[dict[str, Any]], object]
BROKEN: dict[str, tuple[Change | str, str]] = {
    "version": (lambda facts: facts.update(schema_version="0.9"), f"is of schema version 0.9, but .* {SCHEMA_VERSION}"),
    "no version": (lambda facts: facts.pop("schema_version"), "is damaged"),
    "no files": (lambda facts: facts.pop("files"), "is not the provenance of a part"),
    "cut": ("{", "is damaged"),
    "a list": ("[]", "is damaged"),
    "no text": ("\0", "is damaged"),
}


def broken(root: Path, name: str) -> str:
    """Break the provenance of candidates, and return what is to be said of it."""
    change, what = BROKEN[name]
    path = root / "provenance-candidates.json"
    if isinstance(change, str):
        path.write_text(change, encoding="utf-8")
    else:
        facts = json.loads(path.read_text("utf-8"))
        change(facts)
        path.write_text(json.dumps(facts), encoding="utf-8")
    return rf"provenance-candidates\.json: {what}.*; delete it and the files it names \(then  mascot-data candidates  "


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_provenance_is_told(root: Path, name: str) -> None:
    says = broken(root, name)
    with pytest.raises(DatasetError, match=says):
        read_added(root)
    assert [facts["part"] for facts in read_added(root, but=CANDIDATES)] == ["rollouts"]


def test_a_provenance_of_another_version_stops_a_rebuild_and_what_it_says_helps(root: Path) -> None:
    says = broken(root, "version")
    path = root / "provenance-candidates.json"
    before = left_in(root.parent)
    with pytest.raises(DatasetError, match=says):
        build("esconv", sample=True, output=root.parent)
    with installed(Scripted()):
        with pytest.raises(DatasetError, match=says):
            candidates(root, [MODEL], k=2)
        with pytest.raises(DatasetError, match=says):
            rollouts(root, MODEL, modes=["mascot", "zero-shot"], limit=3, turns=3)
        assert left_in(root.parent) == before
        path.unlink()
        shutil.rmtree(root / "data/candidates")
        build("esconv", sample=True, output=root.parent)
        assert validate(root).problems == []
        candidates(root, [MODEL], k=2)
    assert validate(root).problems == []


def test_a_broken_provenance_of_its_own_can_be_replaced(root: Path) -> None:
    (root / "provenance-candidates.json").write_text("{", encoding="utf-8")
    with installed(Scripted()):
        candidates(root, [MODEL], k=2, limit=2, replace=True)
    assert validate(root).problems == []


def test_a_dataset_of_another_schema_version_is_told_before_any_work(root: Path) -> None:
    facts = json.loads((root / "provenance.json").read_text("utf-8"))
    (root / "provenance.json").write_text(json.dumps({**facts, "schema_version": "0.9"}), encoding="utf-8")
    model = Scripted()
    with installed(model):
        for run in (candidates, rollouts):
            for dry_run in (False, True):
                with pytest.raises(DatasetError, match=r"is of schema version 0\.9, but .*; build the dataset again"):
                    run(root, dry_run=dry_run)
    assert model.asked == []


def test_what_is_no_dataset_is_told_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("nowhere", "empty"):
        for run in (candidates, rollouts):
            with pytest.raises(DatasetError, match=rf"{name}: has no provenance\.json; make the dataset with"):
                run(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


OPTIONS = {"models": ["a"], "k": 2, "limit": 5, "splits": ["train"]}
GROWING = ("limit", "splits")


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        ({}, None),
        ({"limit": 6}, None),
        ({"limit": None}, None),
        ({"splits": ["train", "test"]}, None),
        ({"new": 1}, None),
        ({"limit": 4}, "limit: 5, now 4"),
        ({"splits": ["test"]}, r"splits: \['train'\], now \['test'\]"),
        ({"k": 3}, "k: 2, now 3"),
        ({"models": ["a", "b"]}, r"models: \['a'\], now \['a', 'b'\]"),
    ],
    ids=str,
)
def test_other_options_are_refused_unless_they_only_grow(
    root: Path, changed: dict[str, Any], refused: str | None
) -> None:
    add_part(root, CANDIDATES, {}, OPTIONS, dict)
    if refused is None:
        check_options(root, CANDIDATES, {**OPTIONS, **changed}, GROWING)
        return
    with pytest.raises(UsageError, match=rf"has candidates made with other options \({refused}\); add --replace"):
        check_options(root, CANDIDATES, {**OPTIONS, **changed}, GROWING)


def test_no_bound_does_not_grow_into_one(root: Path) -> None:
    add_part(root, CANDIDATES, {}, {**OPTIONS, "limit": None}, dict)
    with pytest.raises(UsageError, match="limit: None, now 5"):
        check_options(root, CANDIDATES, OPTIONS, GROWING)
