"""The account of a build: what was read, what became of it, and whether that adds up and is the published corpus."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from mascot_data.build.columns import Numbers, bounds, flat, integers, numbers
from mascot_data.build.pipeline import Raw, Recast
from mascot_data.build.tables import table
from mascot_data.errors import AccountError
from mascot_data.records.dialogue import Split

NO_QUERY = integers(np.array([-1]))[0]
LABELS = ("agent", "action", "tone")
"""The three labels of a Director's decision."""


@dataclass
class Account:
    """Counts over one corpus.

    ``kept``: raw utterances that are in a turn (once, however many dialogues share them); ``merged``: those of them
    that joined the turn of the utterance before. ``queries`` counts QMSum's queries. ``flagged`` counts dialogues by
    flag, ``rows`` the rows of each config by split, ``labels`` the Director's labels (agent, action, tone) by split.
    """

    conversations: int = 0
    failed_conversations: int = 0
    utterances: int = 0
    failed_utterances: int = 0
    queries: int = 0
    kept: int = 0
    shared: int = 0
    merged: int = 0
    splits: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    dialogues: Counter[str] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)
    personas: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    rows: dict[str, Counter[str]] = field(default_factory=dict)
    labels: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)

    def settle(self, made: Recast) -> None:
        """Enter conversations and what became of them.

        Raises:
            AccountError: an utterance is in no turn and not dropped, or is both, or a query was lost.
        """
        counts, turns = flat(made.dialogues.column("turns").combine_chunks())
        for counter, name in ((self.turns, "kind"), (self.personas, "persona")):
            counter.update(_counted(turns.field(name)))
        home = np.repeat(made.home, counts)
        placed = _placed(made, turns.field("source_turns"), home)
        spoken = flat(turns.field("source_turns"))[0] > 0
        queries = turns.field("source_query").fill_null(NO_QUERY)
        _check_queries(made, home[~spoken], numbers(queries)[~spoken])
        kept = len(np.unique(placed))
        self.kept += kept
        self.shared += len(placed) - kept
        self.merged += len(placed) - int(spoken.sum())
        for raw, rows in zip(made.raw, np.bincount(made.home, minlength=len(made.raw)).tolist(), strict=True):
            self._enter(raw, rows)
        self.dropped.update(drop.reason for drop in made.dropped)

    def _enter(self, raw: Raw, rows: int) -> None:
        if raw.failed:
            self.failed_conversations += 1
            self.failed_utterances += raw.size
        else:
            self.conversations += 1
            self.utterances += raw.size
            self.splits[raw.split] += 1
        self.queries += raw.queries
        self.dialogues[raw.split] += rows

    def watch(self, split: Split, made: Mapping[str, pa.Table]) -> None:
        """Enter tables as they are written, by config; a config can come in several."""
        for config, rows in made.items():
            self.rows.setdefault(config, Counter())[split] += rows.num_rows
        if "dialogues" in made:
            self.flagged.update(made["dialogues"].column("flags").combine_chunks().flatten().to_pylist())
        if "director_turns" in made:
            for name in LABELS:
                counts = self.labels.setdefault(name, {}).setdefault(split, Counter())
                counts.update(made["director_turns"].column(name).to_pylist())

    def baselines(self) -> dict[str, dict[str, float]]:
        """Return the share of each split that always saying the training split's commonest label gets right.

        By label (agent, action, tone) and split, 0 to 1: what a Director has to beat before it shows any skill.
        """
        found: dict[str, dict[str, float]] = {}
        for name, splits in self.labels.items():
            commonest = max(sorted(splits.get("train", {})), key=lambda label: splits["train"][label], default=None)
            found[name] = {split: c[commonest] / c.total() for split, c in splits.items() if commonest and c.total()}
        return found

    def check_sum(self) -> None:
        """Refuse an account whose totals do not add up."""
        read = self.utterances + self.failed_utterances
        if self.kept + self.dropped.total() != read:
            raise AccountError(
                f"the account does not add up: {read:,} utterances read, {self.kept:,} kept and "
                f"{self.dropped.total():,} dropped; this is a defect of the tool, please report it"
            )

    def differences(self, corpus: str, with_failed: bool) -> list[str]:
        """Say how the counts differ from the published ones; empty when they are the same."""
        published: dict[str, Any] = table("published")[corpus]
        found: dict[str, Any] = {
            "conversations": self.conversations,
            "utterances": self.utterances,
            "queries": self.queries,
            "splits": dict(self.splits),
        }
        expected = dict(published)
        failed: dict[str, int] | None = table("published").get(f"{corpus}-failed")
        if with_failed and failed is not None:
            expected |= {f"failed_{name}": count for name, count in failed.items()}
            found |= {"failed_conversations": self.failed_conversations, "failed_utterances": self.failed_utterances}
        return [
            f"{name.replace('_', ' ')} {_readable(found[name])} instead of {_readable(value)}"
            for name, value in expected.items()
            if found[name] != value
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain, ordered data."""
        plain = {name: _plain(value) for name, value in vars(self).items()}
        return plain | {"baselines": self.baselines()}


def _counted(values: pa.StringArray) -> dict[str, int]:
    found = {each["values"]: each["counts"] for each in values.value_counts().to_pylist()}
    return {value: count for value, count in found.items() if value is not None}


def _placed(made: Recast, source_turns: pa.ListArray, home: Numbers) -> Numbers:
    """Return the utterances that are in turns, numbered over all conversations."""
    counts, values = flat(source_turns)
    number, owner = numbers(values), np.repeat(home, counts)
    size = np.array([raw.size for raw in made.raw], np.int64)
    first = bounds(size)
    gone = np.array([drop.source_turn for drop in made.dropped], np.int64)
    outside = (number < 0) | (number >= size[owner])
    placed = (first[owner] + number)[~outside]
    times = np.minimum(np.bincount(placed, minlength=first[-1]), 1)
    times += np.bincount(first[made.lost] + gone, minlength=first[-1])
    wrong = [*owner[outside], *(np.searchsorted(first, np.flatnonzero(times != 1), "right") - 1)]
    if wrong:
        which = min(wrong)
        raise _lost(made.raw[which], set(number[owner == which].tolist()), set(gone[made.lost == which].tolist()))
    return placed


def _lost(raw: Raw, kept: set[int], gone: set[int]) -> AccountError:
    lost = sorted(set(range(raw.size)) - kept - gone)
    return AccountError(
        f"{raw.where}: {raw.size} utterances were read, {len(kept)} are in turns and {len(gone)} were dropped "
        f"(lost: {lost[:5]}); this is a defect of the tool, please report it"
    )


def _check_queries(made: Recast, home: Numbers, asked: Numbers) -> None:
    """Compare the queries that were read with those in turns: ``asked``, in the conversations ``home``."""
    found = np.unique(np.stack([home, asked]), axis=1)[0]
    for raw, count in zip(made.raw, np.bincount(found, minlength=len(made.raw)).tolist(), strict=True):
        if count != raw.queries:
            raise AccountError(f"{raw.where}: {raw.queries} queries read, {count} in dialogues; please report it")


def _plain(value: object) -> object:
    return {key: _plain(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def _readable(value: int | dict[str, int]) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "/".join(f"{value.get(split, 0):,}" for split in ("train", "validation", "test"))
