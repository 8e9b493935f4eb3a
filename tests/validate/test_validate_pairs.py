"""Preferences, ties, group rewards and pairs of rollouts: whatever is changed is found, and nothing else."""

import shutil
from pathlib import Path

import pytest

from mascot_data.preferences import pairs
from mascot_data.validate import validate
from tests.validate.tampering import (
    Cases,
    Row,
    Spoil,
    check_one,
    counted,
    of,
    options,
    parquet,
    repeated,
    row,
    rows_of,
    seal,
    sealed,
    summary,
    told,
)

P = "preferences"


def criterion(config: str, side: str = "chosen") -> Spoil:
    """Change a score under a criterion, and not the means."""

    def change(found: Row) -> None:
        one = found["criteria"][0]
        one[side] = 1.0 if one[side] > 2 else 4.0

    return row(config, change)


def traded(config: str) -> Spoil:
    """Trade the scores of two criteria, so that the means stay."""

    def change(found: Row) -> None:
        one, other = found["criteria"][:2]
        for side in ("chosen", "rejected"):
            one[side], other[side] = other[side], one[side]

    return row(config, change)


def turned(config: str) -> Spoil:
    """Have the second pair be the first one the other way round."""

    def change(found: list[Row]) -> None:
        one = dict(found[0])
        one["chosen_id"], one["rejected_id"] = one["rejected_id"], one["chosen_id"]
        found[1] = one

    return sealed(config, change)


def moved(config: str) -> Spoil:
    """Have the last pair be of another dialogue's turn, without changing the dialogue."""

    def change(found: list[Row]) -> None:
        other = next(row for row in found if row["dialogue_id"] != found[-1]["dialogue_id"])
        found[-1].update(rejected_id=other["rejected_id"])

    return sealed(config, change)


def other_prompt(found: list[Row]) -> None:
    first_prompt = found[0]["id"].partition("#")[0]
    other = next(row for row in found if row["id"].partition("#")[0] != first_prompt)
    assert other["dialogue_id"] == found[0]["dialogue_id"]
    found[0].update(rejected_id=other["rejected_id"])


def said(side: str, content: str) -> Spoil:
    return row(P, lambda found: found[side][0].update(content=content))


PREFERENCES: Cases = {
    "id": (of(P, id="x"), "(x): id is not esconv:0/1#"),
    "turn": (of(P, turn_index=7), "turn_index is not that of the speaker turn"),
    "persona": (of(P, persona="nobody"), "persona is not that of the speaker turn"),
    "subset": (of(P, subset="failed"), "subset is not that of the speaker turn"),
    "licence": (of(P, license="mit"), "license is not that of the speaker turn"),
    "prompt": (
        row(P, lambda found: found["prompt"][0].update(content="Be good.")),
        "prompt is not that of the speaker turn",
    ),
    "role": (
        row(P, lambda found: found["prompt"][0].update(role="user")),
        "prompt is not that of the speaker turn",
    ),
    "no candidate": (of(P, chosen_id="esconv:0/1#77"), "esconv:0/1#77 is no candidate of its dialogue"),
    "of another dialogue": (moved(P), "is no candidate of its dialogue"),
    "of another prompt": (sealed(P, other_prompt), "chosen and rejected answer two prompts"),
    "the same": (
        row(P, lambda found: found.update(rejected_id=found["chosen_id"])),
        "chosen_id and rejected_id are the same candidate",
    ),
    "chosen": (said("chosen", "Never said."), "chosen is not one assistant message with the candidate's text"),
    "rejected": (said("rejected", "Never said."), "rejected is not one assistant message with the candidate's text"),
    "role of chosen": (
        row(P, lambda found: found["chosen"][0].update(role="user")),
        "chosen is not one assistant message with the candidate's text",
    ),
    "nothing chosen": (of(P, chosen=[]), "chosen is not one assistant message with the candidate's text"),
    "version": (of(P, schema_version="9"), "schema_version is 9, not 1.1"),
    "origin": (of(P, origin="human"), "origin is human with 0 annotators, but judges made it (ai, 0)"),
    "annotators": (of(P, n_annotators=2), "origin is ai with 2 annotators, but judges made it (ai, 0)"),
    "gap": (of(P, score_gap=3.9), "score_gap is 3.9, but the scores differ by"),
    "chosen score": (of(P, chosen_score=5.0), "but the scores differ by"),
    "criterion": (criterion(P), "chosen_score is"),
    "rejected's criterion": (criterion(P, "rejected"), "rejected_score is"),
    "a criterion twice": (
        row(P, lambda found: found["criteria"][1].update(name=found["criteria"][0]["name"])),
        "a criterion is there twice",
    ),
    "another criterion": (
        row(P, lambda found: found["criteria"][1].update(name="charm")),
        "criteria are not the means of the judgments' scores; run  mascot-data pairs  again",
    ),
    "criteria traded": (traded(P), "criteria are not the means of the judgments' scores"),
    "probability": (of(P, probability=1.0), "probability is 1, where the judgments give"),
    "judges": (of(P, judges=["one"]), "judges are one, those of the judgments are one, two"),
    "twice": (repeated(P, 0, 1), "the two are a pair or a tie already"),
    "turned": (turned(P), "the two are a pair or a tie already"),
    "no dialogue": (
        sealed(P, lambda found: found[-1].update(dialogue_id="esconv:404")),
        "belongs to no dialogue of this split",
    ),
    "counts": (counted(P, "pairs", "train"), "rows of train, the files have"),
    "split": (options(P, splits=["validation", "test"]), "has rows for train, which is not one of the splits"),
    "damaged": (options(P, margin="wide"), "is damaged (margin: Input should be a valid number)"),
}


@pytest.mark.parametrize("name", PREFERENCES)
def test_preferences(labelled: Path, name: str) -> None:
    check_one(labelled, "preferences", PREFERENCES[name])


def test_a_probability_below_one_half_is_a_problem_of_the_schema(labelled: Path) -> None:
    check_one(labelled, "schema", (of(P, probability=0.4), "probability: Input should be greater than or equal to 0.5"))


T = "ties"
TIES: Cases = {
    "id": (of(T, id="x"), "(x): id is not esconv:0/"),
    "prompt": (of(T, prompt=[]), "prompt is not that of the speaker turn"),
    "gap": (of(T, score_gap=0.29), "score_gap is 0.29, but the scores differ by"),
    "counts": (counted(T, "ties", "train"), "rows of train, the files have"),
}


@pytest.mark.parametrize("name", TIES)
def test_ties(labelled: Path, name: str) -> None:
    check_one(labelled, "ties", TIES[name])


def test_pairs_reach_the_margin_and_ties_do_not(labelled: Path) -> None:
    options("ties", margin=0.0)(labelled)
    options("preferences", margin=4.0)(labelled)
    gaps = [row["score_gap"] for row in rows_of(labelled, T)]
    assert len(told(labelled, "ties")) >= sum(gap > 0 for gap in gaps) > 0
    assert all("reaches the margin 0: it is no tie" in line for line in told(labelled, "ties"))
    assert len(told(labelled, "preferences")) >= len(rows_of(labelled, P)) > 0
    assert all("is below the margin 4: it is a tie" in line for line in told(labelled, "preferences"))


def test_a_dialogue_of_another_split_is_told(labelled: Path) -> None:
    path = next(path for path in parquet(labelled, P).parent.glob("*.parquet") if not path.name.startswith("train"))
    shutil.copyfile(parquet(labelled, P), path)
    seal(labelled)
    found = told(labelled, P)
    assert sum("belongs to no dialogue of this split" in line for line in found) == len(rows_of(labelled, P)) > 0


def test_a_prompt_with_two_pairs_is_told_where_only_the_best_and_the_worst_are_asked_for(labelled: Path) -> None:
    pairs(labelled, margin=0.3, strategy="best-worst")
    assert validate(labelled).problems == []
    pairs(labelled, margin=0.3)
    for part in ("preferences", "ties"):
        options(part, strategy="best-worst")(labelled)
    assert any("is another pair of its prompt, but the options say best-worst" in line for line in told(labelled, P))


R, G = "group_rewards", "group_preferences"
REWARDS: Cases = {
    "id": (of(R, id="esconv:0/1+4"), "there is no such block among the rollouts of its dialogue"),
    "twice": (repeated(R, 0, 1), "the id is there twice"),
    "prompt id": (of(R, prompt_id="esconv:0"), "prompt_id is not that of its block"),
    "subset": (of(R, subset="failed"), "subset is not that of its block"),
    "licence": (of(R, license="mit"), "license is not that of its block"),
    "prompt": (of(R, prompt=[]), "prompt is not that of its block"),
    "version": (of(R, schema_version="9"), "schema_version is 9, not 1.1"),
    "block": (of(R, block="User: hello"), "block is not the turns of its block as lines of the room"),
    "speakers": (of(R, speakers=["guide"]), "speakers are not those of the agent turns of its block"),
    "roster": (of(R, roster=9), "roster is 9, but there are 4 agents"),
    "too few": (of(R, roster=1), "roster is 1, but"),
    "eta": (of(R, eta=2.0), "eta 2 or coherence_of mean are not those of the options"),
    "coherence of": (of(R, coherence_of="group-fidelity"), "coherence_of group-fidelity are not those of the options"),
    "coherence": (of(R, coherence=1.0), "coherence is 1, but its criteria give"),
    "no criteria": (of(R, criteria=[]), "criteria are none, or one is there twice"),
    "diversity": (of(R, diversity=0.01), "diversity is 0.01, but its speakers give"),
    "no diversity": (of(R, diversity=None), "diversity is null, but its speakers give"),
    "reward": (of(R, reward=9.0), "reward is 9, but coherence + eta * diversity is"),
    "criterion": (
        row(R, lambda found: found["criteria"][0].update(name="charm")),
        "criteria are not the means of the judgments' scores",
    ),
    "judges": (of(R, judges=["one"]), "judges are one, those of the judgments are one, two"),
    "counts": (counted("group-rewards", "rewards", "train"), "rows of train, the files have"),
    "open": (summary("group-rewards", lambda found: found.update(open=7)), "the summary counts 7 nulls of rewards"),
}


@pytest.mark.parametrize("name", REWARDS)
def test_group_rewards(labelled: Path, name: str) -> None:
    check_one(labelled, "group-rewards", REWARDS[name])


def other_opening(found: list[Row]) -> None:
    found[0]["rejected_id"] = next(row["rejected_id"] for row in found if row["dialogue_id"] != found[0]["dialogue_id"])


GROUP_PAIRS: Cases = {
    "id": (of(G, id="x"), "(x): id is not esconv:0/1+"),
    "no rollout": (of(G, chosen_id="esconv:0/1+4"), "esconv:0/1+4 is not among the rollouts of its dialogue"),
    "of another dialogue": (sealed(G, other_opening), "is not among the rollouts of its dialogue"),
    "the same": (
        row(G, lambda found: found.update(rejected_id=found["chosen_id"])),
        "chosen_id and rejected_id are the same block",
    ),
    "turn": (of(G, turn_index=9), "turn_index is not that of the block"),
    "persona": (of(G, persona="anchor"), "persona is not that of the block"),
    "prompt": (of(G, prompt=[]), "prompt is not that of the block"),
    "chosen": (
        row(G, lambda found: found["chosen"][0].update(content="User: hello")),
        "chosen is not one assistant message with the block's text",
    ),
    "gap": (of(G, score_gap=3.9), "score_gap is 3.9, but the scores differ by"),
    "criteria": (traded(G), "criteria are not the means of the judgments' scores"),
    "probability": (of(G, probability=1.0), "probability is 1, where the judgments give"),
    "twice": (repeated(G, 0, 1), "the two are a pair or a tie already"),
    "counts": (counted("group-preferences", "pairs", "train"), "rows of train, the files have"),
}


@pytest.mark.parametrize("name", GROUP_PAIRS)
def test_group_preferences(labelled: Path, name: str) -> None:
    check_one(labelled, "group-preferences", GROUP_PAIRS[name])


def test_pairs_of_rollouts_reach_the_margin(labelled: Path) -> None:
    options("group-preferences", margin=4.0)(labelled)
    found = told(labelled, "group-preferences")
    assert len(found) >= len(rows_of(labelled, G)) > 0
    assert all("is below the margin 4: it is a tie" in line for line in found)
