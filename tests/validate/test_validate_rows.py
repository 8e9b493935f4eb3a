"""Rows, their views and what is in two splits: whatever is changed, with everything else agreeing, is found."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mascot_data.validate import validate
from tests.validate.tampering import ED, ES, QM, Cases, Row, Spoil, edit, parquet, row, seal, sealed, told


def agent_turn(dialogue: Row) -> Row:
    found: Row = next(turn for turn in dialogue["turns"][1:] if turn["kind"] == "agent")
    return found


def dialogue(change: Callable[[Row], object]) -> Spoil:
    return row("dialogues", change)


def turn(**fields: Any) -> Spoil:
    return dialogue(lambda found: agent_turn(found).update(fields))


def asked(**fields: Any) -> Spoil:
    return dialogue(lambda found: agent_turn(found)["directive"].update(fields))


def utterances(number: int, source: Callable[[Row], list[int]]) -> Spoil:
    return dialogue(lambda found: found["turns"][number].update(source_turns=source(found)))


def person_is_asked(found: Row) -> None:
    next(turn for turn in found["turns"] if turn["kind"] == "user")["directive"] = agent_turn(found)["directive"]


ROWS: Cases = {
    "flag": (dialogue(lambda found: found["flags"].append("zzz")), "row 0 (esconv:0): unknown flags ['zzz']"),
    "flag order": (dialogue(lambda found: found["flags"].reverse()), "flags are not sorted or not unique"),
    "flag of a turn": (turn(flags=["overlapping-segment"]), "a turn has a flag that the dialogue lacks"),
    "index": (turn(index=99), "has index 99"),
    "gap": (dialogue(lambda found: found["turns"].pop(3)), "turn 3 has index 4"),
    "no directive": (turn(directive=None), "a directive belongs to agent turns, and to all of them"),
    "directive of a person": (dialogue(person_is_asked), "a directive belongs to agent turns, and to all of them"),
    "action": (asked(action="sing"), "action 'sing' is not on the closed list"),
    "tone": (asked(tone="loud"), "tone 'loud' is not one of"),
    "agent": (asked(agent="scribe"), "the directive's agent scribe is not the persona"),
    "id": (dialogue(lambda found: found.update(source_id="400")), "id is not source:source_id"),
    "version": (dialogue(lambda found: found.update(schema_version="9")), "schema_version is 9, not 1.1"),
    "text": (turn(text=" "), "has no text"),
    "persona": (turn(persona=None), "a persona belongs to agent turns, and to all of them"),
    "kind": (turn(kind="user"), "kind and persona are not those of its speaker"),
    "speaker": (turn(speaker="nobody"), "speakers are not exactly those of the turns"),
    "speakers": (dialogue(lambda found: found["speakers"].append(found["speakers"][0])), "two speakers have one id"),
    "speaker order": (dialogue(lambda found: found["speakers"].reverse()), "in the order in which they first speak"),
    "acts": (turn(acts=[]), "acts and acts_origin do not go together"),
    "nowhere": (turn(source_turns=[]), "says not where it comes from: no source turns and no query"),
    "two turns": (utterances(1, lambda found: found["turns"][0]["source_turns"]), "an utterance is in two turns"),
    "order": (utterances(0, lambda _: [900]), "the turns are not in the order of their utterances"),
    "texts": (turn(source_texts=["a"] * 9), "source_texts and source_turns differ in length"),
    "raw lost": (turn(text="a\nb\nc\nd\ne", source_texts=[]), "the raw texts cannot be told from the text"),
    "raw speakers": (turn(source_speakers=["a"] * 9), "source_speakers and source_turns differ in length"),
    "evidence": (turn(evidence=[{"first": 5, "last": 4}]), "a span of the evidence ends before it begins"),
}


def view(config: str, change: Callable[[Row], object]) -> Spoil:
    return row(config, change, number=1)


def of(config: str, **fields: Any) -> Spoil:
    return view(config, lambda found: found.update(fields))


def answer(content: str) -> Spoil:
    return view("director_turns", lambda found: found["completion"][0].update(content=content))


def prompt(config: str, change: Callable[[list[Row]], object]) -> Spoil:
    return view(config, lambda found: change(found["prompt"]))


def room(config: str, change: Callable[[str], str]) -> Spoil:
    return prompt(config, lambda found: found[-1].update(content=change(found[-1]["content"])))


def candidates(change: Callable[[list[str], str], object], number: int = 1) -> Spoil:
    return row("director_turns", lambda found: change(found["candidates_agents"], found["agent"]), number)


def swap(rows: list[Row]) -> None:
    rows[0], rows[-1] = rows[-1], rows[0]


COMPLETION = "completion is not one assistant message with the"
ROLLOUT: Row = {
    **{"mode": "mascot", "number": 0, "models": [], "user_profile": "intj", "seed": 0, "agents_per_turn": 2},
    **{"prompts_version": "1", "personas": "", "steps": []},
}
VIEWS: Cases = {
    "row missing": (sealed("speaker_turns", lambda rows: rows.pop(2)), "data/speaker_turns (esconv:0): turn"),
    "last row missing": (sealed("director_turns", lambda rows: rows.pop()), "has 0 rows, not one"),
    "row twice": (sealed("director_turns", lambda rows: rows.insert(1, rows[0])), "has 2 rows, not one"),
    "block missing": (sealed("blocks", lambda rows: rows.pop(1)), "data/blocks (esconv:0): turn 8 has 0 rows, not one"),
    "block twice": (sealed("blocks", lambda rows: rows.insert(1, rows[1])), "turn 8 has 2 rows, not one"),
    "no file": (lambda root: parquet(root, "blocks", "test").unlink(), "data/blocks: has no file for test"),
    "no config": (lambda root: shutil.rmtree(root / "data" / "blocks"), "data/blocks: has no file for train"),
    "no agent's turn": (
        row("speaker_turns", lambda r: r.update(turn_index=r["turn_index"] - 1)),
        "should not be there",
    ),
    "no turn": (of("director_turns", turn_index=500), "turn 500 has a row that should not be there"),
    "no block": (of("blocks", first_turn=7), "turn 7 has a row that should not be there"),
    "no dialogue": (of("blocks", dialogue_id="esconv:404"), "belongs to no dialogue of this split"),
    "null dialogue": (of("blocks", dialogue_id=None), "belongs to no dialogue of this split"),
    "other split": (of("blocks", dialogue_id="esconv:7"), "belongs to no dialogue of this split"),
    "out of order": (sealed("speaker_turns", swap), "is not in the order of the dialogues"),
    "id": (of("speaker_turns", id="esconv:0/1000"), "id is not esconv:0/"),
    "subset": (of("blocks", subset="failed"), "subset, license or schema_version are not those of the dialogue"),
    "licence": (of("director_turns", license="mit"), "subset, license or schema_version are not those of the dialogue"),
    "persona": (of("speaker_turns", persona="scribe"), "persona, directive or flags are not those of the turn"),
    "directive": (view("speaker_turns", lambda r: r["directive"].update(tone="calm")), "persona, directive or flags"),
    "flags": (of("director_turns", flags=["repeat"]), "flags are not those of the turn"),
    "words": (view("speaker_turns", lambda r: r["completion"][0].update(content="Ha.")), f"{COMPLETION} turn's text"),
    "words of whom": (view("speaker_turns", lambda r: r["completion"][0].update(role="user")), COMPLETION),
    "twice the words": (view("speaker_turns", lambda r: r["completion"].append(r["completion"][0])), COMPLETION),
    "dialogue": (turn(text="Never said."), f"{COMPLETION} turn's text"),
    "no answer": (of("director_turns", completion=[]), f"{COMPLETION} JSON of agent, action and tone"),
    "broken answer": (answer("{"), f"{COMPLETION} JSON of agent, action and tone"),
    "other answer": (answer('{"agent": "guide", "action": "sing"}'), f"{COMPLETION} JSON of agent, action and tone"),
    "label": (of("director_turns", action="sing"), "agent, action, tone or action_origin are not those of the turn"),
    "closed list": (of("director_turns", tone="loud"), "or tone 'loud' is not on the closed list"),
    "origin": (of("director_turns", tone_origin="human"), "agent_origin or tone_origin is impossible here"),
    "no candidate": (candidates(lambda found, agent: found.remove(agent)), "is not one of candidates_agents"),
    "candidate twice": (candidates(lambda found, agent: found.append(agent)), "an agent is twice in candidates_agents"),
    "roster": (candidates(lambda found, _: found.append("scribe"), 5), "are not the roster of the other rows"),
    "no system": (prompt("speaker_turns", lambda p: p.pop(0)), "prompt does not begin with a system message"),
    "blank system": (
        prompt("speaker_turns", lambda p: p[0].update(content=" ")),
        "does not begin with a system message",
    ),
    "no prompt": (of("speaker_turns", prompt=[]), "prompt does not begin with a system message"),
    "no user last": (prompt("speaker_turns", lambda p: p.pop()), "prompt does not end with a user message"),
    "roles": (prompt("speaker_turns", lambda p: p.insert(1, p[1])), "the roles of the prompt do not alternate"),
    "Director's roles": (prompt("director_turns", lambda p: p.pop()), "prompt is not a system message and one user"),
    "Director's line": (room("speaker_turns", lambda t: t.replace("Director: ", "Director:  ")), "the Director's line"),
    "counts": (of("blocks", context_turns=3), "context_turns and context_cut do not add up to 8"),
    "nothing shown": (of("blocks", context_turns=0, context_cut=8), "its prompt shows no turn at all"),
    "less shown": (of("blocks", context_turns=4, context_cut=4), "its prompt shows 8 turns, not the 4 from 4 to 8"),
    "room": (room("blocks", lambda text: text + "!"), "its prompt shows another text for turn 7"),
    "a line more": (
        room("director_turns", lambda text: text + "\nUser: x"),
        "its prompt shows 4 turns, not the 3 from",
    ),
    "name": (room("blocks", lambda text: text.replace("User: ", "Anchor: ", 1)), "to 'Anchor', not to 'user'"),
    "agent's name": (
        room("blocks", lambda text: text.replace("Catalyst: ", "Plato: ")),
        "to 'Plato', not to 'catalyst'",
    ),
    "own words": (
        row("speaker_turns", lambda r: r["prompt"][2].update(content="Ha."), 5),
        "shows another text for turn",
    ),
    "block's words": (
        view("blocks", lambda r: r["turns"][0].update(text="Ha.")),
        "turns are not the 8 of the dialogue",
    ),
    "short block": (
        view("blocks", lambda found: found["turns"].pop()),
        "turns are not the 8 of the dialogue from 8 on",
    ),
    "empty block": (of("blocks", turns=[]), "turns are not the 8 of the dialogue from 8 on"),
    "rollout": (of("blocks", rollout=ROLLOUT), "a block of the corpus has a rollout"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(copy: Callable[[str], Path], name: str) -> None:
    root = copy(ES)
    ROWS[name][0](root)
    assert ROWS[name][1] in "\n".join(told(root, "rows"))


@pytest.mark.parametrize("name", VIEWS)
def test_views(copy: Callable[[str], Path], name: str) -> None:
    root = copy(ES)
    VIEWS[name][0](root)
    assert VIEWS[name][1] in "\n".join(told(root, "views"))


def replace(first: int, end: int, new: list[Row], rows: list[Row]) -> None:
    rows[first:end] = new


def move(root: Path) -> None:
    """Move the first dialogue of train, with its rows in all views, to test."""
    dialogue = pq.read_table(parquet(root, "dialogues"))["id"][0].as_py()
    for config in ("dialogues", "speaker_turns", "director_turns", "blocks"):
        key = "id" if config == "dialogues" else "dialogue_id"
        rows = pq.read_table(parquet(root, config)).to_pylist()
        moved = [found for found in rows if found[key] == dialogue]
        edit(root, config, partial(replace, 0, len(moved), []))
        edit(root, config, partial(replace, 0, 0, moved), "test")
    seal(root)


def copy_to_test(root: Path) -> None:
    first = pq.read_table(parquet(root, "dialogues")).slice(0, 1).to_pylist()
    edit(root, "dialogues", lambda rows: rows.extend(first), "test")
    seal(root)


def without(flag: str) -> Spoil:
    return sealed("dialogues", lambda rows: [found["flags"].remove(flag) for found in rows if flag in found["flags"]])


FIRST = "also at data/dialogues/train-00000-of-00001.parquet row 0 (train and test)"
LEAKS: dict[str, tuple[str, Spoil, str]] = {
    "twice": (ES, sealed("dialogues", lambda rows: rows.append(rows[-1])), "the dialogue is there twice, also at"),
    "in two splits": (ES, copy_to_test, f"(esconv:0): the dialogue is there twice, {FIRST}"),
    "meeting": (QM, move, "meeting Bmr901 is in test and train, and no flag says so"),
    "pair": (ED, move, "pair hit:90001 is in test and train, and no flag says so"),
    "pair flag": (ED, without("pair-in-two-splits"), "pair hit:90010 is in train and validation, and no flag says so"),
    "situation": (ES, without("situation-in-two-splits"), "situation is in train and validation, and no flag says so"),
    "annotations": (QM, without("annotations-in-two-splits"), "annotations is in train and validation, and no flag"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaks(copy: Callable[[str], Path], name: str) -> None:
    corpus, spoil, words = LEAKS[name]
    root = copy(corpus)
    spoil(root)
    assert words in "\n".join(told(root, "leaks"))


def test_one_changed_row_is_one_problem(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    of("speaker_turns", id="esconv:0/1000")(root)
    (problem,) = validate(root).problems
    assert problem.check == "views"
    assert problem.where == "data/speaker_turns/train-00000-of-00001.parquet row 1 (esconv:0/1000)"


def test_a_dialogue_that_cannot_be_read_does_not_blame_its_views(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    dialogue(lambda found: found.update(subset=None))(root)
    assert {problem.check for problem in validate(root).problems} == {"schema", "account"}


def test_a_cut_file_does_not_blame_its_views(copy: Callable[[str], Path]) -> None:
    root = copy(ES)
    parquet(root, "dialogues").write_bytes(b"PAR1")
    assert {problem.check for problem in validate(root).problems} == {"files", "account"}


def test_the_command_lists_the_problems_and_ends_with_1(
    copy: Callable[[str], Path], command: Callable[..., tuple[int, str, str]]
) -> None:
    root = copy(ES)
    sealed("director_turns", lambda rows: rows.clear())(root)
    status, out, err = command("validate", root)
    assert (status, err) == (1, "")
    head, *listed = out.splitlines()
    assert head.startswith(f"{root}: 12 rows checked, ")
    assert sum(line.startswith("  views: data/director_turns (esconv:") for line in listed) == 20
    assert any(line.startswith("  views: and ") and line.endswith("more (--json lists all)") for line in listed)
    status, out, _ = command("validate", root, "--json")
    assert status == 1
    assert head.endswith(f", {len(json.loads(out)['problems']):,} problems")
