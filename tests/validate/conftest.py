import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mascot_data.build.run import build
from mascot_data.generate import candidates, rollouts
from mascot_data.generate.modes import MODES
from tests.models.scripted import Scripted, installed


@pytest.fixture
def copy(sample_build: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copy a dataset directory of the sample, to be changed."""

    def copy_of(corpus: str) -> Path:
        return Path(shutil.copytree(sample_build / corpus, tmp_path / corpus))

    return copy_of


@pytest.fixture(scope="session")
def added_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset directory with candidates of two models and with rollouts; not to be changed."""
    (report,) = build("esconv", sample=True, limit=3, output=tmp_path_factory.mktemp("added"))
    with installed(Scripted("one"), Scripted("two")):
        candidates(report.directory, ["one", "two"], k=2, temperatures=[0.5, 1.0], limit=10)
        rollouts(report.directory, "one", modes=list(MODES), director_model="two", turns=4, number=2)
    return report.directory


@pytest.fixture
def added(added_build: Path, tmp_path: Path) -> Path:
    """A copy of the dataset directory with candidates and rollouts, to be changed."""
    return Path(shutil.copytree(added_build, tmp_path / "added"))
