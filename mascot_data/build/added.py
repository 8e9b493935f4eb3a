"""Parts that later commands add to a dataset directory: written beside and moved into place, with a provenance.

A part has Parquet files of its own in a config, and ``provenance-<part>.json``. A rebuild carries both over, and the
card names them either way.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mascot_data.build.card import CardFile, card, config_and_split
from mascot_data.build.columns import to_table
from mascot_data.build.corpora import CORPORA
from mascot_data.build.provenance import provenance_file, read_provenance, stated_files
from mascot_data.build.staging import recover, staged
from mascot_data.build.writing import ROWS_PER_GROUP, SplitWriter, Written, sha256_of
from mascot_data.errors import DatasetError, UsageError
from mascot_data.records import ADDED_CONFIGS, CONFIGS, arrow_schema
from mascot_data.records.dialogue import SCHEMA_VERSION, SPLITS, Split
from mascot_data.version import __version__

_SHARD = r"(?:train|validation|test)-{label}\d{{5}}-of-\d{{5}}\.parquet"


class Part(NamedTuple):
    """What a command adds: its name, the config that its files are in, and what marks them there (empty: nothing)."""

    name: str
    config: str
    label: str = ""

    def owns(self, file: str) -> bool:
        """Tell whether a file, by its name in the directory, is of this part."""
        pattern = f"data/{self.config}/" + _SHARD.format(label=f"{self.label}-" if self.label else "")
        return file == provenance_file(self.name) or re.fullmatch(pattern, file) is not None


CANDIDATES = Part("candidates", "candidates")
ROLLOUTS = Part("rollouts", "blocks", "rollouts")
PARTS = (CANDIDATES, ROLLOUTS)

Rows = Mapping[Split, Iterable[Sequence[Any]]]
"""Rows by split, each a sequence in the order of the schema's fields."""


def built(file: str) -> bool:
    """Tell whether a file is one that a build writes, by its name in the directory."""
    return any(Part(config, config).owns(file) for config in CONFIGS)


def read_added(root: Path) -> list[dict[str, Any]]:
    """Read the provenances of the parts that are there, in the order of ``PARTS``.

    Raises:
        DatasetError: one of them is damaged.
    """
    found = []
    for part in PARTS:
        path = root / provenance_file(part.name)
        if path.exists():
            found.append(_read(path))
    return found


def _read(path: Path) -> dict[str, Any]:
    again = f"delete it and the files it names, or run  mascot-data {path.stem.removeprefix('provenance-')}  again"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        version = facts["schema_version"]
        whole = {"part", "files", "options", "built_on", "summary"} <= facts.keys()
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        raise DatasetError(f"{path}: is damaged ({' '.join(str(error).split())}); {again}") from error
    if version != SCHEMA_VERSION:
        raise DatasetError(f"{path}: is of schema version {version}, but this is for {SCHEMA_VERSION}; {again}")
    if not whole:
        raise DatasetError(f"{path}: is not the provenance of a part; {again}")
    return dict(facts)


def part_facts(root: Path, part: Part) -> dict[str, Any] | None:
    """Return the provenance of a part, or None where it is not there."""
    path = root / provenance_file(part.name)
    return _read(path) if path.exists() else None


def check_options(root: Path, part: Part, options: Mapping[str, Any], growing: Sequence[str] = ()) -> None:
    """See to it that a part made with other options is not replaced unasked.

    Args:
        root: The dataset directory.
        part: The part.
        options: What it is to be made with.
        growing: Options that may change without being asked, because they only say how much.

    Raises:
        UsageError: the part is there, made with other options.
    """
    facts = part_facts(root, part)
    before = {} if facts is None else facts["options"]
    changed = [name for name in options if name in before and name not in growing and before[name] != options[name]]
    if changed:
        name = changed[0]
        raise UsageError(
            f"{root}: has {part.name} made with other options ({name}: {before[name]}, now {options[name]}); add "
            "--replace to make them anew (answers that are stored are not asked for again)"
        )


def stray_files(root: Path, added: Iterable[Mapping[str, Any]]) -> list[CardFile]:
    """List the Parquet files that neither a build writes nor a part's provenance names (a user's own, say)."""
    named = {path for facts in added for path in facts["files"]}
    names = sorted(path.relative_to(root).as_posix() for path in root.glob("data/*/*-*-of-*.parquet"))
    return [
        CardFile(*config_and_split(name), sha256_of(root / name))
        for name in names
        if name not in named and not built(name)
    ]


def add_part(
    root: Path, part: Part, rows: Rows, options: Mapping[str, Any], summary: Callable[[], Mapping[str, Any]]
) -> list[Written]:
    """Write a part's rows in the place of those that were there, and the card anew.

    Whatever goes wrong, the directory stays as it was.

    Args:
        root: The dataset directory.
        part: The part.
        rows: Its rows; splits without any get no file.
        options: What shapes them, for the provenance.
        summary: Called when all rows have been taken: counts for the provenance.

    Raises:
        DatasetError: there is no dataset directory.
        OutputError: it cannot be written.
    """
    recover(root)
    facts = read_provenance(root)
    with staged(root, lambda name: part.owns(name) or name == "README.md") as new:
        written = [file for split in SPLITS if split in rows for file in _write(new, part, split, rows[split])]
        own = {
            "part": part.name,
            "config": part.config,
            "tool": {"name": "mascot-data", "version": __version__},
            "schema_version": SCHEMA_VERSION,
            "built_on": facts["rows_digest"],
            "options": dict(options),
            "summary": dict(summary()),
            "files": stated_files(written),
        }
        (new / provenance_file(part.name)).write_text(
            json.dumps(own, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        others = [found for found in read_added(root) if found["part"] != part.name]
        added = sorted([*others, own], key=lambda found: [p.name for p in PARTS].index(found["part"]))
        strays = stray_files(root, [*others, {"files": _owned(root, part)}])
        (new / "README.md").write_text(card(CORPORA[facts["source"]["corpus"]], facts, added, strays), encoding="utf-8")
    return written


def _owned(root: Path, part: Part) -> list[str]:
    names = [path.relative_to(root).as_posix() for path in root.glob(f"data/{part.config}/*.parquet")]
    return [name for name in names if part.owns(name)]


def _write(root: Path, part: Part, split: Split, rows: Iterable[Sequence[Any]]) -> list[Written]:
    schema = arrow_schema((CONFIGS | ADDED_CONFIGS)[part.config])
    with SplitWriter(root, part.config, split, schema, label=part.label) as writer:
        for group in _groups(rows):
            writer.write(to_table(group, schema))
    return writer.written


def _groups(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    group: list[Sequence[Any]] = []
    for row in rows:
        group.append(row)
        if len(group) == ROWS_PER_GROUP:
            yield group
            group = []
    yield group
