"""Candidates and rollouts of a real model, the small one that comes from PyPI; killed, they end with the same bytes."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mascot_data.build.run import build
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

SMALL = ModelOptions(devices=("cpu",), batch_tokens=300)
"""Batches of one prompt, so that there are some to be killed between."""
HOW: dict[str, Any] = {"k": 1, "limit": 3, "splits": ["train"], "max_tokens": 4, "options": SMALL}


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Have sums made in the same order everywhere; two threads gain nothing on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset directory with short prompts, of which there is a copy without candidates."""
    try:
        embedded.directory()
    except ModelError as error:
        pytest.skip(str(error))
    (report,) = build("esconv", sample=True, limit=1, context_turns=1, output=tmp_path_factory.mktemp("base"))
    shutil.copytree(report.directory, report.directory.with_name("bare"))
    return report.directory


@pytest.fixture(scope="module")
def undisturbed(base: Path) -> Path:
    report = candidates(base, **HOW)
    assert (report.lost, report.asked, report.prompts) == ([], 3, 3)
    return base


@pytest.fixture
def bare(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base.with_name("bare"), tmp_path / base.name))


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
        assert 1 <= row["tokens"] <= 4


def answers(root: Path) -> int:
    """Count the answers that a store holds by now; 0 where there is none yet."""
    try:
        with sqlite3.connect(f"file:{default_store(root)}?mode=ro", uri=True) as base:
            return int(base.execute("select count(*) from answers").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_killed_and_started_again_the_same_bytes_come_out(bare: Path, undisturbed: Path) -> None:
    options = ["--k", "1", "--limit", "3", "--split", "train", "--max-tokens", "4", "--device", "cpu"]
    command = [sys.executable, "-m", "mascot_data", "candidates", str(bare), *options, "--batch-tokens", "300"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not answers(bare) and running.poll() is None:
        time.sleep(0.005)
    running.kill()
    assert running.wait() == -signal.SIGKILL
    stored = answers(bare)
    report = candidates(bare, **HOW)
    assert 0 < stored < 3
    assert (report.stored, report.asked) == (stored, 3 - stored)
    assert left_in(bare) == left_in(undisturbed)


def test_rollouts_are_sound_and_can_be_repeated(bare: Path) -> None:
    how: dict[str, Any] = {"turns": 1, "agents_per_turn": 1, "max_tokens": 4}
    report = rollouts(bare, modes=["mascot", "zero-shot"], **how)
    assert (report.lost, report.rows) == ([], {"mascot": 1, "zero-shot": 1})
    assert validate(bare).problems == []
    before = left_in(bare)
    assert rollouts(bare, modes=["mascot", "zero-shot"], **how).asked == 0
    assert left_in(bare) == before
