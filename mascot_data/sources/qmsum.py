"""Read QMSum (Zhong et al., NAACL 2021): single meetings, jsonl, the repository's folder, or a zip of it.

The jsonl files do not name their meetings. ``qmsum_meetings.csv`` knows every meeting of the release by a digest of its
transcript, so that each layout gives the same names, domains and splits; an unknown one is named after file and line.
"""

import csv
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from mascot_data.errors import InputError
from mascot_data.records.dialogue import Split
from mascot_data.sources.conversation import SPLIT_NAMES, Meeting, Query, Topic, Utterance, natural
from mascot_data.sources.files import SourceFile, read_lines, read_text
from mascot_data.sources.json_text import parse_json

_KEYS = ("topic_list", "general_query_list", "specific_query_list", "meeting_transcripts")
_NAME_PREFIXES = {
    "committee": ("covid", "education"),
    "product": ("ES", "IS", "TS"),
    "academic": ("Bdb", "Bed", "Bmr", "Bns", "Bro", "Bsr", "Btr", "Buw"),
}


class KnownMeeting(NamedTuple):
    """A meeting of the release."""

    name: str
    split: Split
    digest: str


def domain_of(name: str) -> str:
    """Give the QMSum domain of a meeting: `academic` (ICSI), `product` (AMI), `committee` (parliaments) or `other`."""
    return next((domain for domain, prefixes in _NAME_PREFIXES.items() if name.startswith(prefixes)), "other")


def transcript_digest(utterances: list[Utterance]) -> str:
    """Digest that identifies a transcript: the first 16 hex digits of the SHA-256 over speakers and words."""
    text = "\n".join(f"{utterance.speaker}\t{utterance.text}" for utterance in utterances)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def known_meetings() -> tuple[dict[str, KnownMeeting], dict[str, KnownMeeting]]:
    """Return the meetings of the release by digest and by name."""
    text = resources.files("mascot_data.sources").joinpath("qmsum_meetings.csv").read_text(encoding="utf-8")
    rows = [
        KnownMeeting(row["meeting"], SPLIT_NAMES[row["split"]], row["digest"])
        for row in csv.DictReader(text.splitlines())
    ]
    return {row.digest: row for row in rows}, {row.name: row for row in rows}


def select(files: list[SourceFile]) -> list[SourceFile]:
    """Choose the meeting files of each split, from ``ALL`` where it is there; else the jsonl files of the split."""
    single = [file for file in files if file.base.endswith(".json")]
    lines = [file for file in files if file.base.endswith(".jsonl")]
    if not any(file.folder in SPLIT_NAMES for file in single) and not any(file.stem in SPLIT_NAMES for file in lines):
        return _prefer_all(single) + lines or (files if len(files) == 1 else [])
    chosen: list[SourceFile] = []
    for names in (("train",), ("val", "valid", "dev", "validation"), ("test",)):
        meetings = _prefer_all([file for file in single if file.folder in names])
        chosen += meetings or _prefer_all([file for file in lines if file.stem in names])
    return chosen


def _prefer_all(files: list[SourceFile]) -> list[SourceFile]:
    combined = [file for file in files if "ALL" in PurePosixPath(file.name).parts]
    return sorted(combined or files, key=lambda file: natural(file.stem))


def read(files: list[SourceFile]) -> Iterator[Meeting]:
    """Yield the meetings of the selected files.

    Raises:
        InputError: a file or a meeting is not what it should be; names file, line and part.
    """
    for file in files:
        if file.base.endswith(".json"):
            yield _meeting(file, file.name, file.stem, parse_json(file.name, read_text(file)))
            continue
        empty = True
        for number, line in read_lines(file):
            if line.strip():
                empty, where = False, f"{file.name} line {number}"
                yield _meeting(file, where, f"{file.stem}-{number}", parse_json(where, line))
        if empty:
            raise InputError(file.name, "is empty; fetch the file again")


def _meeting(file: SourceFile, where: str, fallback: str, raw: Any) -> Meeting:
    if not isinstance(raw, dict) or not all(isinstance(raw.get(key), list) for key in _KEYS):
        raise InputError(where, f"is not a meeting of QMSum: it needs the lists {', '.join(_KEYS)}")
    utterances = [_utterance(f"{where} turn {n}", entry) for n, entry in enumerate(raw["meeting_transcripts"])]
    by_digest, by_name = known_meetings()
    known = by_digest.get(transcript_digest(utterances))
    name = known.name if known else fallback.replace("#", "-")  # '#' parts a meeting from its segment in our ids
    stated = SPLIT_NAMES.get(file.folder) or SPLIT_NAMES.get(file.stem)
    known = known or by_name.get(name)
    general = [_query(f"{where} general query {n}", entry, False) for n, entry in enumerate(raw["general_query_list"])]
    specific = [
        _query(f"{where} specific query {n}", entry, True) for n, entry in enumerate(raw["specific_query_list"])
    ]
    return Meeting(
        where=where,
        name=name,
        split=stated or (known.split if known else "train"),
        utterances=utterances,
        topics=[_topic(f"{where} topic {n}", entry) for n, entry in enumerate(raw["topic_list"])],
        queries=general + specific,
        general=len(general),
    )


def _utterance(where: str, entry: Any) -> Utterance:
    return Utterance(_text(where, entry, "speaker"), _text(where, entry, "content"))


def _topic(where: str, entry: Any) -> Topic:
    return Topic(_text(where, entry, "topic"), _spans(where, entry))


def _query(where: str, entry: Any, specific: bool) -> Query:
    query, answer = _text(where, entry, "query"), _text(where, entry, "answer")
    if not query.strip() or not answer.strip():
        raise InputError(where, "its query or its answer is blank; remove it or fill it in")
    return Query(query, answer, _spans(where, entry) if specific else None)


def _spans(where: str, entry: dict[str, Any]) -> list[list[str]]:
    spans = entry.get("relevant_text_span")
    if not isinstance(spans, list) or not all(isinstance(span, list) and len(span) == 2 for span in spans):
        raise InputError(where, "'relevant_text_span' is not a list of [first, last] pairs")
    return [[str(bound) for bound in span] for span in spans]


def _text(where: str, entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise InputError(where, f"has no text {key!r}; check that the file is a meeting of QMSum")
    return value
