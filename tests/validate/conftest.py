import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mascot_data.build.run import build
from mascot_data.generate import candidates, rollouts
from mascot_data.generate.modes import MODES
from mascot_data.judge.director import label_director
from mascot_data.judge.run import judge
from mascot_data.preferences import groups, pairs
from tests.judge.test_director import answering
from tests.judge.test_run import judging
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


@pytest.fixture(scope="session")
def labelled_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset directory with every part that a command can add; not to be changed."""
    (report,) = build("esconv", sample=True, limit=8, output=tmp_path_factory.mktemp("labelled"))
    root = report.directory
    with installed(Scripted("one")):
        candidates(root, ["one"], k=3, limit=12)
        rollouts(root, "one", modes=["mascot", "mascot-c"], turns=4, number=2, limit=3)
    with judging(Scripted("one"), Scripted("two")):
        judge(root, ["one", "two"])
        judge(root, ["one", "two"], subject="rollouts")
    pairs(root, margin=0.3)
    groups(root, margin=0.05, eta=0.5)
    with answering():
        label_director(root, "one", every=True, limit=12)
    return root


@pytest.fixture
def labelled(labelled_build: Path, tmp_path: Path) -> Path:
    """A copy of the dataset directory with every part, to be changed."""
    return Path(shutil.copytree(labelled_build, tmp_path / "labelled"))
