"""Where a model's files are and what identifies them. Needs neither torch nor transformers."""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import errors as hub_errors
from huggingface_hub import snapshot_download
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from mascot_data.errors import ModelError
from mascot_data.models.names import ModelName
from mascot_data.models.replies import shown

_WANTED = ("*.json", "*.jinja", "*.safetensors", "*.model", "*.txt")
_UNWANTED = ("*/*", "consolidated*")  # other formats of the same weights
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


class Place(NamedTuple):
    """A directory with a model, the model's name in the rows, and its commit on the Hub or the digest of its files."""

    directory: Path
    name: str
    revision: str


def place_of(parsed: ModelName, template: str | None = None) -> Place:
    """Return where a model of the Hub or a local directory is; downloads what is missing.

    Raises:
        ModelError: there is no such model, it cannot be had, or it has no weights as safetensors.
    """
    path = Path(parsed.name).expanduser()
    if path.is_dir() or parsed.name.startswith((".", "/", "~")):
        check(path, parsed.name)
        found = Place(path, path.resolve().name, digest(path))
    else:
        directory, commit = snapshot(parsed.name, parsed.revision)
        check(directory, parsed.name)
        found = Place(directory, parsed.name, commit)
    return with_template(found, template)


def with_template(place: Place, template: str | None) -> Place:
    """Return the place with a revision that names a given chat template, which makes other prompts."""
    if template is None:
        return place
    return place._replace(revision=f"{place.revision}+{hashlib.sha256(template.encode()).hexdigest()[:8]}")


def snapshot(name: str, revision: str | None) -> tuple[Path, str]:
    """Return the local directory of a repository of the Hub, and its commit; downloads what is missing.

    Raises:
        ModelError: there is no such repository or revision, it may not be read, or the Hub cannot be reached.
    """
    told = f"{name}@{revision}" if revision else name
    try:
        with nullcontext() if sys.stderr.isatty() else _without_bars():
            found = Path(
                snapshot_download(
                    name, revision=revision, allow_patterns=list(_WANTED), ignore_patterns=list(_UNWANTED)
                )
            )
    except hub_errors.GatedRepoError as error:
        raise ModelError(f"{told}: its owner has to grant access on the Hub; then set HF_TOKEN") from error
    except hub_errors.RevisionNotFoundError as error:
        raise ModelError(f"{told}: the repository has no such revision") from error
    except hub_errors.RepositoryNotFoundError as error:
        raise ModelError(f"{told}: the Hub has no such model, or it is private and HF_TOKEN is not set") from error
    except (hub_errors.HfHubHTTPError, hub_errors.LocalEntryNotFoundError, OSError, ValueError) as error:
        raise ModelError(
            f"{told}: it is not in the local cache and the Hub cannot be reached ({shown(str(error))})"
        ) from error
    return found, found.name


@contextmanager
def _without_bars() -> Iterator[None]:
    """Show no progress bars meanwhile: they would fill a log."""
    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def digest(directory: Path) -> str:
    """Return what identifies the files of a model directory: 16 hex digits over weights, config and tokenizer."""
    total = hashlib.sha256()
    for path in _files(directory, _WANTED):
        with path.open("rb") as stream:
            total.update(f"{path.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def check(directory: Path, name: str) -> None:
    """Raise a ModelError unless a directory has a config and weights as safetensors."""
    if not directory.is_dir():
        raise ModelError(f"{name}: there is no such directory")
    if not (directory / "config.json").is_file():
        raise ModelError(f"{name}: there is no config.json, so this is no model in the format of transformers")
    if not _files(directory, ("*.safetensors",)):
        found = "only pickled weights, which can run code" if _files(directory, _PICKLES) else "no weights"
        raise ModelError(f"{name}: there are {found}; save the model with  save_pretrained  as safetensors")


def _files(directory: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in directory.glob(pattern) if path.is_file()})
