"""Rows that judging and pairing added, counted, against the counts and the splits of their provenance."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from mascot_data.build.added import Part
from mascot_data.build.provenance import provenance_file
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate.files import PARQUET_ERRORS, part_files
from mascot_data.validate.judgments import JudgmentsMade

_COLUMNS = ("judge_name", "criterion", "prompt_id")
Found = Iterator[tuple[str, str]]
"""Where, and what is wrong."""


def split_problems(root: Path, part: Part, splits: Sequence[str]) -> Found:
    """Yield the splits that have rows of a part without being among those of the options."""
    for split in SPLITS:
        if split not in splits and part_files(root, part, split):
            yield f"data/{part.config}", f"has rows for {split}, which is not one of the splits that the options name"


def row_problems(root: Path, part: Part, stated: Mapping[str, int], limit: int | None = None) -> Found:
    """Yield the splits of which the summary counts other rows than the files have, and those with too many.

    Args:
        root: The dataset directory.
        part: The part.
        stated: The rows by split.
        limit: The most that a split may have.
    """
    counts = Counter[str]()
    try:
        for split in SPLITS:
            counts[split] += sum(pq.read_metadata(path).num_rows for path in part_files(root, part, split))
    except PARQUET_ERRORS:
        return  # the check of the files tells
    yield from _differences(part, "row", stated, counts)
    for name, count in counts.items():
        if limit is not None and count > limit:
            yield provenance_file(part.name), f"{name} has {count:,} rows, but the options say limit {limit:,}"


def judgment_count_problems(root: Path, part: Part, made: JudgmentsMade) -> Found:
    """Yield where the summary counts other judgments than the files have, and splits with too many prompts."""
    counts, prompts = Counter[str](), Counter[str]()
    last = ""
    try:
        for split in SPLITS:
            for judge, criterion, prompt in _columns(root, part, split):
                counts[f"{judge} {criterion}"] += 1
                prompts[split] += prompt != last  # those of one prompt come together
                last = prompt
    except PARQUET_ERRORS:
        return  # the check of the files tells
    yield from _differences(part, "row", made.summary.rows, counts)
    for name, count in prompts.items():
        if made.limit is not None and count > made.limit:
            what = f"{name} has judgments of {count:,} prompts, but the options say limit {made.limit:,}"
            yield provenance_file(part.name), what


def open_problems(root: Path, part: Part, stated: int) -> Found:
    """Yield whether the summary counts other rewards that are null than the files have."""
    count = 0
    try:
        for split in SPLITS:
            for path in part_files(root, part, split):
                count += pq.read_table(path, columns=["reward"]).column(0).null_count
    except PARQUET_ERRORS:
        return  # the check of the files tells
    yield from _differences(part, "null", {"rewards": stated}, {"rewards": count})


def _columns(root: Path, part: Part, split: str) -> Iterator[tuple[str, str, str]]:
    for path in part_files(root, part, split):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=list(_COLUMNS)):
                yield from zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True)


def _differences(part: Part, what: str, stated: Mapping[str, int], counts: Mapping[str, int]) -> Found:
    for name in sorted({*stated, *counts}):
        said, found = stated.get(name, 0), counts.get(name, 0)
        if said != found:
            yield provenance_file(part.name), f"the summary counts {said:,} {what}s of {name}, the files have {found:,}"
