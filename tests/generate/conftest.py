import shutil
from pathlib import Path

import pytest

from mascot_data.build.run import build


@pytest.fixture(scope="session")
def small_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset directory of a few dialogues in several splits; not to be changed."""
    (report,) = build("esconv", sample=True, limit=8, output=tmp_path_factory.mktemp("small"))
    return report.directory


@pytest.fixture
def root(small_build: Path, tmp_path: Path) -> Path:
    """A copy of a dataset directory of a few dialogues, to be changed."""
    return Path(shutil.copytree(small_build, tmp_path / "mascot" / "esconv-multiagent"))
