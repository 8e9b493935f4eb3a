"""Rows come out of the spool as they went in, in one order, with the flags of what they share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.build.columns import to_table
from mascot_data.build.spool import SCHEMA, Link, Origin, Spool
from mascot_data.errors import InputError
from mascot_data.records.dialogue import SCHEMA_VERSION, SPLITS, Split
from mascot_data.records.rows import DialogueRow, DirectiveRow, OutcomeRow, ScenarioRow, TurnRow


class Item(NamedTuple):
    """A row on its way into the spool."""

    row: DialogueRow
    split: Split
    owner: str
    links: list[Link]


def item(source_id: str, split: Split = "train", links: Sequence[Link] = (), owner: str = "", **fields: Any) -> Item:
    plain = DialogueRow(
        f"esconv:{source_id}", "esconv", source_id, "psychological-support", "main", ScenarioRow("x"), [], [],
        OutcomeRow(), [], [], "mit", SCHEMA_VERSION,
    )  # fmt: skip
    return Item(plain._replace(**fields), split, owner or source_id, list(links))


def table_of(items: Sequence[Item]) -> pa.Table:
    return to_table([one.row for one in items], SCHEMA)


@contextmanager
def spooled(items: Sequence[Item], batch: int = 4) -> Iterator[Spool]:
    with TemporaryDirectory() as folder:
        spool = Spool(Path(folder) / "spool")
        try:
            for first in range(0, len(items), batch):
                part = items[first : first + batch]
                origins = [
                    Origin(f"place {number}", split, owner, links)
                    for number, (_, split, owner, links) in enumerate(part, first)
                ]
                spool.add(table_of(part), origins)
            spool.link()
            yield spool
        finally:
            spool.close()


def held(items: Sequence[Item], batch: int = 4) -> dict[Split, list[dict[str, Any]]]:
    with spooled(items, batch) as spool:
        return {split: spool.rows(spool.order(split)).to_pylist() for split in SPLITS}


KEYS = st.tuples(st.sampled_from(["pair", "situation", "annotations"]), st.sampled_from(["a", "b"]))


@st.composite
def many(draw: st.DrawFn) -> list[Item]:
    ids = draw(st.lists(st.integers(0, 30), max_size=9, unique=True))
    return [
        item(
            str(source_id),
            draw(st.sampled_from(SPLITS)),
            draw(st.lists(KEYS, max_size=3)),
            draw(st.sampled_from(["", "one", "two"])),
            flags=draw(st.sampled_from([[], ["repeat"], ["survey-missing", "task-talk"]])),
            subset=draw(st.text()),
        )
        for source_id in ids
    ]


def flags_by_hand(mine: Item, items: Sequence[Item]) -> list[str]:
    """Say by the definition which flags a row gets: compare it with every other one."""
    flags = set(mine.row.flags)
    for kind, key in mine.links:
        sharing = [other for other in items if (kind, key) in other.links]
        owners, splits = {other.owner for other in sharing}, {other.split for other in sharing}
        if len(owners) > 1 and kind != "pair":
            flags.add(f"duplicate-{kind}")
        if len(owners) > 1 and len(splits) > 1:
            flags.add(f"{kind}-in-two-splits")
    return sorted(flags)


@settings(deadline=None)
@given(many(), st.integers(1, 9))
def test_rows_come_back_by_split_and_number_with_the_flags_of_their_links(items: list[Item], batch: int) -> None:
    for split, found in held(items, batch).items():
        expected = sorted((mine for mine in items if mine.split == split), key=lambda mine: int(mine.row.source_id))
        rows = [mine._replace(row=mine.row._replace(flags=flags_by_hand(mine, items))) for mine in expected]
        assert found == table_of(rows).to_pylist()


@settings(deadline=None)
@given(many().flatmap(lambda items: st.tuples(st.just(items), st.permutations(items))))
def test_any_order_of_input_gives_the_same(both: tuple[list[Item], list[Item]]) -> None:
    items, shuffled = both
    assert held(items) == held(shuffled)


@settings(deadline=None)
@given(many(), st.data())
def test_any_rows_can_be_read_in_any_order(items: list[Item], data: st.DataObject) -> None:
    with spooled(items) as spool:
        everything = {row: spool.rows(np.array([row])).to_pylist() for row in range(len(items))}
        rows = data.draw(st.permutations(range(len(items))))
        assert spool.rows(np.array(rows, np.int64)).to_pylist() == [each for row in rows for each in everything[row]]


def test_numbers_in_ids_count_as_such() -> None:
    ids = ["hit:10_conv:2", "hit:9_conv:10", "hit:9_conv:9", "failed-10", "failed-2", "10", "9", "0"]
    found = held([item(source_id) for source_id in ids])["train"]
    assert [row["source_id"] for row in found] == [
        "0",
        "9",
        "10",
        "failed-2",
        "failed-10",
        "hit:9_conv:9",
        "hit:9_conv:10",
        "hit:10_conv:2",
    ]


@settings(deadline=None)
@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    (found,) = held([item("1", subset=text, scenario=ScenarioRow(text, topic=text))])["train"]
    assert found["subset"] == text
    assert list(found["scenario"].values()) == [text, None, None, None, text, None]


@pytest.mark.parametrize("count", [1, 499, 1300])
def test_every_row_comes_back_whatever_their_number(count: int) -> None:
    items = [item(str(number), SPLITS[number % 3], [("situation", str(number // 2))]) for number in range(count)]
    with spooled(items, 50) as spool:
        found = {split: spool.rows(spool.order(split)).to_pylist() for split in SPLITS}
    for split in SPLITS:
        mine = [one for one in items if one.split == split]
        assert [row["source_id"] for row in found[split]] == [one.row.source_id for one in mine]
    paired = sum("situation-in-two-splits" in row["flags"] for rows in found.values() for row in rows)
    assert paired == count // 2 * 2


def test_what_is_known_of_rows_without_reading_them() -> None:
    def turn(text: str, directive: DirectiveRow | None = None) -> TurnRow:
        return TurnRow(0, "user", "user", None, text, [], None, [], [], [], None, [], directive, None, [])

    said = DirectiveRow("anchor", "reflect the feelings", "calm and empathetic", "rule")
    with spooled([item("2", turns=[turn("é" * 9), turn("x", said), turn("y", said)]), item("1")]) as spool:
        rows = spool.order("train")
        assert spool.agents(rows).tolist() == [0, 2]
        assert spool.size(rows) == spool.size(rows[1:]) > 20


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("between", [0, 700])
def test_a_conversation_that_is_there_twice_is_refused(split: Split, between: int) -> None:
    items = [item("17"), *(item(f"other-{number}") for number in range(between)), item("17", split)]
    with pytest.raises(InputError, match=rf"place 0 and place {between + 1}: hold the same conversation"):
        held(items)


def test_an_empty_spool_has_no_rows() -> None:
    with spooled([]) as spool:
        assert [len(spool.order(split)) for split in SPLITS] == [0] * 3
