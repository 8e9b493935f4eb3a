"""Files, schema, provenance and card: whatever is changed in them is found."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.validate.tampering import ES, QM, Cases, Row, Spoil, edit_card, edit_facts, parquet, row, text, told


def stated(change: Callable[[Row], object]) -> Spoil:
    return lambda root: edit_facts(root, lambda found: change(found["files"]))


def cut(config: str, size: int) -> Spoil:
    return lambda root: parquet(root, config).write_bytes(parquet(root, config).read_bytes()[:size])


def damage(config: str) -> Spoil:
    def spoil(root: Path) -> None:
        data = bytearray(parquet(root, config).read_bytes())
        data[200:2000] = bytes(1800)
        parquet(root, config).write_bytes(data)

    return spoil


def also(config: str, name: str) -> Spoil:
    return lambda root: shutil.copy(parquet(root, config), parquet(root, config).with_name(name))


TEST_BLOCKS = "data/blocks/test-00000-of-00001.parquet"
FILES: Cases = {
    "sha": (stated(lambda files: files["dropped.jsonl"].update(sha256="0")), "dropped.jsonl: is not the file that was"),
    "byte": (text("dropped.jsonl", lambda found: found + "\n"), "dropped.jsonl: is not the file that was built"),
    "deleted": (lambda root: parquet(root, "dialogues").unlink(), "train-00000-of-00001.parquet: is missing"),
    "extra": (also("blocks", "train-x.parquet"), "data/blocks/train-x.parquet: is not named in provenance.json"),
    "foreign split": (also("dialogues", "dev-0.parquet"), "data/dialogues/dev-0.parquet: is not named in provenance"),
    "outside": (stated(lambda files: files.update({"../x": {"sha256": ""}})), "../x: is outside the dataset directory"),
    "row count": (stated(lambda files: files[TEST_BLOCKS].update(rows=7)), "rows where provenance.json says 7"),
    "cut": (cut("dialogues", 5000), "data/dialogues/train-00000-of-00001.parquet: cannot be read"),
    "cut view": (cut("speaker_turns", 5000), "data/speaker_turns/train-00000-of-00001.parquet: cannot be read"),
    "empty": (cut("director_turns", 0), "data/director_turns/train-00000-of-00001.parquet: cannot be read"),
    "damaged page": (damage("dialogues"), "data/dialogues/train-00000-of-00001.parquet: cannot be read"),
    "damaged view": (damage("blocks"), "data/blocks/train-00000-of-00001.parquet: cannot be read"),
    "no Parquet": (lambda root: parquet(root, "dialogues").write_text("id,text\n"), "cannot be read"),
}


def column(config: str, change: Callable[[pa.Table], pa.Table]) -> Spoil:
    def spoil(root: Path) -> None:
        pq.write_table(change(pq.read_table(parquet(root, config))), parquet(root, config))

    return spoil


def narrow(table: pa.Table) -> pa.Table:
    place = table.column_names.index("first_turn")
    return table.set_column(place, "first_turn", table["first_turn"].cast(pa.int32()))


def of(config: str, **fields: Any) -> Spoil:
    return row(config, lambda found: found.update(fields))


SCHEMA: Cases = {
    "renamed": (column("dialogues", lambda t: t.rename_columns(["Id", *t.column_names[1:]])), "column id is missing"),
    "double": (column("dialogues", lambda t: t.append_column("id", t["id"])), "column id is there twice"),
    "type": (column("blocks", narrow), "column first_turn has another type than the schema: int32"),
    "added": (
        column("speaker_turns", lambda t: t.append_column("margin", pa.nulls(len(t)))),
        "column margin is not in",
    ),
    "foreign": (column("dialogues", lambda _: pa.table({"x": [1]})), "column id is missing"),
    "foreign view": (column("blocks", lambda _: pa.table({"x": [1]})), "column x is not in the schema"),
    "null": (of("dialogues", subset=None), "row 0 (esconv:0): subset: Input should be a valid string"),
    "source": (of("dialogues", source="reddit"), "source: Input should be 'esconv'"),
    "score": (row("dialogues", lambda found: found["outcome"].update(empathy=6)), "outcome.empathy: Input should be"),
    "no id": (of("dialogues", id=None), "id: Input should be a valid string"),
    "origin of a block": (of("blocks", origin="dream"), "origin: Input should be 'corpus'"),
    "role": (row("speaker_turns", lambda found: found["prompt"][0].update(role="tool")), "prompt.0.role: Input should"),
}


def account(**fields: Any) -> Spoil:
    return lambda root: edit_facts(root, lambda found: found["account"].update(fields))


def lost(change: Callable[[str], str]) -> Spoil:
    return text("dropped.jsonl", change)


def no_utf8(name: str) -> Spoil:
    return lambda root: (root / name).write_bytes(b'---\n{"source_id": "\xff"}\n---\n')


ACCOUNT: Cases = {
    "kept": (account(kept=1), "the account says kept 1, the rows say 270"),
    "queries": (account(queries=1), "the account says queries 1"),
    "merged": (account(merged=1), "the account says merged 1"),
    "shared": (account(shared=1), "the account says shared 1"),
    "utterances": (account(utterances=1), "1 utterances were read, 270 kept, 15 dropped"),
    "conversations": (account(conversations=4), "the account says conversations 4"),
    "failed": (account(failed_conversations=4), "the account says failed_conversations 4"),
    "splits": (account(splits={"train": 5, "test": 1}), "splits do not add up"),
    "dialogues": (account(dialogues={"train": 5}), "the account says dialogues {'train': 5}"),
    "turns": (account(turns={"user": 1}), "the account says turns"),
    "personas": (account(personas={"scribe": 1}), "the account says personas"),
    "flagged": (account(flagged={}), "the account says flagged {}"),
    "dropped": (account(dropped={"blank": 3}), "the account says dropped {'blank': 3}"),
    "labels": (account(labels={}), "the account says labels {}"),
    "rows": (account(rows={"dialogues": {"train": 1}}), "the account's rows of each config are not those of its files"),
    "line removed": (lost(lambda found: found.partition("\n")[2]), "285 utterances were read, 270 kept, 14 dropped"),
    "line twice": (lost(lambda found: found.partition("\n")[0] + "\n" + found), "utterance 8 of Bmr901 is there twice"),
    "kept, too": (lost(lambda found: found.replace('turn": 8', 'turn": 9')), "utterance 9 of Bmr901 is also in a turn"),
    "broken JSON": (lost(lambda found: "{" + found), "dropped.jsonl line 1: is damaged"),
    "no object": (lost(lambda found: "[]\n" + found), "dropped.jsonl line 1: is damaged"),
    "half a line": (lost(lambda found: found[:-40]), "dropped.jsonl line 15: is damaged"),
    "reason": (lost(lambda found: found.replace('"blank"', '"dull"')), "'dull' is not on the list of reasons"),
    "no UTF-8": (no_utf8("dropped.jsonl"), "dropped.jsonl line 2: is damaged"),
    "deleted": (lambda root: (root / "dropped.jsonl").unlink(), "dropped.jsonl: cannot be read"),
}


def card(change: Callable[[Row], object]) -> Spoil:
    return lambda root: edit_card(root, change)


def config(number: int, **fields: Any) -> Spoil:
    return card(lambda header: header["configs"][number].update(fields))


def loads(**fields: Any) -> Spoil:
    return card(lambda header: header["configs"][0]["data_files"][0].update(fields))


def info(number: int, change: Callable[[Row], object]) -> Spoil:
    return card(lambda header: change(header["dataset_info"][number]))


UNSOUND = "README.md: has no sound YAML header ("
CODE = "pretty_name: !!python/object/apply:os.getcwd []\nother:"
CARD: Cases = {
    "counts": (info(0, lambda i: i["splits"][0].update(num_examples=3)), "config dialogues: train has 10 rows, not 3"),
    "digest": (config(1, description="the same"), "config speaker_turns: its description lacks the digest"),
    "no description": (card(lambda header: header["configs"][1].pop("description")), "lacks the digest of its files"),
    "features": (info(0, lambda i: i["features"].pop()), "config dialogues: its features are not those of the schema"),
    "type": (info(3, lambda i: i["features"][0].update(dtype="int64")), "config blocks: its features are not those"),
    "split gone": (card(lambda header: header["configs"][0]["data_files"].pop()), "its splits are not those of the"),
    "split renamed": (loads(split="dev"), "does not match just the files of dev"),
    "path": (loads(path="data/*/train-*.parquet"), "does not match just the files of train"),
    "absolute path": (loads(path="/etc/*"), "'/etc/*' does not match just the files of train"),
    "no path": (loads(path=""), "'' does not match just the files of train"),
    "config gone": (card(lambda header: header["configs"].pop()), "does not declare the config blocks"),
    "config twice": (card(lambda header: header["configs"].append(header["configs"][0])), "configs has a config twice"),
    "no default": (config(0, default=False), "the default config is not dialogues alone"),
    "two defaults": (config(1, default=True), "the default config is not dialogues alone"),
    "no list": (card(lambda header: header.update(configs="all")), f"{UNSOUND}configs: Input should be a valid list"),
    "no header": (text("README.md", lambda found: found.split("---\n", 2)[2]), UNSOUND),
    "no YAML": (text("README.md", lambda found: found.replace("configs:", "configs: [", 1)), UNSOUND),
    "code": (text("README.md", lambda found: found.replace("pretty_name:", CODE, 1)), UNSOUND),
    "deep": (text("README.md", lambda found: "---\nconfigs: " + "[" * 9000 + "]" * 9000 + "\n---\n"), UNSOUND),
    "scalar": (text("README.md", lambda found: "---\nwhat\n---\n"), UNSOUND),
    "deleted": (lambda root: (root / "README.md").unlink(), UNSOUND),
    "no UTF-8": (no_utf8("README.md"), UNSOUND),
}


@pytest.mark.parametrize("name", FILES)
def test_files(copy: Callable[[str], Path], name: str) -> None:
    root = copy(ES)
    FILES[name][0](root)
    assert FILES[name][1] in "\n".join(told(root, "files"))


@pytest.mark.parametrize("name", SCHEMA)
def test_schema(copy: Callable[[str], Path], name: str) -> None:
    root = copy(ES)
    SCHEMA[name][0](root)
    assert SCHEMA[name][1] in "\n".join(told(root, "schema"))


@pytest.mark.parametrize("name", ACCOUNT)
def test_account(copy: Callable[[str], Path], name: str) -> None:
    root = copy(QM)
    ACCOUNT[name][0](root)
    assert ACCOUNT[name][1] in "\n".join(told(root, "account"))


@pytest.mark.parametrize("name", CARD)
def test_card(copy: Callable[[str], Path], name: str) -> None:
    root = copy(ES)
    CARD[name][0](root)
    assert CARD[name][1] in "\n".join(told(root, "card"))
