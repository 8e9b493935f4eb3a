"""The page on formats is in step with the models, and its code runs on the sample."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from docs.generate import formats_page
from mascot_data.records import ADDED_CONFIGS, CONFIGS
from mascot_data.records.document import column_table, example, markdown_table, nested_models, render_page
from tests.pages import FORMATS, code_blocks

ALL = CONFIGS | ADDED_CONFIGS
TRAINERS = ("from trl import", "from transformers import")
PYTHON = [code for code in code_blocks(FORMATS, "python") if not any(name in code for name in TRAINERS)]
PAGE = FORMATS.read_text(encoding="utf-8")


def test_the_committed_page_is_in_step_with_models_tables_and_sample(sample_build: Path) -> None:
    template = FORMATS.with_suffix(".md.jinja").read_text(encoding="utf-8")
    assert formats_page(sample_build, template) == PAGE, "run  make schemas  after a change to rows, prompts or tables"


@pytest.mark.parametrize("config", ALL)
def test_every_column_has_a_meaning_and_a_readable_type(config: str) -> None:
    for model in (ALL[config], *nested_models(ALL[config])):
        table = column_table(model)
        assert "|  |" not in table
        assert table in PAGE
        assert table.count("\n") == len(model.model_fields) + 1


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    titles = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    headings = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    links = re.findall(r"\]\(#([^)]+)\)", PAGE)
    assert len(links) > 20
    assert set(links) <= headings


def run(code: str, sample_build: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> dict[str, Any]:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    monkeypatch.chdir(sample_build.parent)
    names: dict[str, Any] = {}
    exec(compile(code, str(FORMATS), "exec"), names)
    return names


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_the_code_runs_on_the_sample(
    code: str, sample_build: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run(code, sample_build, monkeypatch, tmp_path)
    assert capsys.readouterr().out or "situation" in names["rows"].column_names


def test_the_helper_for_strict_templates_loses_no_text(
    sample_build: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (code,) = [code for code in PYTHON if "fit_row" in code]
    fitted = run(code, sample_build, monkeypatch, tmp_path)["rows"]
    (path,) = (sample_build / "esconv-multiagent" / "data" / "speaker_turns").glob("train-*.parquet")
    for row, was in zip(fitted, pq.read_table(path).to_pylist(), strict=True):
        roles = [message["role"] for message in row["prompt"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        system, first, *others = was["prompt"]
        assert row["prompt"][0]["content"] == f"{system['content']}\n\n{first['content']}"
        assert row["prompt"][1:] == others


def test_the_joined_situations_are_those_of_the_dialogue(
    sample_build: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (code,) = [code for code in PYTHON if "situations" in code]
    names = run(code, sample_build, monkeypatch, tmp_path)
    found = {(row["dialogue_id"], row["situation"]) for row in names["rows"]}
    assert found <= set(names["situations"].items())
    assert len(found) == 10
    assert all(row["situation"] not in row["prompt"][0]["content"] for row in names["rows"])


def test_the_commands_run_and_the_persona_of_the_page_speaks(tmp_path: Path) -> None:
    folder = tmp_path / "my-personas"
    folder.mkdir()
    for text in code_blocks(FORMATS, "yaml"):
        if text.startswith("# "):
            (folder / text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    assert {path.name for path in folder.iterdir()} == {"peer.yaml", "rosters.yaml"}
    for line in "".join(code_blocks(FORMATS, "sh")).splitlines():
        command = [sys.executable, "-m", "mascot_data", *shlex.split(line)[1:]]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    account = json.loads((tmp_path / "mascot/esconv-multiagent/provenance.json").read_text("utf-8"))["account"]
    assert account["personas"]["peer"] > 0
    assert "beacon" not in account["personas"]
    assert "unknown-act" not in account["flagged"]


def test_the_options_of_the_page_exist() -> None:
    command = [sys.executable, "-m", "mascot_data", "build", "--help"]
    wide = os.environ | {"COLUMNS": "200"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=wide).stdout
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert len(options) >= 5
    assert [option for option in sorted(options) if option not in shown] == []


def test_the_baselines_of_the_whole_corpora_are_those_of_a_build(real_build: Path) -> None:
    corpora = {"ESConv": "esconv", "Empathetic Dialogues, with `--intents`": "empathetic-dialogues", "QMSum": "qmsum"}
    for title, corpus in corpora.items():
        facts = json.loads((real_build / f"{corpus}-multiagent" / "provenance.json").read_text("utf-8"))
        shares = [facts["account"]["baselines"][label]["test"] for label in ("agent", "action", "tone")]
        assert f"| {title} | " + " | ".join(f"{share:.0%}" for share in shares) + " |" in PAGE


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), Json))
def test_an_example_is_the_row(row: dict[str, Any]) -> None:
    assert yaml.safe_load(example(row)) == row


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1))
def test_a_table_keeps_its_cells_apart(rows: list[tuple[str, str]]) -> None:
    lines = markdown_table(("one", "two"), rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines)


def test_a_page_without_a_fact_is_refused() -> None:
    with pytest.raises(Exception, match="'flags' is undefined"):
        render_page("{{ flags }}")
