"""Arrow columns: made of plain values, of numpy arrays and of each other, and taken apart again.

Nothing here hands a list to ``pa.array`` where the build needs it: that would import pandas, a third of a second.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


def strings(values: Sequence[str | None]) -> pa.StringArray:
    """Make a column of texts; None is null."""
    absent = None
    texts: Sequence[str] = values  # type: ignore[assignment]
    if None in values:
        absent = np.array([value is None for value in values], np.bool_)
        texts = [value or "" for value in values]
    data = "".join(texts).encode()
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if len(data) != sizes.sum():
        wide = [number for number, text in enumerate(texts) if not text.isascii()]
        sizes[wide] = [len(texts[number].encode()) for number in wide]
    return _texts(data, sizes, absent)


def repeated(values: Sequence[str | None]) -> pa.StringArray:
    """Make a column of texts of which few are different; quicker than ``strings`` where they are long."""
    codes: dict[str | None, int] = {}
    places = [codes.setdefault(value, len(codes)) for value in values]
    return take(strings(list(codes)), np.array(places, np.int64))


def cut(data: bytes, begin: Numbers, end: Numbers) -> pa.StringArray:
    """Make a column of parts of one text, given by where in its bytes they begin and end."""
    parts = [data[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]
    return _texts(b"".join(parts), end - begin, None)


def by_code(codes: Numbers, value: Callable[[int], str], absent: Marks | None = None) -> pa.StringArray:
    """Make a column of texts that follow from numbers, of which few are different; null where ``absent``."""
    kinds, places = np.unique(codes, return_inverse=True)
    return take(strings([value(kind) for kind in kinds.tolist()]), places, absent)


def constant(value: str, count: int) -> pa.StringArray:
    """Make a column of one text over and over."""
    return pa.repeat(scalar(value), count)


def scalar(value: str) -> pa.StringScalar:
    """Make an Arrow scalar of a text."""
    return strings([value])[0]


def integers(values: Numbers, absent: Marks | None = None) -> pa.Int64Array:
    """Make a column of integers; null where ``absent``."""
    held = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(held), [_validity(absent), pa.py_buffer(held)])


def marks(values: Marks) -> pa.BooleanArray:
    """Make a column of booleans."""
    bits = np.packbits(values, bitorder="little")
    return pa.BooleanArray.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def lists(counts: Numbers, values: pa.Array) -> pa.ListArray:
    """Cut a column into lists of so many values."""
    return pa.ListArray.from_arrays(_int32(bounds(counts)), values)


def structs(kind: pa.StructType, columns: Sequence[pa.Array], absent: Marks | None = None) -> pa.StructArray:
    """Join columns, in the order of the struct's fields; null where ``absent``, where the columns must be null, too."""
    mask = marks(absent) if absent is not None and absent.any() else None
    return pa.StructArray.from_arrays(list(columns), fields=list(kind), mask=mask)


def to_structs(kind: pa.StructType, rows: Sequence[Sequence[str | None]]) -> pa.StructArray:
    """Make a column of structs of texts."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * kind.num_fields
    return structs(kind, [strings(column) for column in columns])


def take(values: pa.Array, places: Numbers, absent: Marks | None = None) -> pa.Array:
    """Return the values at some places, nulls where ``absent``."""
    return values.take(integers(places, absent))


def bounds(counts: Numbers | Marks) -> Numbers:
    """Return where lists of so many values begin in a row, and where the last one ends."""
    found = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def sums(values: Numbers | Marks, at: Numbers) -> Numbers:
    """Add up the values between neighbouring bounds."""
    return np.diff(bounds(values)[at])


def ranges(begin: Numbers, counts: Numbers) -> Numbers:
    """Return the numbers from each beginning on, so many each, in one row."""
    return np.arange(counts.sum()) + np.repeat(begin - bounds(counts)[:-1], counts)


def numbers(column: pa.Array) -> Numbers:
    """Return a column of integers (no nulls) as a numpy array."""
    width = column.type.bit_width // 8
    held = _bytes(column.buffers()[1])[column.offset * width : (column.offset + len(column)) * width]
    return np.frombuffer(held, f"i{width}").astype(np.int64)


def flat(column: pa.ListArray) -> tuple[Numbers, pa.Array]:
    """Take lists (no nulls) apart: how many values each has, and the values."""
    places = _offsets(column)
    return np.diff(places), column.values.slice(places[0], places[-1] - places[0])


def sizes(column: pa.StringArray) -> Numbers:
    """Return the bytes of each text."""
    return np.diff(_offsets(column))


def present(column: pa.Array) -> Marks:
    """Tell which values are not null."""
    return true(column.is_valid()) if column.null_count else np.ones(len(column), np.bool_)


def true(column: pa.BooleanArray) -> Marks:
    """Return a column of booleans (no nulls) as a numpy array."""
    bits = np.frombuffer(column.buffers()[1], np.uint8)
    return np.unpackbits(bits, count=column.offset + len(column), bitorder="little")[column.offset :].view(np.bool_)


def content(column: pa.Array) -> Iterator[Any]:
    """Yield the buffers of a column as they would be had it been made on its own, nothing shared or unused in them.

    Instead of offsets come sizes, and a null among structs shows in their fields: so all buffers together have as many
    bytes as Arrow counts (``nbytes``).
    """
    if column.null_count and not pa.types.is_struct(column.type):
        yield np.packbits(present(column), bitorder="little")
    if pa.types.is_struct(column.type):
        for number in range(column.type.num_fields):
            yield from content(column.field(number))
    elif pa.types.is_list(column.type):
        counts, values = flat(column)
        yield counts.astype(np.int32)
        yield from content(values)
    elif pa.types.is_string(column.type):
        places = _offsets(column)
        yield np.diff(places).astype(np.int32)
        yield _bytes(column.buffers()[2])[places[0] : places[-1]]
    elif pa.types.is_boolean(column.type):
        yield np.packbits(true(column), bitorder="little")
    else:
        width = column.type.bit_width // 8
        yield _bytes(column.buffers()[1])[column.offset * width : (column.offset + len(column)) * width]


def _bytes(held: pa.Buffer | None) -> memoryview:
    return memoryview(held or b"").cast("B")


def _offsets(column: pa.Array) -> Numbers:
    held = column.buffers()[1]
    found = np.frombuffer(held, np.int32, len(column) + 1, column.offset * 4) if held else np.zeros(1, np.int32)
    return found.astype(np.int64)


def _texts(data: bytes, lengths: Numbers, absent: Marks | None) -> pa.StringArray:
    offsets = pa.py_buffer(bounds(lengths).astype(np.int32))
    return pa.StringArray.from_buffers(len(lengths), offsets, pa.py_buffer(data), _validity(absent))


def _validity(absent: Marks | None) -> pa.Buffer | None:
    return pa.py_buffer(np.packbits(~absent, bitorder="little")) if absent is not None and absent.any() else None


def _int32(values: Numbers) -> pa.Int32Array:
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values.astype(np.int32))])


def to_table(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Make a table of rows given as sequences in the order of the schema's fields; structs inside are such, too.

    Much quicker than a list of dictionaries when texts repeat.
    """
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.Table.from_arrays(
        [_array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if not values or not pa.types.is_nested(kind):
        return pa.array(values, kind)
    if pa.types.is_list(kind):
        return _list_array(values, kind)
    fields = list(kind)
    try:
        parts, absent = list(zip(*values, strict=True)), None
    except TypeError:  # a null among the structs; looking for one first would cost more than the rest
        empty = (None,) * len(fields)
        parts, absent = list(zip(*[value or empty for value in values], strict=True)), _absent(values)
    arrays = [_array(part, field.type) for part, field in zip(parts, fields, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=absent)


def _list_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        lengths, held, absent = list(map(len, values)), values, None
    except TypeError:  # a null among the lists
        held, absent = [value or () for value in values], _absent(values)
        lengths = list(map(len, held))
    offsets = pa.array(list(accumulate(lengths, initial=0)), pa.int32())
    inner = _array(list(chain.from_iterable(held)), kind.value_type)
    return pa.ListArray.from_arrays(offsets, inner, type=kind, mask=absent)


def _absent(values: Sequence[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())
