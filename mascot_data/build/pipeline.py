"""One corpus as a stream of recast conversations: which reader, which recasting, which links between rows."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from mascot_data.build.corpora import Corpus
from mascot_data.build.meetings import recast_meeting
from mascot_data.build.recast import recast
from mascot_data.build.spool import Link
from mascot_data.build.turns import Dropped
from mascot_data.build.voices import CorpusRules, rules_for
from mascot_data.errors import InputError
from mascot_data.personas import Personas
from mascot_data.records.dialogue import Split
from mascot_data.records.rows import DialogueRow
from mascot_data.sources import empathetic, esconv, qmsum
from mascot_data.sources.conversation import Conversation, Meeting
from mascot_data.sources.files import Inputs, SourceFile


class Recast(NamedTuple):
    """One raw conversation and what became of it; ``links`` has an entry for each row."""

    where: str
    owner: str
    split: Split
    size: int
    rows: list[DialogueRow]
    dropped: list[Dropped]
    links: list[list[Link]]
    queries: int = 0
    failed: bool = False


def select(corpus: Corpus, inputs: Inputs, include_failed: bool) -> list[SourceFile]:
    """Choose the files of the corpus among what the user pointed at.

    Raises:
        InputError: none of them is of the corpus.
    """
    if corpus.source == "esconv":
        files = esconv.select(inputs.files, include_failed)
    elif corpus.source == "qmsum":
        files = qmsum.select(inputs.files)
    else:
        files = empathetic.select(inputs.files)
    if not files:
        raise InputError(str(inputs.path), f"holds no file of {corpus.title}; expected {corpus.expects}")
    return files


def recast_all(
    corpus: Corpus, files: list[SourceFile], intents: list[SourceFile] | None, cards: Personas, clean: bool
) -> Iterator[Recast]:
    """Read and recast the selected files of a corpus, in file order."""
    if corpus.source == "qmsum":
        yield from _meetings(files, cards, clean)
    elif corpus.source == "esconv":
        yield from _conversations(esconv.read(files), rules_for("esconv", cards, labelled=True), clean)
    else:
        labels = None if intents is None else empathetic.read_intents(intents)
        rules = rules_for("empathetic-dialogues", cards, labelled=labels is not None)
        yield from _conversations(empathetic.read(files, labels), rules, clean)


def _conversations(conversations: Iterator[Conversation], rules: CorpusRules, clean: bool) -> Iterator[Recast]:
    for conversation in conversations:
        row, dropped = recast(conversation, rules, clean=clean)
        yield Recast(
            where=conversation.where,
            owner=conversation.source_id,
            split=conversation.split,
            size=len(conversation.utterances),
            rows=[row],
            dropped=dropped,
            links=[[*conversation.links, ("situation", short_digest(row.scenario.situation or ""))]],
            failed=conversation.subset == "failed",
        )


def _meetings(files: list[SourceFile], cards: Personas, clean: bool) -> Iterator[Recast]:
    roster = {persona: cards.cards[persona] for persona in cards.roster_for("workplace").personas}
    for meeting in qmsum.read(files):
        rows, dropped = recast_meeting(meeting, roster, clean=clean)
        yield Recast(
            where=meeting.where,
            owner=meeting.name,
            split=meeting.split,
            size=len(meeting.utterances),
            rows=rows,
            dropped=dropped,
            links=[_annotation_links(meeting, row) for row in rows],
            queries=len(meeting.queries),
        )


def _annotation_links(meeting: Meeting, row: DialogueRow) -> list[Link]:
    queries = [meeting.queries[turn.source_query] for turn in row.turns if turn.source_query is not None]
    digests = {short_digest(f"{query.query.strip()}\t{query.answer.strip()}") for query in queries}
    return [("annotations", digest) for digest in sorted(digests)]


def short_digest(text: str) -> str:
    """Digest of a text, 16 hex digits: enough to tell texts of a corpus apart."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
