"""One corpus as a stream of recast conversations: which reader, which recasting, which links between rows."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from mascot_data.build.columns import Numbers
from mascot_data.build.corpora import Corpus
from mascot_data.build.meetings import recast_meetings
from mascot_data.build.recast import recast
from mascot_data.build.spool import Link, Origin
from mascot_data.build.turns import Dropped
from mascot_data.build.voices import CorpusRules, rules_for
from mascot_data.errors import InputError
from mascot_data.personas import Personas
from mascot_data.records.dialogue import Split
from mascot_data.sources import empathetic, esconv, qmsum
from mascot_data.sources.conversation import Conversation, Meeting
from mascot_data.sources.files import Inputs, SourceFile

UTTERANCES_PER_BATCH = 8192
_Raw = TypeVar("_Raw", Conversation, Meeting)


class Raw(NamedTuple):
    """A raw conversation as the account counts it."""

    where: str
    split: Split
    size: int
    queries: int = 0
    failed: bool = False


class Recast(NamedTuple):
    """Raw conversations and what became of them.

    ``home`` is the conversation of each row of ``dialogues``, ``lost`` that of each dropped utterance.
    """

    raw: Sequence[Raw]
    dialogues: pa.Table
    home: Numbers
    origins: Sequence[Origin]
    dropped: Sequence[Dropped]
    lost: Numbers


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
    corpus: Corpus,
    files: list[SourceFile],
    intents: list[SourceFile] | None,
    cards: Personas,
    *,
    clean: bool,
    limit: int | None = None,
) -> Iterator[Recast]:
    """Read and recast the selected files of a corpus, in file order; at most ``limit`` conversations."""
    if corpus.source == "qmsum":
        yield from _meetings(islice(qmsum.read(files), limit), cards, clean)
    elif corpus.source == "esconv":
        rules = rules_for("esconv", cards, labelled=True)
        yield from _conversations(islice(esconv.read(files), limit), rules, clean)
    else:
        labels = None if intents is None else empathetic.read_intents(intents)
        rules = rules_for("empathetic-dialogues", cards, labelled=labels is not None)
        yield from _conversations(islice(empathetic.read(files, labels), limit), rules, clean)


def _conversations(conversations: Iterator[Conversation], rules: CorpusRules, clean: bool) -> Iterator[Recast]:
    for batch in _batches(conversations):
        dialogues, dropped, lost = recast(batch, rules, clean=clean)
        situations = dialogues.column("scenario").combine_chunks().field("situation").to_pylist()
        yield Recast(
            raw=[Raw(c.where, c.split, len(c.utterances), failed=c.subset == "failed") for c in batch],
            dialogues=dialogues,
            home=np.arange(len(batch)),
            origins=[
                Origin(c.where, c.split, c.source_id, [*c.links, ("situation", situation)])
                for c, situation in zip(batch, situations, strict=True)
            ],
            dropped=dropped,
            lost=lost,
        )


def _meetings(meetings: Iterator[Meeting], cards: Personas, clean: bool) -> Iterator[Recast]:
    roster = {persona: cards.cards[persona] for persona in cards.roster_for("workplace").personas}
    for batch in _batches(meetings):
        dialogues, home, queries, dropped, lost = recast_meetings(batch, roster, clean=clean)
        owners = [batch[number] for number in home.tolist()]
        yield Recast(
            raw=[Raw(meeting.where, meeting.split, len(meeting.utterances), len(meeting.queries)) for meeting in batch],
            dialogues=dialogues,
            home=home,
            origins=[
                Origin(meeting.where, meeting.split, meeting.name, _annotation_links(meeting, asked))
                for meeting, asked in zip(owners, queries, strict=True)
            ],
            dropped=dropped,
            lost=lost,
        )


def _batches(stream: Iterator[_Raw]) -> Iterator[list[_Raw]]:
    """Cut a stream into lists of about so many utterances that columns pay and little is held."""
    batch: list[_Raw] = []
    size = 0
    for raw in stream:
        batch.append(raw)
        size += len(raw.utterances)
        if size >= UTTERANCES_PER_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _annotation_links(meeting: Meeting, asked: Sequence[int]) -> list[Link]:
    queries = [meeting.queries[number] for number in asked]
    return [
        ("annotations", text)
        for text in dict.fromkeys(f"{query.query.strip()}\t{query.answer.strip()}" for query in queries)
    ]


def short_digest(text: str) -> str:
    """Digest of a text, 16 hex digits: enough to tell texts of a corpus apart."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
