"""Fetch the pinned upstream releases into the user's cache: verified, resumable, one process at a time.

``releases.yaml`` beside this file says what is fetched and how it is verified. A file is first written as
``<name>.part``, which a later call continues; it gets its name only after its digest matched.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mascot_data.errors import OutputError, UsageError
from mascot_data.sources.releases import Release, ReleaseFile, load_releases, matched_digest
from mascot_data.sources.transfer import PATIENCE, Patience, Transfer, Watch, watching

__all__ = [
    "PATIENCE",
    "Patience",
    "Release",
    "ReleaseFile",
    "cached_release",
    "default_cache",
    "fetch_release",
    "load_releases",
    "matched_digest",
]


def default_cache() -> Path:
    """Return ``$MASCOT_CACHE``, or the user's cache folder of this package."""
    if chosen := os.environ.get("MASCOT_CACHE"):
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("mascot-data"))


def cached_release(
    corpus: str,
    *,
    cache: Path | None = None,
    include_failed: bool = False,
    releases: Mapping[str, Release] | None = None,
) -> Path | None:
    """Return the cache folder of a corpus when it is complete and every digest matches, else None; no network.

    Raises:
        UsageError: there is no such corpus.
        OutputError: the cache cannot be read.
    """
    release, folder = _place(corpus, cache, releases)
    with _cache_errors(folder):
        complete = all(matched_digest(file, folder / file.name) for file in release.wanted(include_failed))
    return folder if complete else None


def fetch_release(
    corpus: str,
    *,
    cache: Path | None = None,
    include_failed: bool = False,
    progress: bool = False,
    releases: Mapping[str, Release] | None = None,
    patience: Patience = PATIENCE,
) -> Path:
    """Return the folder ``<cache>/sources/<corpus>``, holding the verified files of the pinned release.

    Only what is missing or damaged is downloaded. With ``progress``, a bar is shown on a terminal and lines are
    written to standard error. ``releases`` replaces the package's table.

    Raises:
        UsageError: there is no such corpus.
        DownloadError: the server cannot be reached, fails, or sends something else than the pinned release.
        OutputError: the cache cannot be written (full disk, read-only folder).
    """
    if folder := cached_release(corpus, cache=cache, include_failed=include_failed, releases=releases):
        return folder
    release, folder = _place(corpus, cache, releases)
    with _cache_errors(folder), watching(progress) as watch:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, watch):
            for file in release.wanted(include_failed):
                # Another process may have fetched it while this one waited.
                if matched_digest(file, folder / file.name) is None:
                    part = folder / f"{file.name}.part"
                    _retrieve(Transfer(file, part, release.max_bytes, patience, watch), folder)
    return folder


def _place(corpus: str, cache: Path | None, releases: Mapping[str, Release] | None) -> tuple[Release, Path]:
    known = load_releases() if releases is None else releases
    if corpus not in known:
        raise UsageError(f"there is no corpus {corpus!r}; choose one of {', '.join(known)}")
    return known[corpus], (cache or default_cache()) / "sources" / corpus


@contextmanager
def _cache_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"the cache cannot be used ({error.strerror or error})"
        raise OutputError(f"{folder}: {what}; make room or set MASCOT_CACHE to another folder") from error


@contextmanager
def _alone(folder: Path, watch: Watch) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(folder.with_name(f".{folder.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        watch.say(f"waiting for another process that downloads {folder.name}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _retrieve(transfer: Transfer, folder: Path) -> None:
    import pooch

    def downloader(_url: str, output: str, _pooch: object) -> None:
        Path(output).unlink()  # pooch's own empty file would stay behind if this process were killed
        transfer.run()
        transfer.part.replace(output)

    file = transfer.file
    (folder / file.name).unlink(missing_ok=True)  # damaged: pooch would take it for the file
    pooch.get_logger().setLevel("WARNING")
    # pooch knows no git ids: the transfer verifies, before the file gets its name.
    pooch.retrieve(file.url, known_hash=None, fname=file.name, path=folder, downloader=downloader)
