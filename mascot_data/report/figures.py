"""Draw the numbers of a report: where each mark of a figure stands, and the table behind it. ``page`` puts it in HTML.

Positions along the width are in percent, so that a figure fits any screen while its text keeps its size.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mascot_data.records.dialogue import SPLITS
from mascot_data.report import voices
from mascot_data.report.data import Table
from mascot_data.report.lengths import Bin, Lengths, round_up

SPLIT_CLASSES: dict[str, str] = {split: f"s{number}" for number, split in enumerate(SPLITS)}
THINNEST = 0.5
"""Width of a mark, in percent, below which it could not be seen."""
SPOKEN = 5
"""Marks that the description of a figure for screen readers names; the table has all."""


class Head(NamedTuple):
    """What stands above a figure; ``id`` is unique on the page."""

    id: str
    title: str
    note: str = ""


class Mark(NamedTuple):
    """A piece of a bar: where it begins and how wide it is, in percent; ``css`` is the class of its colour."""

    left: float
    width: float
    css: str
    title: str


class Bar(NamedTuple):
    """A row of a bar chart; ``value`` stands at its end, ``note`` below it."""

    label: str
    marks: list[Mark]
    value: str
    note: str = ""


class Box(NamedTuple):
    """A row of a box plot; positions in percent."""

    label: str
    css: str
    low: float
    q1: float
    median: float
    q3: float
    high: float
    value: str


class Cell(NamedTuple):
    """A cell of a heat map; ``share`` of its row, 0 to 1."""

    share: float
    text: str
    title: str


class Figure(NamedTuple):
    """A figure: ``kind`` is the template's macro that draws it, ``spoken`` what a screen reader says of it.

    ``drawing`` holds what the macro needs; ``columns`` and ``rows`` are the table behind the figure.
    """

    kind: str
    head: Head
    spoken: str
    drawing: dict[str, Any]
    columns: list[str]
    rows: list[list[str]]


class Section(NamedTuple):
    """A section of the page; ``layout`` is a class of the style sheet: columns by default, ``pairs`` or ``alone``."""

    id: str
    title: str
    text: str
    figures: list[Figure]
    layout: str = ""


def percent(part: float, whole: float) -> str:
    """Say a share in whole percent; a small one that is not nothing as ``<1%``."""
    share = part / whole if whole else 0
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def bars(
    head: Head,
    table: Table,
    columns: Mapping[str, tuple[str, str]],
    *,
    of: str,
    whole: int | None = None,
    most: int | None = None,
    notes: Mapping[str, str] | None = None,
) -> Figure:
    """Draw a table as stacked bars, a row each.

    Args:
        head: id, title and note.
        table: the counts.
        columns: name and class of each column that is a piece of the bars.
        of: what a row is.
        whole: what 100% is; the sum of all rows by default.
        most: how many rows are drawn; the table behind has all.
        notes: what is said of a row, below its bar.
    """
    sums = {row: sum(cells.get(column, 0) for column in columns) for row, cells in table.items()}
    whole = sum(sums.values()) if whole is None else whole
    widest = max(sums.values(), default=0) or 1
    drawn = [
        Bar(
            row,
            _marks(table[row], columns, widest),
            f"{sums[row]:,} ({percent(sums[row], whole)})",
            (notes or {}).get(row, ""),
        )
        for row in list(table)[:most]
    ]
    if more := len(table) - len(drawn):
        note = f"{head.note} {more} more {'is' if more == 1 else 'are'} in the table.".strip()
        head = head._replace(note=note)
    drawing = {"rows": drawn, "legend": list(columns.values()) if len(columns) > 1 else []}
    names, rows = _table_behind(table, columns, sums, whole)
    return Figure("bars", head, _spoken(head.title, drawn), drawing, [of, *names], rows)


def _table_behind(
    table: Table, columns: Mapping[str, tuple[str, str]], sums: Mapping[str, int], whole: int
) -> tuple[list[str], list[list[str]]]:
    many = len(columns) > 1
    names = [*(name for name, _ in columns.values()), *(["all"] if many else []), "share"]
    rows = [
        [row, *(f"{cells.get(column, 0):,}" for column in columns)]
        + ([f"{sums[row]:,}"] if many else [])
        + [percent(sums[row], whole)]
        for row, cells in table.items()
    ]
    return names, rows


def _marks(cells: Mapping[str, int], columns: Mapping[str, tuple[str, str]], widest: int) -> list[Mark]:
    marks, left = [], 0.0
    for column, (name, css) in columns.items():
        if number := cells.get(column, 0):
            width = max(100 * number / widest, THINNEST)
            marks.append(Mark(left, width, css, f"{name}: {number:,}"))
            left += width
    return marks


def shares(head: Head, found: Mapping[str, float], of: str) -> Figure:
    """Draw shares, 0 to 1, as bars on a scale that ends at 100%."""
    drawn = [
        Bar(row, [Mark(0, 100 * share, SPLIT_CLASSES.get(row, "s0"), f"{share:.1%}")], f"{share:.1%}")
        for row, share in found.items()
    ]
    rows = [[bar.label, bar.value] for bar in drawn]
    return Figure("bars", head, _spoken(head.title, drawn), {"rows": drawn, "legend": []}, [of, "share"], rows)


def boxes(head: Head, found: Mapping[str, Lengths], css: Mapping[str, str], of: str) -> Figure:
    """Draw distributions as boxes (quartiles and median) with whiskers from the 5th to the 95th percentile."""
    end = _axis_end(max(row.p95 for row in found.values()))
    drawn = [_box(label, row, css[label], end) for label, row in found.items()]
    spoken = _spoken(f"{head.title}, median and quartiles", drawn)
    drawing = {"rows": drawn, "ticks": ["0", f"{end / 2:,.10g}", f"{end:,}"]}
    columns = [of, "number", "mean", "5%", "25%", "median", "75%", "95%", "longest"]
    rows = [
        [label, f"{row.number:,}", f"{row.mean:,.1f}", *(f"{v:,}" for v in row[2:])] for label, row in found.items()
    ]
    return Figure("boxes", head, spoken, drawing, columns, rows)


def _box(label: str, found: Lengths, css: str, end: int) -> Box:
    low, q1, median, q3, high = (
        100 * value / end for value in (found.p5, found.p25, found.median, found.p75, found.p95)
    )
    return Box(label, css, low, q1, median, q3, high, f"{found.median:,} ({found.p25:,}–{found.p75:,})")


def _axis_end(value: int) -> int:
    """Return a round number a little above the value."""
    step = max(1, round_up(value / 10))
    return max(1, -(-value // step)) * step


def histogram(head: Head, found: Sequence[Bin], of: str) -> Figure:
    """Draw bins as columns; heights are in percent of the highest."""
    highest, all_of_them = max(bin_.number for bin_ in found), sum(bin_.number for bin_ in found)
    names = [_bin_name(bin_) for bin_ in found]
    wide = 100 / len(found)
    drawn = [
        (number * wide, wide, 100 * bin_.number / highest, f"{name}: {bin_.number:,}")
        for number, (bin_, name) in enumerate(zip(found, names, strict=True))
    ]
    every = -(-len(found) // 6)
    ticks = [(number * wide + wide / 2, names[number]) for number in range(0, len(found), every)]
    most = max(range(len(found)), key=lambda number: found[number].number)
    spoken = f"Histogram. {head.title}: from {names[0]} to {names[-1]}, most at {names[most]} with {highest:,}."
    rows = [[name, f"{b.number:,}", percent(b.number, all_of_them)] for name, b in zip(names, found, strict=True)]
    drawing = {"columns": drawn, "ticks": ticks, "highest": f"{highest:,}"}
    return Figure("histogram", head, spoken, drawing, [of, "dialogues", "share"], rows)


def _bin_name(found: Bin) -> str:
    if found.high is None:
        return f"{found.low}+"
    return f"{found.low}" if found.low == found.high else f"{found.low}–{found.high}"


def heat_map(head: Head, table: Table, columns: Sequence[str], corner: str) -> Figure:
    """Draw a table as a heat map of row percentages; the table behind has the counts."""
    drawn = []
    for row, cells in table.items():
        whole = sum(cells.values())
        drawn.append((voices.name(row), [_cell(cells.get(column, 0), whole) for column in columns]))
    names = [voices.name(column) for column in columns]
    rows = [[voices.name(row), *(f"{cells.get(column, 0):,}" for column in columns)] for row, cells in table.items()]
    drawing = {"corner": corner, "columns": names, "rows": drawn}
    return Figure("heat", head, head.title, drawing, [corner, *names], rows)


def _cell(number: int, whole: int) -> Cell:
    return Cell(number / whole if whole else 0, percent(number, whole) if number else "", f"{number:,}")


def _spoken(title: str, rows: Sequence[Bar] | Sequence[Box]) -> str:
    more = f", and {len(rows) - SPOKEN} more" if len(rows) > SPOKEN else ""
    return f"{title}: {', '.join(f'{row.label} {row.value}' for row in rows[:SPOKEN])}{more}."


def named(table: Mapping[str, Any]) -> dict[str, Any]:
    """Put the names of voices in the place of their ids; ids that would share a name keep theirs."""
    names = {voice: voices.name(voice) for voice in table}
    doubled = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {voice if names[voice] in doubled else names[voice]: value for voice, value in table.items()}
