"""Replace a dataset directory as a whole: written beside, moved into place; a killed build leaves the old one."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from mascot_data.errors import OutputError

LOCK_SECONDS = 600


@contextmanager
def staged(target: Path, is_ours: Callable[[str], bool]) -> Iterator[Path]:
    """Yield an empty folder beside ``target`` that takes its place when the block ends well.

    Files of the old directory that the new one lacks are carried over unless ``is_ours(relative name)``: those belong to
    the build and are replaced. Whatever goes wrong, ``target`` stays as it was.

    Raises:
        OutputError: the folder cannot be written (read-only, disk full, in use).
    """
    new, old = target.parent / f".{target.name}.new", target.parent / f".{target.name}.old"
    with _writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target.parent / f".{target.name}.lock", timeout=LOCK_SECONDS)
    try:
        with _writing(target), lock:
            recover(target)
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            try:
                yield new
                _carry_over(target, new, is_ours)
                _swap(target, new, old)
            finally:
                shutil.rmtree(new, ignore_errors=True)
    except Timeout as error:
        raise OutputError(f"{target}: another build is writing it; wait for that one to end") from error


def recover(target: Path) -> None:
    """Put the old directory back if a build was killed in the moment between taking it away and putting the new one."""
    old = target.parent / f".{target.name}.old"
    if old.exists():
        if target.exists():
            shutil.rmtree(old)
        else:
            old.rename(target)


def _carry_over(target: Path, new: Path, is_ours: Callable[[str], bool]) -> None:
    for path in sorted(target.rglob("*")) if target.exists() else ():
        relative = path.relative_to(target)
        destination = new / relative
        if path.is_dir() or destination.exists() or is_ours(relative.as_posix()):
            continue
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, destination)
        except OSError:
            shutil.copy2(path, destination)


def _swap(target: Path, new: Path, old: Path) -> None:
    _sync(new)
    if target.exists():
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise
    _sync_folder(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Have the disk hold every file before the folder takes its place; a crash then cannot leave empty files."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.filename is not None and not Path(os.fsdecode(error.filename)).is_relative_to(target.parent):
            raise
        reasons = {
            errno.ENOSPC: "the disk is full; free some space",
            errno.EROFS: "the file system is read-only; choose another --output",
            errno.EACCES: "the folder may not be written; choose another --output or change its permissions",
            errno.ENOTDIR: "a part of the path is a file; choose another --output",
        }
        reason = reasons.get(error.errno or 0, f"{error.strerror or error}")
        raise OutputError(f"{target}: cannot be written: {reason} (what was there before is unchanged)") from error
    except sqlite3.OperationalError as error:
        raise OutputError(f"{target}: cannot be written: {error} (what was there before is unchanged)") from error
