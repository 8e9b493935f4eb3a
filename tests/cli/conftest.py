"""Shells that the tests of the command line share, and a small dataset for the commands that ask models."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mascot_data.build.run import build
from tests.cli.commands import Shell
from tests.models.scripted import ScriptedShell

NAME = "esconv-multiagent"


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Run commands quickly, each in its own process."""
    running = Shell(tmp_path_factory.mktemp("shell"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedShell]:
    """Run commands quickly, each in its own process, with scripted models."""
    running = ScriptedShell(tmp_path_factory.mktemp("scripted"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset directory of a few dialogues; not to be changed."""
    (report,) = build("esconv", sample=True, limit=8, output=tmp_path_factory.mktemp("small"))
    return report.directory


@pytest.fixture
def work(small: Path, tmp_path: Path) -> Path:
    """A working directory with a copy of the small dataset, ``NAME``."""
    shutil.copytree(small, tmp_path / NAME)
    return tmp_path
