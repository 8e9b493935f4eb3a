"""A build stopped at any moment leaves the old dataset or the new one, whole, and the next build the right one."""

import json
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.commands import Ended, Shell, left_in
from tests.conftest import ROOT, SAMPLE

SIZE = 40
KINDS = {"cleaned": "--clean", "as it is": "--no-clean"}
"""Two builds with different rows, so that one can be told from the other."""


class Place(NamedTuple):
    """Where is built, what each kind of build gives, and how long one takes from its first file on, in seconds."""

    folder: Path
    expected: dict[str, dict[str, bytes]]
    seconds: float

    @property
    def directory(self) -> Path:
        return self.folder / "mascot" / "esconv-multiagent"

    def call(self, kind: str) -> list[str]:
        return ["build", "--source", "esconv", "--input", "ESConv.json", "--allow-partial", KINDS[kind]]

    def begin(self, kind: str, shell: Shell) -> int:
        """Start a build, wait for its first file, and return its process id."""
        process = shell.begin(*self.call(kind), cwd=self.folder)
        new = self.directory.with_name(f".{self.directory.name}.new")
        end = time.monotonic() + 60
        while not new.exists() and time.monotonic() < end:
            time.sleep(0.001)
        return process


def rows() -> list[object]:
    real = Path(os.environ.get("MASCOT_TEST_SOURCES", ROOT / "../shared/sources")) / "esconv" / "ESConv.json"
    found: list[object] = json.loads((real if real.exists() else SAMPLE / "esconv" / "ESConv.json").read_bytes())
    return (found * SIZE)[:SIZE]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, shell: Shell) -> Place:
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "ESConv.json").write_text(json.dumps(rows()), encoding="utf-8")
    place = Place(folder, {}, 0.0)
    for kind in KINDS:
        place.begin(kind, shell)
        begun = time.monotonic()
        ended = shell.end()
        seconds = time.monotonic() - begun
        assert ended.status == 0, ended.err
        place.expected[kind] = left_in(place.directory)
    assert place.expected["cleaned"] != place.expected["as it is"]
    return place._replace(seconds=seconds)


@pytest.mark.parametrize("number", range(20))
def test_stopped_at_any_moment_a_dataset_is_whole(number: int, place: Place, shell: Shell) -> None:
    how = (signal.SIGINT, signal.SIGKILL)[number % 2]
    old = next(kind for kind in KINDS if left_in(place.directory) == place.expected[kind])
    new = next(kind for kind in KINDS if kind != old)
    process = place.begin(new, shell)
    time.sleep(random.Random(number).uniform(0, place.seconds))
    with suppress(ProcessLookupError):
        os.kill(process, how)
    ended = shell.end()
    checked = shell("validate", place.directory, cwd=place.folder)
    assert checked.status == 0, checked
    found = left_in(place.directory)
    if how == signal.SIGINT and found == place.expected[old]:
        assert ended == Ended(130, "", "mascot-data: stopped; nothing is half written, run it again to go on\n")
        assert there(place) == {place.directory.name}
    else:
        assert found == place.expected[new] or (ended.status == -how and found == place.expected[old])
    again = shell(*place.call(new), cwd=place.folder)
    assert (again.status, again.err) == (0, "")
    assert left_in(place.directory) == place.expected[new]
    assert there(place) == {place.directory.name}


def there(place: Place) -> set[str]:
    return {path.name for path in place.directory.parent.iterdir() if path.suffix != ".lock"}


def test_a_first_build_that_is_killed_leaves_no_dataset(tmp_path: Path, place: Place, shell: Shell) -> None:
    (tmp_path / "ESConv.json").write_bytes((place.folder / "ESConv.json").read_bytes())
    here = place._replace(folder=tmp_path)
    os.kill(here.begin("cleaned", shell), signal.SIGKILL)
    assert shell.end().status == -signal.SIGKILL
    assert not here.directory.exists()
    assert shell(*here.call("cleaned"), cwd=tmp_path).status == 0
    assert left_in(here.directory) == here.expected["cleaned"]
    assert there(here) == {here.directory.name}
