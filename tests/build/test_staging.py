"""A dataset directory is replaced as a whole or not at all, and what others put into it stays theirs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock

from mascot_data.build import staging
from mascot_data.build.staging import recover, staged
from mascot_data.errors import OutputError

ROOT = Path(__file__).resolve().parents[2]


def ours(name: str) -> bool:
    return name == "README.md" or name.startswith("data/dialogues/")


def stage(target: Path, **files: str) -> None:
    """Build a directory of these files; double underscores stand for slashes."""
    with staged(target, ours) as new:
        write(new, **files)


def fail(target: Path, error: BaseException | type[BaseException], **files: str) -> None:
    with staged(target, ours) as new:
        write(new, **files)
        if isinstance(error, OSError) and error.filename:
            error.filename = str(new / error.filename)
        raise error


def write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def tree(folder: Path) -> dict[str, str]:
    """Return what every file below a folder holds, by its name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def beside(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()} - {target.name, f".{target.name}.lock"}


def in_process(code: str, *arguments: object) -> "subprocess.Popen[bytes]":
    """Start a Python process that has this module's ``ours`` and ``stage``."""
    head = "import os, signal, sys, time\nfrom pathlib import Path\n"
    head += "from mascot_data.build import staging\nfrom tests.build.test_staging import ours, stage, write\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", head + code, *map(str, arguments)], env=environment)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "mascot" / "esconv"


def test_a_first_build_makes_the_directory_and_its_parents(target: Path) -> None:
    with staged(target, ours) as new:
        assert list(new.iterdir()) == []
        assert new.parent == target.parent
        assert not target.exists()
        write(new, README__md="x")
    assert tree(target) == {"README/md": "x"}
    assert beside(target) == set()


def test_a_rebuild_replaces_what_is_ours_and_keeps_the_rest(target: Path) -> None:
    stage(target, data__dialogues__a="1", data__dialogues__b="1", extra="1")
    write(target, data__annotations__x="people's", notes="mine", data__dialogues__stray="gone", **{".git__HEAD": "ref"})
    (target / "notes").chmod(0o600)
    stage(target, data__dialogues__a="2", extra="2")
    assert tree(target) == {
        "data/dialogues/a": "2",
        "extra": "2",
        "data/annotations/x": "people's",
        "notes": "mine",
        ".git/HEAD": "ref",
    }
    assert (target / "notes").stat().st_mode & 0o777 == 0o600
    assert beside(target) == set()


def test_links_are_carried_over_as_links(target: Path, tmp_path: Path) -> None:
    write(tmp_path, elsewhere__file="far away")
    stage(target, extra="1")
    (target / "folder").symlink_to(tmp_path / "elsewhere")
    (target / "file").symlink_to("extra")
    (target / "nowhere").symlink_to("gone")
    stage(target, extra="2")
    assert (target / "folder").readlink() == tmp_path / "elsewhere"
    assert (target / "file").read_text() == "2"
    assert (target / "nowhere").readlink() == Path("gone")
    assert tree(tmp_path / "elsewhere") == {"file": "far away"}


def test_a_rebuild_that_writes_a_carried_file_leaves_the_old_one_until_it_ends_well(target: Path) -> None:
    stage(target, extra="1")
    write(target, notes="mine")
    with pytest.raises(RuntimeError):
        fail(target, RuntimeError, notes="the build's", extra="2")
    assert tree(target) == {"extra": "1", "notes": "mine"}


def test_a_carried_file_has_no_second_name_after_a_rebuild(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(target, extra="1")
    write(target, data__annotations__x="people's")
    stage(target, extra="2")
    assert (target / "data/annotations/x").stat().st_nlink == 1

    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr(staging, "_sync", full)
    with pytest.raises(OutputError, match="the disk is full"):
        stage(target, extra="3")
    assert (target / "data/annotations/x").stat().st_nlink == 1
    assert tree(target) == {"extra": "2", "data/annotations/x": "people's"}


def test_without_hard_links_files_are_copied(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(95, "Operation not supported")

    stage(target, extra="1")
    write(target, notes="mine")
    monkeypatch.setattr(os, "link", refuse)
    stage(target, extra="2")
    assert tree(target) == {"extra": "2", "notes": "mine"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, MemoryError])
def test_a_failure_in_the_block_leaves_the_old_directory(target: Path, error: type[BaseException]) -> None:
    stage(target, extra="1")
    with pytest.raises(error):
        fail(target, error, extra="2")
    assert tree(target) == {"extra": "1"}
    assert beside(target) == set()


def test_a_failure_of_the_first_build_leaves_nothing(target: Path) -> None:
    with pytest.raises(RuntimeError):
        fail(target, RuntimeError, extra="2")
    assert not target.exists()
    assert beside(target) == set()


@pytest.mark.parametrize("there", [{"old"}, {"old", "new"}, {"old", "target"}, {"new"}, {"new", "target"}], ids=str)
@pytest.mark.parametrize("again", [False, True], ids=["read", "build"])
def test_what_a_killed_build_leaves_is_put_right(target: Path, there: set[str], again: bool) -> None:
    places = {"old": target.parent / ".esconv.old", "new": target.parent / ".esconv.new", "target": target}
    for name in there:
        write(places[name], extra=name, notes=name)
    recover(target)
    kept = "target" if "target" in there else "old" if "old" in there else None
    if again:
        stage(target, extra="again")
        assert tree(target) == {"extra": "again", **({"notes": kept} if kept else {})}
        assert beside(target) == set()
    elif kept:
        assert tree(target) == {"extra": kept, "notes": kept}
    else:
        assert not target.exists()


def test_a_build_killed_between_the_two_renames_can_be_recovered(target: Path) -> None:
    stage(target, extra="1")
    write(target, notes="mine")
    code = """
rename = Path.rename
def killed(path, to):
    if path.name.endswith(".new"):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, to)
Path.rename = killed
stage(Path(sys.argv[1]), extra="2")
"""
    assert in_process(code, target).wait(timeout=60) == -signal.SIGKILL
    assert not target.exists()
    recover(target)
    assert tree(target) == {"extra": "1", "notes": "mine"}
    stage(target, extra="3")
    assert tree(target) == {"extra": "3", "notes": "mine"}
    assert beside(target) == set()


def test_killed_at_any_moment_the_directory_is_one_build_as_a_whole(target: Path) -> None:
    code = """
for version in range(100000):
    stage(Path(sys.argv[1]), **{f"file{n}": f"{sys.argv[2]} {version}" for n in range(20)})
    Path(sys.argv[2]).touch()
"""
    for delay in (0.01, 0.023, 0.04):
        started = target.parent.parent / f"started-{delay}"
        process = in_process(code, target, started)
        while not started.exists():
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(delay)
        process.kill()
        process.wait(timeout=60)
        recover(target)
        found = tree(target)
        assert len(found) == 20
        (content,) = set(found.values())
        assert content.startswith(str(started))


def test_two_builders_at_once_take_turns(target: Path) -> None:
    code = """
for version in range(15):
    with staging.staged(Path(sys.argv[1]), ours) as new:
        for n in range(10):
            write(new, **{f"file{n}": f"{sys.argv[2]} {version}"})
            time.sleep(0.001)
        write(new, **{f"only-{sys.argv[2]}": ""})
"""
    builders = [in_process(code, target, name) for name in ("one", "two")]
    assert [builder.wait(timeout=100) for builder in builders] == [0, 0]
    found = tree(target)
    assert len({content for name, content in found.items() if name.startswith("file")}) == 1
    assert {"only-one", "only-two"} <= found.keys(), "what the other builder left was not carried over"
    assert beside(target) == set()


def test_a_builder_that_waits_too_long_says_so(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(target, extra="1")
    monkeypatch.setattr(staging, "LOCK_SECONDS", 0.05)
    with (
        FileLock(target.parent / ".esconv.lock"),
        pytest.raises(OutputError, match="esconv: another build is writing it; wait for that one to end"),
    ):
        stage(target, extra="2")
    assert tree(target) == {"extra": "1"}


def test_reading_does_not_wait_for_a_build_nor_disturb_it(target: Path) -> None:
    stage(target, extra="1")
    with staged(target, ours) as new:
        write(new, extra="2")
        recover(target)
        assert tree(target) == {"extra": "1"}
    assert tree(target) == {"extra": "2"}


def test_reading_in_the_moment_of_the_swap_waits_for_its_end(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "LOCK_SECONDS", 0.05)
    write(target.parent / ".esconv.old", extra="1")
    with FileLock(target.parent / ".esconv.lock"), pytest.raises(OutputError, match="another build is writing it"):
        recover(target)
    recover(target)
    assert tree(target) == {"extra": "1"}


def test_a_linked_directory_is_replaced_where_it_lies(tmp_path: Path) -> None:
    write(tmp_path / "big" / "esconv", extra="1", notes="mine")
    (tmp_path / "mascot").mkdir()
    target = tmp_path / "mascot" / "esconv"
    target.symlink_to(tmp_path / "big" / "esconv")
    for version in ("2", "3"):
        stage(target, extra=version)
        assert target.is_symlink()
        assert tree(tmp_path / "big" / "esconv") == {"extra": version, "notes": "mine"}
    (tmp_path / "big" / "esconv").rename(tmp_path / "big" / ".esconv.old")
    recover(target)
    assert tree(target) == {"extra": "3", "notes": "mine"}


def test_a_file_in_the_way_is_said_and_stays(tmp_path: Path) -> None:
    write(tmp_path, esconv="a file", mascot="a file")
    with pytest.raises(OutputError, match="esconv: is a file; remove it"):
        stage(tmp_path / "esconv", extra="1")
    for target in (tmp_path / "mascot" / "esconv", tmp_path / "mascot" / "deeper" / "esconv"):
        with pytest.raises(OutputError, match="a part of the path is a file"):
            stage(target, extra="1")
    assert tree(tmp_path) == {"esconv": "a file", "mascot": "a file"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "the disk is full; free some space"),
        (OSError(30, "Read-only file system", "x"), "the file system is read-only"),
        (PermissionError(13, "Permission denied", "x"), "the folder may not be written"),
        (OSError(5, "Input/output error", "x"), "Input/output error"),
    ],
    ids=str,
)
def test_an_error_of_writing_is_one_sentence(target: Path, error: Exception, message: str) -> None:
    stage(target, extra="1")
    with pytest.raises(OutputError) as told:
        fail(target, error)
    assert str(told.value).startswith(f"{target}: cannot be written: {message}")
    assert tree(target) == {"extra": "1"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said(target: Path) -> None:
    stage(target, extra="1")
    with (
        pytest.raises(OutputError, match="the disk is full"),
        staged(target, ours),
        Path("/dev/full").open("w") as stream,
    ):
        stream.write("x")
    assert tree(target) == {"extra": "1"}


def test_an_error_of_reading_something_else_is_not_blamed_on_the_output(target: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), staged(target, ours):
        (target.parent / "corpus.json").read_text()
    with pytest.raises(FileNotFoundError), staged(target, ours):
        (tmp_path / "corpus.json").read_text()
