"""The real corpora: published counts, nothing lost, and what ``load_dataset`` reads."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mascot_data.build.run import build
from mascot_data.validate.run import validate

PUBLISHED = {
    "esconv": {"conversations": 1300, "utterances": 38365},
    "empathetic-dialogues": {"conversations": 24850, "utterances": 107220},
    "qmsum": {"conversations": 232, "utterances": 129177, "queries": 1810},
}
DIALOGUES = {
    "esconv": {"train": 910, "validation": 195, "test": 195},
    "empathetic-dialogues": {"train": 19533, "validation": 2770, "test": 2547},
}
LOAD = """
import json, sys
from datasets import load_dataset
found = {}
for config in ("dialogues", "speaker_turns", "director_turns", "blocks"):
    loaded = load_dataset(f"mascot/{sys.argv[1]}-multiagent", config)
    streamed = load_dataset(f"mascot/{sys.argv[1]}-multiagent", config, streaming=True)
    found[config] = {split: rows.num_rows for split, rows in loaded.items()}
    assert sum(1 for _ in streamed["test"]) == loaded["test"].num_rows
    assert next(iter(streamed["test"])) == loaded["test"][0]
print(json.dumps(found))
"""


def account(output: Path, source: str) -> dict[str, Any]:
    facts = json.loads((output / f"{source}-multiagent" / "provenance.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = facts["account"]
    return found


@pytest.mark.parametrize("source", PUBLISHED)
def test_counts_are_the_published_ones_and_add_up(source: str, real_build: Path) -> None:
    counts = account(real_build, source)
    assert {name: counts[name] for name in PUBLISHED[source]} == PUBLISHED[source]
    assert counts["kept"] + sum(counts["dropped"].values()) == counts["utterances"]


@pytest.mark.parametrize("source", PUBLISHED)
def test_validate_finds_no_problem(source: str, real_build: Path) -> None:
    assert validate(real_build / f"{source}-multiagent").problems == []


@pytest.mark.parametrize("source", PUBLISHED)
def test_load_dataset_reads_every_config_offline_and_streaming(source: str, real_build: Path, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    offline = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", LOAD, source],
        cwd=real_build.parent,
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    rows = account(real_build, source)["rows"]
    assert found == rows
    if source in DIALOGUES:
        assert found["dialogues"] == DIALOGUES[source]
    assert sum(found["director_turns"].values()) == account(real_build, source)["turns"]["agent"]


def test_quirks_are_flagged_as_often_as_they_occur(real_build: Path) -> None:
    esconv = account(real_build, "esconv")["flagged"]
    assert esconv["supporter-first"] == 683
    assert esconv["survey-out-of-range"] == 4
    empathetic = account(real_build, "empathetic-dialogues")["flagged"]
    assert empathetic["one-utterance"] == 3
    assert empathetic["leaked-separator"] == 1
    assert empathetic["ends-with-agent"] == 20132
    assert empathetic["pair-in-two-splits"] == 2 * 4359
    assert account(real_build, "qmsum")["dropped"]["blank"] == 115


def test_both_layouts_of_esconv_give_the_same_dialogues(sources: Path, real_build: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    build("esconv", input=sources / "esconv" / "hf", output=tmp_path)
    for split in ("train", "validation", "test"):
        both = []
        for output in (real_build, tmp_path):
            rows = pq.read_table(
                output / "esconv-multiagent" / "data" / "dialogues" / f"{split}-00000-of-00001.parquet"
            )
            # The Hub's files keep runs of white space inside an utterance, and name the two sides usr and sys.
            both.append([(row["id"], [(t["speaker"], t["text"]) for t in row["turns"]]) for row in rows.to_pylist()])
        assert both[0] == both[1]
