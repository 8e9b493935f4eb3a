"""A model's labels of the Director's decisions: of turns that are there, legal, and the likeliest of the options."""

import math
from collections.abc import Iterator, Mapping, Sequence

from mascot_data.build.directives import actions, tones
from mascot_data.judge.director import LABELS, legal, likeliest, source_of
from mascot_data.personas import Personas
from mascot_data.records import SCHEMA_VERSION, DirectorLabel, Option
from mascot_data.validate.judgments import NEAR
from mascot_data.validate.parts import Info, Made
from mascot_data.validate.preferences import Plain


class LabelCounts(Made):
    """The model, and how many rows there are by split."""

    models: list[Info]
    rows: dict[str, int]


class LabelsMade(Made):
    """What labels were made with; see ``judge.director``. ``all`` tells that every turn was to be labelled."""

    judge: str
    all: bool
    personas: str
    splits: list[str]
    limit: int | None
    summary: LabelCounts


def director_label_problems(
    row: DirectorLabel, made: LabelsMade, turns: Mapping[str, Plain], cards: Personas | None
) -> Iterator[str]:
    """Yield what is wrong with a label.

    Args:
        row: The label.
        made: What it was made with.
        turns: The rows of ``director_turns`` of its dialogue, by id.
        cards: The cards that it was made with; None: not known.
    """
    turn = turns.get(row.id)
    if turn is None:
        yield "is of no row of director_turns of its dialogue; run  mascot-data judge --task director  again"
        return
    for name in ("dialogue_id", "turn_index", "subset", "license"):
        if getattr(row, name) != turn[name]:
            yield f"{name} is not that of the turn"
    if row.schema_version != SCHEMA_VERSION:
        yield f"schema_version is {row.schema_version}, not {SCHEMA_VERSION}"
    for name, value in row.corpus:
        if value != turn[name]:
            yield f"corpus.{name} is not that of the turn"
    if not made.all and turn["action_origin"] == "human":
        yield "the turn's action follows a human act, and the options do not say all"
    infos = [info.fields for info in made.summary.models]
    if row.judge_name != made.judge or [tuple(row.judge.model_dump().values())] != infos:
        yield f"judge_name or judge is not the model of the provenance ({made.judge})"
    wrong = list(_agent_problems(row, made, turn))
    yield from wrong or _directive_problems(row, cards)


def _agent_problems(row: DirectorLabel, made: LabelsMade, turn: Plain) -> Iterator[str]:
    if row.agent_from != (wanted := "model" if made.all else "corpus"):
        yield f"agent_from is {row.agent_from}, but by the options it is {wanted}"
    if [option.name for option in row.agent_options] != turn["candidates_agents"]:
        yield "agent_options are not the candidates_agents of the turn"
    elif row.agent not in turn["candidates_agents"]:
        yield f"agent {row.agent} is not one of candidates_agents"
    elif problem := _sum_problem("agent", row.agent_options):
        yield problem
    elif made.all and row.agent != (best := _likeliest(row.agent_options)):
        yield f"agent is {row.agent}, but the likeliest is {best}"
    elif not made.all and row.agent != turn["agent"]:
        yield f"agent is {row.agent}, but by the options it is that of the turn, {turn['agent']}"


def _directive_problems(row: DirectorLabel, cards: Personas | None) -> Iterator[str]:
    source = source_of(row.id)
    known = cards is not None and row.agent in cards.cards
    lists = legal(cards, source, row.agent) if cards is not None and known else (actions(source), tones([row.agent]))
    for name, allowed in zip(LABELS[1:], lists, strict=True):
        options: Sequence[Option] = getattr(row, f"{name}_options")
        names, chosen = [option.name for option in options], getattr(row, name)
        right = names == list(allowed) if known else names and len(names) == len({*names} & {*allowed})
        if not right:
            yield f"{name}_options are not the legal {name}s of {row.agent}"
        elif chosen not in names:
            yield f"{name} {chosen!r} is not legal for {row.agent}"
        elif problem := _sum_problem(name, options):
            yield problem
        elif chosen != (best := _likeliest(options)):
            yield f"{name} is {chosen!r}, but the likeliest is {best!r}"


def _sum_problem(name: str, options: Sequence[Option]) -> str | None:
    total = math.fsum(option.probability for option in options)
    return None if math.isclose(total, 1, abs_tol=NEAR) else f"{name}_options sum to {total:.6g}, not to 1"


def _likeliest(options: Sequence[Option]) -> str:
    return likeliest(tuple((option.name, option.probability) for option in options))
