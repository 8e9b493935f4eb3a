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
    """What a command adds: its name, the config that its files are in, and what marks them there (empty: nothing).

    ``command`` is the command that adds it, where that has another name than the part.
    """

    name: str
    config: str
    label: str = ""
    command: str = ""

    def owns(self, file: str) -> bool:
        """Tell whether a file, by its name in the directory, is of this part."""
        pattern = f"data/{self.config}/" + _SHARD.format(label=f"{self.label}-" if self.label else "")
        return file == provenance_file(self.name) or re.fullmatch(pattern, file) is not None


CANDIDATES = Part("candidates", "candidates")
ROLLOUTS = Part("rollouts", "blocks", "rollouts")
JUDGMENTS = Part("judgments", "judgments", command="judge")
BLOCK_JUDGMENTS = Part("block-judgments", "judgments", "blocks", command="judge")
PREFERENCES = Part("preferences", "preferences", command="pairs")
TIES = Part("ties", "ties", command="pairs")
GROUP_REWARDS = Part("group-rewards", "group_rewards", command="pairs")
GROUP_PREFERENCES = Part("group-preferences", "group_preferences", command="pairs")
DIRECTOR_LABELS = Part("director-labels", "director_labels", command="judge")
PARTS = (
    CANDIDATES,
    ROLLOUTS,
    JUDGMENTS,
    BLOCK_JUDGMENTS,
    PREFERENCES,
    GROUP_PREFERENCES,
    TIES,
    GROUP_REWARDS,
    DIRECTOR_LABELS,
)

Rows = Mapping[Split, Iterable[Sequence[Any]]]
"""Rows by split, each a sequence in the order of the schema's fields."""


def built_part(config: str) -> Part:
    """Return what a build writes of a config."""
    return Part(config, config)


def built(file: str) -> bool:
    """Tell whether a file is one that a build writes, by its name in the directory."""
    return any(built_part(config).owns(file) for config in CONFIGS)


def read_added(root: Path, but: Part | None = None) -> list[dict[str, Any]]:
    """Read the provenances of the parts that are there, in the order of ``PARTS``; ``but`` is left out.

    Raises:
        DatasetError: one of them is damaged, or of another schema version.
    """
    found = (part_facts(root, part) for part in PARTS if part != but)
    return [facts for facts in found if facts is not None]


def _read(path: Path) -> dict[str, Any]:
    commands = {provenance_file(part.name): part.command or part.name for part in PARTS}
    maker = f"mascot-data {commands[path.name]}"
    again = f"delete it and the files it names (then  {maker}  makes them anew)"
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
    """Return the provenance of a part, or None where it is not there.

    Raises:
        DatasetError: it is damaged, or of another schema version.
    """
    path = root / provenance_file(part.name)
    return _read(path) if path.exists() else None


def read_base(root: Path, part: Part) -> dict[str, Any]:
    """Read the provenance of the build that a part is to be made on, before any work goes into it.

    Raises:
        DatasetError: there is no dataset directory, it is of another schema version, or another part is damaged.
    """
    recover(root)
    facts = read_provenance(root)
    if (version := facts.get("schema_version")) != SCHEMA_VERSION:
        what = f"is of schema version {version}, but this is for {SCHEMA_VERSION}"
        raise DatasetError(f"{root}: {what}; build the dataset again")
    read_added(root, but=part)
    return facts


def check_options(root: Path, part: Part, options: Mapping[str, Any], growing: Sequence[str] = ()) -> None:
    """See to it that a part made with other options is not replaced unasked.

    Args:
        root: The dataset directory.
        part: The part.
        options: What it is to be made with.
        growing: Options that may grow without being asked, because they only say how much.

    Raises:
        UsageError: the part is there, made with other options, or with more.
    """
    facts = part_facts(root, part)
    before = {} if facts is None else facts["options"]
    changed = [
        name
        for name in options
        if name in before
        and before[name] != options[name]
        and not (name in growing and _grows(before[name], options[name]))
    ]
    if changed:
        name = changed[0]
        raise UsageError(
            f"{root}: has {part.name} made with other options ({name}: {before[name]}, now {options[name]}); add "
            "--replace to make them anew (answers that are stored are not asked for again)"
        )


def _grows(before: Any, now: Any) -> bool:
    """Tell whether a count (None: all) or a list only became more."""
    if isinstance(before, list):
        return set(before) <= set(now)
    return now is None or (before is not None and now > before)


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
    root: Path,
    part: Part,
    rows: Rows,
    options: Mapping[str, Any],
    summary: Callable[[], Mapping[str, Any]],
    base: Mapping[str, Any] | None = None,
) -> list[Written]:
    """Write a part's rows in the place of those that were there, and the card anew.

    Whatever goes wrong, the directory stays as it was.

    Args:
        root: The dataset directory.
        part: The part.
        rows: Its rows; splits without any get no file.
        options: What shapes them, for the provenance.
        summary: Called when all rows have been taken: counts for the provenance.
        base: The provenance of the build that the rows were made from, from ``read_base``; None: the one that is there.

    Raises:
        DatasetError: there is no dataset directory, or it was built anew meanwhile.
        OutputError: it cannot be written.
    """
    with staged(root, lambda name: part.owns(name) or name == "README.md") as new:
        facts = read_provenance(root)
        if base is not None and facts != base:
            raise DatasetError(f"{root}: was built anew meanwhile; run again (stored answers are not asked for again)")
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
        others = read_added(root, but=part)
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
