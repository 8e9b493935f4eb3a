import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mascot_data.build.provenance import read_provenance
from mascot_data.report import counting
from mascot_data.report.data import Data, read_data
from tests.report.recount import recount, rows, words

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
TABLES = ("subsets", "emotions", "problems", "voices", "acts", "flags", "follows")


@pytest.fixture(params=CORPORA)
def root(request: pytest.FixtureRequest, sample_build: Path) -> Path:
    return sample_build / f"{request.param}-multiagent"


def read(root: Path) -> Data:
    return read_data(root, read_provenance(root)["account"])


def test_tables_equal_a_plain_recount(root: Path) -> None:
    data, expected = read(root), recount(rows(root))
    for name in TABLES:
        assert getattr(data, name) == {row: dict(cells) for row, cells in expected[name].items()}, name


def test_batches_and_their_borders_do_not_matter(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(root)
    monkeypatch.setattr(counting, "BATCH_ROWS", 2)
    assert read(root) == whole


def test_lengths_equal_a_plain_recount(root: Path) -> None:
    data, found = read(root), rows(root)
    expected = words(found)
    assert data.words_a_turn.keys() == expected.keys()
    for voice, lengths in data.words_a_turn.items():
        numbers = expected[voice]
        assert (lengths.number, lengths.total, lengths.longest) == (len(numbers), sum(numbers), numbers[-1])
        assert lengths.median == numbers[(len(numbers) - 1) // 2]
    turns = Counter(row.subset for _, row in found for _ in row.turns)
    assert {subset: lengths.total for subset, lengths in data.turns_a_dialogue.items()} == turns
    assert sum(found.number for found in data.turns_bins) == len(found)


def test_labels_are_those_of_the_decisions(root: Path) -> None:
    data = read(root)
    for name, table in data.labels.items():
        expected: dict[str, dict[str, int]] = {}
        for split in data.splits:
            for path in sorted((root / "data" / "director_turns").glob(f"{split}-*.parquet")):
                for label in pq.read_table(path, columns=[name])[name].to_pylist():
                    row = expected.setdefault(label, {})
                    row[split] = row.get(split, 0) + 1
        assert table == expected


def test_baselines_are_the_shares_of_the_commonest_label(root: Path) -> None:
    data = read(root)
    for name, shares in data.baselines.items():
        table, said = data.labels[name], data.commonest[name]
        assert said is not None
        assert all(counts.get("train", 0) <= table[said]["train"] for counts in table.values())
        for split, share in shares.items():
            whole = sum(counts.get(split, 0) for counts in table.values())
            assert share == pytest.approx(table[said].get(split, 0) / whole)


def test_examples_are_near_the_median_and_come_from_every_subset(root: Path) -> None:
    data = read(root)
    by_id = {row.id: row for _, row in rows(root)}
    shown = [by_id[name] for name in data.examples]
    assert 1 <= len(set(data.examples)) == len(shown) <= 5
    assert all("self-harm-words" not in row.flags and any(turn.persona for turn in row.turns) for row in shown)
    fit = {row.subset for row in by_id.values() if "self-harm-words" not in row.flags and row.turns[-1].persona}
    assert fit <= {row.subset for row in shown}


def test_numbers_are_plain_data(root: Path) -> None:
    def keys(value: Any) -> set[type]:
        if isinstance(value, dict):
            return {type(key) for key in value} | {kind for item in value.values() for kind in keys(item)}
        return set()

    plain = read(root).as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert keys(plain) == {str}


def test_tables_are_ordered_by_what_they_say(root: Path) -> None:
    data = read(root)
    for table in (data.subsets, data.emotions, data.problems, data.acts):
        sizes = [sum(counts.values()) for counts in table.values()]
        assert sizes == sorted(sizes, reverse=True)
    assert next(iter(data.follows)) == "start"
    assert next(iter(data.voices)) == "user"
