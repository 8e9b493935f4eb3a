"""What is wrong with one row of a view, beside the dialogue it belongs to."""

import json
from collections.abc import Iterator

from mascot_data.build.directives import actions, tones
from mascot_data.build.projection import Message, Said, from_director_view, from_speaker_view
from mascot_data.build.views import DIRECTOR
from mascot_data.records import SCHEMA_VERSION, Block, BlockTurn, Dialogue, DirectorTurn, SpeakerTurn
from mascot_data.validate.heard import OWN, Names, heard_problem


def speaker_problems(dialogue: Dialogue, row: SpeakerTurn, names: Names) -> Iterator[str]:
    """Yield what is wrong with a Speaker's turn of this dialogue."""
    if row.turn_index >= len(dialogue.turns) or not (asked := dialogue.turns[row.turn_index].directive):
        return
    turn = dialogue.turns[row.turn_index]
    yield from head_problems(dialogue, row, f"{dialogue.id}/{row.turn_index}")
    if (row.persona, row.directive, row.flags) != (turn.persona, asked, turn.flags):
        yield "persona, directive or flags are not those of the turn"
    if [(message.role, message.content) for message in row.completion] != [("assistant", turn.text)]:
        yield "completion is not one assistant message with the turn's text"
    prompt = _messages(row)
    yield from _shape_problems(prompt)
    said = from_speaker_view(prompt, OWN)
    if said[-1:] != [Said(DIRECTOR, f"{asked.action}; {asked.tone}")]:
        yield "its prompt does not end with the Director's line"
    yield from _context_problems(dialogue, row, row.turn_index, said[:-1], names, turn.speaker)


def director_problems(dialogue: Dialogue, row: DirectorTurn, names: Names) -> Iterator[str]:
    """Yield what is wrong with a Director's decision in this dialogue."""
    if row.turn_index >= len(dialogue.turns) or not (asked := dialogue.turns[row.turn_index].directive):
        return
    turn = dialogue.turns[row.turn_index]
    yield from head_problems(dialogue, row, f"{dialogue.id}/{row.turn_index}")
    if (row.agent, row.action, row.tone, row.action_origin) != (asked.agent, asked.action, asked.tone, asked.origin):
        yield "agent, action, tone or action_origin are not those of the turn's directive"
    if row.flags != turn.flags:
        yield "flags are not those of the turn"
    if row.agent_origin not in ("rule", asked.origin) or row.tone_origin != "rule":
        yield "agent_origin or tone_origin is impossible here"
    if row.action not in actions(dialogue.source) or row.tone not in tones([row.agent]):
        yield f"action {row.action!r} or tone {row.tone!r} is not on the closed list"
    before = dialogue.turns[row.turn_index - 1].persona if row.turn_index else None
    yield from _candidate_problems(row, before)
    if not _is_answer(row):
        yield "completion is not one assistant message with the JSON of agent, action and tone"
    yield from room_problems(dialogue, row, row.turn_index, names)


def _candidate_problems(row: DirectorTurn, before: str | None) -> Iterator[str]:
    if row.agent not in row.candidates_agents:
        yield f"agent {row.agent} is not one of candidates_agents"
    if before in row.candidates_agents and before != row.agent:
        yield f"{before} has just spoken, and is in candidates_agents"
    if len(set(row.candidates_agents)) != len(row.candidates_agents):
        yield "an agent is twice in candidates_agents"


def _is_answer(row: DirectorTurn) -> bool:
    if [message.role for message in row.completion] != ["assistant"]:
        return False
    try:
        answer = json.loads(row.completion[0].content)
    except ValueError:
        return False
    return bool(answer == {"agent": row.agent, "action": row.action, "tone": row.tone})


def block_problems(dialogue: Dialogue, row: Block, size: int, names: Names) -> Iterator[str]:
    """Yield what is wrong with a block of this dialogue."""
    yield from head_problems(dialogue, row, f"{dialogue.id}/{row.first_turn}+{len(row.turns)}")
    turns = [
        BlockTurn(speaker=turn.speaker, kind=turn.kind, persona=turn.persona, text=turn.text, directive=turn.directive)
        for turn in dialogue.turns[row.first_turn : row.first_turn + size]
    ]
    if row.turns != turns:
        yield f"turns are not the {len(turns)} of the dialogue from {row.first_turn} on"
    if row.origin != "corpus" or row.rollout is not None:
        yield "a block of the corpus has a rollout"
    yield from room_problems(dialogue, row, row.first_turn, names)


def head_problems(dialogue: Dialogue, row: SpeakerTurn | DirectorTurn | Block, expected: str) -> Iterator[str]:
    """Yield what is wrong with the columns that every view has."""
    if row.id != expected:
        yield f"id is not {expected}"
    if (row.subset, row.license, row.schema_version) != (dialogue.subset, dialogue.license, SCHEMA_VERSION):
        yield "subset, license or schema_version are not those of the dialogue"


def room_problems(dialogue: Dialogue, row: DirectorTurn | Block, end: int, names: Names) -> Iterator[str]:
    """Yield what is wrong with a prompt that shows the room up to a turn, as the Director hears it."""
    prompt = _messages(row)
    if [role for role, _ in prompt] != ["system", "user"] or not prompt[0][1].strip():
        yield "prompt is not a system message and one user message"
    yield from _context_problems(dialogue, row, end, from_director_view(prompt), names, None)


def _context_problems(
    dialogue: Dialogue,
    row: SpeakerTurn | DirectorTurn | Block,
    end: int,
    said: list[Said],
    names: Names,
    me: str | None,
) -> Iterator[str]:
    if row.context_cut + row.context_turns != end:
        yield f"context_turns and context_cut do not add up to {end}"
    elif end and not row.context_turns:
        yield "its prompt shows no turn at all"
    elif problem := heard_problem(dialogue, said, row.context_cut, end, names, me):
        yield problem


def _messages(row: SpeakerTurn | DirectorTurn | Block) -> list[Message]:
    return [(message.role, message.content) for message in row.prompt]


def _shape_problems(prompt: list[Message]) -> Iterator[str]:
    roles = [role for role, _ in prompt]
    if roles[:1] != ["system"] or not prompt[0][1].strip():
        yield "prompt does not begin with a system message"
    if roles[-1:] != ["user"]:
        yield "prompt does not end with a user message"
    talk = roles[1:] if roles[:1] == ["system"] else roles
    if talk != [("user", "assistant")[position % 2] for position in range(len(talk))]:
        yield "the roles of the prompt do not alternate, beginning with the user"
