"""Drive the checks over a dataset directory and collect what is wrong."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mascot_data.build.added import CANDIDATES, ROLLOUTS
from mascot_data.build.staging import recover
from mascot_data.errors import DatasetError
from mascot_data.records import Dialogue
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate.candidates import CandidatesMade, candidate_problems
from mascot_data.validate.card import card_problems
from mascot_data.validate.facts import Facts, stated_facts
from mascot_data.validate.files import built_files, file_problems
from mascot_data.validate.labels import AddedLabels
from mascot_data.validate.leaks import Leaks
from mascot_data.validate.parts import made_with
from mascot_data.validate.reading import Problem, UnreadableError, parse, places_of, rows_of
from mascot_data.validate.rollouts import RolloutsMade
from mascot_data.validate.rows import row_problems
from mascot_data.validate.totals import Totals
from mascot_data.validate.views import Shared, SplitViews

__all__ = ["Problem", "ValidationReport", "validate"]


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What was checked and what is wrong; ``rows`` counts dialogues, ``problems`` is empty for a sound dataset."""

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
    same defect without its flag is one. What later commands added (candidates, rollouts, judgments, pairs, rewards,
    labels) is checked against the rows that it is of, and against what its provenance says it was made with.

    Raises:
        DatasetError: there is no dataset directory, or its provenance cannot be read.
    """
    root = Path(directory)
    recover(root)
    if not root.is_dir():
        raise DatasetError(f"{root}: there is no such dataset directory; make it with  mascot-data build")
    facts = stated_facts(root)
    run = _Run(root, facts)
    run.enter("files", file_problems(root, facts))
    run.enter("card", card_problems(root, facts))
    for split in SPLITS:
        run.check_split(split)
    run.labels.end()
    run.enter("leaks", run.leaks.problems())
    run.enter("account", run.totals.problems(root, facts))
    return ValidationReport(root, run.rows, run.problems)


class _Run:
    """What the checks of a directory have seen so far."""

    def __init__(self, root: Path, facts: Facts) -> None:
        self.problems: list[Problem] = []
        self.leaks, self.totals, self.rows = Leaks(), Totals(), 0
        self.labels = AddedLabels(root, facts, self.problems)
        self._candidates = made_with(facts, CANDIDATES, CandidatesMade, self.problems)
        rollouts = made_with(facts, ROLLOUTS, RolloutsMade, self.problems)
        self._root, self._shared = root, Shared(facts.options.block_turns, rollouts)

    def enter(self, check: str, found: Iterable[tuple[str, str]]) -> None:
        self.problems += [Problem(check, where, what) for where, what in found]

    def check_split(self, split: str) -> None:
        """Check the dialogues of a split and what hangs on them, unless a file of dialogues cannot be read."""
        places = places_of(self._root, "dialogues", split, Dialogue)
        views = None if places is None else SplitViews(self._root, split, places, self._shared)
        for path in built_files(self._root, "dialogues", split):
            try:
                for where, data in rows_of(self._root, path, Dialogue):
                    self._check_row(where, split, data, views)
            except UnreadableError as error:
                self.problems += error.problems
                views = None
        if views is not None:
            views.end()
            self.problems += views.problems
        if self._candidates is not None:
            self.problems += candidate_problems(self._root, split, self._candidates)
        self.labels.check_split(split)

    def _check_row(self, where: str, split: str, data: dict[str, Any], views: SplitViews | None) -> None:
        self.rows += 1
        row = parse(where, data, Dialogue, self.problems)
        if row is None:
            if views is not None:
                views.skip(data["id"])
            return
        self.leaks.add(where, split, row)
        self.totals.add(split, row)
        self.enter("rows", ((f"{where} ({row.id})", what) for what in row_problems(row)))
        if views is not None:
            views.check(row)
