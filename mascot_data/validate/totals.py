"""The account of the provenance against a recount over the rows."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mascot_data.records import Dialogue


class Totals:
    """Counts rows as the build's account does."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("dialogues", "turns", "personas", "flagged")
        }
        self._placed: dict[str, set[int]] = {}
        self._queries: set[tuple[str, int]] = set()

    def add(self, split: str, row: Dialogue) -> None:
        """Enter a row."""
        self._counts["dialogues"][split] += 1
        self._counts["flagged"].update(row.flags)
        owner = row.source_id.partition("#")[0]
        placed = self._placed.setdefault(owner, set())
        for turn in row.turns:
            self._counts["turns"][turn.kind] += 1
            if turn.persona:
                self._counts["personas"][turn.persona] += 1
            placed.update(turn.source_turns)
            if turn.source_query is not None:
                self._queries.add((owner, turn.source_query))

    def problems(self, root: Path, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield where the account says something else than the rows and ``dropped.jsonl``."""
        account = facts["account"]
        dropped, overlap, lines = self._dropped(root)
        kept = sum(len(numbers) for numbers in self._placed.values())
        found: dict[str, Any] = {name: dict(counter) for name, counter in self._counts.items()} | {
            "kept": kept,
            "queries": len(self._queries),
            "dropped": dict(dropped),
            "conversations": len(self._placed.keys() | lines) - account["failed_conversations"],
        }
        for name, value in found.items():
            if value != account[name]:
                yield "provenance.json", f"the account says {name} {account[name]}, the rows say {value}"
        read = account["utterances"] + account["failed_utterances"]
        if kept + dropped.total() != read:
            yield (
                "provenance.json",
                f"{read:,} utterances were read, {kept:,} kept, {dropped.total():,} dropped",
            )
        for owner, number in overlap[:5]:
            yield "dropped.jsonl", f"utterance {number} of {owner} is dropped and in a turn"

    def _dropped(self, root: Path) -> tuple[Counter[str], list[tuple[str, int]], set[str]]:
        reasons: Counter[str] = Counter()
        overlap: list[tuple[str, int]] = []
        owners: set[str] = set()
        path = root / "dropped.jsonl"
        for line in path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else ():
            entry = json.loads(line)
            reasons[entry["reason"]] += 1
            owners.add(entry["source_id"])
            if entry["source_turn"] in self._placed.get(entry["source_id"], ()):
                overlap.append((entry["source_id"], entry["source_turn"]))
        return reasons, overlap, owners
