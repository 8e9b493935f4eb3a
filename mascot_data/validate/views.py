"""The views against their dialogues: every turn has its rows, and a prompt shows just what had been said."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from mascot_data.build.directives import actions, tones
from mascot_data.build.projection import Message, Said, from_director_view, from_speaker_view
from mascot_data.build.views import DIRECTOR
from mascot_data.records import SCHEMA_VERSION, Block, BlockTurn, Dialogue, DirectorTurn, SpeakerTurn
from mascot_data.validate.heard import OWN, Names, heard_problem
from mascot_data.validate.reading import Problem, ViewRows, dialogue_places

Found = Iterator[tuple[str, str]]
"""Where, and what is wrong."""


class SplitViews:
    """The views of a split beside its dialogues, which ``check`` takes in their order."""

    def __init__(self, root: Path, split: str, names: Names, rosters: dict[str, set[str]]) -> None:
        self.problems: list[Problem] = []
        self._names, self._rosters = names, rosters
        self._places = dialogue_places(root, split) or {}
        self._speaker = ViewRows(root, "speaker_turns", split, SpeakerTurn, self._places, self.problems)
        self._director = ViewRows(root, "director_turns", split, DirectorTurn, self._places, self.problems)
        self._blocks = ViewRows(root, "blocks", split, Block, self._places, self.problems)

    def check(self, dialogue: Dialogue) -> None:
        """Enter what is wrong with the rows of a dialogue."""
        place = self._places.get(dialogue.id)
        if place is not None:
            self.problems += [Problem("views", where, what) for where, what in self._check(dialogue, place)]

    def end(self) -> None:
        """Enter the rows that are left when all dialogues are through."""
        for view in (self._speaker, self._director, self._blocks):
            view.take(len(self._places))

    def _check(self, dialogue: Dialogue, place: int) -> Found:
        agents = [turn.index for turn in dialogue.turns if turn.directive]
        speaker = self._speaker.take(place)
        yield from _gaps(dialogue, "speaker_turns", agents, [r.turn_index for _, r in speaker], self._speaker.whole)
        for where, turn in speaker:
            yield from ((where, what) for what in speaker_problems(dialogue, turn, self._names))
        director = self._director.take(place)
        yield from _gaps(dialogue, "director_turns", agents, [r.turn_index for _, r in director], self._director.whole)
        for where, decision in director:
            yield from ((where, what) for what in self._decision_problems(dialogue, decision))
        blocks = [(where, block) for where, block in self._blocks.take(place) if block.origin == "corpus"]
        shown = [index for _, block in blocks for index in range(block.first_turn, block.first_turn + len(block.turns))]
        yield from _gaps(dialogue, "blocks", range(len(dialogue.turns)), shown, self._blocks.whole)
        for where, block in blocks:
            yield from ((where, what) for what in block_problems(dialogue, block, self._names))

    def _decision_problems(self, dialogue: Dialogue, row: DirectorTurn) -> Iterator[str]:
        yield from director_problems(dialogue, row, self._names)
        before = dialogue.turns[row.turn_index - 1].persona if 0 < row.turn_index <= len(dialogue.turns) else None
        roster = {*row.candidates_agents, *([before] if before else [])}
        if roster != self._rosters.setdefault(dialogue.domain, roster):
            yield "candidates_agents and the speaker before are not the roster of the other rows"


def _gaps(dialogue: Dialogue, config: str, expected: Sequence[int], found: list[int], whole: bool) -> Found:
    if found == list(expected):
        return
    for index in sorted({*expected, *found}):
        count = found.count(index)
        if index not in expected:
            yield f"data/{config} ({dialogue.id})", f"turn {index} has a row, but is no turn that should"
        elif count > 1 or (whole and not count):
            yield f"data/{config} ({dialogue.id})", f"turn {index} is in {count} rows, not in one"


def speaker_problems(dialogue: Dialogue, row: SpeakerTurn, names: Names) -> Iterator[str]:
    """Yield what is wrong with a Speaker's turn of this dialogue."""
    if row.turn_index >= len(dialogue.turns) or not (asked := dialogue.turns[row.turn_index].directive):
        return
    turn = dialogue.turns[row.turn_index]
    yield from _head_problems(dialogue, row, f"{dialogue.id}/{row.turn_index}")
    if (row.persona, row.directive, row.flags) != (turn.persona, asked, turn.flags):
        yield "persona, directive or flags are not those of the turn"
    if [(message.role, message.content) for message in row.completion] != [("assistant", turn.text)]:
        yield "completion is not one assistant message with the turn's text"
    prompt = _messages(row)
    yield from _shape_problems(prompt)
    said = from_speaker_view(prompt[1:], OWN)
    if said[-1:] != [Said(DIRECTOR, f"{asked.action}; {asked.tone}")]:
        yield "its prompt does not end with the Director's line"
    yield from _context_problems(dialogue, row, row.turn_index, said[:-1], names, turn.speaker)


def director_problems(dialogue: Dialogue, row: DirectorTurn, names: Names) -> Iterator[str]:
    """Yield what is wrong with a Director's decision in this dialogue."""
    if row.turn_index >= len(dialogue.turns) or not (asked := dialogue.turns[row.turn_index].directive):
        return
    turn = dialogue.turns[row.turn_index]
    yield from _head_problems(dialogue, row, f"{dialogue.id}/{row.turn_index}")
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
    yield from _room_problems(dialogue, row, row.turn_index, names)


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


def block_problems(dialogue: Dialogue, row: Block, names: Names) -> Iterator[str]:
    """Yield what is wrong with a block of this dialogue."""
    end = row.first_turn + len(row.turns)
    if end > len(dialogue.turns):
        return
    yield from _head_problems(dialogue, row, f"{dialogue.id}/{row.first_turn}+{len(row.turns)}")
    turns = [
        BlockTurn(speaker=turn.speaker, kind=turn.kind, persona=turn.persona, text=turn.text, directive=turn.directive)
        for turn in dialogue.turns[row.first_turn : end]
    ]
    if not turns or row.turns != turns:
        yield "turns are not those of the dialogue"
    if row.rollout is not None:
        yield "a block of the corpus has a rollout"
    yield from _room_problems(dialogue, row, row.first_turn, names)


def _head_problems(dialogue: Dialogue, row: SpeakerTurn | DirectorTurn | Block, expected: str) -> Iterator[str]:
    if row.id != expected:
        yield f"id is not {expected}"
    if (row.subset, row.license, row.schema_version) != (dialogue.subset, dialogue.license, SCHEMA_VERSION):
        yield "subset, license or schema_version are not those of the dialogue"


def _room_problems(dialogue: Dialogue, row: DirectorTurn | Block, end: int, names: Names) -> Iterator[str]:
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
