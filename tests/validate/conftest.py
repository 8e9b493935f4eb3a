import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def copy(sample_build: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copy a dataset directory of the sample, to be changed."""

    def copy_of(corpus: str) -> Path:
        return Path(shutil.copytree(sample_build / corpus, tmp_path / corpus))

    return copy_of
