"""Rollouts: sound ones have no problem, and whatever is changed, with everything else agreeing, is found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mascot_data.build.run import build
from mascot_data.generate import rollouts
from mascot_data.generate.modes import MODES
from mascot_data.validate import Problem, validate
from tests.models.scripted import Scripted, installed
from tests.validate.tampering import ROLLOUTS, Cases, Row, Spoil, edit_facts, parquet, row, sealed, told

PROVENANCE = "provenance-rollouts.json"


def block(change: Callable[[Row], object], mode: str = "mascot") -> Spoil:
    """Change the first rollout of a mode."""
    return sealed("blocks", lambda rows: change(next(r for r in rows if r["rollout"]["mode"] == mode)), ROLLOUTS)


def of(**fields: Any) -> Spoil:
    return block(lambda found: found.update(fields))


def how(**fields: Any) -> Spoil:
    return block(lambda found: found["rollout"].update(fields))


def turn(number: int, mode: str = "mascot", **fields: Any) -> Spoil:
    return block(lambda found: found["turns"][number].update(fields), mode)


def asked(**fields: Any) -> Spoil:
    return block(lambda found: found["turns"][0]["directive"].update(fields))


def step(**fields: Any) -> Spoil:
    return block(lambda found: found["rollout"]["steps"][0].update(fields))


def options(**fields: Any) -> Spoil:
    return lambda root: edit_facts(root, lambda found: found["options"].update(fields), PROVENANCE)


def rows(change: Callable[[list[Row]], object]) -> Spoil:
    return sealed("blocks", change, ROLLOUTS)


def follow_itself(found: Row) -> None:
    found["turns"][1].update(found["turns"][0])


def one_turn(found: Row) -> None:
    for name in (found["turns"], found["rollout"]["steps"]):
        del name[1:]


def no_agent_first(found: Row) -> None:
    for name in (found["turns"], found["rollout"]["steps"]):
        name.insert(0, name[2])


def person_twice(found: Row) -> None:
    for name in (found["turns"], found["rollout"]["steps"]):
        name.insert(2, name[2])


def swap(found: list[Row]) -> None:
    found[0], found[-1] = found[-1], found[0]


def prompt(change: Callable[[list[Row]], object]) -> Spoil:
    return block(lambda found: change(found["prompt"]))


ROUNDS = "its turns are not rounds of 2 agents with one turn of the person between them"
DIRECTED = "a directive belongs to the agent turns of modes with a Director, and to all of them"
CASES: Cases = {
    "no dialogue": (of(dialogue_id="esconv:404"), "belongs to no dialogue of this split"),
    "out of order": (rows(swap), "is not in the order of the dialogues"),
    "twice": (rows(lambda found: found.insert(1, found[0])), "the id is there twice"),
    "id": (of(id="esconv:0/1+5~x"), "id is not esconv:0/1+5~mascot-"),
    "number": (how(number=1), "id is not esconv:0/1+5~mascot-"),
    "subset": (of(subset="failed"), "subset, license or schema_version are not those of the dialogue"),
    "licence": (of(license="mit"), "subset, license or schema_version are not those of the dialogue"),
    "origin": (of(origin="corpus"), "is among the rollouts, but does not say how it was generated"),
    "no rollout": (of(rollout=None), "is among the rollouts, but does not say how it was generated"),
    "first turn": (of(first_turn=2), "first_turn is 2, not 1, where the dialogue's opening ends"),
    "no turns": (of(turns=[]), "has 5 steps for 0 turns"),
    "fewer turns": (block(one_turn), "has 1 turns, not 4 or more"),
    "steps": (block(lambda found: found["rollout"]["steps"].pop()), "has 4 steps for 5 turns"),
    "end": (step(finish_reason="tired"), "step 0: finish_reason is 'tired', none of stop, length, speaker-tag"),
    "logprob": (step(logprob=0.1), "step 0: logprob is 0.1, not finite and at most 0"),
    "mode": (how(mode="mascot-x"), "mode mascot-x with number 0 was not asked for"),
    "mode not asked for": (options(modes=["zero-shot"]), "mode mascot with number 0 was not asked for"),
    "number not asked for": (options(number=1), "mode mascot with number 1 was not asked for"),
    "profile": (options(profiles=["nobody"]), "was not asked for"),
    "seed": (how(seed=5), "rollout.seed is 5, where the provenance gives 0"),
    "agents": (how(agents_per_turn=3), "rollout.agents_per_turn is 3, where the provenance gives 2"),
    "cards": (how(personas="0"), "rollout.personas is '0', where the provenance gives"),
    "prompts": (how(prompts_version="0"), "rollout.prompts_version is '0', where the provenance gives"),
    "part gone": (
        block(lambda found: found["rollout"]["models"].pop()),
        "the models of speaker, director and user are",
    ),
    "part": (
        block(lambda f: f["rollout"]["models"][1].update(model="one")),
        "the models of speaker, director and user",
    ),
    "sampling": (block(lambda f: f["rollout"]["models"][0].update(top_p=1.0)), "the models of speaker, director and"),
    "nobody first": (block(no_agent_first), "does not begin with an agent"),
    "person twice": (block(person_twice), ROUNDS),
    "rounds": (options(agents_per_turn=3), "its turns are not rounds of 3 agents"),
    "single rounds": (turn(1, "zero-shot", kind="agent", speaker="assistant"), "are not rounds of 1 agents"),
    "follows itself": (block(follow_itself), "an agent follows itself"),
    "agent's words": (turn(0, text=" "), "turn 0: has no text"),
    "person's words": (turn(2, text=""), "turn 2: has no text"),
    "person": (turn(2, speaker="me"), "turn 2: is neither an agent's nor that of 'user', whom the rollout simulates"),
    "participant": (turn(2, kind="participant"), "turn 2: is neither an agent's nor that of 'user'"),
    "persona": (turn(0, persona=None), "turn 0: its persona is not the agent that speaks"),
    "roster": (turn(0, persona="scribe", speaker="scribe"), "turn 0: scribe is not on the roster"),
    "assistant": (turn(0, "zero-shot", persona="anchor"), "turn 0: has a persona, which an agent of zero-shot has not"),
    "no directive": (turn(0, directive=None), f"turn 0: {DIRECTED}"),
    "directive": (
        rows(lambda found: found[-1]["turns"][0].update(directive=found[0]["turns"][0]["directive"])),
        f"turn 0: {DIRECTED}",
    ),
    "agent": (asked(agent="scribe"), "turn 0: the directive's agent scribe is not the persona"),
    "action": (asked(action="sing"), "turn 0: action 'sing' or tone"),
    "tone": (asked(tone="loud"), "or tone 'loud' is not on the closed list"),
    "label": (asked(origin="human"), "turn 0: the directive's origin is human, not model"),
    "system": (prompt(lambda found: found[0].update(content="Direct!")), "its system message is not the Director's"),
    "room": (prompt(lambda found: found[1].update(content="User: x")), "its prompt shows another text for turn 0"),
    "no prompt": (of(prompt=[]), "prompt is not a system message and one user message"),
    "counts": (of(context_turns=3), "context_turns and context_cut do not add up to 1"),
    "damaged": (options(turns="four"), f"{PROVENANCE}: is damaged (turns: Input should be a valid integer)"),
}


@pytest.mark.parametrize("name", CASES)
def test_rollouts(added: Path, name: str) -> None:
    spoil, words = CASES[name]
    spoil(added)
    assert words in "\n".join(told(added, "rollouts"))


@pytest.mark.parametrize("corpus", ["empathetic-dialogues", "qmsum"])
def test_sound_rollouts_of_every_mode_have_no_problem(tmp_path: Path, corpus: str) -> None:
    (report,) = build(corpus, sample=True, limit=2, output=tmp_path)
    with installed(Scripted("one")):
        made = rollouts(report.directory, "one", modes=list(MODES), turns=5, agents_per_turn=3, context_tokens=40)
    assert made.rows.total() > len(MODES)
    assert validate(report.directory).problems == []


def test_one_changed_row_is_one_problem(added: Path) -> None:
    how(seed=5)(added)
    (problem,) = validate(added).problems
    assert problem.check == "rollouts"
    assert problem.where.startswith("data/blocks/train-rollouts-00000-of-00001.parquet row 0 (esconv:0/1+5~mascot-")


def test_rollouts_of_other_rows_are_one_problem_that_says_what_helps(added: Path) -> None:
    edit_facts(added, lambda found: found.update(built_on="0" * 64), PROVENANCE)
    how(seed=5)(added)
    what = "the rollouts were made on other rows than those of this build; run  mascot-data rollouts  with its options"
    assert validate(added).problems == [Problem("rollouts", PROVENANCE, f"{what} to make them anew")]


def test_a_rollout_among_the_blocks_of_the_corpus_is_told(added: Path) -> None:
    (rollout, *_) = pq.read_table(parquet(added, "blocks", ROLLOUTS)).to_pylist()
    sealed("blocks", lambda found: found.insert(0, rollout))(added)
    assert any("a block of the corpus has a rollout" in line for line in told(added, "views"))


def test_a_cut_file_is_told_once(added: Path) -> None:
    path = parquet(added, "blocks", ROLLOUTS)
    path.write_bytes(path.read_bytes()[:3000])
    assert {problem.check for problem in validate(added).problems} == {"files"}


def test_rows_of_a_dialogue_that_cannot_be_read_are_passed_over(added: Path) -> None:
    row("dialogues", lambda found: found.update(subset=None))(added)
    assert "rollouts" not in {problem.check for problem in validate(added).problems}
