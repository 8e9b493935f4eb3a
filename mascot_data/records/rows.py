"""The rows of ``dialogues`` as light values: what the build makes, hundreds of thousands of them.

The fields are those of the models in ``dialogue.py``, in the same order (a test keeps them in step); the models say
what they mean and check them.
"""

from typing import NamedTuple

from mascot_data.records.dialogue import Kind, Origin, Source, Valence


class DirectiveRow(NamedTuple):
    """See ``Directive``."""

    agent: str
    action: str
    tone: str
    origin: Origin


class EvidenceRow(NamedTuple):
    """See ``Evidence``."""

    first: int
    last: int


class TurnRow(NamedTuple):
    """See ``Turn``."""

    index: int  # type: ignore[assignment]  # the name of a column, not the method of tuples
    speaker: str
    kind: Kind
    persona: str | None
    text: str
    acts: list[str]
    acts_origin: Origin | None
    source_turns: list[int]
    source_texts: list[str]
    source_speakers: list[str]
    source_query: int | None
    evidence: list[EvidenceRow]
    directive: DirectiveRow | None
    feedback: int | None
    flags: list[str]


class SpeakerRow(NamedTuple):
    """See ``Speaker``."""

    id: str
    kind: Kind
    persona: str | None
    role: str | None
    name: str


class ScenarioRow(NamedTuple):
    """See ``Scenario``."""

    situation: str | None
    emotion: str | None = None
    valence: Valence | None = None
    problem: str | None = None
    topic: str | None = None
    query: str | None = None


class OutcomeRow(NamedTuple):
    """See ``Outcome``."""

    initial_intensity: int | None = None
    final_intensity: int | None = None
    empathy: int | None = None
    relevance: int | None = None
    supporter_relevance: int | None = None


class ExtraRow(NamedTuple):
    """See ``Extra``."""

    name: str
    value: str


class DialogueRow(NamedTuple):
    """See ``Dialogue``."""

    id: str
    source: Source
    source_id: str
    domain: str
    subset: str
    scenario: ScenarioRow
    speakers: list[SpeakerRow]
    turns: list[TurnRow]
    outcome: OutcomeRow
    extra: list[ExtraRow]
    flags: list[str]
    license: str
    schema_version: str
