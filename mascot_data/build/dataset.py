"""Fill the spool with recast conversations, and write it out: every config, split by split."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from mascot_data.build.account import Account
from mascot_data.build.columns import to_table
from mascot_data.build.pipeline import Recast
from mascot_data.build.spool import Spool
from mascot_data.build.views import Views
from mascot_data.build.writing import ROWS_PER_GROUP, SplitWriter, Written, shards_of
from mascot_data.errors import AccountError
from mascot_data.records import CONFIGS, Dialogue, arrow_schema
from mascot_data.records.dialogue import SPLITS, Split
from mascot_data.records.rows import DialogueRow, TurnRow

DROPPED = "dropped.jsonl"
AGENT_TURNS_PER_GROUP = 2000
_TURNS = DialogueRow._fields.index("turns")
_DIRECTIVE = TurnRow._fields.index("directive")


def fill(spool: Spool, account: Account, root: Path, stream: Iterator[Recast]) -> None:
    """Spool the rows, enter every conversation in the account, and write what was dropped to ``dropped.jsonl``."""
    with (root / DROPPED).open("w", encoding="utf-8", newline="\n") as lost:
        for item in stream:
            account.settle(item)
            for row, links in zip(item.rows, item.links, strict=True):
                spool.add(item.where, item.split, row, item.owner, links)
            for drop in item.dropped:
                lost.write(json.dumps(drop._asdict(), ensure_ascii=False) + "\n")
    account.check_sum()
    spool.link()


def write(spool: Spool, account: Account, root: Path, views: Views) -> tuple[list[Written], str]:
    """Write the splits that have rows, with their views; returns the files and the digest over all dialogues."""
    written: list[Written] = []
    digest = hashlib.sha256()
    for split in SPLITS:
        rows, size = spool.size(split)
        if rows:
            digest.update(split.encode())
            written += _write_split(spool, account, root, views, split, shards_of(rows, size), digest)
    if sum(file.rows for file in written if file.config == "dialogues") != account.dialogues.total():
        raise AccountError("fewer rows were written than built; this is a defect of the tool, please report it")
    configs = list(CONFIGS)
    return sorted(written, key=lambda file: configs.index(file.config)), digest.hexdigest()


def _write_split(
    spool: Spool,
    account: Account,
    root: Path,
    views: Views,
    split: Split,
    shards: tuple[int, int],
    digest: "hashlib._Hash",
) -> list[Written]:
    files, share = shards
    with ExitStack() as stack:
        writers = {
            config: stack.enter_context(SplitWriter(root, config, split, arrow_schema(model), files))
            for config, model in CONFIGS.items()
        }
        for step, group in _steps(_hashed(spool.rows(split), digest), share):
            if step == "roll":
                for writer in writers.values():
                    writer.roll()
                continue
            made = (
                {"dialogues": to_table(group, arrow_schema(Dialogue))} if step == "dialogues" else views.tables(group)
            )
            for config, table in made.items():
                writers[config].write(table)
            account.watch(split, made)
            del group, made, table  # else they stay while the next group is read, and the peak doubles
    return [file for writer in writers.values() for file in writer.written]


def _steps(rows: Iterator[list[Any]], share: int) -> Iterator[tuple[Literal["dialogues", "views", "roll"], list[Any]]]:
    """Cut the rows of a split into row groups: of dialogues, and of as many as give the views a group of agent turns.

    After ``share`` dialogues, and before any more, all files roll.
    """
    batch: list[Any] = []
    part: list[Any] = []
    agents = done = 0
    for row in rows:
        if done == share:
            yield "views", part
            yield "roll", []
            part, agents, done = [], 0, 0
        batch.append(row)
        part.append(row)
        agents += sum([turn[_DIRECTIVE] is not None for turn in row[_TURNS]])
        if agents >= AGENT_TURNS_PER_GROUP:
            yield "views", part
            part, agents = [], 0
        if len(batch) == ROWS_PER_GROUP:
            yield "dialogues", batch
            batch, done = [], done + ROWS_PER_GROUP
    if batch:
        yield "dialogues", batch
    yield "views", part


def _hashed(rows: Iterator[tuple[bytes, list[Any]]], digest: "hashlib._Hash") -> Iterator[list[Any]]:
    for body, row in rows:
        digest.update(body)
        yield row
