"""Decide where a corpus comes from: --input, $MASCOT_SOURCES, the cache, the upstream release; or the sample."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path

from mascot_data.errors import InputError, UsageError
from mascot_data.sources.download import fetch_release
from mascot_data.sources.files import Inputs

SAMPLE_FOLDERS = {"esconv": "esconv", "empathetic-dialogues": "empathetic_dialogues", "qmsum": "qmsum"}


@contextmanager
def located(
    source: str,
    folders: Sequence[str],
    *,
    given: Path | None,
    many: bool = False,
    sample: bool = False,
    include_failed: bool = False,
    progress: bool = False,
) -> Iterator[Inputs]:
    """Open the files of a corpus.

    ``folders`` are the names that its folder may have below ``given`` or $MASCOT_SOURCES; ``many`` says that several
    corpora are built, so that ``given`` must be a folder with one sub-folder each.

    Raises:
        UsageError: both ``sample`` and ``given``.
        InputError: nothing is there.
        DownloadError: the release cannot be fetched.
    """
    if sample and given is not None:
        raise UsageError("--sample and --input exclude each other; give one of them")
    with ExitStack() as stack:
        if sample:
            folder = resources.files("mascot_data.sources").joinpath("sample", SAMPLE_FOLDERS[source])
            path = stack.enter_context(resources.as_file(folder))
        elif given is not None:
            path = _below(given, source, folders, many)
        else:
            path = _from_environment(folders) or fetch_release(source, include_failed=include_failed, progress=progress)
        yield stack.enter_context(Inputs(path))


def _below(given: Path, source: str, folders: Sequence[str], many: bool) -> Path:
    found = next((given / name for name in folders if (given / name).is_dir()), None)
    if found is None and many and given.exists():
        raise InputError(str(given), f"has no folder for {source}: with --source all it needs one named {folders[0]}")
    return found or given


def _from_environment(folders: Sequence[str]) -> Path | None:
    root = os.environ.get("MASCOT_SOURCES")
    return next((Path(root, name) for name in folders if Path(root, name).is_dir()), None) if root else None
