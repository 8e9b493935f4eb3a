"""What a schema cannot say about a row."""

from collections.abc import Iterator

from mascot_data.build.directives import actions, tones
from mascot_data.records import FLAGS, SCHEMA_VERSION, Dialogue, Turn


def row_problems(row: Dialogue) -> Iterator[str]:
    """Yield what is wrong with a dialogue that fits the schema."""
    if row.id != f"{row.source}:{row.source_id}":
        yield "id is not source:source_id"
    if row.schema_version != SCHEMA_VERSION:
        yield f"schema_version is {row.schema_version}, not {SCHEMA_VERSION}"
    speakers = {speaker.id: speaker for speaker in row.speakers}
    if len(speakers) != len(row.speakers):
        yield "two speakers have one id"
    if list(speakers) != list(dict.fromkeys(turn.speaker for turn in row.turns)):
        yield "speakers are not exactly those of the turns, in the order in which they first speak"
    for position, turn in enumerate(row.turns):
        if turn.index != position:
            yield f"turn {position} has index {turn.index}"
        speaker = speakers.get(turn.speaker)
        if speaker and (speaker.kind, speaker.persona) != (turn.kind, turn.persona):
            yield f"turn {position}: kind and persona are not those of its speaker"
        for what in turn_problems(turn, row.source):
            yield f"turn {position}: {what}"
    yield from _flag_problems(row)
    numbers = [number for turn in row.turns for number in turn.source_turns]
    if len(set(numbers)) != len(numbers):
        yield "an utterance is in two turns"
    if numbers != sorted(numbers):
        yield "the turns are not in the order of their utterances"


def _flag_problems(row: Dialogue) -> Iterator[str]:
    if unknown := set(row.flags) - FLAGS.keys():
        yield f"unknown flags {sorted(unknown)}"
    if row.flags != sorted(set(row.flags)):
        yield "flags are not sorted or not unique"
    if not {flag for turn in row.turns for flag in turn.flags} <= set(row.flags):
        yield "a turn has a flag that the dialogue lacks"


def turn_problems(turn: Turn, source: str) -> Iterator[str]:
    """Yield what is wrong with a turn by itself."""
    if not turn.text.strip():
        yield "has no text"
    if (turn.kind == "agent") != (turn.persona is not None):
        yield "a persona belongs to agent turns, and to all of them"
    if (turn.kind == "agent") != (turn.directive is not None):
        yield "a directive belongs to agent turns, and to all of them"
    if turn.directive and turn.directive.agent != turn.persona:
        yield f"the directive's agent {turn.directive.agent} is not the persona {turn.persona}"
    if turn.directive and turn.directive.action not in actions(source):
        yield f"action {turn.directive.action!r} is not on the closed list"
    if turn.directive and turn.directive.tone not in tones([turn.directive.agent]):
        yield f"tone {turn.directive.tone!r} is not one of {turn.directive.agent}'s"
    if bool(turn.acts) != (turn.acts_origin is not None):
        yield "acts and acts_origin do not go together"
    if not turn.source_turns and turn.source_query is None:
        yield "says not where it comes from: no source turns and no query"
    if any(span.last < span.first for span in turn.evidence):
        yield "a span of the evidence ends before it begins"
    yield from _source_problems(turn)


def _source_problems(turn: Turn) -> Iterator[str]:
    count = len(turn.source_turns)
    if turn.source_texts and len(turn.source_texts) != count:
        yield "source_texts and source_turns differ in length"
    if count and not turn.source_texts and len(turn.text.split("\n")) != count:
        yield "the raw texts cannot be told from the text"
    if turn.source_speakers and len(turn.source_speakers) != count:
        yield "source_speakers and source_turns differ in length"
