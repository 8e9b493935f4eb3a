"""The parts of a meeting that become dialogues: its topic segments, what lies outside them, the meeting as a whole."""

import json
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np

from mascot_data.build.columns import Marks, Numbers
from mascot_data.records.rows import ExtraRow
from mascot_data.sources.conversation import Meeting, Query

Spans = list[tuple[int, int]]


class Part(NamedTuple):
    """A part of a meeting: its name, its utterances and queries by number, its flags, and its topic's number."""

    name: str
    numbers: Numbers
    queries: list[int]
    flags: set[str]
    topic: int | None


def parts_of(meeting: Meeting, kept: Marks) -> Iterator[Part]:
    """Divide a meeting; ``kept`` tells which of its utterances have words.

    Each query goes with the segment that it is about. Queries about the whole meeting, or about no segment, are a part
    without utterances.
    """
    size = len(meeting.utterances)
    segments = [read_spans(topic.spans, size) for topic in meeting.topics]
    covered = np.array([_inside(spans, size) for spans, _ in segments], np.bool_).reshape(len(segments), size)
    times = covered.sum(axis=0)
    homes = [_home_of(query, covered) for query in meeting.queries]
    for number, (_, flags) in enumerate(segments):
        shared = {"overlapping-segment"} if (covered[number] & (times > 1)).any() else set()
        asked = [query for query, home in enumerate(homes) if home == number]
        yield Part(str(number), np.flatnonzero(covered[number] & kept), asked, flags | shared, number)
    outside = np.flatnonzero(kept & (times == 0))
    before = np.cumsum(times > 0)[outside]
    for number, gap in enumerate(np.split(outside, np.flatnonzero(np.diff(before)) + 1) if len(outside) else []):
        yield Part(f"outside-{number}", gap, [], {"outside-segments"}, None)
    asked = [query for query, home in enumerate(homes) if home is None]
    if asked:
        yield Part("all", outside[:0], asked, {"whole-meeting"}, None)


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


def raw_spans(meeting: Meeting, part: Part, flags: Set[str]) -> list[ExtraRow]:
    """Keep the raw spans of a part, word for word, where its flags say that they could not be used as they are."""
    if not flags & {"span-lost", "span-repaired", "unordered-spans"}:
        return []
    spans = {f"query.{query}.relevant_text_span": meeting.queries[query].spans or [] for query in part.queries}
    if part.topic is not None:
        spans["topic.relevant_text_span"] = meeting.topics[part.topic].spans
    return [ExtraRow(name, json.dumps(value)) for name, value in sorted(spans.items()) if value]


def _inside(spans: Spans, size: int) -> Marks:
    inside = np.zeros(size, np.bool_)
    for first, last in spans:
        inside[first : last + 1] = True
    return inside


def _home_of(query: Query, covered: Marks) -> int | None:
    """Find the segment that shares most utterances with a query's evidence; None for a general or homeless query."""
    if query.spans is None or not len(covered):
        return None
    size = covered.shape[1]
    shared = (covered & _inside(read_spans(query.spans, size)[0], size)).sum(axis=1)
    return int(np.argmax(shared)) if shared.any() else None
