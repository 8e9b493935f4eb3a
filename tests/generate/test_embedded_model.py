"""Candidates and rollouts of a real model, the small one that comes from PyPI; killed, they end with the same bytes."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mascot_data.errors import ModelError
from mascot_data.generate import candidates, rollouts
from mascot_data.models import ModelOptions, embedded
from mascot_data.models.store import default_store
from mascot_data.validate import validate
from tests.cli.commands import left_in
from tests.conftest import ROOT
from tests.generate.test_candidates import rows

for package in ("torch", "transformers", "gguf"):
    pytest.importorskip(package, reason=f"{package} is not installed: pip install 'mascot-data[judge]'")

SMALL = ModelOptions(devices=("cpu",), batch_tokens=500)
"""Batches of one prompt, so that there are some to be killed between."""
HOW: dict[str, Any] = {"k": 2, "limit": 4, "splits": ["test"], "max_tokens": 6, "options": SMALL}


@pytest.fixture(scope="module", autouse=True)
def _model() -> None:
    try:
        embedded.directory()
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def undisturbed(small_build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("undisturbed") / small_build.name
    shutil.copytree(small_build, root)
    report = candidates(root, **HOW)
    assert (report.lost, report.asked, report.prompts) == ([], 8, 4)
    return root


def test_candidates_are_sound_and_say_what_said_them(undisturbed: Path) -> None:
    assert validate(undisturbed).problems == []
    said = [row for row in rows(undisturbed) if row["k"]]
    assert said
    for row in said:
        generator = row["generator"]
        assert (generator["model"], generator["backend"], generator["dtype"]) == (
            *("smollm2-135m", "transformers", "float32"),
        )
        assert generator["revision"] == embedded.CHAT_REVISION
        assert row["logprob"] < 0
        assert 1 <= row["tokens"] <= 6


def answers(root: Path) -> int:
    """Count the answers that a store holds by now; 0 where there is none yet."""
    try:
        with sqlite3.connect(f"file:{default_store(root)}?mode=ro", uri=True) as base:
            return int(base.execute("select count(*) from answers").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_killed_and_started_again_the_same_bytes_come_out(root: Path, undisturbed: Path) -> None:
    options = ["--k", "2", "--limit", "4", "--split", "test", "--max-tokens", "6", "--device", "cpu"]
    command = [sys.executable, "-m", "mascot_data", "candidates", str(root), *options, "--batch-tokens", "500"]
    running = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not answers(root) and running.poll() is None:
        time.sleep(0.005)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    stored = answers(root)
    report = candidates(root, **HOW)
    assert (report.stored, report.asked) == (stored, 8 - stored)
    assert 0 < stored < 8
    assert left_in(root) == left_in(undisturbed)


def test_rollouts_are_sound(root: Path) -> None:
    report = rollouts(root, modes=["mascot", "zero-shot"], turns=2, splits=["test"], max_tokens=8)
    assert (report.lost, report.rows) == ([], {"mascot": 1, "zero-shot": 1})
    assert validate(root).problems == []
    before = left_in(root)
    assert rollouts(root, modes=["mascot", "zero-shot"], turns=2, splits=["test"], max_tokens=8).asked == 0
    assert left_in(root) == before
