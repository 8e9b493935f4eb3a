"""The account of a build: what was read, what became of it, and whether that adds up and is the published corpus."""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mascot_data.build.pipeline import Recast
from mascot_data.build.tables import table
from mascot_data.errors import AccountError
from mascot_data.records.dialogue import Split

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

    def settle(self, item: Recast) -> None:
        """Enter a conversation and what became of it.

        Raises:
            AccountError: an utterance is in no turn and not dropped, or is both, or a query was lost.
        """
        placed: list[int] = []
        asked: set[int | None] = set()
        spoken = 0
        for row in item.rows:
            for turn in row.turns:
                self.turns[turn.kind] += 1
                if turn.persona is not None:
                    self.personas[turn.persona] += 1
                if turn.source_turns:
                    placed += turn.source_turns
                    spoken += 1
                else:
                    asked.add(turn.source_query)
        kept = set(placed)
        _check_item(item, kept, asked)
        self._enter(item)
        self.kept += len(kept)
        self.shared += len(placed) - len(kept)
        self.merged += len(placed) - spoken

    def _enter(self, item: Recast) -> None:
        if item.failed:
            self.failed_conversations += 1
            self.failed_utterances += item.size
        else:
            self.conversations += 1
            self.utterances += item.size
            self.splits[item.split] += 1
        self.queries += item.queries
        self.dialogues[item.split] += len(item.rows)
        if item.dropped:
            self.dropped.update(drop.reason for drop in item.dropped)

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


def _check_item(item: Recast, kept: set[int], asked: Set[int | None]) -> None:
    if len(kept) == item.size == max(kept, default=-1) + 1 and not item.dropped and len(asked) == item.queries:
        return
    gone = {drop.source_turn for drop in item.dropped}
    if kept | gone != set(range(item.size)) or kept & gone or len(gone) != len(item.dropped):
        lost = sorted(set(range(item.size)) - kept - gone)
        raise AccountError(
            f"{item.where}: {item.size} utterances were read, {len(kept)} are in turns and {len(gone)} were dropped "
            f"(lost: {lost[:5]}); this is a defect of the tool, please report it"
        )
    if len(asked) != item.queries:
        raise AccountError(f"{item.where}: {item.queries} queries read, {len(asked)} in dialogues; please report it")


def _plain(value: object) -> object:
    return {key: _plain(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def _readable(value: int | dict[str, int]) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "/".join(f"{value.get(split, 0):,}" for split in ("train", "validation", "test"))
