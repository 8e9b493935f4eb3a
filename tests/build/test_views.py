"""The views against a slow reference, row by row, and the rules that they have to keep."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.build.columns import to_table
from mascot_data.build.directives import actions, tones, verbs_and_focuses
from mascot_data.build.views import SCHEMAS, Budget, ViewOptions, Views, context_starts, estimate_tokens, room_names
from mascot_data.errors import UsageError
from mascot_data.personas import director_message, load_personas, system_message
from mascot_data.records import Dialogue, arrow_schema
from mascot_data.records.dialogue import SCHEMA_VERSION, Kind, Origin, Source
from mascot_data.records.rows import (
    DialogueRow,
    DirectiveRow,
    EvidenceRow,
    ExtraRow,
    OutcomeRow,
    ScenarioRow,
    SpeakerRow,
    TurnRow,
)

Row = dict[str, Any]
CARDS = load_personas()
ROSTERS = {
    "psychological-support": ("anchor", "catalyst", "beacon", "guide"),
    "workplace": ("scribe", "decision-logger", "action-captain", "critic"),
}


def words(line: str) -> int:
    return len(line.split())


# The reference: nothing shared, nothing kept, one turn after the other.


def shown_from(lines: Sequence[str], index: int, budget: Budget) -> int:
    """Walk back from a turn as long as the budget allows; the turn before is always shown."""
    start = max(0, index - 1)
    while start > 0:
        lot = lines[start - 1 : index]
        if budget.turns is not None and len(lot) > budget.turns:
            break
        if budget.tokens is not None and sum(budget.count_tokens(line) for line in lot) > budget.tokens:
            break
        start -= 1
    return start


def reference(dialogue: DialogueRow, options: ViewOptions) -> dict[str, list[Row]]:
    names = room_names(dialogue.speakers, options.cards)
    lines = [f"{names[turn.speaker]}: {turn.text}".replace("\n", "\n  ") for turn in dialogue.turns]
    rows: dict[str, list[Row]] = {"speaker_turns": [], "director_turns": [], "blocks": []}
    for index, turn in enumerate(dialogue.turns):
        if index % options.block_turns == 0:
            rows["blocks"] += block(dialogue, index, lines, options)
        if turn.directive:
            rows["speaker_turns"].append(speaker_turn(dialogue, index, lines, options))
            rows["director_turns"].append(director_turn(dialogue, index, lines, options))
    return rows


def message(role: str, content: str) -> Row:
    return {"role": role, "content": content}


def outline(dialogue: DialogueRow) -> str:
    return f"\n\n{dialogue.scenario.situation}" if dialogue.source == "qmsum" and dialogue.scenario.situation else ""


def head(dialogue: DialogueRow) -> Row:
    return {
        "dialogue_id": dialogue.id,
        "subset": dialogue.subset,
        "license": dialogue.license,
        "schema_version": SCHEMA_VERSION,
    }


def counts(start: int, index: int) -> Row:
    return {"context_turns": index - start, "context_cut": start}


def room(dialogue: DialogueRow, lines: Sequence[str]) -> list[Row]:
    roster = ROSTERS[dialogue.domain]
    system = director_message([CARDS.cards[p] for p in roster], *verbs_and_focuses(dialogue.source), tones(roster))
    heard = "\n".join(lines) or "(nobody has spoken yet)"
    return [message("system", system + outline(dialogue)), message("user", heard)]


def speaker_turn(dialogue: DialogueRow, index: int, lines: Sequence[str], options: ViewOptions) -> Row:
    turn = dialogue.turns[index]
    assert turn.directive is not None
    start = shown_from(lines, index, options.budget)
    others = [CARDS.cards[p] for p in ROSTERS[dialogue.domain] if p != turn.persona]
    prompt = [message("system", system_message(CARDS.cards[turn.directive.agent], others) + outline(dialogue))]
    heard: list[str] = []
    for before, line in zip(dialogue.turns[start:index], lines[start:index], strict=True):
        if before.speaker == turn.speaker:
            silence = "(go on)" if len(prompt) > 1 else "(nobody has spoken yet)"
            prompt += [message("user", "\n".join(heard) or silence), message("assistant", before.text)]
            heard = []
        else:
            heard.append(line)
    heard.append(f"Director: {turn.directive.action}; {turn.directive.tone}")
    return head(dialogue) | counts(start, index) | {
        "id": f"{dialogue.id}/{index}",
        "turn_index": index,
        "persona": turn.persona,
        "directive": turn.directive._asdict(),
        "prompt": [*prompt, message("user", "\n".join(heard))],
        "completion": [message("assistant", turn.text)],
        "flags": turn.flags,
    }  # fmt: skip


def director_turn(dialogue: DialogueRow, index: int, lines: Sequence[str], options: ViewOptions) -> Row:
    turn = dialogue.turns[index]
    assert turn.directive is not None
    asked = turn.directive
    start = shown_from(lines, index, options.budget)
    before = dialogue.turns[index - 1].persona if index else None
    answer = {"agent": asked.agent, "action": asked.action, "tone": asked.tone}
    neutral = turn.acts_origin is None or "neighbour-persona" in turn.flags
    return head(dialogue) | counts(start, index) | answer | {
        "id": f"{dialogue.id}/{index}",
        "turn_index": index,
        "prompt": room(dialogue, lines[start:index]),
        "completion": [message("assistant", json.dumps(answer, ensure_ascii=False))],
        "candidates_agents": [p for p in ROSTERS[dialogue.domain] if p != before or p == turn.persona],
        "agent_origin": "rule" if neutral else asked.origin,
        "action_origin": asked.origin,
        "tone_origin": "rule",
        "flags": turn.flags,
    }  # fmt: skip


def block(dialogue: DialogueRow, first: int, lines: Sequence[str], options: ViewOptions) -> list[Row]:
    turns = dialogue.turns[first : first + options.block_turns]
    start = shown_from(lines, first, options.budget)
    row = head(dialogue) | counts(start, first) | {
        "id": f"{dialogue.id}/{first}+{len(turns)}",
        "first_turn": first,
        "turns": [
            {
                "speaker": turn.speaker,
                "kind": turn.kind,
                "persona": turn.persona,
                "text": turn.text,
                "directive": turn.directive and turn.directive._asdict(),
            }
            for turn in turns
        ],
        "prompt": room(dialogue, lines[start:first]),
        "origin": "corpus",
        "rollout": None,
    }  # fmt: skip
    return [row] if any(turn.kind == "agent" for turn in turns) else []


# Dialogues: those of the sample, and any others.


def row_of(data: Row) -> DialogueRow:
    turns = [
        TurnRow(
            **{
                **turn,
                "directive": turn["directive"] and DirectiveRow(**turn["directive"]),
                "evidence": [EvidenceRow(**span) for span in turn["evidence"]],
            }
        )
        for turn in data["turns"]
    ]
    extra = [ExtraRow(**field) for field in data["extra"]]
    speakers = [SpeakerRow(**speaker) for speaker in data["speakers"]]
    rest = {"scenario": ScenarioRow(**data["scenario"]), "outcome": OutcomeRow(**data["outcome"])}
    return DialogueRow(**{**data, "turns": turns, "speakers": speakers, "extra": extra, **rest})


@pytest.fixture(scope="module")
def sample(sample_build: Path) -> list[DialogueRow]:
    paths = sorted(sample_build.glob("*/data/dialogues/*.parquet"))
    return [row_of(data) for path in paths for data in pq.read_table(path).to_pylist()]


PEOPLE = [
    "user",
    "Director",
    "User",
    "Critic",
    "Anchor",
    "PhD A",
    "a:  b",
    " x ",
    "Director (2)",
    "\u2028",
    "Critic (2)",
]


@st.composite
def dialogues(draw: st.DrawFn) -> DialogueRow:
    homes: list[tuple[Source, str]] = [("esconv", "psychological-support"), ("qmsum", "workplace")]
    source, domain = draw(st.sampled_from(homes))
    agents = draw(st.lists(st.sampled_from(ROSTERS[domain]), min_size=1, unique=True))
    people = draw(st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=3, unique=True))
    spoken = draw(st.lists(st.tuples(st.sampled_from([*agents, *people]), st.text()), max_size=12))
    turns = [
        turn_of(index, speaker, text, source, speaker if speaker in agents else None, draw)
        for index, (speaker, text) in enumerate(spoken)
    ]
    speakers = {turn.speaker: SpeakerRow(turn.speaker, turn.kind, turn.persona, None, "x") for turn in turns}
    situation = draw(st.none() | st.text(max_size=9))
    return DialogueRow(
        f"{source}:1", source, "1", domain, "main", ScenarioRow(situation), list(speakers.values()), turns,
        OutcomeRow(), [], [], "mit", SCHEMA_VERSION,
    )  # fmt: skip


def turn_of(index: int, speaker: str, text: str, source: str, persona: str | None, draw: st.DrawFn) -> TurnRow:
    origin: Origin = draw(st.sampled_from(["human", "rule"]))
    asked = persona and DirectiveRow(persona, draw(st.sampled_from(actions(source))), tones([persona])[0], origin)
    flags = draw(st.sampled_from([[], ["neighbour-persona"]]))
    kind: Kind = "agent" if persona else "user" if speaker == "user" else "participant"
    by: Origin | None = draw(st.sampled_from([None, "human"]))
    acts = ["Question"] if by else []
    return TurnRow(index, speaker, kind, persona, text, acts, by, [], [], [], 0, [], asked or None, None, flags)


BUDGETS = st.builds(
    Budget,
    turns=st.none() | st.integers(1, 6),
    tokens=st.none() | st.integers(1, 60),
    count_tokens=st.sampled_from([estimate_tokens, words, len, lambda line: 0]),
)


def made(rows: Sequence[DialogueRow], options: ViewOptions) -> dict[str, list[Row]]:
    dialogues = to_table(rows, arrow_schema(Dialogue))
    return {config: table.to_pylist() for config, table in Views(options).tables(dialogues).items()}


def expected(rows: Sequence[DialogueRow], options: ViewOptions) -> dict[str, list[Row]]:
    parts = [reference(row, options) for row in rows]
    return {config: [row for part in parts for row in part[config]] for config in SCHEMAS}


@settings(deadline=None)
@given(st.lists(dialogues(), max_size=3), BUDGETS, st.integers(1, 9))
def test_equal_to_the_reference(rows: list[DialogueRow], budget: Budget, block_turns: int) -> None:
    options = ViewOptions(CARDS, budget, block_turns)
    assert made(rows, options) == expected(rows, options)


@pytest.mark.parametrize(
    "options",
    [
        ViewOptions(CARDS),
        ViewOptions(CARDS, Budget(turns=3), 5),
        ViewOptions(CARDS, Budget(tokens=40), 1),
        ViewOptions(CARDS, Budget(turns=6, tokens=30, count_tokens=words), 100),
    ],
    ids=["default", "turns", "tokens", "both"],
)
def test_equal_to_the_reference_on_the_sample(sample: list[DialogueRow], options: ViewOptions) -> None:
    found = made(sample, options)
    assert found == expected(sample, options)
    assert min(map(len, found.values())) > 50


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=12), BUDGETS)
def test_a_context_is_cut_between_turns_and_never_without_need(lines: list[str], budget: Budget) -> None:
    starts = context_starts(lines, budget) or [0] * len(lines)

    def fits(start: int, index: int) -> bool:
        return (budget.turns is None or index - start <= budget.turns) and (
            budget.tokens is None or sum(map(budget.count_tokens, lines[start:index])) <= budget.tokens
        )

    for index, start in zip(range(len(lines)), starts, strict=False):
        assert 0 <= start <= max(0, index - 1), "the turn before is always shown"
        assert fits(start, index) or start == index - 1, "the budget is kept"
        assert start == 0 or not fits(start - 1, index), "no turn is cut that had fitted"


def test_a_turn_larger_than_the_budget_is_shown_whole() -> None:
    lines = ["a " * 500, "b", "c " * 500, "d"]
    assert context_starts(lines, Budget(tokens=10, count_tokens=words)) == [0, 0, 1, 2]


def test_estimated_tokens_are_a_quarter_of_the_characters() -> None:
    assert [estimate_tokens("x" * size) for size in (0, 3, 4, 400)] == [1, 1, 2, 101]


@pytest.mark.parametrize(
    "make", [lambda: Budget(turns=0), lambda: Budget(tokens=0), lambda: ViewOptions(CARDS, Budget(), 0)]
)
def test_bounds_below_one_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match="must be 1 or more"):
        make()


def test_blocks_cover_every_agent_turn_once_and_no_turn_twice(sample: list[DialogueRow]) -> None:
    blocks = made(sample, ViewOptions(CARDS, block_turns=7))["blocks"]
    for dialogue in sample:
        mine = [found for found in blocks if found["dialogue_id"] == dialogue.id]
        covered = [found["first_turn"] + place for found in mine for place in range(len(found["turns"]))]
        assert len(set(covered)) == len(covered)
        assert {turn.index for turn in dialogue.turns if turn.kind == "agent"} <= set(covered)
        assert [turn["text"] for found in mine for turn in found["turns"]] == [dialogue.turns[n].text for n in covered]


def test_decisions_are_legal(sample: list[DialogueRow]) -> None:
    by_id = {dialogue.id: dialogue for dialogue in sample}
    again = 0
    for found in made(sample, ViewOptions(CARDS))["director_turns"]:
        dialogue = by_id[found["dialogue_id"]]
        before = dialogue.turns[found["turn_index"] - 1].persona if found["turn_index"] else None
        assert found["agent"] in found["candidates_agents"]
        assert set(found["candidates_agents"]) <= set(ROSTERS[dialogue.domain])
        assert len(set(found["candidates_agents"])) == len(found["candidates_agents"]) >= 3
        assert before not in found["candidates_agents"] or before == found["agent"]
        assert found["action"] in actions(dialogue.source)
        assert found["tone"] in tones(ROSTERS[dialogue.domain])
        again += before is not None
    assert again > 10, "the sample has agents that speak one after the other"


def test_only_a_meeting_tells_its_outline(sample: list[DialogueRow]) -> None:
    found = made(sample, ViewOptions(CARDS))
    by_id = {dialogue.id: dialogue for dialogue in sample}
    outlines = 0
    for row in [*found["speaker_turns"], *found["director_turns"]]:
        situation = by_id[row["dialogue_id"]].scenario.situation
        system = row["prompt"][0]["content"]
        if row["dialogue_id"].startswith("qmsum:") and situation:
            assert system.endswith(f"\n\n{situation}")
            outlines += 1
        elif situation:
            assert situation not in system
    assert outlines > 5


def names_of(*speakers: tuple[str, str | None]) -> list[str]:
    rows = [
        SpeakerRow(name, "agent" if persona else "user" if name == "user" else "participant", persona, None, "x")
        for name, persona in speakers
    ]
    return list(room_names(rows, CARDS).values())


def test_names_in_the_room() -> None:
    assert names_of(("user", None), ("anchor", "anchor"), ("PhD A", None)) == ["User", "Anchor", "PhD A"]
    assert names_of(("Critic", None), ("critic", "critic")) == ["Critic", "Critic (2)"]
    assert names_of(("Director", None), ("User", None), ("user", None)) == ["Director (2)", "User", "User (2)"]
    assert names_of(("a\n b", None), ("a b", None), ("  ", None)) == ["a b", "a b (2)", "Somebody"]
    assert names_of(("x: y", None), ("x: : z", None), (": ", None)) == ["x y", "x z", "Somebody"]


@settings(deadline=None)
@given(st.lists(st.text(), unique=True, max_size=5))
def test_names_are_unique_and_hold_no_line_break(people: list[str]) -> None:
    names = names_of(*((name, None) for name in people), ("anchor", "anchor"))
    assert len(set(names)) == len(people) + 1
    assert all(name and len(name.splitlines()) == 1 and not name.startswith(" ") for name in names)
    assert "Director" not in names


@pytest.mark.parametrize("name", ["a:: b", "a:\tb", "a:\n b"])
def test_no_name_reads_as_anothers_line(name: str) -> None:
    assert all(": " not in found for found in names_of((name, None)))
