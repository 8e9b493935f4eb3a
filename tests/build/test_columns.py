"""Tables made column by column are those that pyarrow makes of dictionaries, row by row."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.build.columns import to_table
from mascot_data.records import CONFIGS, arrow_schema

SCALARS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.string(): st.text(),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
}


def structs(kinds: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.lists(kinds, min_size=1, max_size=3).map(
        lambda found: pa.struct([pa.field(f"field{number}", kind) for number, kind in enumerate(found)])
    )


KINDS = st.recursive(
    st.sampled_from(list(SCALARS)), lambda kinds: st.one_of(kinds.map(pa.list_), structs(kinds)), max_leaves=5
)


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, nulls among them; structs are tuples."""
    if pa.types.is_list(kind):
        present: st.SearchStrategy[Any] = st.lists(values(kind.value_type), max_size=3)
    elif pa.types.is_struct(kind):
        present = st.tuples(*(values(field.type) for field in kind))
    else:
        present = SCALARS[kind]
    return st.none() | present


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Schema, list[tuple[Any, ...]]]:
    kinds = draw(st.lists(KINDS, min_size=1, max_size=4))
    schema = pa.schema([pa.field(f"column{number}", kind) for number, kind in enumerate(kinds)])
    return schema, draw(st.lists(st.tuples(*map(values, kinds)), max_size=6))


def plain(value: Any, kind: pa.DataType) -> Any:
    """Return a value with dictionaries for structs."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [plain(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: plain(item, field.type) for item, field in zip(value, kind, strict=True)}
    return value


def tuples(value: Any) -> Any:
    """Return a value with tuples for dictionaries."""
    if isinstance(value, dict):
        return tuple(tuples(item) for item in value.values())
    return [tuples(item) for item in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(tables())
def test_equal_to_pyarrow_row_by_row(table: tuple[pa.Schema, list[tuple[Any, ...]]]) -> None:
    schema, rows = table
    made = to_table(rows, schema)
    made.validate(full=True)
    dictionaries = [
        {field.name: plain(value, field.type) for value, field in zip(row, schema, strict=True)} for row in rows
    ]
    assert made.schema == schema
    assert made.to_pylist() == dictionaries
    assert made.equals(pa.Table.from_pylist(dictionaries, schema=schema))


@pytest.mark.parametrize("config", CONFIGS)
def test_rows_of_a_build_come_back_as_they_were(sample_build: Path, config: str) -> None:
    schema = arrow_schema(CONFIGS[config])
    for path in sample_build.glob(f"*/data/{config}/*.parquet"):
        table = pq.read_table(path).cast(schema)
        made = to_table([tuples(row) for row in table.to_pylist()], schema)
        assert made.equals(table.combine_chunks())
        assert made.num_rows == table.num_rows > 0


@pytest.mark.parametrize("config", CONFIGS)
def test_no_rows(config: str) -> None:
    schema = arrow_schema(CONFIGS[config])
    assert to_table([], schema).equals(schema.empty_table())


def test_rows_of_unequal_length_are_refused() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    for rows in ([(1, 2), (1,)], [(1,)], [(1, 2, 3)]):
        with pytest.raises(ValueError, match="zip"):
            to_table(rows, schema)


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(pa.ArrowException):
        to_table([("1",)], pa.schema([("a", pa.int64())]))
