"""Read the rows of a dataset directory; what cannot be read is a problem, never a crash."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ValidationError

from mascot_data.build.added import Part
from mascot_data.records import arrow_schema
from mascot_data.validate.files import PARQUET_ERRORS, built_files, part_files

BATCH_ROWS = 500
RowT = TypeVar("RowT", bound=BaseModel)


class Problem(NamedTuple):
    """Something wrong: which check found it, where (file, row), and what."""

    check: str
    where: str
    what: str


class UnreadableError(Exception):
    """A file whose rows cannot be read; ``problems`` says why."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems


def rows_of(
    root: Path, path: Path, model: type[BaseModel], columns: Sequence[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the plain data of every row of a file; of all columns where none are named.

    Raises:
        UnreadableError: it is no whole Parquet file, or has not the columns of the model.
    """
    name = path.relative_to(root).as_posix()
    try:
        with pq.ParquetFile(path) as file:
            if wrong := list(_schema_problems(file.schema_arrow, arrow_schema(model))):
                raise UnreadableError([Problem("schema", name, what) for what in wrong])
            count = 0
            for batch in file.iter_batches(BATCH_ROWS, columns=None if columns is None else list(columns)):
                for data in batch.to_pylist():
                    yield f"{name} row {count}", data
                    count += 1
    except PARQUET_ERRORS as error:
        raise UnreadableError([Problem("files", name, f"cannot be read ({error}); build the dataset again")]) from error


def parse(where: str, data: dict[str, Any], model: type[RowT], problems: list[Problem]) -> RowT | None:
    """Return the row, or enter what is wrong with it and return None."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        problems.append(Problem("schema", f"{where} ({data.get('id')})", f"{place}: {first['msg']}"))
        return None


def places_of(root: Path, config: str, split: str, model: type[BaseModel]) -> dict[str, int] | None:
    """Return the position of every row of a config's split by its id; None when a file cannot be read."""
    places: dict[str, int] = {}
    expected = arrow_schema(model)
    for path in built_files(root, config, split):
        try:
            with pq.ParquetFile(path) as file:
                if list(_schema_problems(file.schema_arrow, expected)):
                    return None
                for batch in file.iter_batches(columns=["id"]):
                    for row in batch.column(0).to_pylist():
                        places.setdefault(row, len(places))
        except PARQUET_ERRORS:
            return None
    return places


class ViewRows(Generic[RowT]):
    """Rows of one part and split, taken in the order of what they belong to: only those of one thing are in memory.

    ``key`` is the column that says what a row belongs to: a dialogue or a prompt, at one of ``places``. ``check`` is
    the name under which a row in the wrong place is told. ``whole`` tells that the rows have been read without a gap so
    far: a row that is not there is missing.
    """

    def __init__(
        self,
        root: Path,
        part: Part,
        split: str,
        model: type[RowT],
        places: Mapping[str, int],
        problems: list[Problem],
        *,
        key: str = "dialogue_id",
        check: str = "views",
    ) -> None:
        self._root, self._model, self._places, self._problems = root, model, places, problems
        self._key, self._check = key, check
        self._files = part_files(root, part, split)
        self.whole = bool(self._files)
        maker = part.command or part.name
        again = "build the dataset again" if check == "views" else f"run  mascot-data {maker}  again"
        told = f"has no file for {split}; {again}"
        self._missing = [] if self._files else [(f"data/{part.config}", told)]
        self._rows = self._read()
        self._head = next(self._rows, None)

    def take(self, place: int) -> list[tuple[str, RowT]]:
        """Return place and row of those that belong to the dialogue or prompt at this position of the split."""
        taken: list[tuple[str, RowT]] = []
        while self._head is not None:
            where, data = self._head
            its = self._places.get(data[self._key])
            if its is not None and its > place:
                break
            self._head = next(self._rows, None)
            if its != place:
                self._stray(where, data, known=its is not None)
            elif row := parse(where, data, self._model, self._problems):
                taken.append((f"{where} ({data['id']})", row))
        return taken

    def needed(self) -> list[tuple[str, str]]:
        """Say, the first time that rows are needed, that there is no file for them."""
        told, self._missing = self._missing, []
        return told

    def _stray(self, where: str, data: dict[str, Any], *, known: bool) -> None:
        of = self._key.removesuffix("_id")
        what = f"is not in the order of the {of}s" if known else f"belongs to no {of} of this split"
        self._problems.append(Problem(self._check, f"{where} ({data['id']})", what))

    def _read(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in self._files:
            try:
                yield from rows_of(self._root, path, self._model)
            except UnreadableError as error:
                self.whole = False
                self._problems += error.problems


class PlainRows:
    """Rows that others hang on, as plain data, taken dialogue by dialogue like ``ViewRows``; other checks look at them.

    ``columns`` are what is wanted of them, with ``dialogue_id``. ``there`` tells whether there is a file of them.
    """

    def __init__(
        self,
        root: Path,
        part: Part,
        split: str,
        model: type[BaseModel],
        places: Mapping[str, int],
        columns: Sequence[str],
    ) -> None:
        """Open the files.

        Raises:
            UnreadableError: a file cannot be read.
        """
        files = part_files(root, part, split)
        self.there = bool(files)
        self._places = places
        self._rows = (data for path in files for _, data in rows_of(root, path, model, columns))
        self._head = next(self._rows, None)

    def take(self, place: int) -> list[dict[str, Any]]:
        """Return the rows of the dialogue at this position of the split; those in a wrong place are passed over.

        Raises:
            UnreadableError: a file cannot be read.
        """
        taken: list[dict[str, Any]] = []
        while self._head is not None:
            its = self._places.get(self._head["dialogue_id"])
            if its is not None and its > place:
                break
            if its == place:
                taken.append(self._head)
            self._head = next(self._rows, None)
        return taken


def _schema_problems(found: pa.Schema, expected: pa.Schema) -> Iterator[str]:
    for name in expected.names:
        if (count := found.names.count(name)) != 1:
            yield f"column {name} is {'there twice' if count else 'missing'}"
        elif not _same_type(found.field(name).type, expected.field(name).type):
            yield f"column {name} has another type than the schema: {found.field(name).type}"
    for name in found.names:
        if name not in expected.names:
            yield f"column {name} is not in the schema"


def _same_type(found: pa.DataType, expected: pa.DataType) -> bool:
    """Compare types, whatever a list calls its items."""
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return _same_type(found.value_type, expected.value_type)
    if pa.types.is_struct(found) and pa.types.is_struct(expected):
        names = [field.name for field in expected]
        return [field.name for field in found] == names and all(
            _same_type(found.field(i).type, expected.field(i).type) for i in range(len(names))
        )
    return bool(found == expected)
