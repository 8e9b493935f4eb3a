"""The sample of ESConv holds every defect that a reader must survive; seen with nothing but json and str."""

import json
import random
import re
from collections import defaultdict
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).resolve().parents[2] / "mascot_data" / "sources" / "sample"
ESCONV = SAMPLE / "esconv"
STRATEGIES = {
    "Question",
    "Restatement or Paraphrasing",
    "Reflection of feelings",
    "Self-disclosure",
    "Affirmation and Reassurance",
    "Providing Suggestions",
    "Information",
    "Others",
}


@cache
def original(name: str = "ESConv.json") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((ESCONV / name).read_text(encoding="utf-8"))
    return rows


def hub(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ESCONV / "hf" / f"{split}.txt").read_text(encoding="utf-8").splitlines()]


def runs(dialog: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [list(group) for _, group in groupby(dialog, key=lambda turn: turn["speaker"])]


def repeats(dialog: list[dict[str, Any]]) -> int:
    return sum(a["speaker"] == b["speaker"] and a["content"] == b["content"] for a, b in pairwise(dialog))


def positions_of(text: str) -> list[int]:
    return [i for i, row in enumerate(original()) if any(text in turn["content"] for turn in row["dialog"])]


def hub_order() -> list[int]:
    order = list(range(12))
    random.Random(13).shuffle(order)
    return order


def test_twelve_conversations_of_eight_to_twenty_utterances_use_every_strategy() -> None:
    assert len(original()) == 12
    assert all(8 <= len(row["dialog"]) <= 20 for row in original())
    used = {turn["annotation"].get("strategy") for row in original() for turn in row["dialog"]}
    assert used == STRATEGIES | {None}


def test_every_supporter_utterance_has_a_strategy_and_no_seeker_utterance_has() -> None:
    for row in original():
        for turn in row["dialog"]:
            assert ("strategy" in turn["annotation"]) == (turn["speaker"] == "supporter")


def test_survey_scores_are_strings_missing_or_zero() -> None:
    surveys = [row["survey_score"] for row in original()]
    assert all(isinstance(score, str) for survey in surveys for part in survey.values() for score in part.values())
    assert list(surveys[4]["seeker"]) == ["initial_emotion_intensity"]
    assert [i for i, survey in enumerate(surveys) if "relevance" not in survey["supporter"]] == [4, 10, 11]
    assert [i for i, survey in enumerate(surveys) if survey["supporter"].get("relevance") == "0"] == [8]


def test_one_speaker_goes_on_for_up_to_six_utterances_and_repeats_a_text() -> None:
    assert max(len(run) for row in original() for run in runs(row["dialog"])) == 6
    assert [i for i, row in enumerate(original()) if repeats(row["dialog"])] == [2]
    assert [i for i, row in enumerate(original()) if row["dialog"][0]["speaker"] == "supporter"] == [1, 6]


def test_some_supporter_runs_mix_strategies() -> None:
    mixed = [run for row in original() for run in runs(row["dialog"]) if run[0]["speaker"] == "supporter"]
    assert any(len({turn["annotation"]["strategy"] for turn in run}) > 1 for run in mixed)


def test_feedback_is_a_string_from_one_to_five() -> None:
    rows = original() + original("FailedESConv.json")
    given = {turn["annotation"].get("feedback") for row in rows for turn in row["dialog"]}
    assert given == {None, "1", "2", "3", "4", "5"}


def test_situations_are_shared_within_and_across_splits() -> None:
    where = defaultdict(list)
    for i, row in enumerate(original()):
        where[row["situation"]].append(i)
    assert sorted(group for group in where.values() if len(group) > 1) == [[0, 11], [3, 4], [8, 9]]
    assert hub_order()[0] == 8


def test_situations_hold_a_line_break_and_a_no_break_space() -> None:
    assert [i for i, row in enumerate(original()) if "\n" in row["situation"]] == [6]
    assert [i for i, row in enumerate(original()) if "\u00a0" in row["situation"]] == [7]


def test_problem_names_mix_case_and_name_one_problem_twice() -> None:
    problems = {row["problem_type"] for row in original()}
    assert {"conflict with parents", "Issues with Parents", "job crisis", "Sleep Problems"} <= problems


def test_white_space_runs_inside_and_line_breaks_at_the_end_of_a_text() -> None:
    texts = [turn["content"] for row in original() for turn in row["dialog"]]
    assert any(re.search(r"\S {2,}\S", text) and "\n" in text.strip() for text in texts)
    assert any(text.endswith("\n") for text in texts)


def test_task_talk_and_a_risk_answered_with_care() -> None:
    assert positions_of("survey") == [9]
    assert positions_of("don't want to be here any more") == [5]
    answer = " ".join(turn["content"] for turn in original()[5]["dialog"][5:] if turn["speaker"] == "supporter")
    assert "are you safe right now" in answer
    assert "crisis line" in answer
    assert not re.search(r"\d", answer)


def test_hub_layout_holds_the_same_words_in_the_shuffled_order() -> None:
    valid, test, train = hub("valid"), hub("test"), hub("train")
    assert (len(valid), len(test), len(train)) == (1, 1, 10)
    for position, theirs in zip(hub_order(), valid + test + train, strict=True):
        ours = original()[position]
        assert {key: ours[key] for key in ours if key != "dialog"} == {
            key: theirs[key] for key in ours if key != "dialog"
        }
        for mine, turn in zip(ours["dialog"], theirs["dialog"], strict=True):
            assert turn["text"].split() == mine["content"].split()
            assert turn["speaker"] == {"seeker": "usr", "supporter": "sys"}[mine["speaker"]]
            assert turn.get("strategy") == mine["annotation"].get("strategy")
            assert "feedback" not in turn


def test_failed_conversations_have_names_and_line_breaks_of_their_own() -> None:
    rows = original("FailedESConv.json")
    assert len(rows) == 3
    assert not any("question" in key for row in rows for key in row)
    turns = [turn for row in rows for turn in row["dialog"]]
    assert {turn["speaker"] for turn in turns} == {"speaker", "listener"}
    assert any(turn["content"].endswith("\n") for turn in turns)
    used = {turn["annotation"].get("strategy") for turn in turns}
    assert {"Questions", "Other", "Direct Guidance", "Approval and Reassurance", "Restatement"} <= used
    assert any(list(row["survey_score"]["seeker"]) == ["initial_emotion_intensity"] for row in rows)


def test_the_readme_says_what_it_is_and_under_which_licence() -> None:
    text = (SAMPLE / "README.md").read_text(encoding="utf-8")
    assert "CC0-1.0" in text
    assert "31 of the 32" in text
