"""Replace a dataset directory as a whole: written beside, moved into place; a killed build leaves the old one."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from mascot_data.errors import OutputError

LOCK_SECONDS = 600


@contextmanager
def staged(target: Path, is_ours: Callable[[str], bool]) -> Iterator[Path]:
    """Yield an empty folder beside ``target`` that takes its place when the block ends well.

    Files of the old directory that the new one lacks are carried over unless ``is_ours(relative name)``: those belong
    to the build and are replaced. Whatever goes wrong, ``target`` stays as it was. Where it is a symbolic link, the
    directory that it leads to is replaced.

    Raises:
        OutputError: the folder cannot be written (read-only, disk full, in use).
    """
    real = target.resolve()
    new, old = _beside(real, "new"), _beside(real, "old")
    with _writing(target):
        real.parent.mkdir(parents=True, exist_ok=True)
    if real.exists() and not real.is_dir():
        raise OutputError(f"{target}: is a file; remove it, or choose another --output")
    with _locked(target, real), _writing(target, new, old, real):
        _put_back(real)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            yield new
            _carry_over(real, new, is_ours)
            _swap(real, new, old)
        finally:
            shutil.rmtree(new, ignore_errors=True)


def recover(target: Path) -> None:
    """Put the old directory back if a build was killed in the moment between taking it away and putting the new one.

    To be called before a directory is read. Does nothing to one that is there, and waits for a build that is going on.
    """
    real = target.resolve()
    if not real.exists() and _beside(real, "old").exists():
        with _locked(target, real), _writing(target):
            _put_back(real)


def _beside(real: Path, what: str) -> Path:
    return real.parent / f".{real.name}.{what}"


@contextmanager
def _locked(target: Path, real: Path) -> Iterator[None]:
    path = _beside(real, "lock")
    lock = FileLock(path, timeout=LOCK_SECONDS)
    with _writing(target):
        path.touch()  # where no file can be made, waiting for the lock would never end
        try:
            lock.acquire()
        except Timeout as error:  # an OSError, too
            raise OutputError(f"{target}: another build is writing it; wait for that one to end") from error
    try:
        yield
    finally:
        lock.release()


def _put_back(real: Path) -> None:
    old = _beside(real, "old")
    if old.exists():
        if real.exists():
            shutil.rmtree(old)
        else:
            old.rename(real)


def _carry_over(real: Path, new: Path, is_ours: Callable[[str], bool]) -> None:
    for path in sorted(real.rglob("*")) if real.exists() else ():
        relative = path.relative_to(real)
        destination = new / relative
        folder = path.is_dir() and not path.is_symlink()
        if folder or os.path.lexists(destination) or is_ours(relative.as_posix()):
            continue
        destination.parent.mkdir(parents=True, exist_ok=True)
        _carry(path, destination)


def _carry(path: Path, destination: Path) -> None:
    if path.is_symlink():
        destination.symlink_to(path.readlink())
        return
    try:
        os.link(path, destination)
    except OSError:
        shutil.copy2(path, destination)


def _swap(real: Path, new: Path, old: Path) -> None:
    _sync(new)
    if real.exists():
        real.rename(old)
    try:
        new.rename(real)
    except OSError:
        if old.exists():
            old.rename(real)
        raise
    _sync_folder(real.parent)
    shutil.rmtree(old, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Have the disk hold every new file before the folder takes its place; a crash then cannot leave empty files."""
    for path in [folder, *folder.rglob("*")]:
        if path.is_symlink():
            continue
        if path.is_dir():
            _sync_folder(path)
        elif path.is_file() and path.stat().st_nlink == 1:
            with path.open("rb") as stream:
                os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _writing(target: Path, *places: Path) -> Iterator[None]:
    """Tell errors of writing ``target``; with ``places``, an error about a file outside them is somebody else's."""
    try:
        yield
    except OSError as error:
        if places and error.filename is not None and not _is_in(os.fsdecode(error.filename), places):
            raise
        reasons = {
            errno.ENOSPC: "the disk is full; free some space",
            errno.EROFS: "the file system is read-only; choose another --output",
            errno.EACCES: "the folder may not be written; choose another --output or change its permissions",
            errno.ENOTDIR: "a part of the path is a file; choose another --output",
            errno.EEXIST: "a part of the path is a file; choose another --output",
        }
        reason = reasons.get(error.errno or 0, f"{error.strerror or error}")
        raise OutputError(f"{target}: cannot be written: {reason} (what was there before is unchanged)") from error


def _is_in(name: str, places: Sequence[Path]) -> bool:
    return any(Path(name).absolute().is_relative_to(place) for place in places)
