"""Fill the spool with recast conversations, and write it out: every config, split by split."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from mascot_data.build.account import Account
from mascot_data.build.columns import to_table
from mascot_data.build.pipeline import Recast
from mascot_data.build.spool import Spool
from mascot_data.build.views import Views
from mascot_data.build.writing import ROWS_PER_GROUP, SplitWriter, Written, shards_of
from mascot_data.errors import AccountError
from mascot_data.records import CONFIGS, Dialogue, arrow_schema
from mascot_data.records.dialogue import SPLITS, Split

DROPPED = "dropped.jsonl"


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
    done = 0
    with ExitStack() as stack:
        writers = {
            config: stack.enter_context(SplitWriter(root, config, split, arrow_schema(model), files))
            for config, model in CONFIGS.items()
        }
        stream = _hashed(spool.rows(split), digest)
        while batch := list(islice(stream, ROWS_PER_GROUP)):
            if done and done % share == 0:
                for writer in writers.values():
                    writer.roll()
            made = {"dialogues": to_table(batch, arrow_schema(Dialogue)), **views.tables(batch)}
            for config, writer in writers.items():
                writer.write(made[config])
            done += len(batch)
            account.watch(split, made)
    return [file for writer in writers.values() for file in writer.written]


def _hashed(rows: Iterator[tuple[bytes, list[Any]]], digest: "hashlib._Hash") -> Iterator[list[Any]]:
    for body, row in rows:
        digest.update(body)
        yield row
