"""Drive the checks over a dataset directory and collect what is wrong."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from mascot_data.build.provenance import read_provenance
from mascot_data.build.staging import recover
from mascot_data.errors import DatasetError
from mascot_data.records import Dialogue, arrow_schema
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate.card import card_problems
from mascot_data.validate.files import file_problems, parquet_files
from mascot_data.validate.leaks import Leaks
from mascot_data.validate.rows import row_problems
from mascot_data.validate.totals import Totals

BATCH_ROWS = 500


class Problem(NamedTuple):
    """Something wrong: which check found it, where (file, row), and what."""

    check: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What was checked and what is wrong; ``problems`` is empty for a sound dataset."""

    directory: Path
    rows: int
    problems: list[Problem]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "directory": str(self.directory),
            "rows": self.rows,
            "problems": [problem._asdict() for problem in self.problems],
        }


def validate(directory: str | Path) -> ValidationReport:
    """Check a dataset directory against its schema, its account, its card and itself.

    A defect that the rows declare by a flag (a worker pair of the source that is in two splits, say) is no problem; the
    same defect without its flag is one.

    Raises:
        DatasetError: there is no dataset directory, or its provenance cannot be read.
    """
    root = Path(directory)
    recover(root)
    if not root.is_dir():
        raise DatasetError(f"{root}: there is no such dataset directory; make it with  mascot-data build")
    facts = read_provenance(root)
    problems = [Problem("files", where, what) for where, what in file_problems(root, facts)]
    problems += [Problem("card", where, what) for where, what in card_problems(root, facts)]
    leaks, totals, rows = Leaks(), Totals(), 0
    for split in SPLITS:
        for path in parquet_files(root, "dialogues", split):
            rows += _check_file(root, path, split, leaks, totals, problems)
    problems += [Problem("leaks", where, what) for where, what in leaks.problems()]
    problems += [Problem("account", where, what) for where, what in totals.problems(root, facts)]
    return ValidationReport(root, rows, problems)


def _check_file(root: Path, path: Path, split: str, leaks: Leaks, totals: Totals, problems: list[Problem]) -> int:
    name = path.relative_to(root).as_posix()
    count = 0
    try:
        file = pq.ParquetFile(path)
        wrong = list(_schema_problems(file.schema_arrow, arrow_schema(Dialogue)))
        problems += [Problem("schema", name, what) for what in wrong]
        if wrong:
            return 0
        for batch in file.iter_batches(BATCH_ROWS):
            for data in batch.to_pylist():
                problems += _check_row(f"{name} row {count}", split, data, leaks, totals)
                count += 1
    except (pa.ArrowException, OSError) as error:
        problems.append(Problem("files", name, f"cannot be read ({error}); build the dataset again"))
    return count


def _check_row(where: str, split: str, data: dict[str, Any], leaks: Leaks, totals: Totals) -> list[Problem]:
    try:
        row = Dialogue.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return [Problem("schema", f"{where} ({data.get('id')})", f"{place}: {first['msg']}")]
    leaks.add(where, split, row)
    totals.add(split, row)
    return [Problem("rows", f"{where} ({row.id})", what) for what in row_problems(row)]


def _schema_problems(found: pa.Schema, expected: pa.Schema) -> Iterator[str]:
    for name in expected.names:
        if name not in found.names:
            yield f"column {name} is missing"
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


def summary(report: ValidationReport) -> Counter[str]:
    """Count the problems by check."""
    return Counter(problem.check for problem in report.problems)
