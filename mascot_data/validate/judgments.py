"""The judgments against what they judge, against each other, and against what their provenance says."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from mascot_data.preferences.scores import Scored
from mascot_data.records import SCHEMA_VERSION, JudgeModel, Judgment
from mascot_data.records.judgments import COMPOSITE
from mascot_data.validate.parts import Made

NEAR = 1e-6
"""How far a number may be from the one that it is computed as."""

LEVELS = 5
Of = Sequence[tuple[str, Judgment]]
"""The judgments of a dialogue, each with its place."""


class StatedJudge(Made):
    """A judge; see ``judge.verdict.JudgeInfo``."""

    name: str
    model: str
    revision: str
    backend: str
    dtype: str


class JudgmentCounts(Made):
    """Who judged, and how many rows there are of each judge and criterion."""

    judges: list[StatedJudge]
    rows: dict[str, int]


class JudgmentsMade(Made):
    """What judgments were made with; see ``judge.run``."""

    subject: str
    rubric: str
    splits: list[str]
    limit: int | None
    summary: JudgmentCounts

    def infos(self) -> dict[str, JudgeModel]:
        """Return the model of each judge."""
        return {judge.name: JudgeModel(**judge.model_dump(exclude={"name"})) for judge in self.summary.judges}

    def criteria(self, judge: str) -> set[str]:
        """Return the criteria that a judge gave scores under, with composite where it gave all."""
        named = (key.rpartition(" ") for key in self.summary.rows)
        return {criterion for name, _, criterion in named if name == judge}


class Subject(NamedTuple):
    """What can be judged: a candidate or a block."""

    prompt_id: str
    persona: str | None
    subset: str
    license: str
    k: int | None


class Scores:
    """The scores of a dialogue's subjects, for what was made of them; ``doubted`` are subjects with a wrong row."""

    def __init__(self, rows: Of = (), doubted: Collection[str] = (), *, known: bool = False) -> None:
        self._doubted, self._known = doubted, known
        self._scores: dict[str, list[Scored]] = {}
        for _, row in rows:
            shares = None if row.distribution is None else tuple(row.distribution)
            scored = Scored(row.judge_name, row.criterion, row.score, shares)
            self._scores.setdefault(row.subject_id, []).append(scored)

    def of(self, subject: str, judges: Sequence[str] | str) -> list[Scored] | None:
        """Return the scores that these judges (``all``: every one) gave a subject; None where they are not known."""
        if not self._known or subject in self._doubted:
            return None
        return [scored for scored in self._scores.get(subject, ()) if judges == "all" or scored.judge in judges]


def judgment_problems(
    rows: Of, subjects: Mapping[str, Subject], made: JudgmentsMade, *, whole: bool = True
) -> tuple[list[tuple[str, str]], set[str]]:
    """Return what is wrong with the judgments of a dialogue, and the subjects whose scores it leaves in doubt.

    Args:
        rows: The judgments.
        subjects: The candidates or blocks of the dialogue by id, in their order.
        made: What the judgments were made with.
        whole: Whether all rows of the dialogue could be read; without them no mean is checked.
    """
    kind = "candidate" if made.subject == "candidates" else "block"
    infos, order = made.infos(), {subject: number for number, subject in enumerate(subjects)}
    found: list[tuple[str, str]] = []
    doubted: set[str] = set()
    seen: set[str] = set()
    last = 0
    for where, row in rows:
        subject = subjects.get(row.subject_id)
        if row.id in seen:
            wrong = ["the id is there twice"]
        elif subject is None:
            wrong = [f"judges {row.subject_id}, which is no {kind} of its dialogue; run  mascot-data judge  again"]
        else:
            wrong = [f"is not in the order of the {kind}s"] if order[row.subject_id] < last else []
            wrong += _row_problems(row, kind, subject, made, infos)
            last = order[row.subject_id]
        seen.add(row.id)
        found += [(where, what) for what in wrong]
        if wrong:
            doubted |= {row.subject_id, row.id.partition("!")[0]}
    if whole:
        means = [one for one in _mean_problems(rows, made) if one[0] not in doubted]
        found += [(where, what) for _, where, what in means]
        doubted |= {subject for subject, _, _ in means}
    return found, doubted


def _row_problems(
    row: Judgment, kind: str, subject: Subject, made: JudgmentsMade, infos: Mapping[str, JudgeModel]
) -> Iterator[str]:
    if row.id != (name := f"{row.subject_id}!{row.criterion}!{row.judge_name}"):
        yield f"id is not {name}"
    if row.subject != kind:
        yield f"subject is {row.subject}, but it is among the judgments of {made.subject}"
    for name, value in subject._asdict().items():
        if getattr(row, name) != value:
            yield f"{name} is not that of the {kind}"
    if row.judge_name not in infos:
        yield f"judge_name {row.judge_name!r} is none of the judges of the provenance ({', '.join(infos)})"
    elif row.judge != infos[row.judge_name]:
        yield f"judge is not the model that the provenance names for {row.judge_name!r}"
    if row.rubric != made.rubric:
        yield f"rubric is {row.rubric}, where the provenance gives {made.rubric}"
    if row.schema_version != SCHEMA_VERSION:
        yield f"schema_version is {row.schema_version}, not {SCHEMA_VERSION}"
    if (row.method == COMPOSITE) != (row.criterion == COMPOSITE):
        yield f"method is {row.method}, criterion {row.criterion}: composite is both or neither"
    yield from _score_problems(row)


def _score_problems(row: Judgment) -> Iterator[str]:
    if row.value is not None and not math.isfinite(row.value):
        yield f"value is {row.value}, no number"
    if (shares := row.distribution) is None:
        return
    if row.criterion == COMPOSITE:
        yield "has a distribution, which a mean has not"
    elif len(shares) != LEVELS:
        yield f"distribution has {len(shares)} levels, not {LEVELS}"
    elif not math.isclose(total := math.fsum(shares), 1, abs_tol=NEAR):
        yield f"distribution sums to {total:.6g}, not to 1"
    elif not math.isclose(row.score, mean := expected(shares), abs_tol=NEAR):
        yield f"score is {row.score:.6g}, where its distribution gives {mean:.6g}"


def expected(shares: Sequence[float]) -> float:
    """Return the expected level, 1 to 5, of a distribution."""
    return math.fsum(level * share for level, share in enumerate(shares, start=1))


def _mean_problems(rows: Of, made: JudgmentsMade) -> Iterator[tuple[str, str, str]]:
    """Yield where the mean of a judge's criteria is another, is missing, or is there without all of them."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    first: dict[tuple[str, str], str] = {}
    for where, row in rows:
        key = row.subject_id, row.judge_name
        scores.setdefault(key, {})[row.criterion] = row.score
        first[key] = where if row.criterion == COMPOSITE else first.get(key, where)
    wanted = {judge: made.criteria(judge) for _, judge in scores}
    for (subject, judge), found in scores.items():
        given = {name: score for name, score in found.items() if name != COMPOSITE}
        where, missing = first[subject, judge], wanted[judge] - given.keys() - {COMPOSITE}
        if COMPOSITE not in found:
            if COMPOSITE in wanted[judge] and not missing:
                yield subject, where, f"{judge} scored {subject} under every criterion, but their mean is missing"
        elif missing or not given:
            yield subject, where, f"is a mean, but {judge} has no score of {subject} under {_names(missing)}"
        elif not math.isclose(found[COMPOSITE], mean := math.fsum(given.values()) / len(given), abs_tol=NEAR):
            yield subject, where, f"score is {found[COMPOSITE]:.6g}, but the mean of the criteria is {mean:.6g}"


def _names(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "any criterion"
