"""A place that cannot be written, a full disk: one sentence, status 2, and what was there before stays to the byte."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Shell, check_refused, left_in

DIRECTORY = "empathetic-dialogues-multiagent"
BUILD = ["build", "--source", "empathetic-dialogues", "--sample"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a small disk with the options given; the test is skipped where that is not allowed."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = []

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount command to make a small disk with")
        if ended.returncode:
            pytest.skip(f"a small disk cannot be mounted here ({ended.stderr.strip()})")
        mounted.append(place)
        return place

    yield mount
    for each in mounted:
        subprocess.run(["umount", str(each)], check=True)


@pytest.mark.parametrize("below", ["", "a", "a/b"])
def test_an_output_below_a_file_is_refused(below: str, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"mine")
    ended = shell(*BUILD, "--output", f"notes.txt/{below}", cwd=tmp_path)
    check_refused(ended, r"notes\.txt.*: cannot be written: .*choose another --output")
    assert left_in(tmp_path) == {"notes.txt": b"mine"}


def test_a_file_where_the_dataset_would_be_stays(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "mascot").mkdir()
    (tmp_path / "mascot" / DIRECTORY).write_bytes(b"mine")
    check_refused(shell(*BUILD, cwd=tmp_path), f"mascot/{DIRECTORY}")
    assert left_in(tmp_path) == {f"mascot/{DIRECTORY}": b"mine"}


@pytest.mark.parametrize("output", ["/proc/nowhere", "/proc/nowhere/deeper"])
def test_an_output_on_a_system_folder_is_refused(output: str, shell: Shell, tmp_path: Path) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    check_refused(shell(*BUILD, "--output", output, cwd=tmp_path), f"{output}.*: cannot be written: ")


@pytest.mark.parametrize("output", ["mascot", "new", "new/deeper"])
def test_a_disk_that_is_read_only_is_refused(
    output: str, shell: Shell, sample_build: Path, disk: Callable[[str], Path]
) -> None:
    place = disk("size=4m")
    shutil.copytree(sample_build / DIRECTORY, place / "mascot" / DIRECTORY)
    before = left_in(place)
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    check_refused(shell(*BUILD, "--output", output, cwd=place), "cannot be written: the file system is read-only")
    assert left_in(place) == before


FULL = f"mascot/{DIRECTORY}: cannot be written: .*disk is full"
SPACES = [0, 8, 40, 80, 120, 160, 200, 240, 1500]
"""KiB to write into: too little at every stage of a build, and enough."""


@pytest.mark.parametrize("free", SPACES)
def test_a_full_disk_leaves_nothing_half_written(free: int, shell: Shell, disk: Callable[[str], Path]) -> None:
    place = disk("size=4m")
    leave_free(place, free)
    before = left_in(place)
    ended = shell(*BUILD, cwd=place)
    assert (ended.status == 0) == (free == SPACES[-1])
    if ended.status:
        check_refused(ended, FULL)
        assert left_in(place) in (before, before | {"mascot": b"folder"})


@pytest.mark.parametrize("free", SPACES)
def test_a_full_disk_leaves_the_old_dataset_whole(
    free: int, shell: Shell, sample_build: Path, disk: Callable[[str], Path]
) -> None:
    place = disk("size=4m")
    shutil.copytree(sample_build / DIRECTORY, place / "mascot" / DIRECTORY)
    leave_free(place, free)
    before = left_in(place)
    ended = shell(*BUILD, "--no-clean", cwd=place)
    assert (ended.status == 0) == (free == SPACES[-1]) == (left_in(place) != before)
    if ended.status:
        check_refused(ended, FULL)


def leave_free(place: Path, kibibytes: int) -> None:
    """Fill a disk up to so many KiB."""
    with (place / "filling").open("wb") as filling:
        filling.write(bytes(shutil.disk_usage(place).free - kibibytes * 1024))
    assert shutil.disk_usage(place).free // 1024 in range(kibibytes - 8, kibibytes + 1)
