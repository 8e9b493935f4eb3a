import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mascot_data.cli import main

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def copy(sample_build: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copy a dataset directory of the sample, to be changed."""

    def copy_of(corpus: str) -> Path:
        return Path(shutil.copytree(sample_build / corpus, tmp_path / corpus))

    return copy_of


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command line; give back exit status, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["mascot-data", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run
