"""Make a report: count, draw, render, write."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mascot_data.build.account import Account
from mascot_data.build.provenance import FILE, read_provenance
from mascot_data.build.staging import recover
from mascot_data.errors import DatasetError, OutputError
from mascot_data.records import Dialogue
from mascot_data.report.data import Data, read_data
from mascot_data.report.page import render
from mascot_data.show.find import find_dialogue

_FACTS = {"tool", "schema_version", "source", "options", "account", "rows_digest"}


@dataclass(frozen=True, slots=True)
class Report:
    """A report on a dataset directory: the numbers, the page, and where it was written (None: nowhere)."""

    directory: Path
    output: Path | None
    data: Data
    html: str

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers behind the page as plain data, for JSON."""
        output = None if self.output is None else str(self.output)
        return {"directory": str(self.directory), "output": output, **self.data.as_dict()}


def report(directory: str | Path, output: str | Path | None = None) -> Report:
    """Report on a dataset directory: figures with their numbers, flags, and some dialogues, as one HTML page.

    The page needs nothing from outside and no script; the same dataset gives the same bytes. Measures that need the
    extra [judge] are there when it is installed; otherwise the page says how to install it.

    Args:
        directory: the dataset directory.
        output: where the page is written; None: nowhere.

    Raises:
        DatasetError: there is no such dataset directory, or it cannot be read.
        OutputError: the page cannot be written; what was there before is unchanged.
    """
    root = Path(directory)
    recover(root)
    if not root.is_dir():
        raise DatasetError(f"{root}: there is no such dataset directory; make it with  mascot-data build")
    facts = _facts(root)
    data = read_data(root, facts["account"])
    html = render(data, facts, [_example(root, name) for name in data.examples])
    if output is not None:
        _write(Path(output), html)
    return Report(root, None if output is None else Path(output), data, html)


def _facts(root: Path) -> dict[str, Any]:
    facts = read_provenance(root)
    account = {field.name for field in fields(Account)} | {"baselines"}
    missing = sorted(_FACTS - facts.keys()) or sorted(account - facts["account"].keys())
    if missing:
        raise DatasetError(f"{root / FILE}: lacks {', '.join(missing)}; build the dataset again")
    return facts


def _example(root: Path, name: str) -> Dialogue:
    try:
        return find_dialogue(root, name)
    except ValidationError as error:
        raise DatasetError(
            f"{root}: dialogue {name!r} does not fit the schema; see  mascot-data validate {root}"
        ) from error


def _write(path: Path, text: str) -> None:
    """Write beside the file and put that in its place, so that a killed command leaves the old one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({error.strerror}); choose another --output") from error
