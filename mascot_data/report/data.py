"""The numbers behind the figures of a report, as plain data."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mascot_data.build.account import LABELS
from mascot_data.records.dialogue import SPLITS
from mascot_data.report.counting import END, START, TOPICS, Counts, count
from mascot_data.report.lengths import Bin, Lengths, as_dict, bins, lengths, quantile
from mascot_data.report.measuring import measure
from mascot_data.report.voices import in_order

EXAMPLES = 3
MOST_EXAMPLES = 5

Table = dict[str, dict[str, int]]
"""Row name to column name to count, in the order in which they are shown; absent means none."""


@dataclass(frozen=True)
class Data:
    """The numbers behind the figures.

    ``subsets``, ``emotions`` and ``problems`` count dialogues by split, ``voices`` turns by split, ``acts`` act labels
    by the voice of their turn, ``flags`` dialogues and turns, ``follows`` how often one voice follows another.
    ``labels`` and ``baselines`` are those of the build's account: the Director's labels by name, then label and split;
    and the share, 0 to 1, of each split that always saying ``commonest``, the training split's commonest label, gets
    right. ``systems`` are the measures of the agents (``stats.Measured`` as plain data): of the corpus, then of each
    mode of rollouts.
    """

    splits: list[str]
    licences: list[str]
    subsets: Table
    emotions: Table
    problems: Table
    voices: Table
    acts: Table
    act_origins: dict[str, int]
    turns_a_dialogue: dict[str, Lengths]
    turns_bins: list[Bin]
    words_a_turn: dict[str, Lengths]
    flags: Table
    follows: Table
    labels: dict[str, Table]
    baselines: dict[str, dict[str, float]]
    commonest: dict[str, str | None]
    systems: list[dict[str, Any]]
    examples: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data, for JSON."""
        return {name: _plain(value) for name, value in vars(self).items()}


def read_data(root: Path, account: Mapping[str, Any]) -> Data:
    """Count a dataset directory's rows; the Director's labels come from the account of its build.

    Raises:
        DatasetError: there are no dialogues, or a file cannot be read.
    """
    counts = count(root)
    sizes = _lengths_by(counts.dialogues)
    labels = {name: account["labels"][name] for name in LABELS if name in account["labels"]}
    voices = in_order({voice for _, voice, _ in counts.turns})
    return Data(
        splits=[split for split in SPLITS if any(key[0] == split for key in counts.dialogues)],
        licences=sorted(key[0] for key in counts.licences),
        subsets=_by_split((key[1], key[0], number) for key, number in counts.dialogues.items()),
        **{
            f"{topic}s": _by_split((key[2], key[0], n) for key, n in counts.topics.items() if key[1] == topic)
            for topic in TOPICS
        },
        voices=_table(((key[1], key[0], number) for key, number in counts.turns.items()), voices, SPLITS),
        acts=_by_size(((key[1], key[0], number) for key, number in counts.acts.items()), voices),
        act_origins={origin: number for (origin,), number in sorted(counts.origins.items())},
        turns_a_dialogue={subset: lengths(found) for subset, found in sorted(sizes.items())},
        turns_bins=bins(sum(sizes.values(), Counter())),
        words_a_turn=_in_order({voice: lengths(found) for voice, found in _lengths_by(counts.turns).items()}, voices),
        flags=_flags(counts),
        follows=_table(((*key, number) for key, number in counts.follows.items()), [START, *voices], [*voices, END]),
        labels={name: _by_split(_label_counts(splits)) for name, splits in labels.items()},
        baselines={name: _in_order(account["baselines"].get(name, {}), SPLITS) for name in labels},
        commonest={name: _commonest(splits.get("train", {})) for name, splits in labels.items()},
        systems=measure(root),
        examples=_examples(counts, sizes),
    )


def _lengths_by(tally: Counter[tuple[Any, ...]]) -> dict[str, Counter[int]]:
    found: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for (_, name, length), number in tally.items():
        found[name][length] += number
    return found


def _table(cells: Iterable[tuple[str, str, int]], rows: Iterable[str], columns: Iterable[str]) -> Table:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row, column, number in cells:
        found[row][column] += number
    return {row: _in_order(found[row], columns) for row in rows if row in found}


def _by_size(cells: Iterable[tuple[str, str, int]], columns: Iterable[str]) -> Table:
    """Make a table with the largest row first, equal ones by name."""
    kept = list(cells)
    sizes: Counter[str] = Counter()
    for row, _, number in kept:
        sizes[row] += number
    return _table(kept, sorted(sizes, key=lambda row: (-sizes[row], row)), columns)


def _by_split(cells: Iterable[tuple[str, str, int]]) -> Table:
    return _by_size(cells, SPLITS)


def _label_counts(splits: dict[str, dict[str, int]]) -> Iterable[tuple[str, str, int]]:
    return ((label, split, number) for split, found in splits.items() for label, number in found.items())


def _commonest(labels: dict[str, int]) -> str | None:
    return max(sorted(labels), key=lambda label: labels[label], default=None)


def _flags(counts: Counts) -> Table:
    cells = [(flag, "dialogues", number) for (flag,), number in counts.flagged_dialogues.items()]
    cells += [(flag, "turns", number) for (flag,), number in counts.flagged_turns.items()]
    by_dialogues = sorted({cell[0] for cell in cells}, key=lambda flag: (-counts.flagged_dialogues[(flag,)], flag))
    return _table(cells, by_dialogues, ("dialogues", "turns"))


def _examples(counts: Counts, sizes: dict[str, Counter[int]]) -> list[str]:
    """Choose dialogues of middling length from every subset: the median one, or the quartiles where there are few."""
    each = max(1, -(-EXAMPLES // len(sizes)))
    largest = sorted(sizes, key=lambda subset: (-sizes[subset].total(), subset))[:MOST_EXAMPLES]
    found: dict[str, None] = {}
    for subset in largest:
        have = [turns for name, turns in counts.firsts if name == subset]
        for number in range(1, each + 1):
            middle = quantile(sizes[subset], 100 * number // (each + 1))
            if have:
                nearest = min(have, key=lambda turns: (abs(turns - middle), turns))
                found[counts.firsts[subset, nearest]] = None
    return list(found)


def _in_order(found: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found}


def _plain(value: Any) -> Any:
    if isinstance(value, Lengths):
        return as_dict(value)
    if isinstance(value, Bin):
        return value._asdict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
