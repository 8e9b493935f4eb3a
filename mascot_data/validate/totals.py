"""The account of the provenance against a recount over the rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mascot_data.records import Dialogue
from mascot_data.validate.dropped import dropped_lines
from mascot_data.validate.facts import Facts


class Totals:
    """Counts rows as the build's account does."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("dialogues", "turns", "personas", "flagged")
        }
        self._labels: dict[str, dict[str, Counter[str]]] = {name: {} for name in ("agent", "action", "tone")}
        self._placed: dict[str, set[int]] = {}
        self._failed: set[str] = set()
        self._queries: set[tuple[str, int]] = set()
        self._spoken = self._places = 0

    def add(self, split: str, row: Dialogue) -> None:
        """Enter a row."""
        self._counts["dialogues"][split] += 1
        self._counts["flagged"].update(row.flags)
        labels = {name: by_split.setdefault(split, Counter()) for name, by_split in self._labels.items()}
        owner = row.source_id.rpartition("#")[0] if row.source == "qmsum" else row.source_id
        placed = self._placed.setdefault(owner, set())
        if row.subset == "failed":
            self._failed.add(owner)
        for turn in row.turns:
            self._counts["turns"][turn.kind] += 1
            if turn.persona:
                self._counts["personas"][turn.persona] += 1
            for name, counts in labels.items() if turn.directive else ():
                counts[getattr(turn.directive, name)] += 1
            placed.update(turn.source_turns)
            self._places += len(turn.source_turns)
            self._spoken += bool(turn.source_turns)
            if turn.source_query is not None:
                self._queries.add((owner, turn.source_query))

    def problems(self, root: Path, facts: Facts) -> Iterator[tuple[str, str]]:
        """Yield where the account says something else than the rows and ``dropped.jsonl``."""
        account = facts.account
        wrong: list[tuple[str, str]] = []
        reasons, owners = self._dropped(root, wrong)
        yield from wrong
        kept = sum(len(numbers) for numbers in self._placed.values())
        found: dict[str, Any] = {name: dict(counter) for name, counter in self._counts.items()} | {
            "kept": kept,
            "shared": self._places - kept,
            "merged": self._places - self._spoken,
            "queries": len(self._queries),
            "dropped": dict(reasons),
            "conversations": len(owners - self._failed),
            "failed_conversations": len(self._failed),
            "labels": {
                name: {split: dict(counts) for split, counts in by_split.items()}
                for name, by_split in self._labels.items()
            },
        }
        for name, value in found.items():
            if value != (stated := getattr(account, name)):
                yield "provenance.json", f"the account says {name} {stated}, the rows say {value}"
        yield from _sums(facts, kept, reasons.total())

    def _dropped(self, root: Path, wrong: list[tuple[str, str]]) -> tuple[Counter[str], set[str]]:
        """Count the reasons, and collect the conversations of the rows and of what was dropped."""
        reasons: Counter[str] = Counter()
        gone: dict[str, set[int]] = {}
        for line in dropped_lines(root, wrong):
            reasons[line.reason] += 1
            if line.source_turn in self._placed.get(line.source_id, ()):
                wrong.append(("dropped.jsonl", f"utterance {line.source_turn} of {line.source_id} is also in a turn"))
            if line.source_turn in gone.setdefault(line.source_id, set()):
                wrong.append(("dropped.jsonl", f"utterance {line.source_turn} of {line.source_id} is there twice"))
            gone[line.source_id].add(line.source_turn)
        return reasons, self._placed.keys() | gone.keys()


def _sums(facts: Facts, kept: int, dropped: int) -> Iterator[tuple[str, str]]:
    account = facts.account
    read = account.utterances + account.failed_utterances
    if kept + dropped != read:
        yield "provenance.json", f"{read:,} utterances were read, {kept:,} kept, {dropped:,} dropped"
    if sum(account.splits.values()) != account.conversations:
        yield "provenance.json", "the account's splits do not add up to its conversations"
    rows: dict[str, Counter[str]] = {}
    for name, stated in facts.files.items():
        folder, _, file = name.removeprefix("data/").partition("/")
        if stated.rows is not None:
            rows.setdefault(folder, Counter())[file.partition("-")[0]] += stated.rows
    if _present(rows) != _present(account.rows):
        yield "provenance.json", "the account's rows of each config are not those of its files"


def _present(rows: Mapping[str, Mapping[str, int]]) -> dict[tuple[str, str], int]:
    return {(config, split): count for config, counts in rows.items() for split, count in counts.items() if count}
