"""What judging and pairing add: sound parts have no problem; labels of the Director; parts that do not fit together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mascot_data.build.projection import from_lines, to_line
from mascot_data.build.run import build
from mascot_data.generate import candidates
from mascot_data.judge.director import label_director
from mascot_data.judge.run import judge
from mascot_data.preferences import groups, pairs
from mascot_data.validate import Problem, validate
from tests.judge.test_director import answering
from tests.judge.test_run import judging
from tests.models.scripted import Scripted, installed
from tests.validate.tampering import (
    BLOCKS,
    ROLLOUTS,
    Case,
    Cases,
    Row,
    Spoil,
    check_one,
    counted,
    edit_facts,
    facts,
    of,
    options,
    parquet,
    repeated,
    row,
    rows_of,
    sealed,
    told,
)


def test_sound_parts_have_no_problem(labelled_build: Path) -> None:
    for config in ("judgments", "preferences", "ties", "group_rewards", "group_preferences", "director_labels"):
        assert rows_of(labelled_build, config) if config != "judgments" else rows_of(labelled_build, config, BLOCKS)
    assert validate(labelled_build).problems == []


D = "director_labels"


def unlikely(name: str) -> Spoil:
    """Say the least likely option of the first row that has several."""

    def change(found: list[Row]) -> None:
        row = next(row for row in found if len(row[f"{name}_options"]) > 1)
        row[name] = min(row[f"{name}_options"], key=lambda option: option["probability"])["name"]

    return sealed(D, change)


def option(name: str, change: Callable[[list[Row]], object]) -> Spoil:
    return row(D, lambda found: change(found[f"{name}_options"]))


def corpus(**fields: Any) -> Spoil:
    return row(D, lambda found: found["corpus"].update(fields))


def even(name: str) -> Spoil:
    """Halve the probabilities of the options."""

    def change(found: list[Row]) -> None:
        for one in found:
            one["probability"] /= 2

    return option(name, change)


LABELS: Cases = {
    "id": (of(D, id="esconv:0/0"), "is of no row of director_turns of its dialogue"),
    "twice": (repeated(D, 0, 1), "the id is there twice"),
    "turn": (of(D, turn_index=9), "turn_index is not that of the turn"),
    "subset": (of(D, subset="failed"), "subset is not that of the turn"),
    "licence": (of(D, license="mit"), "license is not that of the turn"),
    "version": (of(D, schema_version="9"), "schema_version is 9, not 1.1"),
    "corpus": (corpus(action="sing"), "corpus.action is not that of the turn"),
    "origin of the corpus": (corpus(tone_origin="model"), "corpus.tone_origin is not that of the turn"),
    "judge": (of(D, judge_name="two"), "judge_name or judge is not the model of the provenance (one)"),
    "model": (
        row(D, lambda found: found["judge"].update(dtype="int8")),
        "judge_name or judge is not the model of the provenance (one)",
    ),
    "agent from": (of(D, agent_from="corpus"), "agent_from is corpus, but by the options it is model"),
    "agent unknown": (of(D, agent="scribe"), "agent scribe is not one of candidates_agents"),
    "agent unlikely": (unlikely("agent"), "but the likeliest is"),
    "agents": (option("agent", lambda found: found.pop()), "agent_options are not the candidates_agents of the turn"),
    "agents' sum": (even("agent"), "agent_options sum to 0.5, not to 1"),
    "action unknown": (of(D, action="sing"), "action 'sing' is not legal for"),
    "action unlikely": (unlikely("action"), "but the likeliest is"),
    "actions": (option("action", lambda found: found.pop()), "action_options are not the legal actions of"),
    "actions' sum": (even("action"), "action_options sum to 0.5, not to 1"),
    "tone unknown": (of(D, tone="loud"), "tone 'loud' is not legal for"),
    "tone unlikely": (unlikely("tone"), "but the likeliest is"),
    "tones": (option("tone", lambda found: found[0].update(name="loud")), "tone_options are not the legal tones of"),
    "tones' sum": (even("tone"), "tone_options sum to 0.5, not to 1"),
    "counts": (counted("director-labels", "rows", "train"), "rows of train, the files have"),
    "limit": (options("director-labels", limit=10), "rows, but the options say limit 10"),
}


@pytest.mark.parametrize("name", LABELS)
def test_director_labels(labelled: Path, name: str) -> None:
    check_one(labelled, "director-labels", LABELS[name])


def test_by_default_no_turn_with_a_human_act_is_labelled_and_the_agent_stays(labelled: Path, tmp_path: Path) -> None:
    (report,) = build("empathetic-dialogues", sample=True, limit=4, output=tmp_path / "acts")
    with answering():
        assert label_director(report.directory, "one").rows
    assert validate(report.directory).problems == []
    options("director-labels", all=False)(labelled)
    found = [line.partition("): ")[2] for line in told(labelled, "director-labels") if "/train-" in line]
    acts = "the turn's action follows a human act, and the options do not say all"
    assert found.count(acts) == len(rows_of(labelled, D)) > 0
    assert found.count("agent_from is model, but by the options it is corpus") == len(rows_of(labelled, D))
    assert any("but by the options it is that of the turn" in what for what in found)


def one_name(found: Row) -> None:
    """Give all lines of a block to the first of its speakers."""
    said = from_lines(found["block"])
    found["block"] = "\n".join(to_line(said[0].name, one.text) for one in said)


OWN_CARDS: dict[str, tuple[str, Case]] = {
    "block": ("group-rewards", (of("group_rewards", block="User: hello"), "block is not the turns of its block")),
    "names": (
        "group-rewards",
        (
            row("group_rewards", one_name),
            "block is not the turns of its block",
        ),
    ),
    "roster": ("group-rewards", (of("group_rewards", roster=1), "roster is 1, but")),
    "actions": (
        "director-labels",
        (option("action", lambda found: found[0].update(name="sing")), "action_options are not the legal actions of"),
    ),
    "no actions": ("director-labels", (of(D, action_options=[]), "action_options are not the legal actions of")),
    "tone": ("director-labels", (of(D, tone="loud"), "tone 'loud' is not legal for")),
}


@pytest.mark.parametrize("name", OWN_CARDS)
def test_what_was_made_with_cards_of_ones_own_is_checked_as_far_as_it_can_be(labelled: Path, name: str) -> None:
    for part in ("group-rewards", "group-preferences", "director-labels"):
        options(part, personas="0" * 16)(labelled)
    assert validate(labelled).problems == []
    check_one(labelled, *OWN_CARDS[name])


def test_parts_of_other_rows_are_one_problem_each_that_says_what_helps(labelled: Path) -> None:
    edit_facts(labelled, lambda found: found.update(built_on="0" * 64), "provenance-preferences.json")
    of("preferences", persona="nobody")(labelled)
    what = "the preferences were made on other rows than those of this build; run  mascot-data pairs  with its options"
    assert validate(labelled).problems == [
        Problem("preferences", "provenance-preferences.json", f"{what} to make them anew")
    ]


def test_what_judgments_made_anew_leave_stale_is_told_and_made_anew(labelled: Path) -> None:
    with judging(Scripted("one")):
        judge(labelled, ["one"], replace=True)
    (line, *_) = told(labelled, "preferences")
    assert "judges are one, two, those of the judgments are one; run  mascot-data pairs  again" in line
    pairs(labelled, margin=0.3)
    assert validate(labelled).problems == []


def test_candidates_made_anew_leave_judgments_of_candidates_that_are_gone(labelled: Path) -> None:
    with installed(Scripted("one")):
        candidates(labelled, ["one"], k=1, replace=True)
    assert any("is no candidate of its dialogue" in line for line in told(labelled, "judgments"))
    assert any(
        "is no candidate of its dialogue; run  mascot-data pairs  again" in line
        for line in told(labelled, "preferences")
    )


def test_without_candidates_one_sentence_tells(labelled: Path) -> None:
    for path in parquet(labelled, "candidates").parent.glob("*.parquet"):
        path.unlink()
    assert told(labelled, "judgments") == [
        f"data/judgments: has rows for {split}, but there are no candidates that they could be of"
        for split in ("train", "validation", "test")
        if parquet(labelled, "judgments", split).exists()
    ]


def test_pairs_without_judgments_are_checked_by_themselves(labelled: Path) -> None:
    for path in (
        *parquet(labelled, "judgments").parent.glob("[!-]*-0*-of-*.parquet"),
        labelled / "provenance-judgments.json",
    ):
        if "blocks" not in path.name:
            path.unlink()
    assert told(labelled, "preferences") == []
    of("preferences", chosen=[])(labelled)
    (line,) = told(labelled, "preferences")
    assert "chosen is not one assistant message" in line


def test_files_that_cannot_be_read_do_not_blame_what_hangs_on_them(labelled: Path) -> None:
    for config, split in (("candidates", "train"), ("blocks", ROLLOUTS), ("director_turns", "train")):
        parquet(labelled, config, split).write_bytes(b"PAR1")
    assert {problem.check for problem in validate(labelled).problems} == {"files"}


@pytest.mark.parametrize("config", ["judgments", "preferences", "group_rewards", D])
def test_a_cut_file_is_told_once(labelled: Path, config: str) -> None:
    parquet(labelled, config).write_bytes(parquet(labelled, config).read_bytes()[:3000])
    assert {problem.check for problem in validate(labelled).problems} == {"files"}


def test_rewards_of_blocks_of_the_corpus_have_no_problem(labelled: Path) -> None:
    with judging(Scripted("one")):
        judge(labelled, ["one"], subject="blocks", replace=True)
    assert validate(labelled).problems == []
    groups(labelled, subject="blocks", coherence="group-relevance", judges=["one"])
    assert facts(labelled, "provenance-group-rewards.json")["options"]["subject"] == "blocks"
    assert validate(labelled).problems == []
