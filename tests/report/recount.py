"""A plain recount of a dataset directory, row by row, for comparison with what a report counts in batches."""

from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq

from mascot_data.records import Dialogue
from mascot_data.records.dialogue import SPLITS


def rows(root: Path) -> list[tuple[str, Dialogue]]:
    return [
        (split, Dialogue.model_validate(data))
        for split in SPLITS
        for path in sorted((root / "data" / "dialogues").glob(f"{split}-*.parquet"))
        for data in pq.read_table(path).to_pylist()
    ]


def recount(found: list[tuple[str, Dialogue]]) -> dict[str, dict[str, Counter[str]]]:
    """Count by figure, row and column."""
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for split, row in found:
        counts["subsets"][row.subset][split] += 1
        for topic in ("emotion", "problem"):
            if getattr(row.scenario, topic) is not None:
                counts[f"{topic}s"][getattr(row.scenario, topic)][split] += 1
        for flag in row.flags:
            counts["flags"][flag]["dialogues"] += 1
        before = "start"
        for turn in row.turns:
            voice = turn.persona or turn.kind
            counts["voices"][voice][split] += 1
            counts["follows"][before][voice] += 1
            before = voice
            for act in turn.acts:
                counts["acts"][act][voice] += 1
            for flag in turn.flags:
                counts["flags"][flag]["turns"] += 1
        counts["follows"][before]["end"] += 1
    return counts


def words(found: list[tuple[str, Dialogue]]) -> dict[str, list[int]]:
    """Return the sorted numbers of words of the turns, by voice."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for _, row in found:
        for turn in row.turns:
            lengths[turn.persona or turn.kind].append(len(turn.text.split()))
    return {voice: sorted(numbers) for voice, numbers in lengths.items()}
