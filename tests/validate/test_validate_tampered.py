"""Whatever is changed in a dataset directory is found, by the check that is about it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mascot_data.validate import validate
from tests.validate.tampering import ED, ES, QM, Row, agent_turn, edit, edit_card, edit_facts, parquet, seal

Spoil = Callable[[Path], object]


class Case(NamedTuple):
    """What is done to which corpus, and the check and the words that have to tell of it."""

    name: str
    corpus: str
    spoil: Spoil
    check: str
    words: str


def rows(config: str, change: Callable[[list[Row]], object], split: str = "train") -> Spoil:
    """Change rows and have everything else agree, so that nothing but the rows themselves can tell."""

    def spoil(root: Path) -> None:
        edit(root, config, change, split)
        seal(root)

    return spoil


def first(change: Callable[[Row], object]) -> Spoil:
    return rows("dialogues", lambda found: change(found[0]))


def turn(**fields: Any) -> Spoil:
    return first(lambda row: agent_turn(row).update(fields))


def asked(**fields: Any) -> Spoil:
    return first(lambda row: agent_turn(row)["directive"].update(fields))


def view(config: str, **fields: Any) -> Spoil:
    return rows(config, lambda found: found[1].update(fields))


def message(config: str, column: str, number: int, **fields: Any) -> Spoil:
    return rows(config, lambda found: found[1][column][number].update(fields))


def account(**fields: Any) -> Spoil:
    return lambda root: edit_facts(root, lambda found: found["account"].update(fields))


def card(change: Callable[[Row], object]) -> Spoil:
    return lambda root: edit_card(root, change)


def column(config: str, change: Callable[[pa.Table], pa.Table]) -> Spoil:
    def spoil(root: Path) -> None:
        path = parquet(root, config)
        pq.write_table(change(pq.read_table(path)), path)

    return spoil


def text(name: str, change: Callable[[str], str]) -> Spoil:
    return lambda root: (root / name).write_text(change((root / name).read_text("utf-8")), "utf-8", newline="\n")


def cut(config: str, size: int) -> Spoil:
    return lambda root: parquet(root, config).write_bytes(parquet(root, config).read_bytes()[:size])


def damage(config: str) -> Spoil:
    def spoil(root: Path) -> None:
        data = bytearray(parquet(root, config).read_bytes())
        data[200:2000] = bytes(1800)
        parquet(root, config).write_bytes(data)

    return spoil


def move(found: Path, split: str) -> None:
    """Move the first dialogue of train, with its rows in all views, to another split."""
    for config in ("dialogues", "speaker_turns", "director_turns", "blocks"):
        key = "id" if config == "dialogues" else "dialogue_id"
        moved: list[Row] = []
        name = pq.read_table(parquet(found, "dialogues"))["id"][0].as_py() if not moved else ""
        edit(found, config, lambda table: _part(table, moved, key), "train")  # noqa: B023
        del name
        edit(found, config, lambda table: table.__setitem__(slice(0, 0), moved), split)  # noqa: B023
    seal(found)


def _part(table: list[Row], moved: list[Row], key: str) -> None:
    moved += [row for row in table if row[key] == table[0][key]]
    table[:] = [row for row in table if row[key] != table[0][key]]


def copy_to(split: str) -> Spoil:
    def spoil(root: Path) -> None:
        taken: list[Row] = []
        edit(root, "dialogues", lambda found: taken.append(found[0]))
        edit(root, "dialogues", lambda found: found.append(taken[0]), split)
        seal(root)

    return spoil


def swap(found: list[Row]) -> None:
    found[0], found[-1] = found[-1], found[0]


def two(found: Row, **fields: Any) -> None:
    found["turns"][1].update(fields)


FILES = [
    Case("sha", ES, lambda root: edit_facts(root, lambda f: f["files"]["dropped.jsonl"].update(sha256="0" * 64)),
         "files", "dropped.jsonl: is not the file that was built"),
    Case("byte", ES, lambda root: text("dropped.jsonl", lambda found: found + "\n")(root), "files", "dropped.jsonl: is not"),
    Case("deleted", ES, lambda root: parquet(root, "dialogues").unlink(), "files", "dialogues/train-00000-of-00001.parquet: is missing"),
    Case("deleted view", ES, lambda root: parquet(root, "blocks", "test").unlink(), "views", "data/blocks: has no file for test"),
    Case("no view at all", ES, lambda root: shutil.rmtree(root / "data" / "blocks"), "views", "data/blocks: has no file for train"),
    Case("extra", ES, lambda root: shutil.copy(parquet(root, "blocks"), parquet(root, "blocks").with_name("train-x.parquet")),
         "files", "data/blocks/train-x.parquet: is not named in provenance.json"),
    Case("other split", ES, lambda root: shutil.copy(parquet(root, "dialogues"), parquet(root, "dialogues", "dev")),
         "files", "dialogues/dev-00000-of-00001.parquet: is not named"),
    Case("outside", ES, lambda root: edit_facts(root, lambda f: f["files"].update({"../x": {"sha256": ""}})),
         "files", "../x: is outside the dataset directory"),
    Case("rows stated", ES, lambda root: edit_facts(root, lambda f: f["files"]["data/blocks/test-00000-of-00001.parquet"].update(rows=7)),
         "files", "rows where provenance.json says 7"),
    Case("cut", ES, cut("dialogues", 5000), "files", "cannot be read"),
    Case("cut view", ES, cut("speaker_turns", 5000), "files", "speaker_turns/train-00000-of-00001.parquet: cannot be read"),
    Case("empty", ES, cut("director_turns", 0), "files", "cannot be read"),
    Case("damaged page", ES, damage("dialogues"), "files", "dialogues/train-00000-of-00001.parquet: "),
    Case("damaged view", ES, damage("blocks"), "files", "blocks/train-00000-of-00001.parquet: "),
    Case("foreign", ES, lambda root: pq.write_table(pa.table({"x": [1]}), parquet(root, "dialogues")), "schema", "column id is missing"),
    Case("foreign view", ES, lambda root: pq.write_table(pa.table({"x": [1]}), parquet(root, "blocks")), "schema", "column x is not in the schema"),
    Case("no Parquet", ES, lambda root: parquet(root, "dialogues").write_text("id,text\n"), "files", "cannot be read"),
]  # fmt: skip

SCHEMA = [
    Case("renamed", ES, column("dialogues", lambda t: t.rename_columns(["Id", *t.column_names[1:]])), "schema", "column id is missing"),
    Case("double", ES, column("dialogues", lambda t: t.append_column("id", t["id"])), "schema", "column id is there twice"),
    Case("type", ES, column("blocks", lambda t: t.set_column(3, "first_turn", t["first_turn"].cast(pa.int32()))),
         "schema", "column first_turn has another type than the schema: int32"),
    Case("added", ES, column("speaker_turns", lambda t: t.append_column("margin", pa.nulls(len(t)))), "schema", "column margin is not in the schema"),
    Case("null", ES, first(lambda row: row.update(subset=None)), "schema", "subset: Input should be a valid string"),
    Case("no source", ES, first(lambda row: row.update(source="reddit")), "schema", "source: Input should be 'esconv'"),
    Case("score", ES, first(lambda row: row["outcome"].update(empathy=6)), "schema", "outcome.empathy"),
    Case("no id", ES, first(lambda row: row.update(id=None)), "schema", "id: Input should be a valid string"),
    Case("view null", ES, view("blocks", dialogue_id=None), "views", "belongs to no dialogue"),
    Case("view origin", ES, view("blocks", origin="dream"), "schema", "origin: Input should be 'corpus'"),
    Case("role", ES, message("speaker_turns", "prompt", 0, role="tool"), "schema", "prompt.0.role"),
]  # fmt: skip

ROWS = [
    Case("flag", ES, first(lambda row: row.update(flags=[*row["flags"], "zzz"])), "rows", "unknown flags ['zzz']"),
    Case("flag order", ES, first(lambda row: row.update(flags=row["flags"][::-1])), "rows", "flags are not sorted"),
    Case("flag of a turn", ES, turn(flags=["overlapping-segment"]), "rows", "a turn has a flag that the dialogue lacks"),
    Case("index", ES, turn(index=99), "rows", "has index 99"),
    Case("gap", ES, first(lambda row: row["turns"].pop(3)), "rows", "turn 3 has index 4"),
    Case("no directive", ES, turn(directive=None), "rows", "a directive belongs to agent turns"),
    Case("directive of a person", ES, first(lambda row: row["turns"][1 - row["turns"].index(agent_turn(row))].update(
        directive=agent_turn(row)["directive"])), "rows", "a directive belongs to agent turns"),
    Case("action", ES, asked(action="sing"), "rows", "action 'sing' is not on the closed list"),
    Case("tone", ES, asked(tone="loud"), "rows", "tone 'loud' is not one of"),
    Case("agent", ES, asked(agent="scribe"), "rows", "the directive's agent scribe is not the persona"),
    Case("id", ES, first(lambda row: row.update(source_id="400")), "rows", "id is not source:source_id"),
    Case("version", ES, first(lambda row: row.update(schema_version="9")), "rows", "schema_version is 9"),
    Case("text", ES, turn(text=" "), "rows", "has no text"),
    Case("persona", ES, turn(persona=None), "rows", "a persona belongs to agent turns"),
    Case("kind", ES, turn(kind="user"), "rows", "kind and persona are not those of its speaker"),
    Case("speaker", ES, turn(speaker="nobody"), "rows", "speakers are not exactly those of the turns"),
    Case("speakers", ES, first(lambda row: row["speakers"].append(row["speakers"][0])), "rows", "two speakers have one id"),
    Case("speaker order", ES, first(lambda row: row["speakers"].reverse()), "rows", "in the order in which they first speak"),
    Case("acts", ES, turn(acts=[]), "rows", "acts and acts_origin do not go together"),
    Case("nowhere", ES, turn(source_turns=[]), "rows", "says not where it comes from"),
    Case("two turns", ES, first(lambda row: two(row, source_turns=row["turns"][0]["source_turns"])), "rows", "an utterance is in two turns"),
    Case("order", ES, first(lambda row: row["turns"][0].update(source_turns=[900])), "rows", "not in the order of their utterances"),
    Case("texts", ES, turn(source_texts=["a"] * 9), "rows", "source_texts and source_turns differ in length"),
    Case("raw lost", ES, turn(text="a\nb\nc\nd\ne", source_texts=[]), "rows", "the raw texts cannot be told from the text"),
    Case("raw speakers", ES, turn(source_speakers=["a"] * 9), "rows", "source_speakers and source_turns differ in length"),
    Case("evidence", QM, first(lambda row: row["turns"][-1].update(evidence=[{"first": 5, "last": 4}])), "rows", "ends before it begins"),
]  # fmt: skip

LEAKS = [
    Case("twice", ES, rows("dialogues", lambda found: found.append(found[-1])), "leaks", "the dialogue is there twice"),
    Case("two splits", ES, copy_to("test"), "leaks", "the dialogue is there twice, also at data/dialogues/train-00000-of-00001.parquet row 0 (train and test)"),
    Case("meeting", QM, lambda root: move(root, "test"), "leaks", "meeting Bmr901 is in test and train, and no flag says so"),
    Case("pair", ED, lambda root: move(root, "test"), "leaks", "pair hit:90001 is in test and train, and no flag says so"),
    Case("pair flag", ED, rows("dialogues", lambda found: [row["flags"].remove("pair-in-two-splits") for row in found if "pair-in-two-splits" in row["flags"]]),
         "leaks", "pair hit:90010 is in train and validation"),
    Case("situation flag", ES, rows("dialogues", lambda found: [row["flags"].remove("situation-in-two-splits") for row in found if "situation-in-two-splits" in row["flags"]]),
         "leaks", "situation is in train and validation"),
    Case("annotations flag", QM, rows("dialogues", lambda found: [row["flags"].remove("annotations-in-two-splits") for row in found if "annotations-in-two-splits" in row["flags"]]),
         "leaks", "annotations is in train and validation"),
]  # fmt: skip

ACCOUNT = [
    Case(name, QM, account(**{name: value}), "account", words)
    for name, value, words in [
        ("kept", 1, "the account says kept 1, the rows say 270"),
        ("queries", 1, "the account says queries 1"),
        ("merged", 1, "the account says merged 1"),
        ("shared", 1, "the account says shared 1"),
        ("utterances", 1, "1 utterances were read, 270 kept, 15 dropped"),
        ("conversations", 4, "the account says conversations 4"),
        ("failed_conversations", 4, "the account says failed_conversations 4"),
        ("splits", {"train": 5, "test": 1}, "splits do not add up"),
        ("dialogues", {"train": 5}, "the account says dialogues {'train': 5}"),
        ("turns", {"user": 1}, "the account says turns"),
        ("personas", {"scribe": 1}, "the account says personas"),
        ("flagged", {}, "the account says flagged {}"),
        ("dropped", {"blank": 3}, "the account says dropped {'blank': 3}"),
        ("labels", {}, "the account says labels {}"),
        ("rows", {"dialogues": {"train": 1}}, "the account's rows of each config are not those of its files"),
    ]
] + [
    Case("dropped line removed", QM, text("dropped.jsonl", lambda found: found.partition("\n")[2]), "account", "285 utterances were read, 270 kept, 14 dropped"),
    Case("dropped twice", QM, text("dropped.jsonl", lambda found: found.partition("\n")[0] + "\n" + found), "account", "utterance 8 of Bmr901 is there twice"),
    Case("dropped and kept", QM, text("dropped.jsonl", lambda found: found.replace('"source_turn": 8', '"source_turn": 9')), "account", "utterance 9 of Bmr901 is also in a turn"),
    Case("broken JSON", QM, text("dropped.jsonl", lambda found: "{" + found), "account", "dropped.jsonl line 1: is damaged"),
    Case("no object", QM, text("dropped.jsonl", lambda found: "[]\n" + found), "account", "dropped.jsonl line 1: is damaged"),
    Case("half a line", QM, text("dropped.jsonl", lambda found: found[:-40]), "account", "dropped.jsonl line 15: is damaged"),
    Case("reason", QM, text("dropped.jsonl", lambda found: found.replace('"blank"', '"dull"')), "account", "'dull' is not on the list of reasons"),
    Case("no UTF-8", QM, lambda root: (root / "dropped.jsonl").write_bytes(b'{"source_id": "\xff"}\n'), "account", "dropped.jsonl line 1: is damaged"),
    Case("dropped deleted", QM, lambda root: (root / "dropped.jsonl").unlink(), "account", "dropped.jsonl: cannot be read"),
]  # fmt: skip

CARD = [
    Case("counts", ES, card(lambda h: h["dataset_info"][0]["splits"][0].update(num_examples=3)), "card", "config dialogues: train has 10 rows, not 3"),
    Case("digest", ES, card(lambda h: h["configs"][1].update(description="the same")), "card", "config speaker_turns: its description lacks the digest"),
    Case("no description", ES, card(lambda h: h["configs"][1].pop("description")), "card", "lacks the digest"),
    Case("features", ES, card(lambda h: h["dataset_info"][0]["features"].pop()), "card", "config dialogues: its features are not those of the schema"),
    Case("feature type", ES, card(lambda h: h["dataset_info"][3]["features"][0].update(dtype="int64")), "card", "config blocks: its features"),
    Case("split gone", ES, card(lambda h: h["configs"][0]["data_files"].pop()), "card", "config dialogues: its splits are not those of the files"),
    Case("split renamed", ES, card(lambda h: h["configs"][0]["data_files"][0].update(split="dev")), "card", "does not match just the files of dev"),
    Case("path", ES, card(lambda h: h["configs"][0]["data_files"][0].update(path="data/*/train-*.parquet")), "card", "does not match just the files of train"),
    Case("absolute path", ES, card(lambda h: h["configs"][0]["data_files"][0].update(path="/etc/*")), "card", "does not match just the files of train"),
    Case("config gone", ES, card(lambda h: h["configs"].pop()), "card", "does not declare the config blocks"),
    Case("config twice", ES, card(lambda h: h["configs"].append(h["configs"][0])), "card", "configs has a config twice"),
    Case("default", ES, card(lambda h: h["configs"][0].pop("default")), "card", "the default config is not dialogues alone"),
    Case("two defaults", ES, card(lambda h: h["configs"][1].update(default=True)), "card", "the default config is not dialogues alone"),
    Case("no list", ES, card(lambda h: h.update(configs="all")), "card", "has no sound YAML header (configs:"),
    Case("no header", ES, text("README.md", lambda found: found.split("---\n", 2)[2]), "card", "has no sound YAML header"),
    Case("no YAML", ES, text("README.md", lambda found: found.replace("configs:", "configs: [", 1)), "card", "has no sound YAML header"),
    Case("YAML that runs", ES, text("README.md", lambda found: found.replace("pretty_name:", "pretty_name: !!python/object/apply:os.getcwd []\nother:", 1)),
         "card", "has no sound YAML header"),
    Case("scalar", ES, text("README.md", lambda found: "---\nwhat\n---\n"), "card", "has no sound YAML header"),
    Case("no card", ES, lambda root: (root / "README.md").unlink(), "card", "has no sound YAML header"),
    Case("no UTF-8 card", ES, lambda root: (root / "README.md").write_bytes(b"---\n\xff\n---\n"), "card", "has no sound YAML header"),
]  # fmt: skip

ANSWER = '{"agent": "guide", "action": "sing", "tone": "loud"}'
VIEWS = [
    Case("row missing", ES, rows("speaker_turns", lambda found: found.pop(2)), "views", "data/speaker_turns (esconv:0): turn"),
    Case("last row missing", ES, rows("director_turns", lambda found: found.pop()), "views", "has 0 rows, not one"),
    Case("row twice", ES, rows("director_turns", lambda found: found.insert(1, found[0])), "views", "has 2 rows, not one"),
    Case("block missing", ES, rows("blocks", lambda found: found.pop(1)), "views", "data/blocks (esconv:0): turn 8 has 0 rows"),
    Case("block twice", ES, rows("blocks", lambda found: found.insert(1, found[1])), "views", "turn 8 has 2 rows"),
    Case("no agent turn", ES, rows("speaker_turns", lambda found: found[0].update(turn_index=found[0]["turn_index"] - 1)), "views", "has a row that should not be there"),
    Case("no turn", ES, view("director_turns", turn_index=500), "views", "turn 500 has a row that should not be there"),
    Case("no block", ES, view("blocks", first_turn=7), "views", "turn 7 has a row that should not be there"),
    Case("foreign dialogue", ES, view("blocks", dialogue_id="esconv:404"), "views", "belongs to no dialogue of this split"),
    Case("dialogue of another split", ES, view("blocks", dialogue_id="esconv:7"), "views", "belongs to no dialogue of this split"),
    Case("out of order", ES, rows("speaker_turns", swap), "views", "is not in the order of the dialogues"),
    Case("id", ES, view("speaker_turns", id="esconv:0/1000"), "views", "id is not esconv:0/"),
    Case("subset", ES, view("blocks", subset="failed"), "views", "subset, license or schema_version are not those of the dialogue"),
    Case("licence", ES, view("director_turns", license="mit"), "views", "subset, license or schema_version are not"),
    Case("persona", ES, view("speaker_turns", persona="scribe"), "views", "persona, directive or flags are not those of the turn"),
    Case("flags", ES, view("director_turns", flags=["repeat"]), "views", "flags are not those of the turn"),
    Case("directive", ES, rows("speaker_turns", lambda found: found[1]["directive"].update(tone="calm")), "views", "persona, directive or flags"),
    Case("completion", ES, message("speaker_turns", "completion", 0, content="Ha."), "views", "completion is not one assistant message with the turn's text"),
    Case("completion role", ES, message("speaker_turns", "completion", 0, role="user"), "views", "completion is not one assistant message"),
    Case("two completions", ES, rows("speaker_turns", lambda found: found[1]["completion"].append(found[1]["completion"][0])), "views", "completion is not one"),
    Case("no completion", ES, view("director_turns", completion=[]), "views", "completion is not one assistant message with the JSON"),
    Case("broken answer", ES, message("director_turns", "completion", 0, content="{"), "views", "completion is not one assistant message with the JSON"),
    Case("other answer", ES, message("director_turns", "completion", 0, content=ANSWER), "views", "completion is not one assistant message with the JSON"),
    Case("label", ES, view("director_turns", action="sing"), "views", "agent, action, tone or action_origin are not those of the turn's directive"),
    Case("closed list", ES, view("director_turns", tone="loud"), "views", "or tone 'loud' is not on the closed list"),
    Case("origin", ES, view("director_turns", tone_origin="human"), "views", "agent_origin or tone_origin is impossible here"),
    Case("not a candidate", ES, rows("director_turns", lambda found: found[1]["candidates_agents"].remove(found[1]["agent"])), "views", "is not one of candidates_agents"),
    Case("candidate twice", ES, rows("director_turns", lambda found: found[1]["candidates_agents"].append(found[1]["agent"])), "views", "is twice in candidates_agents"),
    Case("roster", ES, rows("director_turns", lambda found: found[5]["candidates_agents"].append("scribe")), "views", "are not the roster of the other rows"),
    Case("no system", ES, rows("speaker_turns", lambda found: found[1]["prompt"].pop(0)), "views", "prompt does not begin with a system message"),
    Case("blank system", ES, message("speaker_turns", "prompt", 0, content=" "), "views", "prompt does not begin with a system message"),
    Case("no user at the end", ES, rows("speaker_turns", lambda found: found[1]["prompt"].pop()), "views", "prompt does not end with a user message"),
    Case("roles", ES, rows("speaker_turns", lambda found: found[1]["prompt"].insert(1, found[1]["prompt"][1])), "views", "the roles of the prompt do not alternate"),
    Case("empty prompt", ES, view("speaker_turns", prompt=[]), "views", "prompt does not begin with a system message"),
    Case("Director's prompt", ES, rows("director_turns", lambda found: found[1]["prompt"].pop()), "views", "prompt is not a system message and one user message"),
    Case("Director's line", ES, rows("speaker_turns", lambda found: found[1]["prompt"][-1].update(
        content=found[1]["prompt"][-1]["content"].replace("Director: ", "Director:  "))), "views", "does not end with the Director's line"),
    Case("counts", ES, view("blocks", context_turns=3), "views", "context_turns and context_cut do not add up to 8"),
    Case("nothing shown", ES, view("blocks", context_turns=0, context_cut=8), "views", "its prompt shows no turn at all"),
    Case("cut more", ES, view("blocks", context_turns=4, context_cut=4), "views", "its prompt shows 8 turns, not the 4 from 4 to 8"),
    Case("room text", ES, rows("blocks", lambda found: found[1]["prompt"][1].update(content=found[1]["prompt"][1]["content"] + "!")), "views", "its prompt shows another text for turn 7"),
    Case("room line", ES, rows("director_turns", lambda found: found[1]["prompt"][1].update(content=found[1]["prompt"][1]["content"] + "\nUser: x")), "views", "turns, not the"),
    Case("room name", ES, rows("blocks", lambda found: found[1]["prompt"][1].update(content=found[1]["prompt"][1]["content"].replace("User: ", "Anchor: "))), "views", "not to 'user'"),
    Case("agent name", ES, rows("blocks", lambda found: found[1]["prompt"][1].update(content=found[1]["prompt"][1]["content"].replace("Catalyst: ", "Socrates: "))), "views", "to 'Socrates', not to 'catalyst'"),
    Case("own words", ES, rows("speaker_turns", lambda found: found[5]["prompt"][2].update(content="Never said.")), "views", "its prompt shows another text"),
    Case("block text", ES, rows("blocks", lambda found: found[1]["turns"][0].update(text="Never said.")), "views", "turns are not the 8 of the dialogue from 8 on"),
    Case("block turn", ES, rows("blocks", lambda found: found[1]["turns"].pop()), "views", "turns are not the 8"),
    Case("no block turns", ES, view("blocks", turns=[]), "views", "turns are not the 8"),
    Case("rollout", ES, view("blocks", rollout={"mode": "mascot", "models": [], "user_profile": None, "temperature": None, "top_p": None, "seed": None}),
         "views", "a block of the corpus has a rollout"),
    Case("dialogue text", ES, turn(text="Never said."), "views", "completion is not one assistant message with the turn's text"),
]  # fmt: skip

CASES = [
    pytest.param(case, id=f"{case.check}: {case.name}")
    for cases in (FILES, SCHEMA, ROWS, LEAKS, ACCOUNT, CARD, VIEWS)
    for case in cases
]


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_found_by_its_check(copy: Callable[[str], Path], case: Case) -> None:
    root = copy(case.corpus)
    case.spoil(root)
    told = [f"{problem.where}: {problem.what}" for problem in validate(root).problems if problem.check == case.check]
    assert any(case.words in line for line in told), told


def test_one_changed_row_is_not_told_of_by_the_thousand(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    message("speaker_turns", "completion", 0, content="Ha.")(root)
    problems = validate(root).problems
    assert [problem.check for problem in problems] == ["views"]
    assert problems[0].where.startswith("data/speaker_turns/train-00000-of-00001.parquet row 1 (esconv:0/")


def test_a_dialogue_that_cannot_be_read_does_not_blame_the_views(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    first(lambda row: row.update(subset=None))(root)
    assert {problem.check for problem in validate(root).problems} == {"schema", "account"}


def test_a_cut_file_does_not_blame_its_views(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    cut("dialogues", 5000)(root)
    assert {problem.check for problem in validate(root).problems} == {"files", "account"}


def test_the_command_lists_the_problems_and_ends_with_1(
    copy: Callable[[str], Path], command: Callable[..., tuple[int, str, str]]
) -> None:
    root = copy(ES)
    rows("director_turns", lambda found: found.clear())(root)
    status, out, err = command("validate", root)
    assert (status, err) == (1, "")
    head, *listed = out.splitlines()
    assert head.startswith(f"{root}: 12 rows checked, ")
    assert head.endswith(" problems")
    assert sum(line.startswith("  views: data/director_turns (esconv:") for line in listed) == 20
    assert any(line.startswith("  views: and ") and line.endswith("more (--json lists all)") for line in listed)
    status, out, _ = command("validate", root, "--json")
    assert status == 1
    assert f"{len(json.loads(out)['problems']):,} problems" in head
