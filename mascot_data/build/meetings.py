"""Recast meetings of QMSum: one dialogue a topic segment, with its queries and their answers.

The people of the meeting are participants. Each query about the segment is a user turn, its answer the turn of the
workplace persona that fits the query. Utterances outside every segment form dialogues without a topic. Queries about
the whole meeting, or about no segment, are asked over its outline, not over its up to 1,800 turns.

Many meetings are recast at once, in columns over all their utterances and then over all their turns.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mascot_data.build.acts import label_queries
from mascot_data.build.bits import bit, flag_lists, joined, names
from mascot_data.build.columns import (
    Numbers,
    bounds,
    constant,
    integers,
    lists,
    numbers,
    repeated,
    strings,
    structs,
    take,
    to_structs,
)
from mascot_data.build.directives import meeting_directive
from mascot_data.build.segments import Part, Spans, parts_of, raw_spans, read_spans
from mascot_data.build.speech import canonical_names, clean_speech, role_of
from mascot_data.build.spool import SCHEMA
from mascot_data.build.texts import blank
from mascot_data.build.turns import TURN, Dropped, Runs, repeats, shown
from mascot_data.build.voices import USER
from mascot_data.personas import Card
from mascot_data.records.dialogue import SCHEMA_VERSION
from mascot_data.records.rows import ScenarioRow
from mascot_data.sources.conversation import Meeting
from mascot_data.sources.qmsum import domain_of

_LETTERED_ROLE = re.compile(r"\b(?:phd|grad|professor|postdoc|undergrad) [a-z]\b")


class _People(NamedTuple):
    """Who is who in a meeting: by spelling the canonical name, by canonical name the role and the usual spelling."""

    canonical: Mapping[str, str]
    roles: Mapping[str, str | None]
    names: Mapping[str, str]


class _Asked(NamedTuple):
    """A query, the dialogue and the meeting that it is put to, and the persona that answers it."""

    dialogue: int
    meeting: Meeting
    number: int
    persona: str


class _Room:
    """Meetings prepared for recasting: columns over all their utterances, numbered through, and their parts.

    ``first`` is the first utterance of each meeting, and after the last one the number of all; ``gone`` tells which
    have no words. ``who`` is the number (among ``speakers``) of who says it, ``usual`` whether under the usual name.
    """

    def __init__(self, meetings: Sequence[Meeting], roster: Mapping[str, Card], *, clean: bool) -> None:
        self.meetings, self.roster = meetings, roster
        self.utterances = [utterance for meeting in meetings for utterance in meeting.utterances]
        self.first = bounds(np.array([len(meeting.utterances) for meeting in meetings], np.int64))
        self.meeting = np.repeat(np.arange(len(meetings)), np.diff(self.first))
        texts = [utterance.text for utterance in self.utterances]
        self.raw = strings(texts)
        known = {text: clean_speech(text) for text in dict.fromkeys(texts)} if clean else {}
        self.text = strings([known[text] for text in texts]) if clean else self.raw
        self.gone = blank(self.text)
        self.people = [_people(meeting, {USER, *roster}) for meeting in meetings]
        self.parts = [
            (number, part)
            for number, meeting in enumerate(meetings)
            for part in parts_of(meeting, ~self.gone[self.first[number] : self.first[number + 1]])
        ]
        self.home = np.array([number for number, _ in self.parts], np.int64)
        self._give_names()
        self.asked = _asked(self.parts, meetings, list(roster))

    def _give_names(self) -> None:
        codes: dict[str, int] = {}
        who, usual = [], []
        for meeting, people in zip(self.meetings, self.people, strict=True):
            for utterance in meeting.utterances:
                name = people.canonical[utterance.speaker]
                who.append(codes.setdefault(name, len(codes)))
                usual.append(people.names[name] == utterance.speaker)
        self.who, self.usual, self.speakers = np.array(who, np.int64), np.array(usual, np.bool_), list(codes)

    def runs(self) -> tuple[Runs, Numbers]:
        """Group utterances that follow each other and are of one speaker; the second value is each turn's dialogue."""
        numbers = [self.first[meeting] + part.numbers for meeting, part in self.parts]
        said = np.concatenate(numbers or [self.first[:0]])
        dialogue = np.repeat(np.arange(len(numbers)), [len(each) for each in numbers])
        who, place = self.who[said], np.cumsum(~self.gone)[said]
        begins = np.ones(len(said), np.bool_)
        begins[1:] = (np.diff(dialogue) != 0) | (np.diff(who) != 0) | (np.diff(place) != 1)
        return Runs(said, begins), dialogue[begins]


def recast_meetings(
    meetings: Sequence[Meeting], roster: Mapping[str, Card], *, clean: bool = True
) -> tuple[pa.Table, Numbers, list[list[int]], list[Dropped], Numbers]:
    """Turn meetings into dialogues.

    Args:
        meetings: what to recast.
        roster: the workplace cards by id.
        clean: whether to tidy the transcripts' text.

    Returns:
        The dialogues; the meeting of each, and its queries; the utterances that are in none (blank, or noise only); and
        the meeting of each of these.
    """
    room = _Room(meetings, roster, clean=clean)
    parts, home = [part for _, part in room.parts], room.home
    dialogue, turns, flags = _turns(room)
    first = bounds(np.bincount(dialogue, minlength=len(parts)))
    found = joined(flags, first) | np.array([bit(*part.flags) for part in parts], np.int64)
    owners = [meetings[number] for number in home.tolist()]
    ids = [f"{meeting.name}#{part.name}" for meeting, part in zip(owners, parts, strict=True)]
    count = len(parts)
    columns = [
        strings([f"qmsum:{source_id}" for source_id in ids]),
        constant("qmsum", count),
        strings(ids),
        constant("workplace", count),
        repeated([domain_of(meeting.name) for meeting in owners]),
        _scenarios(room, owners, parts),
        _speakers(room, dialogue, turns, count),
        lists(np.diff(first), turns),
        _no_outcomes(count),
        _extra(owners, parts, found),
        flag_lists(found),
        constant("mit", count),
        constant(SCHEMA_VERSION, count),
    ]
    return (
        pa.Table.from_arrays(columns, schema=SCHEMA),
        home,
        [part.queries for part in parts],
        _dropped(room),
        room.meeting[room.gone],
    )


def _people(meeting: Meeting, taken: Set[str]) -> _People:
    spellings = Counter(utterance.speaker for utterance in meeting.utterances)
    found = canonical_names(spellings)
    canonical = {spelling: f"{name} (participant)" if name in taken else name for spelling, name in found.items()}
    by_name: dict[str, Counter[str]] = {}
    for spelling, count in spellings.items():
        by_name.setdefault(canonical[spelling], Counter())[spelling] = count
    roles = {name: role_of(each) for name, each in by_name.items()}
    names = {name: max(each, key=lambda spelling: (each[spelling], spelling)) for name, each in by_name.items()}
    return _People(canonical, roles, names)


def _asked(parts: Sequence[tuple[int, Part]], meetings: Sequence[Meeting], roster: Sequence[str]) -> list[_Asked]:
    found = [
        (dialogue, meetings[home], number) for dialogue, (home, part) in enumerate(parts) for number in part.queries
    ]
    personas = label_queries([meeting.queries[number].query for _, meeting, number in found])
    return [
        _Asked(*place, persona if persona in roster else roster[0])
        for place, persona in zip(found, personas, strict=True)
    ]


def _dropped(room: _Room) -> list[Dropped]:
    found = []
    for number in np.flatnonzero(room.gone).tolist():
        home, utterance = int(room.meeting[number]), room.utterances[number]
        reason = "noise-only" if utterance.text.strip() else "blank"
        owner, place = room.meetings[home].name, number - int(room.first[home])
        found.append(Dropped(owner, place, utterance.speaker, utterance.text, reason))
    return found


def _turns(room: _Room) -> tuple[Numbers, pa.StructArray, Numbers]:
    """Return the dialogues of all turns, the turns, and their flags as bits; queries follow what is said."""
    runs, spoken = room.runs()
    columns, flags = _spoken(room, runs)
    more, also = _answered(room.asked)
    dialogue = np.concatenate([spoken, np.repeat(np.array([each.dialogue for each in room.asked], np.int64), 2)])
    order = np.argsort(dialogue, kind="stable")
    dialogue, flags = dialogue[order], np.concatenate([flags, also])[order]
    index = np.arange(len(order)) - np.searchsorted(dialogue, dialogue)
    both = [take(pa.concat_arrays(pair), order) for pair in zip(columns, more, strict=True)]
    return dialogue, structs(TURN, [integers(index), *both, flag_lists(flags)]), flags


def _spoken(room: _Room, runs: Runs) -> tuple[list[pa.Array], Numbers]:
    """Return the columns of turns in which people speak, but for index and flags, and their flags."""
    count = len(runs.first)
    plain = (runs.count == 1) & shown(room.text, room.raw)[runs.first]
    flags = np.where(runs.any(repeats(room.utterances, room.meeting)), bit("repeat"), 0)
    spellings = repeated([utterance.speaker for utterance in room.utterances])
    columns = {
        "speaker": take(strings(room.speakers), room.who[runs.first]),
        "kind": constant("participant", count),
        "text": runs.texts(room.text, " "),
        "source_turns": runs.numbers(np.arange(len(room.meeting)) - room.first[room.meeting]),
        "source_texts": runs.kept(room.raw, plain),
        "source_speakers": runs.kept(spellings, runs.all(room.usual)),
    }
    return _filled(columns, count), flags


def _answered(asked: Sequence[_Asked]) -> tuple[list[pa.Array], Numbers]:
    """Return the columns of queries and answers, in turn, but for index and flags, and their flags."""
    count = 2 * len(asked)
    queries = [each.meeting.queries[each.number] for each in asked]
    spans = [read_spans(q.spans or [], len(each.meeting.utterances)) for q, each in zip(queries, asked, strict=True)]
    answers = np.arange(count) % 2 == 1
    pair = np.arange(count) // 2
    personas = take(repeated([each.persona for each in asked]), pair, ~answers)
    directives = to_structs(TURN.field("directive").type, [meeting_directive(each.persona) for each in asked])
    columns = {
        "speaker": repeated([name for each in asked for name in (USER, each.persona)]),
        "kind": repeated(["user", "agent"] * len(asked)),
        "persona": personas,
        "text": strings([text for query in queries for text in (query.query, query.answer)]),
        "source_query": integers(np.repeat(np.array([each.number for each in asked], np.int64), 2)),
        "evidence": _evidence([found for read, _ in spans for found in ([], read)]),
        "directive": take(directives, pair, ~answers),
    }
    flags = [(_absent(each), bit(*found)) for each, (_, found) in zip(asked, spans, strict=True)]
    return _filled(columns, count), np.array(flags, np.int64).ravel()


def _absent(asked: _Asked) -> int:
    roles = set(_LETTERED_ROLE.findall(asked.meeting.queries[asked.number].query.lower()))
    if not roles:
        return 0
    present = {utterance.speaker.lower() for utterance in asked.meeting.utterances}
    return bit("unknown-speaker-in-query") if roles - present else 0


def _filled(columns: Mapping[str, pa.Array], count: int) -> list[pa.Array]:
    """Put columns of turns in order, all but index and flags; those not given are empty lists or nulls."""
    return [columns[field.name] if field.name in columns else _nothing(field.type, count) for field in list(TURN)[1:-1]]


def _nothing(kind: pa.DataType, count: int) -> pa.Array:
    if pa.types.is_list(kind):
        return lists(np.zeros(count, np.int64), pa.nulls(0, kind.value_type))
    return pa.nulls(count, kind)


def _evidence(found: Sequence[Spans]) -> pa.ListArray:
    spans = np.array([span for each in found for span in each], np.int64).reshape(-1, 2)
    kind = TURN.field("evidence").type.value_type
    return lists(np.array(list(map(len, found)), np.int64), structs(kind, [integers(bound) for bound in spans.T]))


def _scenarios(room: _Room, owners: Sequence[Meeting], parts: Sequence[Part]) -> pa.StructArray:
    rows = []
    for number, (meeting, part) in enumerate(zip(owners, parts, strict=True)):
        outline = _outline(room, int(room.home[number])) if part.name == "all" else None
        topic = None if part.topic is None else meeting.topics[part.topic].topic
        rows.append(
            ScenarioRow(outline, topic=topic, query=meeting.queries[part.queries[0]].query if part.queries else None)
        )
    return to_structs(SCHEMA.field("scenario").type, rows)


def _outline(room: _Room, number: int) -> str:
    meeting, first, last = room.meetings[number], room.first[number], room.first[number + 1]
    there = dict.fromkeys(room.who[first:last][~room.gone[first:last]].tolist())
    names = ", ".join(room.speakers[who] for who in there)
    topics = "\n".join(f"{number}. {topic.topic.strip()}" for number, topic in enumerate(meeting.topics, start=1))
    return f"A meeting of: {names}.\nWhat it was about:\n{topics}"


def _speakers(room: _Room, dialogue: Numbers, turns: pa.StructArray, count: int) -> pa.ListArray:
    """List who speaks in each dialogue, in the order of their first turns."""
    names = turns.field("speaker").dictionary_encode()
    key = dialogue * (len(names.dictionary) + 1) + numbers(names.indices)
    first = np.sort(np.unique(key, return_index=True)[1])
    fields = [take(turns.field(name), first) for name in ("speaker", "kind", "persona")]
    roles, shown_as = [], []
    for number, name, persona in zip(
        room.home[dialogue[first]].tolist(), fields[0].to_pylist(), fields[2].to_pylist(), strict=True
    ):
        people = room.people[number]
        asks = people.roles.get(name, "asks about the meeting")
        roles.append(room.roster[persona].role if persona else asks)
        shown_as.append(people.names.get(name, name))
    kind = SCHEMA.field("speakers").type.value_type
    counts = np.bincount(dialogue[first], minlength=count)
    return lists(counts, structs(kind, [*fields, repeated(roles), strings(shown_as)]))


def _extra(owners: Sequence[Meeting], parts: Sequence[Part], flags: Numbers) -> pa.ListArray:
    found = [
        raw_spans(meeting, part, set(names(number)))
        for meeting, part, number in zip(owners, parts, flags.tolist(), strict=True)
    ]
    rows = [row for each in found for row in each]
    return lists(np.array(list(map(len, found)), np.int64), to_structs(SCHEMA.field("extra").type.value_type, rows))


def _no_outcomes(count: int) -> pa.StructArray:
    kind = SCHEMA.field("outcome").type
    return structs(kind, [pa.nulls(count, field.type) for field in kind])
