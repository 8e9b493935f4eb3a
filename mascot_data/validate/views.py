"""The views against their dialogues: every turn has its rows, and a prompt shows just what had been said."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mascot_data.build.added import ROLLOUTS, built_part
from mascot_data.records import Block, Dialogue, DirectorTurn, SpeakerTurn
from mascot_data.validate.heard import Names
from mascot_data.validate.reading import Problem, ViewRows
from mascot_data.validate.rollouts import RolloutsMade, rollout_problems
from mascot_data.validate.view_rows import block_problems, director_problems, speaker_problems

Found = Iterator[tuple[str, str]]
"""Where, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What holds for all rows: turns of a block, names of the cards, the roster of each domain.

    ``rollouts`` is what rollouts were made with; None when there are none to check.
    """

    block_turns: int
    rollouts: RolloutsMade | None = None
    names: Names = field(default_factory=Names)
    rosters: dict[str, set[str]] = field(default_factory=dict)


class SplitViews:
    """The views of a split beside its dialogues, which ``check`` takes in their order."""

    def __init__(self, root: Path, split: str, places: Mapping[str, int], shared: Shared) -> None:
        self.problems: list[Problem] = []
        self._places, self._shared = places, shared
        self._speaker = ViewRows(root, built_part("speaker_turns"), split, SpeakerTurn, places, self.problems)
        self._director = ViewRows(root, built_part("director_turns"), split, DirectorTurn, places, self.problems)
        self._blocks = ViewRows(root, built_part("blocks"), split, Block, places, self.problems)
        self._rollouts = (
            ViewRows(root, ROLLOUTS, split, Block, places, self.problems, check=ROLLOUTS.name)
            if shared.rollouts
            else None
        )
        self._system: str | None = None

    def check(self, dialogue: Dialogue) -> None:
        """Enter what is wrong with the rows of a dialogue."""
        place = self._places[dialogue.id]
        self.problems += [Problem("views", where, what) for where, what in self._check(dialogue, place)]
        self.problems += [Problem(ROLLOUTS.name, where, what) for where, what in self._check_rollouts(dialogue, place)]

    def skip(self, dialogue: str | None) -> None:
        """Pass over the rows of a dialogue that cannot be read."""
        self._take_all(self._places.get(dialogue or "", -1))

    def end(self) -> None:
        """Enter the rows that are left when all dialogues are through."""
        self._take_all(len(self._places))

    def _take_all(self, place: int) -> None:
        for view in (self._speaker, self._director, self._blocks, self._rollouts):
            if view is not None:
                view.take(place)

    def _check(self, dialogue: Dialogue, place: int) -> Found:
        agents = [turn.index for turn in dialogue.turns if turn.directive]
        for view in (self._speaker, self._director, self._blocks) if agents else ():
            yield from view.needed()
        speaker = self._speaker.take(place)
        yield from _gaps(dialogue, "speaker_turns", agents, [r.turn_index for _, r in speaker], self._speaker.whole)
        for where, turn in speaker:
            yield from ((where, what) for what in speaker_problems(dialogue, turn, self._shared.names))
        director = self._director.take(place)
        yield from _gaps(dialogue, "director_turns", agents, [r.turn_index for _, r in director], self._director.whole)
        for where, decision in director:
            yield from ((where, what) for what in self._decision_problems(dialogue, decision))
        self._system = next((row.prompt[0].content for _, row in director if row.prompt), None)
        blocks = self._blocks.take(place)
        size = self._shared.block_turns
        firsts = [first for first in range(0, len(dialogue.turns), size) if {*range(first, first + size)} & {*agents}]
        yield from _gaps(dialogue, "blocks", firsts, [block.first_turn for _, block in blocks], self._blocks.whole)
        for where, block in blocks:
            yield from ((where, what) for what in block_problems(dialogue, block, size, self._shared.names))

    def _check_rollouts(self, dialogue: Dialogue, place: int) -> Found:
        made, roster = self._shared.rollouts, self._shared.rosters.get(dialogue.domain)
        if made is None or self._rollouts is None:
            return
        seen: set[str] = set()
        for where, row in self._rollouts.take(place):
            if row.id in seen:
                yield where, "the id is there twice"
            seen.add(row.id)
            found = rollout_problems(dialogue, row, made, self._shared.names, roster, self._system)
            yield from ((where, what) for what in found)

    def _decision_problems(self, dialogue: Dialogue, row: DirectorTurn) -> Iterator[str]:
        yield from director_problems(dialogue, row, self._shared.names)
        before = dialogue.turns[row.turn_index - 1].persona if 0 < row.turn_index <= len(dialogue.turns) else None
        roster = {*row.candidates_agents, *([before] if before else [])}
        if roster != self._shared.rosters.setdefault(dialogue.domain, roster):
            yield "candidates_agents and the speaker before are not the roster of the other rows"


def _gaps(dialogue: Dialogue, config: str, expected: Sequence[int], found: list[int], whole: bool) -> Found:
    if found == list(expected):
        return
    for index in sorted({*expected, *found}):
        count = found.count(index)
        if index not in expected:
            yield f"data/{config} ({dialogue.id})", f"turn {index} has a row that should not be there"
        elif count > 1 or (whole and not count):
            yield f"data/{config} ({dialogue.id})", f"turn {index} has {count} rows, not one"
