"""Where the real corpora are, and datasets built once for many tests."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from mascot_data.build.run import build
from mascot_data.cli import main

# Tests run side by side: one thread a process is faster than threads that fight for the same cores. torch looks at it,
# which only the tests themselves import, and so do the processes that they start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell without job control starts what runs in the background with Ctrl-C ignored, and the processes that tests start
# would take that over.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says nothing on a busy machine; speed is measured in benchmarks/.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

Command = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "mascot_data" / "sources" / "sample"


@pytest.fixture(scope="session")
def sources() -> Path:
    """Folder of the real corpora; the test is skipped where it is absent."""
    folder = Path(os.environ.get("MASCOT_TEST_SOURCES", ROOT / "../shared/sources")).resolve()
    if not folder.is_dir():
        pytest.skip(f"the real corpora are not at {folder} (MASCOT_TEST_SOURCES names their folder)")
    return folder


@pytest.fixture(scope="session")
def sample_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder ``mascot`` with the three datasets of the sample; not to be changed."""
    output = tmp_path_factory.mktemp("sample") / "mascot"
    build("all", sample=True, output=output)
    return output


@pytest.fixture(scope="session")
def real_build(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder ``mascot`` with the three datasets of the real corpora; not to be changed."""
    output = tmp_path_factory.mktemp("real") / "mascot"
    build("all", input=sources, output=output, intents=sources / "empathetic_dialogues" / "intents")
    return output


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
