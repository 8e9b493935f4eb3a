"""What one block adds to each measure that is a mean over turns, pairs or blocks."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mascot_data.stats.echo import agreement_opener, echo, merely_agrees, other_angle
from mascot_data.stats.embedding import Vectors
from mascot_data.stats.measure import Sums
from mascot_data.stats.redundancy import block_redundancy
from mascot_data.stats.turn_taking import longest_run, roster_share, speaker_entropy

FORMS = {
    "agrees_with_person": "no agent turn follows a person's in its block",
    "agrees_with_agent": "no agent turn follows another agent's in its block",
    "merely_agrees": "no agent turn follows a turn in its block",
    "other_angle": "no agent turn",
    "echo_of_before": "no agent turn of two words follows a turn in its block",
    "echo_of_agents": "no two agents speak in one block",
}
"""Measures of agreement, and why there can be no value."""
TURN_TAKING = {
    "speaker_entropy": "no block of two agent turns, or one agent only",
    "roster_share": "no agent turn, or one agent only",
    "longest_run": "no agent turn",
}
"""Measures of who speaks, and why there can be no value."""
MEANING = {
    "redundancy": "no two agents speak in one block",
    "redundancy_most": "no two agents speak in one block",
    "redundancy_earlier": "no block of two agent turns",
    "similar_to_agent": "no block of two agent turns",
}
"""Measures of meaning, and why there can be no value."""


class Spoken(NamedTuple):
    """A turn; ``agent`` is its persona (or its speaker, where an agent has none), None for people."""

    agent: str | None
    text: str


class Exchange(NamedTuple):
    """The turns of a block; blocks of one dialogue are no independent evidence."""

    dialogue: str
    turns: list[Spoken]

    @property
    def said(self) -> list[Spoken]:
        """The agent turns."""
        return [turn for turn in self.turns if turn.agent is not None]

    @property
    def speakers(self) -> list[str]:
        """The agent of each agent turn."""
        return [turn.agent for turn in self.turns if turn.agent is not None]


def exchange(row: Mapping[str, Any]) -> Exchange:
    """Read a row of ``blocks``."""
    turns = row["turns"]
    agents = [turn["persona"] or turn["speaker"] if turn["kind"] == "agent" else None for turn in turns]
    return Exchange(row["dialogue_id"], [Spoken(a, turn["text"]) for a, turn in zip(agents, turns, strict=True)])


def forms(block: Exchange) -> Sums:
    """Count the forms of agreement; a block's first turn has none before it that could be seen."""
    found: dict[str, tuple[float, float]] = {}
    for index, (agent, text) in enumerate(block.turns):
        if agent is None:
            continue
        _add(found, "other_angle", other_angle(text))
        others = [turn.text for turn in block.turns[:index] if turn.agent not in (None, agent)]
        _add(found, "echo_of_agents", echo(text, others))
        if index:
            before = block.turns[index - 1]
            _add(found, "merely_agrees", merely_agrees(text, before.text))
            _add(found, "echo_of_before", echo(text, [before.text]))
            if before.agent != agent:
                kind = "person" if before.agent is None else "agent"
                _add(found, f"agrees_with_{kind}", agreement_opener(text, before.text) is not None)
    return found


def turn_taking(block: Exchange, roster: int) -> Sums:
    """Measure who speaks; ``roster`` is how many agents could."""
    found: dict[str, tuple[float, float]] = {}
    if speakers := block.speakers:
        _add(found, "speaker_entropy", speaker_entropy(speakers, roster).value)
        _add(found, "roster_share", roster_share(speakers, roster).value)
        _add(found, "longest_run", longest_run(speakers))
    return found


def meaning(block: Exchange, vectors: Vectors) -> Sums:
    """Compare the agent turns; ``vectors`` has a row for each of them."""
    found: dict[str, tuple[float, float]] = {}
    cosines = block_redundancy(vectors, block.speakers)
    for name, values in (
        ("redundancy", cosines.others),
        ("redundancy_most", [max(cosines.others)] if cosines.others else []),
        ("redundancy_earlier", cosines.earlier),
        ("similar_to_agent", cosines.previous),
    ):
        for value in values:
            _add(found, name, value)
    return found


def _add(found: dict[str, tuple[float, float]], name: str, value: float | None) -> None:
    """Count one more case, unless its value is not defined."""
    if value is not None:
        top, bottom = found.get(name, (0.0, 0.0))
        found[name] = (top + value, bottom + 1)
