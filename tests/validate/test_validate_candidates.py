"""Candidates: sound ones have no problem, and whatever is changed, with everything else agreeing, is found."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mascot_data.build.run import build
from mascot_data.generate import candidates
from mascot_data.validate import Problem, validate
from tests.models.scripted import Scripted, installed
from tests.validate.tampering import Cases, Row, Spoil, edit_facts, parquet, row, sealed, told

PROVENANCE = "provenance-candidates.json"


def model(change: Callable[[Row], object]) -> Spoil:
    """Change the first candidate of a model."""
    return sealed("candidates", lambda rows: change(next(r for r in rows if r["origin"] == "model")))


def of(**fields: Any) -> Spoil:
    return model(lambda found: found.update(fields))


def human(**fields: Any) -> Spoil:
    return row("candidates", lambda found: found.update(fields))


def said_by(**fields: Any) -> Spoil:
    return model(lambda found: found["generator"].update(fields))


def rows(change: Callable[[list[Row]], object]) -> Spoil:
    return sealed("candidates", change)


def first_prompt(rows: list[Row]) -> list[Row]:
    return [r for r in rows if r["prompt_id"] == rows[0]["prompt_id"]]


def swap(one: int, other: int) -> Callable[[list[Row]], object]:
    def change(rows: list[Row]) -> None:
        rows[one], rows[other] = rows[other], rows[one]

    return change


def drop_prompt(rows: list[Row]) -> None:
    gone = len(first_prompt(rows))
    del rows[gone : gone + len(first_prompt(rows[gone:]))]


def last_first(rows: list[Row]) -> None:
    last = [r for r in rows if r["prompt_id"] == rows[-1]["prompt_id"]]
    rows[:] = [*last, *rows[: -len(last)]]


def give_to_last(rows: list[Row]) -> None:
    rows[1]["prompt_id"] = rows[-1]["prompt_id"]


def shout(rows: list[Row]) -> None:
    rows[2]["text"] = f"  {rows[1]['text'].upper()}\n"


def options(**fields: Any) -> Spoil:
    return lambda root: edit_facts(root, lambda found: found["options"].update(fields), PROVENANCE)


def stated(change: Callable[[Row], object]) -> Spoil:
    return lambda root: edit_facts(root, change, PROVENANCE)


FOREIGN = "generator.model is 'three', where the provenance gives 'one'"
NOBODY = "a human reply has no generator, logprob or tokens, and the finish_reason human"
CANDIDATES: Cases = {
    "id": (of(id="esconv:0/1#77"), "id is not esconv:0/"),
    "id of a human": (human(id="x"), "(x): id is not esconv:0/1#0"),
    "dialogue": (of(dialogue_id="esconv:1"), "dialogue_id is not that of its prompt"),
    "persona": (of(persona="guide"), "persona is not that of its prompt"),
    "subset": (of(subset="failed"), "subset is not that of its prompt"),
    "licence": (human(license="mit"), "license is not that of its prompt"),
    "version": (human(schema_version="9"), "schema_version is 9, not 1.1"),
    "no prompt": (of(prompt_id="esconv:0/0"), "belongs to no prompt of this split"),
    "another prompt": (rows(give_to_last), "is not in the order of the prompts"),
    "prompts in another order": (rows(last_first), "is not in the order of the prompts"),
    "prompt gone": (rows(drop_prompt), "the prompt has no candidates"),
    "k in another order": (rows(swap(1, 2)), "the candidates of the prompt are not in the order of k"),
    "twice": (rows(lambda found: found.insert(1, found[1])), "the candidates of the prompt are not in the order of k"),
    "no human": (rows(lambda found: found.pop(0)), "the prompt has 0 human candidates, not one with k 0"),
    "two humans": (of(origin="human"), "the prompt has 2 human candidates, not one with k 0"),
    "human at the end": (human(k=9), "the prompt has 1 human candidates, not one with k 0"),
    "words of the human": (human(text="Never said."), "is not what the human said"),
    "human's generator": (rows(lambda found: found[0].update(generator=found[1]["generator"])), NOBODY),
    "human's logprob": (human(logprob=-1.0), NOBODY),
    "human's end": (human(finish_reason="stop"), NOBODY),
    "no text": (of(text=" \n"), "has no text"),
    "same text": (rows(shout), "says the same as candidate 1"),
    "human's text": (
        rows(lambda found: found[1].update(text=found[0]["text"].upper())),
        "says the same as candidate 0",
    ),
    "end": (of(finish_reason="human"), "finish_reason is human, but a model said it"),
    "tokens": (of(tokens=None), "tokens is null, but a model said it"),
    "logprob": (of(logprob=0.5), "logprob is 0.5, not finite and at most 0"),
    "no number": (of(logprob=math.nan), "logprob is nan, not finite and at most 0"),
    "impossible": (of(logprob=-math.inf), "logprob is -inf, not finite and at most 0"),
    "no generator": (of(generator=None), "generator is null, but a model said it"),
    "model": (said_by(model="three"), FOREIGN),
    "revision": (said_by(revision="r2"), "generator.revision is 'r2', where the provenance gives 'r1'"),
    "temperature": (said_by(temperature=0.6), "generator.temperature is 0.6, where the provenance gives 0.5"),
    "seed": (said_by(seed=1), "generator.seed is 1, where the provenance gives"),
    "tokens asked for": (said_by(max_tokens=7), "generator.max_tokens is 7, where the provenance gives 96"),
    "k": (of(k=99), "was not asked for: k is too large, or its model was not there"),
    "hash": (of(prompt_hash="0" * 16), "prompt_hash is not that of the prompt, which has changed; run  mascot-data"),
    "end unknown": (of(finish_reason="tired"), "finish_reason: Input should be"),
    "limit": (options(limit=9), "its prompt is not one of those that the options name"),
    "more": (options(limit=11), "the prompt has no candidates"),
    "splits": (options(splits=["test"]), "its prompt is not one of those that the options name"),
    "other seed": (options(seed=1), "generator.seed is"),
    "no model": (stated(lambda found: found["summary"].update(models=[None, None])), "its model was not there"),
    "damaged": (options(k="two"), f"{PROVENANCE}: is damaged (k: Input should be a valid integer)"),
}


def test_sound_candidates_have_no_problem(added_build: Path) -> None:
    assert validate(added_build).problems == []


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates(added: Path, name: str) -> None:
    spoil, words = CANDIDATES[name]
    spoil(added)
    assert words in "\n".join(told(added, "schema" if name == "end unknown" else "candidates"))


def test_one_changed_row_is_one_problem(added: Path) -> None:
    of(persona="guide")(added)
    (problem,) = validate(added).problems
    assert problem.check == "candidates"
    assert problem.where.startswith("data/candidates/train-00000-of-00001.parquet row 1 (esconv:0/1#")


def test_candidates_of_other_rows_are_one_problem_that_says_what_helps(added: Path) -> None:
    stated(lambda found: found.update(built_on="0" * 64))(added)
    of(persona="guide", text="")(added)
    what = (
        "the candidates were made on other rows than those of this build; run  mascot-data candidates  with its options"
    )
    assert validate(added).problems == [Problem("candidates", PROVENANCE, f"{what} to make them anew")]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"context_turns": 1}, "prompt_hash is not that of the prompt"), ({"clean": False}, "on other rows than those")],
    ids=str,
)
def test_what_a_rebuild_made_stale_is_told_and_made_anew(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    (report,) = build("esconv", sample=True, limit=2, output=tmp_path)
    with installed(Scripted("one")):
        candidates(report.directory, ["one"], k=1)
        build("esconv", sample=True, limit=2, output=tmp_path, **options)
        assert words in "\n".join(told(report.directory, "candidates"))
        candidates(report.directory, ["one"], k=1)
    assert validate(report.directory).problems == []


def test_prompts_that_cannot_be_read_do_not_blame_the_candidates(added: Path) -> None:
    parquet(added, "speaker_turns").write_bytes(b"PAR1")
    assert "candidates" not in {problem.check for problem in validate(added).problems}


def test_a_cut_file_is_told_once(added: Path) -> None:
    parquet(added, "candidates").write_bytes(parquet(added, "candidates").read_bytes()[:3000])
    problems = validate(added).problems
    assert {problem.check for problem in problems} == {"files"}


def test_a_file_that_is_gone_is_told(added: Path) -> None:
    parquet(added, "candidates").unlink()
    edit_facts(added, lambda found: found["files"].clear(), PROVENANCE)
    assert told(added, "candidates") == ["data/candidates: has no file for train; run  mascot-data candidates  again"]


def test_a_model_that_was_not_there_leaves_its_numbers_free(tmp_path: Path) -> None:
    (report,) = build("esconv", sample=True, limit=1, output=tmp_path)
    with installed(Scripted("one")):
        assert len(candidates(report.directory, ["absent", "one"], k=2).lost) == 1
    assert validate(report.directory).problems == []
    with installed(Scripted("one"), Scripted("absent")):
        candidates(report.directory, ["absent", "one"], k=2)
    assert validate(report.directory).problems == []
