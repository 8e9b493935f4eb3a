"""The card: sound YAML, and what ``load_dataset`` makes of it, offline, from the folder above."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from mascot_data.build.run import build
from mascot_data.build.writing import config_digest
from mascot_data.records import CONFIGS, FLAGS, arrow_schema, features_yaml
from mascot_data.records.dialogue import SPLITS
from tests.conftest import SAMPLE

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
LOAD = """
import hashlib, json, sys
from datasets import load_dataset

def digest(rows):
    rows = list(rows)
    return [len(rows), hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()]

found = {}
for corpus in sys.argv[1:]:
    name = f"mascot/{corpus}-multiagent"
    for config in ("dialogues", "speaker_turns", "director_turns", "blocks"):
        whole, streamed = load_dataset(name, config), load_dataset(name, config, streaming=True)
        for split in whole:
            found[f"{corpus} {config} {split}"] = digest(whole[split])
            assert digest(streamed[split]) == digest(whole[split])
            assert streamed[split].features == whole[split].features
    assert digest(load_dataset(name, split="train")) == found[f"{corpus} dialogues train"]
print(json.dumps(found))
"""


def header(root: Path) -> dict[str, Any]:
    empty, text, _ = (root / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert empty == ""
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def load(folder: Path, home: Path, *corpora: str) -> dict[str, Any]:
    """Load all configs in a fresh process, whole and streaming; give back rows and digest by corpus, config, split."""
    offline = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    run = subprocess.run(
        [sys.executable, "-c", LOAD, *corpora],
        cwd=folder,
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_load_dataset_reads_every_config_whole_and_streaming(sample_build: Path, tmp_path: Path) -> None:
    found = load(sample_build.parent, tmp_path, *CORPORA)
    assert len(found) == len(CORPORA) * len(CONFIGS) * len(SPLITS)
    for key, (count, _) in found.items():
        corpus, config, split = key.split()
        files = (sample_build / f"{corpus}-multiagent" / "data" / config).glob(f"{split}-*.parquet")
        assert count == sum(pq.read_metadata(path).num_rows for path in files) > 0


def test_after_a_rebuild_the_new_rows_are_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    found = []
    for options in ({}, {"context_turns": 1}, {"context_turns": 1, "clean": False}):
        build("esconv", sample=True, output=tmp_path / "mascot", **options)  # type: ignore[arg-type]
        found.append(load(tmp_path, home, "esconv"))
    first, short, raw = found
    assert first.keys() == short.keys() == raw.keys()
    for key in first:
        assert (first[key] == short[key]) == ("dialogues" in key), key
    assert short["esconv dialogues train"] != raw["esconv dialogues train"]
    assert short["esconv speaker_turns train"] != raw["esconv speaker_turns train"]


def test_a_split_without_an_agent_turn_can_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for split, lines in (("train", None), ("valid", 2)):
        text = (SAMPLE / "empathetic_dialogues" / f"{split}.csv").read_text("utf-8").splitlines(keepends=True)
        (tmp_path / "in" / f"{split}.csv").write_text("".join(text[:lines]), "utf-8")
    build("empathetic-dialogues", input=tmp_path / "in", allow_partial=True, output=tmp_path / "mascot")
    found = load(tmp_path, tmp_path / "home", "empathetic-dialogues")
    assert found["empathetic-dialogues dialogues validation"][0] == 1


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_header_declares_every_config_with_its_files_features_and_counts(sample_build: Path, corpus: str) -> None:
    root = sample_build / f"{corpus}-multiagent"
    card = header(root)
    facts = json.loads((root / "provenance.json").read_text("utf-8"))
    assert [config["config_name"] for config in card["configs"]] == list(CONFIGS)
    assert [config.get("default", False) for config in card["configs"]] == [True, False, False, False]
    assert card["license"] == ("mit" if corpus == "qmsum" else "cc-by-nc-4.0")
    assert card["language"] == ["en"]
    for config, info in zip(card["configs"], card["dataset_info"], strict=True):
        name = config["config_name"]
        assert info["config_name"] == name
        assert info["features"] == features_yaml(arrow_schema(CONFIGS[name]))
        shas = [found["sha256"] for path, found in facts["files"].items() if path.startswith(f"data/{name}/")]
        assert config_digest(shas) in config["description"]
        assert [entry["split"] for entry in config["data_files"]] == list(SPLITS)
        for entry, split in zip(config["data_files"], info["splits"], strict=True):
            rows = sum(pq.read_metadata(path).num_rows for path in root.glob(entry["path"]))
            assert (split["name"], split["num_examples"]) == (entry["split"], rows)
            assert split["num_bytes"] > 0


def test_splits_that_are_not_there_are_not_declared(tmp_path: Path) -> None:
    (report,) = build("esconv", sample=True, limit=1, output=tmp_path)
    card = header(report.directory)
    assert all([entry["split"] for entry in config["data_files"]] == ["train"] for config in card["configs"])
    assert all([split["name"] for split in info["splits"]] == ["train"] for info in card["dataset_info"])


def test_the_same_build_writes_the_same_card(sample_build: Path, tmp_path: Path) -> None:
    (report,) = build("qmsum", sample=True, output=tmp_path)
    written = (report.directory / "README.md").read_bytes()
    assert written == (sample_build / "qmsum-multiagent" / "README.md").read_bytes()


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_text_tells_the_account_and_leaves_nothing_open(sample_build: Path, corpus: str) -> None:
    root = sample_build / f"{corpus}-multiagent"
    text = (root / "README.md").read_text("utf-8").split("---\n", 2)[2]
    account = json.loads((root / "provenance.json").read_text("utf-8"))["account"]
    assert f"| utterances read | {account['utterances']} |" in text
    assert f"| kept in turns | {account['kept']} |" in text
    for flag, count in account["flagged"].items():
        assert f"| `{flag}` | {count} | {FLAGS[flag]} |" in text
    for open_end in ("{{", "{%", "[More Information Needed]", "None", "TODO"):
        assert open_end not in text.replace("limit: None", "").replace("context_turns: None", "")
