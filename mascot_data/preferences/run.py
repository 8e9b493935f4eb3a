"""Make preference pairs for a reward model from judgments, and add them to a dataset as the config ``preferences``."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from mascot_data.build.added import PREFERENCES, TIES, add_part, read_base
from mascot_data.build.reading import read_rows, splits_of
from mascot_data.errors import DatasetError, UsageError
from mascot_data.preferences.pairing import Judged, Pair, Refused, Strategy, balanced, pairs_of
from mascot_data.preferences.scores import Scored
from mascot_data.records.dialogue import SCHEMA_VERSION, Split

SCORE_COLUMNS = ("subject_id", "prompt_id", "criterion", "score", "distribution", "judge_name")
"""Columns of ``judgments`` that pairs are made from."""

_REFUSALS = ("equal-texts", "missing-scores", "balance")
STRATEGIES: tuple[Strategy, ...] = ("all", "best-worst")


@dataclass(frozen=True, slots=True)
class PairsReport:
    """What a run made.

    ``pairs`` and ``ties`` count rows by split, ``refused`` pairs of replies by why they are none (equal-texts,
    missing-scores, balance). ``longer_wins`` and ``shorter_wins`` count pairs before balancing, so that a judge's
    liking for length shows.
    """

    directory: Path
    prompts: int = 0
    pairs: Counter[str] = field(default_factory=Counter)
    ties: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    longer_wins: int = 0
    shorter_wins: int = 0

    def summary(self) -> dict[str, Any]:
        """Return the counts as plain data, for the provenance."""
        return {name: value for name, value in self.as_dict().items() if name != "directory"}

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "directory": str(self.directory),
            "prompts": self.prompts,
            "pairs": dict(self.pairs),
            "ties": dict(self.ties),
            "refused": dict(sorted(self.refused.items())),
            "longer_wins": self.longer_wins,
            "shorter_wins": self.shorter_wins,
        }


class _Made(NamedTuple):
    """The pairs and ties of a split, with the prompts that they answer."""

    pairs: list[Pair]
    ties: list[Pair]
    prompts: dict[str, dict[str, Any]]


def pairs(
    directory: str | Path,
    *,
    margin: float = 0.5,
    strategy: Strategy = "all",
    judges: Sequence[str] = (),
    splits: Sequence[str] = (),
    balance_length: bool = False,
    seed: int = 0,
) -> PairsReport:
    """Make preference pairs from the judgments of candidates (MASCOT, phase 1).

    A reply's score is the mean over the criteria; a pair's better reply leads by at least the margin. Pairs that lead
    by less are kept apart, as the config ``ties``. Scores of different judges are never set against each other.

    Args:
        directory: The dataset directory.
        margin: Smallest gap of the mean scores, 0 to 4.
        strategy: ``all`` pairs of a prompt, or only that of the best and the worst reply (``best-worst``).
        judges: Names of the judges whose scores count; all of them when empty.
        splits: ``train``, ``validation``, ``test``; all of them when empty.
        balance_length: Leave out pairs so that the longer reply wins as often as the shorter one.
        seed: Of the draw of what is left out.

    Raises:
        UsageError: an option is out of its range, or there is no such judge.
        DatasetError: there are no judgments, or they are of other candidates than those that are there.
        OutputError: the dataset cannot be written.
    """
    if not 0 <= margin <= 4:
        raise UsageError("--margin must be from 0 to 4")
    checked_strategy(strategy)
    chosen = splits_of(splits)
    root = Path(directory)
    base = read_base(root, PREFERENCES)
    counted = Counter[str]()
    made = {split: _split(root, split, margin, strategy, frozenset(judges), counted) for split in chosen}
    if not counted["prompts"]:
        raise DatasetError(f"{root}: has no judgments of these judges and splits; make them with  mascot-data judge")
    kept = {split: balanced(found.pairs, seed) if balance_length else found.pairs for split, found in made.items()}
    counted["balance"] = sum(len(found.pairs) for found in made.values()) - sum(map(len, kept.values()))
    report = PairsReport(
        root,
        counted["prompts"],
        _sizes(kept),
        _sizes({split: found.ties for split, found in made.items()}),
        Counter({reason: counted[reason] for reason in _REFUSALS if counted[reason]}),
        counted["longer"],
        counted["shorter"],
    )
    options = {
        "margin": margin,
        "strategy": strategy,
        "judges": list(judges) or "all",
        "splits": list(chosen),
        "balance_length": balance_length,
        "seed": seed,
    }
    for part, found in ((PREFERENCES, kept), (TIES, {split: one.ties for split, one in made.items()})):
        rows = {
            split: [
                preference_row(
                    pair,
                    f"{pair.prompt_id}#{pair.chosen.k}>{pair.rejected.k}",
                    made[split].prompts[pair.prompt_id],
                )
                for pair in some
            ]
            for split, some in found.items()
        }
        add_part(root, part, rows, options, report.summary, base)
    return report


def checked_strategy(name: str) -> Strategy:
    """Return the strategy of this name.

    Raises:
        UsageError: there is none.
    """
    for strategy in STRATEGIES:
        if strategy == name:
            return strategy
    raise UsageError(f"--strategy {name}: choose {' or '.join(STRATEGIES)}")


def _sizes(found: Mapping[Split, Sequence[Pair]]) -> Counter[str]:
    return Counter({split: len(pairs) for split, pairs in found.items() if pairs})


def _split(
    root: Path, split: Split, margin: float, strategy: Strategy, judges: frozenset[str], counted: Counter[str]
) -> _Made:
    """Pair the judged candidates of a split; counts what was met on the way."""
    made = _Made([], [], {})
    prompts = read_rows(root, "speaker_turns", split)
    for prompt_id, replies in _judged(root, split, judges):
        prompt = next((row for row in prompts if row["id"] == prompt_id), None)
        if prompt is None:
            raise DatasetError(f"{root}: the judgments are of other turns; run  mascot-data judge  again")
        made.prompts[prompt_id] = prompt
        counted["prompts"] += 1
        for pair in pairs_of(prompt_id, replies, strategy):
            if isinstance(pair, Refused):
                counted[pair.reason] += 1
            elif pair.compared.gap >= margin and pair.compared.gap > 0:
                made.pairs.append(pair)
                counted["longer"] += pair.longer_wins is True
                counted["shorter"] += pair.longer_wins is False
            else:
                made.ties.append(pair)
    return made


def _judged(root: Path, split: Split, judges: frozenset[str]) -> Iterator[tuple[str, list[Judged]]]:
    """Yield the prompts that have judgments, with their judged candidates, in the order of the rows."""
    found = groupby(read_rows(root, "judgments", split, SCORE_COLUMNS), lambda row: row["prompt_id"])
    candidates = groupby(
        read_rows(root, "candidates", split, ("id", "prompt_id", "k", "text")), lambda row: row["prompt_id"]
    )
    for prompt_id, rows in found:
        scores = scores_of(rows, judges)
        replies = next((list(of) for prompt, of in candidates if prompt == prompt_id), [])
        if not scores.keys() <= {reply["id"] for reply in replies}:
            raise DatasetError(f"{root}: the judgments are of other candidates; run  mascot-data judge  again")
        judged = [
            Judged(reply["id"], reply["k"], reply["text"], tuple(scores.get(reply["id"], ()))) for reply in replies
        ]
        if scores:
            yield prompt_id, judged


def scores_of(rows: Iterable[Mapping[str, Any]], judges: Collection[str]) -> dict[str, list[Scored]]:
    """Return the scores of each subject from rows of ``judgments``; of all judges where none is named."""
    scores: dict[str, list[Scored]] = {}
    for row in rows:
        if not judges or row["judge_name"] in judges:
            share = None if row["distribution"] is None else tuple(row["distribution"])
            scored = Scored(row["judge_name"], row["criterion"], row["score"], share)
            scores.setdefault(row["subject_id"], []).append(scored)
    return scores


def preference_row(pair: Pair, name: str, of: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the row of ``preferences`` for a pair.

    Args:
        pair: The pair.
        name: Its id.
        of: What both answer: dialogue_id, turn_index, persona, subset, prompt and license.
    """
    compared = pair.compared
    return (
        name,
        of["dialogue_id"],
        of["turn_index"],
        of["persona"],
        of["subset"],
        [(message["role"], message["content"]) for message in of["prompt"]],
        [("assistant", pair.chosen.text)],
        [("assistant", pair.rejected.text)],
        compared.gap,
        compared.first,
        compared.second,
        compared.criteria,
        max(0.5, compared.probability),
        "ai",
        compared.judges,
        0,
        pair.chosen.id,
        pair.rejected.id,
        of["license"],
        SCHEMA_VERSION,
    )
