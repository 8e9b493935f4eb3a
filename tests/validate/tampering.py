"""Change a copy of a built dataset directory, and if wanted have provenance and card agree with the change."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from mascot_data.build.added import PARTS
from mascot_data.build.provenance import provenance_file
from mascot_data.build.writing import config_digest, sha256_of
from mascot_data.validate import validate

Row = dict[str, Any]
Spoil = Callable[[Path], object]
Case = tuple[Spoil, str]
"""How to make a change, and the words that must tell of it."""
Cases = dict[str, Case]
"""Changes by name."""

ROLLOUTS = "train-rollouts"
"""Takes the place of a split, for the rollouts of train."""

BLOCKS = "train-blocks"
"""Takes the place of a split, for the judgments of train's blocks."""

ES, ED, QM = "esconv-multiagent", "empathetic-dialogues-multiagent", "qmsum-multiagent"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def told(root: Path, check: str) -> list[str]:
    """Say what a check finds wrong."""
    return [f"{problem.where}: {problem.what}" for problem in validate(root).problems if problem.check == check]


def parquet(root: Path, config: str, split: str = "train") -> Path:
    return root / f"data/{config}/{split}-00000-of-00001.parquet"


def edit(root: Path, config: str, change: Callable[[list[Row]], object], split: str = "train") -> None:
    """Rewrite a file with its rows changed in place; it then differs from what provenance and card say."""
    path = parquet(root, config, split)
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def rows_of(root: Path, config: str, split: str = "train") -> list[Row]:
    found: list[Row] = pq.read_table(parquet(root, config, split)).to_pylist()
    return found


def facts(root: Path, name: str = "provenance.json") -> Row:
    loaded: Row = json.loads((root / name).read_text(encoding="utf-8"))
    return loaded


def edit_facts(root: Path, change: Callable[[Row], object], name: str = "provenance.json") -> None:
    found = facts(root, name)
    change(found)
    (root / name).write_text(json.dumps(found), encoding="utf-8")


def edit_card(root: Path, change: Callable[[Row], object]) -> None:
    _, header, text = (root / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    loaded = yaml.load(header, _LOADER)
    change(loaded)
    new = yaml.dump(loaded, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    (root / "README.md").write_text(f"---\n{new}---\n{text}", encoding="utf-8")


def seal(root: Path) -> None:
    """Make provenance and card agree with the files, so that only a check of the rows can find what is wrong."""

    def enter(found: Row) -> None:
        for name, stated in found["files"].items():
            stated["sha256"] = sha256_of(root / name)
            if name.endswith(".parquet"):
                stated["rows"] = pq.read_metadata(root / name).num_rows
                _, config, file = name.split("/")
                if "account" in found:
                    found["account"]["rows"][config][file.partition("-")[0]] = stated["rows"]

    provenances = ["provenance.json", *(provenance_file(part.name) for part in PARTS)]
    present = [name for name in provenances if (root / name).exists()]
    for name in present:
        edit_facts(root, enter, name)
    files = {path: stated for name in present for path, stated in facts(root, name)["files"].items()}

    def declare(header: Row) -> None:
        for config, info in zip(header["configs"], header["dataset_info"], strict=True):
            mine = {name: f for name, f in files.items() if name.startswith(f"data/{config['config_name']}/")}
            config["description"] = f"content {config_digest(stated['sha256'] for stated in mine.values())}"
            for split in info["splits"]:
                split["num_examples"] = sum(f["rows"] for name, f in mine.items() if f"/{split['name']}-" in name)

    edit_card(root, declare)


def sealed(config: str, change: Callable[[list[Row]], object], split: str = "train") -> Spoil:
    """Change rows and have everything else agree."""

    def spoil(root: Path) -> None:
        edit(root, config, change, split)
        seal(root)

    return spoil


def row(config: str, change: Callable[[Row], object], number: int = 0, split: str = "train") -> Spoil:
    """Change one row and have everything else agree."""
    return sealed(config, lambda rows: change(rows[number]), split)


def text(name: str, change: Callable[[str], str]) -> Spoil:
    """Change a text file."""
    return lambda root: (root / name).write_text(change((root / name).read_text("utf-8")), "utf-8", newline="\n")


def of(config: str, split: str = "train", **fields: Any) -> Spoil:
    """Change values of the first row and have everything else agree."""
    return row(config, lambda found: found.update(fields), split=split)


def repeated(config: str, one: int, other: int) -> Spoil:
    """Have a row take the place of another."""

    def change(rows: list[Row]) -> None:
        rows[other] = dict(rows[one])

    return sealed(config, change)


def options(part: str, **fields: Any) -> Spoil:
    """Have a part made with other options."""
    return lambda root: edit_facts(root, lambda found: found["options"].update(fields), f"provenance-{part}.json")


def summary(part: str, change: Callable[[Row], object]) -> Spoil:
    """Change what the provenance of a part counts."""
    return lambda root: edit_facts(root, lambda found: change(found["summary"]), f"provenance-{part}.json")


def counted(part: str, name: str, key: str, more: int = -1) -> Spoil:
    """Have the summary of a part count one row less, or some more."""

    def change(found: Row) -> None:
        found[name][key] = found[name].get(key, 0) + more

    return summary(part, change)


def both(*spoils: Spoil) -> Spoil:
    """Make several changes."""

    def spoil(root: Path) -> None:
        for each in spoils:
            each(root)

    return spoil


def check_one(root: Path, check: str, case: Case) -> None:
    """See to it that a change is one problem, of this check and in these words."""
    spoil, words = case
    spoil(root)
    problems = validate(root).problems
    found = [(problem.check, words in f"{problem.where}: {problem.what}") for problem in problems]
    assert found == [(check, True)], problems
