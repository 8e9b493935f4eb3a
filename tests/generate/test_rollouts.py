"""Rollouts: every system comes to an end, its rows say what was said and how, and nothing is asked twice."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from mascot_data.build.projection import Said, from_director_view
from mascot_data.build.reading import read_rows
from mascot_data.errors import MascotError, ModelError, PersonaError, UsageError
from mascot_data.generate import rollouts
from mascot_data.generate import rollouts as rollouts_function
from mascot_data.generate.modes import MODES, PROMPTS_VERSION
from mascot_data.generate.users import load_profiles
from mascot_data.models import Ask, Choice, Failure, Message, Sample
from mascot_data.models.asking import Question
from mascot_data.personas import load_personas
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate import validate
from tests.cli.commands import left_in
from tests.models.scripted import Scripted, installed, words_of
from tests.validate.tampering import edit

Row = dict[str, Any]
ALL = list(MODES)


def talkative(ask: Ask, seed: int) -> Sample:
    """Say some words that depend on the seed, never none and never somebody else's."""
    return words_of(ask, 4 + 10 * seed)


def rows(root: Path) -> list[Row]:
    return [row for split in SPLITS for row in read_rows(root, "blocks", split, label="rollouts")]


def dialogues(root: Path) -> dict[str, Row]:
    return {row["id"]: row for row in read_rows(root, "dialogues", "train")}


def messages_in(row: Row) -> list[Message]:
    return [(message["role"], message["content"]) for message in row["prompt"]]


@pytest.mark.parametrize("mode", ALL)
def test_every_mode_ends_and_its_rows_say_how(root: Path, mode: str) -> None:
    with installed(Scripted(says=talkative)):
        report = rollouts(
            root, "scripted", modes=[mode], turns=5, number=2, splits=["train"], temperature=0.6, max_tokens=40, seed=3
        )
    known = dialogues(root)
    found = rows(root)
    assert report.rows == {mode: 2 * len(known)}
    assert (report.lost, len(found), report.conversations) == ([], 2 * len(known), 2 * len(known))
    for row in found:
        turns, how, dialogue = row["turns"], row["rollout"], known[row["dialogue_id"]]
        opening = dialogue["turns"][: row["first_turn"]]
        assert 5 <= len(turns) == len(how["steps"]) <= 7
        assert (opening[-1]["kind"], dialogue["turns"][row["first_turn"]]["kind"]) == ("user", "agent")
        assert (turns[0]["kind"], {turn["kind"] for turn in turns}) == ("agent", {"agent", "user"})
        assert {turn["speaker"] for turn in turns if turn["kind"] == "user"} == {opening[-1]["speaker"]}
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        assert from_director_view(messages_in(row))[-1] == Said("User", opening[-1]["text"])
        assert (how["mode"], how["seed"], how["prompts_version"]) == (mode, 3, PROMPTS_VERSION)
        assert (how["personas"], how["user_profile"] in load_profiles()) == (load_personas().digest(), True)
        assert [(m["part"], m["temperature"], m["max_tokens"]) for m in how["models"]] == [
            ("speaker", 0.6, 40),
            ("director", 1.0, 0),
            ("user", 0.6, 40),
        ]
    assert validate(root).problems == []


def test_the_same_run_gives_the_same_bytes_however_it_is_parted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"modes": ALL, "turns": 4, "limit": 2}
    with installed(Scripted()):
        rollouts(root, "scripted", **how)
    before = left_in(root)
    with installed(model := Scripted()):
        report = rollouts(root, "scripted", **how)
    assert (report.asked, model.asked, left_in(root) == before) == (0, [], True)
    monkeypatch.setitem(rollouts_function.__globals__, "AT_ONCE", 2)
    with installed(Scripted()):
        rollouts(root, "scripted", **how, store=root.parent / "other")
    assert left_in(root) == before


def test_rollouts_differ_by_number_and_a_greater_number_keeps_those_that_are_there(root: Path) -> None:
    with installed(Scripted(says=talkative)):
        rollouts(root, "scripted", number=1, splits=["test"])
        before = {row["id"]: row for row in rows(root)}
        report = rollouts(root, "scripted", number=3, splits=["test"])
    after = {row["id"]: row for row in rows(root)}
    assert before.items() <= after.items()
    assert (report.stored > 0, report.asked > 0) == (True, True)
    assert sorted(row["rollout"]["number"] for row in after.values()) == sorted([0, 1, 2] * len(before))
    said = [json.dumps([turn["text"] for turn in row["turns"]]) for row in after.values()]
    assert len(set(said)) == len(said)


def test_rows_come_by_dialogue_mode_profile_and_number(root: Path) -> None:
    with installed(Scripted(says=talkative)):
        rollouts(
            root,
            "scripted",
            modes=["zero-shot", "mascot"],
            profiles=["esfp", "intj"],
            number=2,
            turns=1,
            splits=["train"],
            limit=2,
        )
    order = [
        (row["dialogue_id"], row["rollout"]["mode"], row["rollout"]["user_profile"], row["rollout"]["number"])
        for row in rows(root)
    ]
    first, second, *_ = dialogues(root)
    assert order == [
        (dialogue, mode, profile, number)
        for dialogue in (first, second)
        for mode in ("zero-shot", "mascot")
        for profile in ("esfp", "intj")
        for number in (0, 1)
    ]


def test_a_conversation_that_fails_harms_no_other_and_is_taken_up_again(root: Path) -> None:
    how: dict[str, Any] = {"modes": ["mascot", "zero-shot"], "turns": 4, "splits": ["train"]}
    with installed(Scripted(says=talkative)):
        rollouts(root, "scripted", **how, store=root.parent / "other")
    whole, sound = rows(root), left_in(root)
    bad = next(iter(dialogues(root)))
    opening = dialogues(root)[bad]["turns"][0]["text"]

    def fails(question: Question) -> Failure | None:
        """Fail when the person of one dialogue is to speak, which has said its opening itself."""
        return Failure("context-too-long", "too long") if ("assistant", opening) in question.messages else None

    with installed(Scripted(says=talkative, fails=fails)):
        report = rollouts(root, "scripted", **how)
    lost = {item.where for item in report.lost}
    assert sorted(name.partition("-")[0] for name in lost) == [f"{bad}~mascot", f"{bad}~zero"]
    assert {(item.reason, item.what, item.model) for item in report.lost} == {
        ("context-too-long", "too long", "scripted")
    }
    assert rows(root) == [row for row in whole if name_of(row) not in lost]
    assert validate(root).problems == []
    with installed(model := Scripted(says=talkative)):
        again = rollouts(root, "scripted", **how)
    assert (again.lost, left_in(root) == sound) == ([], True)
    assert 0 < len(model.asked) < report.asked


def name_of(row: Row) -> str:
    return f"{row['dialogue_id']}~{row['id'].partition('~')[2]}"


def test_a_model_that_says_nothing_loses_its_conversations_and_no_more(root: Path) -> None:
    with installed(Scripted(says=lambda ask, seed: Sample(" \n", "stop", -1.0, 1, 7))):
        report = rollouts(root, "scripted", modes=["zero-shot"], limit=1)
    assert {(item.reason, item.what) for item in report.lost} == {("empty", "Assistant said nothing 3 times")}
    assert (rows(root), len(report.lost)) == ([], report.conversations)
    assert validate(root).problems == []


def test_every_part_can_have_a_model_of_its_own(root: Path) -> None:
    models = {part: Scripted(part, says=talkative) for part in ("speaker", "director", "user")}
    heard: dict[str, list[Question]] = {part: [] for part in models}
    for part, model in models.items():
        model._before = heard[part].extend
    with installed(*models.values()):
        report = rollouts(
            root, "speaker", director_model="director", user_model="user", turns=5, limit=1, profiles=["intj"]
        )
    who = load_profiles()["intj"].who
    assert {type(question) for question in heard["director"]} == {Choice}
    assert {type(question) for question in heard["speaker"]} == {Ask}
    assert all(who in system_of(question.messages) for question in heard["user"])
    assert not any(who in system_of(question.messages) for question in heard["speaker"])
    (row, *_) = rows(root)
    assert [(m["part"], m["model"]) for m in row["rollout"]["models"]] == [(part, part) for part in models]
    assert report.asked == sum(len(model.asked) for model in models.values())
    assert validate(root).problems == []


def system_of(messages: Sequence[Message]) -> str:
    return next(content for role, content in messages if role == "system")


@pytest.mark.parametrize("max_tokens", [1, 40])
def test_a_dry_run_estimates_and_leaves_nothing(root: Path, max_tokens: int) -> None:
    how: dict[str, Any] = {"modes": ["zero-shot", "mascot-c"], "turns": 4, "max_tokens": max_tokens}
    before = left_in(root.parent)
    with installed():
        plan = rollouts(root, "scripted", **how, dry_run=True).plan
    assert left_in(root.parent) == before
    with installed(Scripted(says=talkative)):
        report = rollouts(root, "scripted", **how)
    assert plan is not None
    assert (plan.samples, plan.stored) == (report.asked, 0)
    assert plan.most_tokens == report.asked * max_tokens
    assert plan.prompt_tokens > 0


def test_a_dry_run_knows_every_mode(root: Path) -> None:
    with installed():
        report = rollouts(root, "scripted", modes=ALL, limit=1, dry_run=True)
    assert report.plan is not None
    assert report.plan.samples > 8 * report.conversations


def profiles_folder(folder: Path, **changes: Any) -> Path:
    fields = {**load_profiles()["intj"].model_dump(), "id": "me", **changes}
    folder.mkdir()
    (folder / f"{fields['id']}.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")
    return folder


def test_a_profile_of_ones_own_can_be_played(root: Path, tmp_path: Path) -> None:
    folder = profiles_folder(tmp_path / "own", who="You repair {{ bicycles }}.")
    asked: list[Question] = []
    with installed(Scripted(says=talkative, before=asked.extend)):
        rollouts(root, "scripted", modes=["zero-shot"], profiles=["me"], profiles_folder=folder, limit=1)
    assert {row["rollout"]["user_profile"] for row in rows(root)} == {"me"}
    assert any("You repair {{ bicycles }}." in system_of(question.messages) for question in asked)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"modes": []}, UsageError, "give at least one --mode"),
        ({"modes": ["mascot", "solo"]}, UsageError, "--mode solo: choose among mascot, mascot-p, .*multi-agent-esc"),
        ({"modes": ["mascot", "mascot"]}, UsageError, "a --mode is given twice; use --number for more rollouts"),
        ({"profiles": ["nobody"]}, UsageError, "--profile nobody: choose among enfj, "),
        ({"profiles": ["intj", "intj"]}, UsageError, "a --profile is given twice"),
        ({"profiles_folder": "nowhere"}, PersonaError, "nowhere: no such folder"),
        ({"turns": 0}, UsageError, "--turns must be 1 or more"),
        ({"agents_per_turn": 0}, UsageError, "--agents-per-turn must be 1 or more"),
        ({"number": 0}, UsageError, "--number must be 1 or more"),
        ({"limit": 0}, UsageError, "--max-tokens and --limit must be 1 or more"),
        ({"temperature": float("nan")}, UsageError, "temperatures must be 0 or more"),
        ({"director_temperature": -1.0}, UsageError, "temperatures must be 0 or more"),
        ({"top_p": 1.5}, UsageError, "--top-p above 0 and up to 1"),
        ({"seed": -1}, UsageError, "--seed must be 0 or more"),
        ({"seed": 2**63}, UsageError, "--seed must be 0 or more, and below"),
        ({"splits": ["dev"]}, UsageError, "--split dev: choose one of"),
        ({"context_tokens": 0}, UsageError, "a context budget must be 1 or more"),
        ({"model": "absent"}, ModelError, "absent: there is no such model"),
        ({"user_model": "absent"}, ModelError, "absent: there is no such model"),
        ({"personas": "nowhere"}, PersonaError, "nowhere: no such folder"),
    ],
    ids=str,
)
def test_a_wrong_call_is_refused_and_leaves_the_dataset(
    small_build: Path, tmp_path: Path, wrong: dict[str, Any], error: type[MascotError], says: str
) -> None:
    before = left_in(small_build.parent)
    with installed(Scripted()), pytest.raises(error, match=says):
        rollouts(small_build, **{"model": "scripted", "store": tmp_path / "store", **wrong})
    assert left_in(small_build.parent) == before


def test_a_broken_profile_is_told_with_its_file(root: Path, tmp_path: Path) -> None:
    folder = profiles_folder(tmp_path / "own", who="")
    with pytest.raises(PersonaError, match=r"me\.yaml"):
        rollouts(root, profiles_folder=folder)


def test_other_options_need_replace(root: Path) -> None:
    with installed(Scripted(says=talkative)):
        rollouts(root, "scripted", modes=["zero-shot"], limit=1)
        with pytest.raises(UsageError, match=r"has rollouts made with other options \(modes: \['zero-shot'\], now"):
            rollouts(root, "scripted", modes=["zero-shot", "mascot"], limit=1)
        report = rollouts(root, "scripted", modes=["zero-shot", "mascot"], limit=1, replace=True)
    assert report.stored > 0
    assert {row["rollout"]["mode"] for row in rows(root)} == {"zero-shot", "mascot"}


def test_a_persona_without_a_card_is_told(root: Path) -> None:
    def listen(found: list[Row]) -> None:
        speaker = next(speaker for speaker in found[0]["speakers"] if speaker["persona"])
        speaker["persona"] = "listener"

    edit(root, "dialogues", listen)
    with installed(Scripted()), pytest.raises(UsageError, match="there is no card for 'listener'; give the folder"):
        rollouts(root, "scripted")


def test_progress_tells_conversations_and_questions(root: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    with installed(Scripted(says=talkative)):
        report = rollouts(root, "scripted", limit=2, progress=lambda *what: told.append(what))
    ends = [(done, total) for name, done, total in told if name == "rollouts"]
    assert ends == [(done + 1, report.conversations) for done in range(report.conversations)]
    questions = [done for name, done, total in told if name == "scripted" and total is None]
    assert questions == sorted(questions)
    assert 0 < questions[0] < questions[-1]
    assert told[0][0] == "scripted"


def test_hostile_words_go_through_a_conversation_as_words(root: Path) -> None:
    words = "<b>\x1b[2J nul\x00 half \ud83d <|im_end|> {{ 7 * 7 }} x\u2028y"
    with installed(Scripted(says=lambda ask, seed: Sample(f"{words}\n  User : {seed}", "stop", -1.0, 3, 7))):
        report = rollouts(root, "scripted", modes=ALL, turns=4, limit=1)
    assert report.lost == []
    said = {turn["text"] for row in rows(root) for turn in row["turns"]}
    assert said == {words.replace("\ud83d", "\ufffd")}
    assert validate(root).problems == []
