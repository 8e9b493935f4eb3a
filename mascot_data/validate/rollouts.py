"""The rollouts against the dialogues they start from, and against what their provenance says they were made with."""

import math
from collections.abc import Iterator
from itertools import groupby

from mascot_data.build.directives import actions, tones
from mascot_data.generate.scenes import opening_turns
from mascot_data.records import Block, BlockTurn, Dialogue, Rollout
from mascot_data.validate.heard import Names
from mascot_data.validate.parts import Info, Made
from mascot_data.validate.view_rows import head_problems, room_problems

_PARTS = ("speaker", "director", "user")
_DIRECTED = ("mascot", "mascot-p")
_IN_TURN = (*_DIRECTED, "mascot-c")
_PERSONAS = (*_IN_TURN, "few-shot-cot")
_FINISHED = ("stop", "length", "speaker-tag")


class RolloutsMade(Made):
    """What rollouts were made with; see ``generate.rollouts``."""

    modes: list[str]
    turns: int
    agents_per_turn: int
    temperature: float
    top_p: float
    max_tokens: int
    director_temperature: float
    profiles: list[str] | str
    seed: int
    prompts_version: str
    personas: str
    number: int
    infos: dict[str, Info]

    def models(self) -> list[tuple[object, ...]]:
        """Return what the models of a row must be."""
        sampling = (self.temperature, self.top_p, self.max_tokens)
        choosing = (self.director_temperature, 1.0, 0)
        return [
            (part, *self.infos[part].fields, *(choosing if part == "director" else sampling))
            for part in _PARTS
            if part in self.infos
        ]


def rollout_problems(
    dialogue: Dialogue,
    row: Block,
    made: RolloutsMade,
    names: Names,
    roster: set[str] | None,
    director: str | None,
) -> Iterator[str]:
    """Yield what is wrong with a rollout of this dialogue.

    Args:
        dialogue: The dialogue that it starts from.
        row: The block.
        made: What it was made with.
        names: The names of the cards, as far as they were heard.
        roster: Persona ids of the roster; None: not known.
        director: The Director's system message in this dialogue; None: not known.
    """
    end, how = opening_turns(dialogue), row.rollout
    if end is None:
        yield "its dialogue has no opening: nobody answers a person in it"
        return
    if row.origin != "rollout" or how is None:
        yield "is among the rollouts, but does not say how it was generated"
        return
    name = f"~{how.mode}-{how.user_profile}-{how.number}"
    yield from head_problems(dialogue, row, f"{dialogue.id}/{end}+{len(row.turns)}{name}")
    if row.first_turn != end:
        yield f"first_turn is {row.first_turn}, not {end}, where the dialogue's opening ends"
        return
    yield from room_problems(dialogue, row, end, names)
    if director is not None and [message.content for message in row.prompt[:1]] != [director]:
        yield "its system message is not the Director's"
    yield from _how_problems(how, made)
    yield from _step_problems(row, how)
    yield from _order_problems(row, how, made)
    person = dialogue.turns[end - 1].speaker
    for number, turn in enumerate(row.turns):
        found = _agent_problems(turn, how.mode, roster) if turn.kind == "agent" else _person_problems(turn, person)
        yield from (f"turn {number}: {what}" for what in found)
        yield from (f"turn {number}: {what}" for what in _directive_problems(turn, how.mode, dialogue.source))


def _how_problems(how: Rollout, made: RolloutsMade) -> Iterator[str]:
    if how.mode not in made.modes or how.number >= made.number:
        yield f"mode {how.mode} with number {how.number} was not asked for"
    if isinstance(made.profiles, list) and how.user_profile not in made.profiles:
        yield f"user_profile {how.user_profile} was not asked for"
    for name in ("seed", "agents_per_turn", "prompts_version", "personas"):
        if (found := getattr(how, name)) != (value := getattr(made, name)):
            yield f"rollout.{name} is {found!r}, where the provenance gives {value!r}"
    if [tuple(model.model_dump().values()) for model in how.models] != made.models():
        yield "the models of speaker, director and user are not those of the provenance"


def _step_problems(row: Block, how: Rollout) -> Iterator[str]:
    if len(how.steps) != len(row.turns):
        yield f"has {len(how.steps)} steps for {len(row.turns)} turns"
    for number, step in enumerate(how.steps):
        if step.finish_reason not in _FINISHED:
            yield f"step {number}: finish_reason is {step.finish_reason!r}, none of {', '.join(_FINISHED)}"
        if step.logprob is not None and not -math.inf < step.logprob <= 0:
            yield f"step {number}: logprob is {step.logprob}, not finite and at most 0"


def _order_problems(row: Block, how: Rollout, made: RolloutsMade) -> Iterator[str]:
    """Agents answer in whole rounds, and the person speaks between two rounds."""
    if len(row.turns) < made.turns:
        yield f"has {len(row.turns)} turns, not {made.turns} or more"
    if row.turns and row.turns[0].kind != "agent":
        yield "does not begin with an agent"
    rounds = [(kind, len(list(turns))) for kind, turns in groupby(turn.kind for turn in row.turns)]
    agents = made.agents_per_turn if how.mode in _IN_TURN else None if how.mode in _PERSONAS else 1
    if any(count != (agents or count) if kind == "agent" else count != 1 for kind, count in rounds):
        yield f"its turns are not rounds of {agents or 'several'} agents with one turn of the person between them"
    if how.mode in _IN_TURN and any(
        one.persona is not None and one.persona == other.persona
        for one, other in zip(row.turns, row.turns[1:], strict=False)
    ):
        yield "an agent follows itself"


def _person_problems(turn: BlockTurn, person: str) -> Iterator[str]:
    if (turn.kind, turn.speaker, turn.persona) != ("user", person, None):
        yield f"is neither an agent's nor that of {person!r}, whom the rollout simulates"
    if not turn.text.strip():
        yield "has no text"


def _agent_problems(turn: BlockTurn, mode: str, roster: set[str] | None) -> Iterator[str]:
    if not turn.text.strip():
        yield "has no text"
    if mode not in _PERSONAS:
        if turn.persona is not None:
            yield f"has a persona, which an agent of {mode} has not"
    elif turn.persona is None or turn.persona != turn.speaker:
        yield "its persona is not the agent that speaks"
    elif roster is not None and turn.persona not in roster:
        yield f"{turn.persona} is not on the roster"


def _directive_problems(turn: BlockTurn, mode: str, source: str) -> Iterator[str]:
    asked = turn.directive
    if (asked is not None) != (mode in _DIRECTED and turn.kind == "agent"):
        yield "a directive belongs to the agent turns of modes with a Director, and to all of them"
    if asked is None:
        return
    if asked.agent != turn.persona:
        yield f"the directive's agent {asked.agent} is not the persona {turn.persona}"
    if asked.action not in actions(source) or asked.tone not in tones([asked.agent]):
        yield f"action {asked.action!r} or tone {asked.tone!r} is not on the closed list"
    if asked.origin != "model":
        yield f"the directive's origin is {asked.origin}, not model"
