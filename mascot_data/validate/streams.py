"""Rows of a part that a later command added, beside what they are of: taken dialogue by dialogue."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from mascot_data.build.added import Part
from mascot_data.validate.files import part_files
from mascot_data.validate.parts import MadeT
from mascot_data.validate.reading import PlainRows, Problem, RowT, ViewRows


@dataclass(frozen=True, slots=True)
class AddedPart(Generic[RowT, MadeT]):
    """A part, the model of its rows, and what they were made with; None: it is not there, or cannot be checked."""

    part: Part
    model: type[RowT]
    made: MadeT | None


@dataclass(frozen=True, slots=True)
class SplitOf:
    """A split of a dataset directory: the position of each dialogue in it, and where problems go."""

    root: Path
    split: str
    places: Mapping[str, int]
    problems: list[Problem]


class AddedRows(Generic[RowT, MadeT]):
    """The rows of a part in a split; none where it is not there.

    ``sure`` tells that there are rows to check, and that all of those last taken, and before, could be read.
    """

    def __init__(self, added: AddedPart[RowT, MadeT], of: SplitOf, base: PlainRows | None, kind: str) -> None:
        """Open the files.

        Args:
            added: The part.
            of: The split.
            base: What the rows are of; None: nothing that has files.
            kind: What that is called.
        """
        self.part, self._made, self._problems = added.part, added.made, of.problems
        self._files = part_files(of.root, added.part, of.split)
        self._rows: ViewRows[RowT] | None = None
        self.sure = False
        if self._made is None:
            return
        if self._files and (base is None or not base.there):
            what = f"has rows for {of.split}, but there are no {kind} that they could be of"
            self._problems.append(Problem(self.part.name, f"data/{self.part.config}", what))
            return
        self.sure = True
        self._rows = ViewRows(of.root, added.part, of.split, added.model, of.places, of.problems, check=added.part.name)

    def take(self, place: int) -> list[tuple[str, RowT, MadeT]]:
        """Return place, row and what it was made with, of the dialogue at this position of the split."""
        if self._made is None or self._rows is None:
            return []
        before = len(self._problems)
        taken = self._rows.take(place)
        self.sure = len(self._problems) == before and (self._rows.whole or not self._files)
        return [(where, row, self._made) for where, row in taken]

    def enter(self, where: str, found: Iterable[str]) -> None:
        """Enter what is wrong with a row."""
        self._problems += [Problem(self.part.name, where, what) for what in found]
