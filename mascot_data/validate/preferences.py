"""Pairs of replies or of rollouts: what they say of their prompts, their texts, and the judgments they come from."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mascot_data.generate.candidates import plain
from mascot_data.preferences.scores import Compared, compare
from mascot_data.records import SCHEMA_VERSION, Message, Preference
from mascot_data.validate.judgments import NEAR, Scores
from mascot_data.validate.parts import Made

Plain = Mapping[str, Any]
"""A row that others hang on, as plain data."""


class PairOptions(Made):
    """What pairs of any kind are made with."""

    margin: float
    strategy: str
    judges: list[str] | str
    splits: list[str]


class PairCounts(Made):
    """How many pairs and ties there are by split."""

    pairs: dict[str, int]
    ties: dict[str, int]


class PairsMade(PairOptions):
    """What preferences and ties were made with; see ``preferences.run``."""

    summary: PairCounts


class PairsSeen:
    """Which two of a dialogue's replies, or rollouts, are a pair or a tie already."""

    def __init__(self) -> None:
        self._pairs: set[frozenset[str]] = set()
        self._prompts: set[str] = set()

    def problems(self, row: Preference, made: PairOptions, prompt: str | None) -> Iterator[str]:
        """Yield whether two are a pair again, or, where only the best and the worst are to be, another of the prompt.

        ``prompt`` is what both answer; None: not known.
        """
        pair = frozenset((row.chosen_id, row.rejected_id))
        if pair in self._pairs:
            yield "the two are a pair or a tie already"
        elif made.strategy == "best-worst" and prompt in self._prompts:
            yield "is another pair of its prompt, but the options say best-worst"
        self._pairs.add(pair)
        if prompt is not None:
            self._prompts.add(prompt)


def preference_problems(
    row: Preference,
    made: PairsMade,
    turns: Mapping[str, Plain],
    candidates: Mapping[str, Plain],
    scores: Scores,
    *,
    tie: bool,
) -> Iterator[str]:
    """Yield what is wrong with a pair of replies.

    Args:
        row: The pair.
        made: What it was made with.
        turns: The rows of ``speaker_turns`` of its dialogue, by id.
        candidates: The candidates of its dialogue, by id.
        scores: The judgments of its dialogue.
        tie: Whether it is among the ties.
    """
    chosen, rejected = candidates.get(row.chosen_id), candidates.get(row.rejected_id)
    if chosen is None or rejected is None:
        missing = row.chosen_id if chosen is None else row.rejected_id
        yield f"{missing} is no candidate of its dialogue; run  mascot-data pairs  again"
        return
    if chosen is rejected:
        yield "chosen_id and rejected_id are the same candidate"
        return
    if chosen["prompt_id"] != rejected["prompt_id"]:
        yield "chosen and rejected answer two prompts"
        return
    turn = turns.get(chosen["prompt_id"])
    if turn is None:
        yield f"its prompt {chosen['prompt_id']} is no row of speaker_turns of its dialogue"
        return
    if row.id != (name := f"{turn['id']}#{chosen['k']}>{rejected['k']}"):
        yield f"id is not {name}"
    yield from head_problems(row, turn, "the speaker turn")
    mine, theirs = text_of(row.chosen), text_of(row.rejected)
    yield from text_problems(mine, theirs, (mine == chosen["text"], theirs == rejected["text"]), "the candidate's")
    yield from score_problems(row, made, scores, tie=tie)


def head_problems(row: Preference, of: Plain, what: str) -> Iterator[str]:
    """Yield what is wrong with the columns that a pair has from what both answer."""
    for name in ("dialogue_id", "turn_index", "persona", "subset", "license"):
        if getattr(row, name) != of[name]:
            yield f"{name} is not that of {what}"
    if not same_messages(row.prompt, of["prompt"]):
        yield f"prompt is not that of {what}"
    if row.schema_version != SCHEMA_VERSION:
        yield f"schema_version is {row.schema_version}, not {SCHEMA_VERSION}"
    if (row.origin, row.n_annotators) != ("ai", 0):
        yield f"origin is {row.origin} with {row.n_annotators} annotators, but judges made it (ai, 0)"


def same_messages(found: Sequence[Message], expected: Sequence[Plain]) -> bool:
    """Tell whether messages are the same."""
    return [(one.role, one.content) for one in found] == [(one["role"], one["content"]) for one in expected]


def text_of(messages: Sequence[Message]) -> str | None:
    """Return what one assistant message says; None where the messages are something else."""
    return messages[0].content if [one.role for one in messages] == ["assistant"] else None


def text_problems(chosen: str | None, rejected: str | None, right: tuple[bool, bool], whose: str) -> Iterator[str]:
    """Yield whether chosen and rejected, in this order, are not the right texts, or say the same."""
    for name, fits in zip(("chosen", "rejected"), right, strict=True):
        if not fits:
            yield f"{name} is not one assistant message with {whose} text"
    if all(right) and chosen is not None and rejected is not None and plain(chosen) == plain(rejected):
        yield "chosen and rejected say the same"


def score_problems(row: Preference, made: PairOptions, scores: Scores, *, tie: bool) -> Iterator[str]:
    """Yield the first thing that is wrong with the scores of a pair."""
    leads = row.score_gap >= made.margin and row.score_gap > 0
    chosen, rejected = (
        math.fsum(getattr(one, side) for one in row.criteria) / max(1, len(row.criteria))
        for side in ("chosen", "rejected")
    )
    if not math.isclose(row.score_gap, gap := row.chosen_score - row.rejected_score, abs_tol=NEAR):
        yield f"score_gap is {row.score_gap:.6g}, but the scores differ by {gap:.6g}"
    elif leads and tie:
        yield f"score_gap {row.score_gap:.6g} reaches the margin {made.margin:g}: it is no tie"
    elif not leads and not tie:
        yield f"score_gap {row.score_gap:.6g} is below the margin {made.margin:g}: it is a tie"
    elif len({one.name for one in row.criteria}) != len(row.criteria):
        yield "a criterion is there twice"
    elif not math.isclose(row.chosen_score, chosen, abs_tol=NEAR):
        yield f"chosen_score is {row.chosen_score:.6g}, but the mean of its criteria is {chosen:.6g}"
    elif not math.isclose(row.rejected_score, rejected, abs_tol=NEAR):
        yield f"rejected_score is {row.rejected_score:.6g}, but the mean of its criteria is {rejected:.6g}"
    elif made.judges != "all" and not set(row.judges) <= set(made.judges):
        yield f"judges {', '.join(row.judges)} are not those of the options ({', '.join(made.judges)})"
    else:
        yield from _compared_problems(row, made, scores)


def _compared_problems(row: Preference, made: PairOptions, scores: Scores) -> Iterator[str]:
    ones, others = scores.of(row.chosen_id, made.judges), scores.of(row.rejected_id, made.judges)
    if ones is None or others is None:
        return
    again = "run  mascot-data pairs  again"
    compared = compare(ones, others)
    if compared is None:
        yield f"the judgments do not score both under the same criteria; {again}"
    elif set(row.judges) != set(compared.judges):
        yield f"judges are {', '.join(row.judges)}, those of the judgments are {', '.join(compared.judges)}; {again}"
    elif not _same_criteria(row, compared):
        yield f"criteria are not the means of the judgments' scores; {again}"
    elif not math.isclose(row.probability, likely := max(0.5, compared.probability), abs_tol=NEAR):
        yield f"probability is {row.probability:.6g}, where the judgments give {likely:.6g}; {again}"


def _same_criteria(row: Preference, compared: Compared) -> bool:
    found = {one.name: (one.chosen, one.rejected) for one in row.criteria}
    expected = {name: (mine, theirs) for name, mine, theirs in compared.criteria}
    return found.keys() == expected.keys() and all(
        math.isclose(mine, theirs, abs_tol=NEAR)
        for name in found
        for mine, theirs in zip(found[name], expected[name], strict=True)
    )
