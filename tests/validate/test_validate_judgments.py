"""Judgments: whatever is changed, with everything else agreeing, is found, and nothing else."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.validate.tampering import (
    BLOCKS,
    Cases,
    Row,
    Spoil,
    both,
    check_one,
    counted,
    of,
    options,
    row,
    sealed,
    summary,
)


def swap(found: list[Row]) -> None:
    """Have the first rows of two candidates change places."""
    found[0], found[12] = found[12], found[0]


def composite(**fields: Any) -> Spoil:
    def change(found: list[Row]) -> None:
        next(row for row in found if row["criterion"] == "composite").update(fields)

    return sealed("judgments", change)


J = "judgments"
JUDGMENTS: Cases = {
    "id": (of(J, id="x"), "(x): id is not esconv:0/1#0!emotion!one"),
    "no subject": (of(J, subject_id="esconv:0/1#77"), "judges esconv:0/1#77, which is no candidate of its dialogue"),
    "kind": (of(J, subject="block"), "subject is block, but it is among the judgments of candidates"),
    "prompt": (of(J, prompt_id="esconv:0/3"), "prompt_id is not that of the candidate"),
    "persona": (of(J, persona="nobody"), "persona is not that of the candidate"),
    "subset": (of(J, subset="failed"), "subset is not that of the candidate"),
    "licence": (of(J, license="mit"), "license is not that of the candidate"),
    "k": (of(J, k=9), "k is not that of the candidate"),
    "judge": (
        both(
            of(J, judge_name="me", id="esconv:0/1#0!emotion!me"),
            counted(J, "rows", "one emotion"),
            counted(J, "rows", "me emotion", 1),
        ),
        "judge_name 'me' is none of the judges of the provenance (one, two)",
    ),
    "model": (
        row(J, lambda found: found["judge"].update(revision="r2")),
        "judge is not the model that the provenance names for 'one'",
    ),
    "rubric": (of(J, rubric="agent/0"), "rubric is agent/0, where the provenance gives agent/1"),
    "version": (of(J, schema_version="9"), "schema_version is 9, not 1.1"),
    "method": (of(J, method="composite"), "method is composite, criterion emotion: composite is both or neither"),
    "value": (of(J, value=math.inf), "value is inf, no number"),
    "levels": (of(J, distribution=[0.5, 0.5]), "distribution has 2 levels, not 5"),
    "sum": (of(J, distribution=[0.3] * 5), "distribution sums to 1.5, not to 1"),
    "score": (of(J, score=1.5), "score is 1.5, where its distribution gives"),
    "mean's distribution": (composite(distribution=[0.2] * 5), "has a distribution, which a mean has not"),
    "mean": (composite(score=1.25), "score is 1.25, but the mean of the criteria is"),
    "order": (sealed(J, swap), "is not in the order of the candidates"),
    "twice": (
        both(sealed(J, lambda found: found.insert(1, found[0])), counted(J, "rows", "one emotion", 1)),
        "the id is there twice",
    ),
    "rows gone": (
        both(sealed(J, lambda found: found.pop(5)), counted(J, "rows", "one composite")),
        "but their mean is missing",
    ),
    "criterion gone": (
        both(sealed(J, lambda found: found.pop(1)), counted(J, "rows", "one empathy")),
        "but one has no score of esconv:0/1#0 under",
    ),
    "counts": (counted(J, "rows", "two relevance"), "the summary counts"),
    "judge not asked for": (
        summary(J, lambda found: found["rows"].update({"three emotion": 1})),
        "the summary counts 1 rows of three emotion, the files have 0",
    ),
    "limit": (options(J, limit=10), "prompts, but the options say limit 10"),
}


@pytest.mark.parametrize("name", JUDGMENTS)
def test_judgments(labelled: Path, name: str) -> None:
    check_one(labelled, "judgments", JUDGMENTS[name])


def test_scores_and_shares_out_of_range_are_a_problem_of_the_schema(labelled: Path) -> None:
    check_one(labelled, "schema", (of(J, score=5.5), "score: Input should be less than or equal to 5"))


def test_a_label_mass_above_one_is_a_problem_of_the_schema(labelled: Path) -> None:
    check_one(labelled, "schema", (of(J, label_mass=1.5), "label_mass: Input should be less than or equal to 1"))


BLOCK_JUDGMENTS: Cases = {
    "no block": (of(J, BLOCKS, subject_id="esconv:0/1+4"), "esconv:0/1+4, which is no block of its dialogue"),
    "persona": (of(J, BLOCKS, persona="anchor"), "persona is not that of the block"),
    "prompt": (of(J, BLOCKS, prompt_id="esconv:0"), "prompt_id is not that of the block"),
    "score": (of(J, BLOCKS, score=1.5), "score is 1.5, where its distribution gives"),
    "counts": (counted("block-judgments", "rows", "one group-fidelity"), "rows of one group-fidelity"),
}


@pytest.mark.parametrize("name", BLOCK_JUDGMENTS)
def test_block_judgments(labelled: Path, name: str) -> None:
    check_one(labelled, "block-judgments", BLOCK_JUDGMENTS[name])
