"""Fill the spool with recast conversations, and write it out: every config, split by split."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from mascot_data.build.account import Account
from mascot_data.build.columns import Numbers, content
from mascot_data.build.pipeline import Recast
from mascot_data.build.spool import Spool
from mascot_data.build.views import Views
from mascot_data.build.writing import ROWS_PER_GROUP, SplitWriter, Written, shards_of
from mascot_data.errors import AccountError
from mascot_data.records import CONFIGS, arrow_schema
from mascot_data.records.dialogue import SPLITS, Split

DROPPED = "dropped.jsonl"
AGENT_TURNS_PER_GROUP = 2000


def fill(spool: Spool, account: Account, root: Path, stream: Iterator[Recast]) -> None:
    """Spool the rows, enter every conversation in the account, and write what was dropped to ``dropped.jsonl``."""
    with (root / DROPPED).open("w", encoding="utf-8", newline="\n") as lost:
        for made in stream:
            account.settle(made)
            spool.add(made.dialogues, made.origins)
            for drop in made.dropped:
                lost.write(json.dumps(drop._asdict(), ensure_ascii=False) + "\n")
    account.check_sum()
    spool.link()


def write(spool: Spool, account: Account, root: Path, views: Views) -> tuple[list[Written], str]:
    """Write the splits that have rows, with their views; returns the files and the digest over all dialogues."""
    written: list[Written] = []
    digest = hashlib.sha256()
    for split in SPLITS:
        rows = spool.order(split)
        if len(rows):
            digest.update(split.encode())
            written += _write_split(spool, account, root, views, split, rows, digest)
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
    rows: Numbers,
    digest: "hashlib._Hash",
) -> list[Written]:
    files, share = shards_of(len(rows), spool.size(rows))
    with ExitStack() as stack:
        writers = {
            config: stack.enter_context(SplitWriter(root, config, split, arrow_schema(model), files))
            for config, model in CONFIGS.items()
        }
        for first in range(0, len(rows), share):
            if first:
                for writer in writers.values():
                    writer.roll()
            part = rows[first : first + share]
            for group in _by_count(part):
                dialogues = spool.rows(group)
                for column in dialogues.columns:
                    for buffer in content(column.chunk(0)):
                        digest.update(buffer)
                writers["dialogues"].write(dialogues)
                account.watch(split, {"dialogues": dialogues})
            for group in _by_agents(part, spool.agents(part)):
                made = views.tables(spool.rows(group))
                for config, table in made.items():
                    writers[config].write(table)
                account.watch(split, made)
    return [file for writer in writers.values() for file in writer.written]


def _by_count(rows: Numbers) -> Iterator[Numbers]:
    for first in range(0, len(rows), ROWS_PER_GROUP):
        yield rows[first : first + ROWS_PER_GROUP]


def _by_agents(rows: Numbers, agents: Numbers) -> Iterator[Numbers]:
    """Cut rows into groups of as many as give the views a row group of agent turns."""
    first, done = 0, np.cumsum(agents)
    while first < len(rows):
        before = done[first - 1] if first else 0
        last = int(np.searchsorted(done, before + AGENT_TURNS_PER_GROUP)) + 1
        yield rows[first:last]
        first = last
