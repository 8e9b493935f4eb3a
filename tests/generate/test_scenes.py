"""A rollout starts with a dialogue's opening; who speaks there is called as everywhere else."""

from pathlib import Path
from typing import Any

import pytest

from mascot_data.build.reading import read_rows
from mascot_data.build.run import build
from mascot_data.errors import UsageError
from mascot_data.generate.cases import no_cases
from mascot_data.generate.scenes import case_book, opening_turns, profiles_for, scene, start_of, starts
from mascot_data.generate.users import load_profiles
from mascot_data.personas import load_personas
from mascot_data.records import Dialogue, Speaker, Turn

CARDS = load_personas()
PROFILES = load_profiles()
A_PROFILE = PROFILES["intj"]


def dialogue(*spoken: str) -> Dialogue:
    """Make a dialogue of speakers; an agent is called by its persona."""

    def facts(name: str) -> dict[str, Any]:
        kind = "agent" if name in CARDS.cards else "user" if name == "user" else "participant"
        return {"kind": kind, "persona": name if kind == "agent" else None}

    turns = [
        Turn.model_construct(index=index, speaker=name, text=f"text {index}", **facts(name))
        for index, name in enumerate(spoken)
    ]
    people = [Speaker.model_construct(id=name, role=None, name="x", **facts(name)) for name in dict.fromkeys(spoken)]
    return Dialogue.model_construct(id="esconv:1", source="esconv", speakers=people, turns=turns)


@pytest.mark.parametrize(
    ("spoken", "end"),
    [
        (["user", "anchor"], 1),
        (["anchor", "user", "guide", "user", "guide"], 2),
        (["PhD A", "PhD B", "user", "scribe"], 3),
        (["user", "PhD A", "user", "scribe"], 3),
        (["user", "PhD A", "scribe"], None),
        (["anchor", "user"], None),
        (["user"], None),
        ([], None),
    ],
)
def test_the_opening_ends_with_the_words_that_an_agent_answers_first(spoken: list[str], end: int | None) -> None:
    row = dialogue(*spoken)
    assert opening_turns(row) == end
    start = start_of(row, CARDS)
    if end is None or start is None:
        assert start is None
        return
    assert [heard.text for heard in start.opening] == [f"text {index}" for index in range(end)]
    assert start.user == ("user", "User")
    assert [heard.persona for heard in start.opening] == [turn.persona for turn in row.turns[:end]]


def test_names_are_those_of_the_room() -> None:
    start = start_of(dialogue("Anchor", "anchor", "user", "guide"), CARDS)
    assert start is not None
    assert [heard.name for heard in start.opening] == ["Anchor", "Anchor (2)", "User"]


def test_a_persona_without_a_card_is_told() -> None:
    row = dialogue("user", "anchor")
    other = row.speakers[1].model_copy(update={"persona": "listener"})
    with pytest.raises(UsageError, match="esconv:1: there is no card for 'listener'; give the folder with --personas"):
        start_of(row.model_copy(update={"speakers": [row.speakers[0], other]}), CARDS)


def test_the_limit_counts_starts_in_the_order_of_the_dialogues(sample_build: Path) -> None:
    root = sample_build / "esconv-multiagent"
    every = [start.dialogue.id for start in starts(root, "train", CARDS, None)]
    assert every == [row["id"] for row in read_rows(root, "dialogues", "train") if row["id"] in every]
    assert [start.dialogue.id for start in starts(root, "train", CARDS, 3)] == every[:3]
    assert len(every) > 3


def test_only_a_meetings_outline_is_told_to_the_agents(sample_build: Path) -> None:
    for corpus, told in (("esconv", False), ("qmsum", True)):
        found = starts(sample_build / f"{corpus}-multiagent", "train", CARDS, None)
        start = next(start for start in found if start.dialogue.scenario.situation)
        made = scene(start, A_PROFILE, CARDS, 7, None)
        situation = start.dialogue.scenario.situation
        assert situation is not None
        assert made.outline == (situation if told else None)
        assert (situation in made.person) == (not told)
        assert (made.seed, made.user, made.opening) == (7, start.user, start.opening)
        assert made.cases is no_cases


def test_past_cases_are_those_of_other_dialogues(sample_build: Path) -> None:
    root = sample_build / "esconv-multiagent"
    book = case_book(root)
    (start, *_) = starts(root, "train", CARDS, 1)
    made = scene(start, A_PROFILE, CARDS, 0, book)
    said = " ".join(turn.text for turn in start.dialogue.turns)
    found = made.cases(said, 5)
    assert 0 < len(found) <= 5
    assert start.dialogue.id not in {case.dialogue_id for case in found}
    assert start.dialogue.id in {case.dialogue_id for case in book.without("another")(said, 5)}


def test_profiles_are_those_named_or_one_that_the_seed_draws() -> None:
    assert profiles_for("a", ("intj", "esfp"), PROFILES, 0) == [PROFILES["intj"], PROFILES["esfp"]]
    drawn = [profiles_for(f"esconv:{number}", (), PROFILES, 0) for number in range(200)]
    assert drawn == [profiles_for(f"esconv:{number}", (), PROFILES, 0) for number in range(200)]
    assert {profile.id for (profile,) in drawn} == {*PROFILES}
    assert drawn != [profiles_for(f"esconv:{number}", (), PROFILES, 1) for number in range(200)]


def test_the_sample_meetings_can_start(tmp_path: Path) -> None:
    (report,) = build("qmsum", sample=True, limit=1, output=tmp_path)
    for start in starts(report.directory, "train", CARDS, None):
        assert start.opening[-1].kind == "user"
        assert start.dialogue.turns[len(start.opening)].kind == "agent"
