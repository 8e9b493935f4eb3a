"""Recast a meeting of QMSum: one dialogue a topic segment, with its queries and their answers.

The people of the meeting are participants. Each query about the segment is a user turn, its answer the turn of the
workplace persona that fits the query. Utterances outside every segment form dialogues without a topic. Queries about
the whole meeting, or about no segment, are asked over its outline, not over its up to 1,800 turns.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import NamedTuple

from mascot_data.build.acts import label_query
from mascot_data.build.directives import meeting_directive
from mascot_data.build.recast import NO_OUTCOME
from mascot_data.build.speech import canonical_names, clean_speech, role_of
from mascot_data.build.turns import Dropped, kept_texts, repeats
from mascot_data.build.voices import USER
from mascot_data.personas import Card
from mascot_data.records.dialogue import SCHEMA_VERSION
from mascot_data.records.rows import DialogueRow, EvidenceRow, ExtraRow, ScenarioRow, SpeakerRow, TurnRow
from mascot_data.sources.conversation import Meeting, Query, Utterance
from mascot_data.sources.qmsum import domain_of

_LETTERED_ROLE = re.compile(r"\b(?:phd|grad|professor|postdoc|undergrad) [a-z]\b")

Spans = list[tuple[int, int]]


class Kept(NamedTuple):
    """An utterance of a meeting that has words: who says it (canonical name), what, and its place among the kept."""

    speaker: str
    text: str
    place: int
    raw: Utterance
    repeated: bool


class Room(NamedTuple):
    """A meeting prepared for recasting: its kept utterances by number, who is who, and who is there (lower case)."""

    meeting: Meeting
    kept: Mapping[int, Kept]
    roles: Mapping[str, str | None]
    names: Mapping[str, str]
    present: Set[str]


def recast_meeting(
    meeting: Meeting, roster: Mapping[str, Card], *, clean: bool = True
) -> tuple[list[DialogueRow], list[Dropped]]:
    """Turn a meeting into dialogues; returns them and the utterances that are in none (blank, or noise only).

    ``roster`` are the workplace cards by id. With ``clean=False`` the transcript's text stays as it is.
    """
    room, dropped = _prepare(meeting, {USER, *roster}, clean)
    segments = [read_spans(topic.spans, len(meeting.utterances)) for topic in meeting.topics]
    covered = [set(_numbers(spans)) for spans, _ in segments]
    homes = [home_of(query, covered, len(meeting.utterances)) for query in meeting.queries]
    rows = []
    for number, (spans, flags) in enumerate(segments):
        others = set().union(*(covered[:number] + covered[number + 1 :]))
        shared = {"overlapping-segment"} if covered[number] & others else set()
        asked = [q for q, home in enumerate(homes) if home == number]
        rows.append(_dialogue(room, roster, str(number), sorted(set(_numbers(spans))), asked, flags | shared, number))
    outside = sorted(room.kept.keys() - set().union(*covered))
    for number, gap in enumerate(_stretches(outside, covered)):
        rows.append(_dialogue(room, roster, f"outside-{number}", gap, [], {"outside-segments"}, None))
    asked = [q for q, home in enumerate(homes) if home is None]
    if asked:
        rows.append(_dialogue(room, roster, "all", [], asked, {"whole-meeting"}, None))
    return rows, dropped


def _prepare(meeting: Meeting, taken: Set[str], clean: bool) -> tuple[Room, list[Dropped]]:
    found = canonical_names({utterance.speaker for utterance in meeting.utterances})
    canonical = {spelling: f"{name} (participant)" if name in taken else name for spelling, name in found.items()}
    kept: dict[int, Kept] = {}
    dropped: list[Dropped] = []
    repeated = repeats(meeting.utterances)
    for number, utterance in enumerate(meeting.utterances):
        text = clean_speech(utterance.text) if clean else utterance.text
        if text and not text.isspace():
            kept[number] = Kept(canonical[utterance.speaker], text, len(kept), utterance, number in repeated)
        else:
            reason = "noise-only" if utterance.text.strip() else "blank"
            dropped.append(Dropped(meeting.name, number, utterance.speaker, utterance.text, reason))
    spellings: dict[str, Counter[str]] = {}
    for spelling, count in Counter(utterance.speaker for utterance in meeting.utterances).items():
        spellings.setdefault(canonical[spelling], Counter())[spelling] = count
    roles = {name: role_of(found) for name, found in spellings.items()}
    names = {name: max(found, key=lambda spelling: (found[spelling], spelling)) for name, found in spellings.items()}
    return Room(meeting, kept, roles, names, {spelling.lower() for spelling in canonical}), dropped


def read_spans(spans: Sequence[Sequence[str]], size: int) -> tuple[Spans, set[str]]:
    """Read raw spans (pairs of 0-based, inclusive numbers, as text); returns the usable ones and flags.

    A bound past the end is cut to the last utterance; a span that is not numeric, or wholly past the end, is lost.
    """
    read: Spans = []
    flags: set[str] = set()
    for span in spans:
        bounds = [int(bound.strip()[:18]) for bound in span if bound.strip().isdecimal()]
        if len(bounds) < len(span) or min(bounds) >= size:
            flags.add("span-lost")
            continue
        first, last = min(bounds), min(max(bounds), size - 1)
        if [first, last] != bounds:
            flags.add("span-repaired")
        read.append((first, last))
    if any(before[1] >= after[0] for before, after in zip(read, read[1:], strict=False)):
        flags.add("unordered-spans")
    return read, flags


def _numbers(spans: Spans) -> Iterator[int]:
    return (number for first, last in spans for number in range(first, last + 1))


def home_of(query: Query, covered: Sequence[set[int]], size: int) -> int | None:
    """Find the segment that shares most utterances with a query's evidence; None for a general or homeless query."""
    if query.spans is None:
        return None
    evidence = set(_numbers(read_spans(query.spans, size)[0]))
    shared = [len(evidence & segment) for segment in covered]
    return shared.index(max(shared)) if any(shared) else None


def _stretches(outside: Iterable[int], covered: Sequence[set[int]]) -> Iterator[list[int]]:
    """Split the utterances outside every segment where a segment lies between them."""
    inside = sorted(set().union(*covered))
    before = iter(inside)
    count, following = 0, next(before, None)
    keyed = []
    for number in outside:
        while following is not None and following < number:
            count, following = count + 1, next(before, None)
        keyed.append((count, number))
    for _, group in groupby(keyed, key=lambda item: item[0]):
        yield [number for _, number in group]


def _dialogue(
    room: Room,
    roster: Mapping[str, Card],
    part: str,
    numbers: Sequence[int],
    queries: Sequence[int],
    flags: set[str],
    topic: int | None,
) -> DialogueRow:
    meeting = room.meeting
    turns = _spoken_turns(room, numbers)
    for query in queries:
        turns += _query_turns(room, roster, query, len(turns))
    found = flags.union(*(turn.flags for turn in turns))
    return DialogueRow(
        id=f"qmsum:{meeting.name}#{part}",
        source="qmsum",
        source_id=f"{meeting.name}#{part}",
        domain="workplace",
        subset=domain_of(meeting.name),
        scenario=ScenarioRow(
            situation=_outline(room) if part == "all" else None,
            topic=None if topic is None else meeting.topics[topic].topic,
            query=meeting.queries[queries[0]].query if queries else None,
        ),
        speakers=_speakers(room, turns, roster),
        turns=turns,
        outcome=NO_OUTCOME,
        extra=_raw_spans(meeting, topic, queries, found),
        flags=sorted(found),
        license="mit",
        schema_version=SCHEMA_VERSION,
    )


def _raw_spans(meeting: Meeting, topic: int | None, queries: Sequence[int], flags: Set[str]) -> list[ExtraRow]:
    """Keep the raw spans, word for word, where they could not be used as they are."""
    if not flags & {"span-lost", "span-repaired", "unordered-spans"}:
        return []
    spans = {f"query.{query}.relevant_text_span": meeting.queries[query].spans or [] for query in queries}
    if topic is not None:
        spans["topic.relevant_text_span"] = meeting.topics[topic].spans
    return [ExtraRow(name, json.dumps(value)) for name, value in sorted(spans.items()) if value]


def _spoken_turns(room: Room, numbers: Sequence[int]) -> list[TurnRow]:
    kept = room.kept
    runs: list[list[int]] = []
    last: Kept | None = None
    for number in numbers:
        now = kept.get(number)
        if now is None:
            continue
        if last is not None and last.speaker == now.speaker and now.place == last.place + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
        last = now
    return [_spoken_turn(index, run, room) for index, run in enumerate(runs)]


def _spoken_turn(index: int, run: list[int], room: Room) -> TurnRow:
    said = [room.kept[number] for number in run]
    speaker = said[0].speaker
    name = room.names[speaker]
    text, texts = kept_texts([each.text for each in said], [each.raw.text for each in said], " ")
    spellings = [each.raw.speaker for each in said]
    return TurnRow(
        index,
        speaker,
        "participant",
        None,
        text,
        [],
        None,
        run,
        texts,
        [] if spellings == [name] * len(run) else spellings,
        None,
        [],
        None,
        None,
        ["repeat"] if any(each.repeated for each in said) else [],
    )


def _query_turns(room: Room, roster: Mapping[str, Card], number: int, index: int) -> list[TurnRow]:
    query = room.meeting.queries[number]
    persona = label_query(query.query)
    persona = persona if persona in roster else next(iter(roster))
    spans, flags = read_spans(query.spans or [], len(room.meeting.utterances))
    absent = set(_LETTERED_ROLE.findall(query.query.lower())) - room.present
    asked = TurnRow(
        index=index,
        speaker=USER,
        kind="user",
        persona=None,
        text=query.query,
        acts=[],
        acts_origin=None,
        source_turns=[],
        source_texts=[],
        source_speakers=[],
        source_query=number,
        evidence=[],
        directive=None,
        feedback=None,
        flags=["unknown-speaker-in-query"] if absent else [],
    )
    answered = asked._replace(
        index=index + 1,
        speaker=persona,
        kind="agent",
        persona=persona,
        text=query.answer,
        evidence=[EvidenceRow(first, last) for first, last in spans],
        directive=meeting_directive(persona),
        flags=sorted(flags),
    )
    return [asked, answered]


def _outline(room: Room) -> str:
    meeting = room.meeting
    names = ", ".join(dict.fromkeys(each.speaker for each in room.kept.values()))
    topics = "\n".join(f"{number}. {topic.topic.strip()}" for number, topic in enumerate(meeting.topics, start=1))
    return f"A meeting of: {names}.\nWhat it was about:\n{topics}"


def _speakers(room: Room, turns: Sequence[TurnRow], roster: Mapping[str, Card]) -> list[SpeakerRow]:
    speakers: dict[str, SpeakerRow] = {}
    for turn in turns:
        if turn.speaker not in speakers:
            role = roster[turn.persona].role if turn.persona else room.roles.get(turn.speaker, "asks about the meeting")
            name = room.names.get(turn.speaker, turn.speaker)
            speakers[turn.speaker] = SpeakerRow(turn.speaker, turn.kind, turn.persona, role, name)
    return list(speakers.values())
