"""From judgments of blocks to group rewards and to pairs of rollouts (MASCOT, phase 2)."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mascot_data.build.added import BLOCK_JUDGMENTS, GROUP_PREFERENCES, GROUP_REWARDS, add_part, part_facts, read_base
from mascot_data.build.projection import to_line
from mascot_data.build.reading import read_rows, splits_of
from mascot_data.build.room import room_names
from mascot_data.errors import DatasetError, UsageError
from mascot_data.personas import Personas, load_personas
from mascot_data.preferences.pairing import Judged, Pair, Refused, Strategy, balanced, pairs_of
from mascot_data.preferences.run import SCORE_COLUMNS, checked_strategy, preference_row, scores_of
from mascot_data.preferences.scores import Scored, by_criterion
from mascot_data.records.dialogue import SCHEMA_VERSION, Split
from mascot_data.records.judgments import COMPOSITE
from mascot_data.records.rows import SpeakerRow
from mascot_data.stats.blockwise import exchange
from mascot_data.stats.turn_taking import speaker_entropy

GroupSubject = Literal["blocks", "rollouts"]
GROUP_SUBJECTS: tuple[GroupSubject, ...] = ("blocks", "rollouts")
MEAN = "mean"
"""Coherence is the mean of the collective criteria."""

_REFUSALS = ("missing-scores", "equal-texts", "balance")
_COLUMNS = ("id", "dialogue_id", "subset", "first_turn", "turns", "prompt", "license")


class Reward(NamedTuple):
    """The reward of a block; diversity and reward are None where fewer than two agent turns or agents leave it open."""

    coherence: float
    diversity: float | None
    reward: float | None


def group_reward(coherence: float, speakers: Sequence[str], roster: int, eta: float = 1.0) -> Reward:
    """Return coherence + eta * diversity, the group reward of MASCOT's second phase.

    The diversity is ours, as the paper's formula is not public: how evenly the agents share the block's turns
    (``stats.turn_taking.speaker_entropy``), 0 for one agent alone to 1. The paper's eta is not public either.

    Args:
        coherence: 1 to 5.
        speakers: The agent of each agent turn.
        roster: How many agents could have spoken.
        eta: Weight of the diversity, 0 or more.
    """
    diversity = speaker_entropy(speakers, roster).value
    return Reward(coherence, diversity, None if diversity is None else coherence + eta * diversity)


@dataclass(frozen=True, slots=True)
class GroupsReport:
    """What a run made.

    ``rewards`` and ``pairs`` count rows by split, ``ties`` pairs below the margin, which are not kept. ``refused``
    counts blocks without a score under some criterion (missing-scores), and pairs that are none (equal-texts, balance).
    ``open`` counts rewards that are null. ``longer_wins`` and ``shorter_wins`` count pairs before balancing.
    """

    directory: Path
    prompts: int = 0
    rewards: Counter[str] = field(default_factory=Counter)
    open: int = 0
    pairs: Counter[str] = field(default_factory=Counter)
    ties: int = 0
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
            "rewards": dict(self.rewards),
            "open": self.open,
            "pairs": dict(self.pairs),
            "ties": self.ties,
            "refused": dict(sorted(self.refused.items())),
            "longer_wins": self.longer_wins,
            "shorter_wins": self.shorter_wins,
        }


class _Block(NamedTuple):
    """A judged block: its row, its scores with its lines as text, its agents, and how many there could be."""

    row: Mapping[str, Any]
    judged: Judged
    speakers: list[str]
    roster: int

    @property
    def prompt_id(self) -> str:
        return f"{self.row['dialogue_id']}/{self.row['first_turn']}"


@dataclass(frozen=True)
class _Run:
    """What a run is made of; ``places`` are the judges and criteria that every block needs a score of."""

    root: Path
    subject: GroupSubject
    judges: Collection[str]
    cards: Personas
    places: set[tuple[str, str]]
    eta: float
    coherence: str
    margin: float
    strategy: Strategy


def groups(
    directory: str | Path,
    *,
    subject: GroupSubject = "rollouts",
    eta: float = 1.0,
    coherence: str = MEAN,
    margin: float = 0.5,
    strategy: Strategy = "all",
    judges: Sequence[str] = (),
    splits: Sequence[str] = (),
    balance_length: bool = False,
    seed: int = 0,
    personas: str | Path | None = None,
) -> GroupsReport:
    """Make group rewards, and pairs of rollouts of one opening, from the judgments of blocks (MASCOT, phase 2).

    They become the configs ``group_rewards`` and ``group_preferences``. A reward is coherence + eta * diversity; a pair
    is decided by the mean of the criteria alone, which is what a group reward model is to learn. A block without a
    score of every judge under every criterion has neither.

    Args:
        directory: The dataset directory.
        subject: ``blocks`` (those of the corpus, one a prompt: rewards only) or ``rollouts``.
        eta: Weight of the diversity, 0 or more.
        coherence: ``mean`` of the criteria, or the id of the criterion that counts as coherence.
        margin: Smallest gap of the mean scores of a pair, 0 to 4.
        strategy: ``all`` pairs of a prompt, or only that of the best and the worst rollout (``best-worst``).
        judges: Names of the judges whose scores count; all of them when empty.
        splits: ``train``, ``validation``, ``test``; all of them when empty.
        balance_length: Leave out pairs so that the longer rollout wins as often as the shorter one.
        seed: Of the draw of what is left out.
        personas: The folder of cards that the dataset was built with.

    Raises:
        UsageError: an option is out of its range, or there is no such criterion.
        DatasetError: there are no such judgments, or they are of other blocks than those that are there.
        OutputError: the dataset cannot be written.
    """
    if not 0 <= margin <= 4:
        raise UsageError("--margin must be from 0 to 4")
    if not 0 <= eta < math.inf:
        raise UsageError("--eta must be 0 or more")
    checked_strategy(strategy)
    root, chosen = Path(directory), splits_of(splits)
    cards = load_personas(None if personas is None else Path(personas))
    base = read_base(root, GROUP_REWARDS)
    places = _places(root, checked_group_subject(subject), chosen, judges)
    criteria = sorted({criterion for _, criterion in places})
    if coherence != MEAN and coherence not in criteria:
        raise UsageError(f"--coherence {coherence}: choose {MEAN} or one of {', '.join(criteria)}")
    run = _Run(root, subject, frozenset(judges), cards, places, eta, coherence, margin, strategy)
    counted = Counter[str]()
    found = {split: list(_prompts(run, split, counted)) for split in chosen}
    pairs = {split: list(_pairs(run, prompts, counted)) for split, prompts in found.items()}
    kept = {split: balanced(some, seed) if balance_length else some for split, some in pairs.items()}
    counted["balance"] = sum(map(len, pairs.values())) - sum(map(len, kept.values()))
    blocks = {split: {one.judged.id: one for prompt in prompts for one in prompt} for split, prompts in found.items()}
    rewards = {split: [_reward_row(run, one) for one in some.values()] for split, some in blocks.items()}
    report = GroupsReport(
        root,
        sum(map(len, found.values())),
        Counter({split: len(rows) for split, rows in rewards.items() if rows}),
        sum(row[_REWARD] is None for rows in rewards.values() for row in rows),
        Counter({split: len(some) for split, some in kept.items() if some}),
        counted["ties"],
        Counter({reason: counted[reason] for reason in _REFUSALS if counted[reason]}),
        counted["longer"],
        counted["shorter"],
    )
    shared = {"subject": subject, "judges": list(judges) or "all", "splits": list(chosen), "personas": cards.digest()}
    add_part(root, GROUP_REWARDS, rewards, {**shared, "eta": eta, "coherence": coherence}, report.summary, base)
    of_pairs = {**shared, "margin": margin, "strategy": strategy, "balance_length": balance_length, "seed": seed}
    rows = {split: [_pair_row(blocks[split], pair) for pair in some] for split, some in kept.items()}
    add_part(root, GROUP_PREFERENCES, rows, of_pairs, report.summary, base)
    return report


def checked_group_subject(name: str) -> GroupSubject:
    """Return the subject of this name.

    Raises:
        UsageError: there is none.
    """
    for subject in GROUP_SUBJECTS:
        if subject == name:
            return subject
    raise UsageError(f"--subject {name}: choose candidates or {' or '.join(GROUP_SUBJECTS)}")


def _places(
    root: Path, subject: GroupSubject, splits: Sequence[Split], judges: Collection[str]
) -> set[tuple[str, str]]:
    """Return the judges and criteria that blocks have scores of."""
    facts = part_facts(root, BLOCK_JUDGMENTS)
    if facts is None or facts["options"].get("subject") != subject:
        raise DatasetError(f"{root}: has no judgments of {subject}; run  mascot-data judge --subject {subject}  first")
    places = {
        (row["judge_name"], row["criterion"])
        for split in splits
        for row in read_rows(root, "judgments", split, ("judge_name", "criterion"), label=BLOCK_JUDGMENTS.label)
        if row["criterion"] != COMPOSITE and (not judges or row["judge_name"] in judges)
    }
    if not places:
        raise DatasetError(f"{root}: has no judgments of these judges and splits; make them with  mascot-data judge")
    return places


def _prompts(run: _Run, split: Split, counted: Counter[str]) -> Iterator[list[_Block]]:
    """Yield the judged blocks of a split, those of one prompt together, in the order of the rows."""
    domains = {row["id"]: row["domain"] for row in read_rows(run.root, "dialogues", split, ("id", "domain"))}
    label = "rollouts" if run.subject == "rollouts" else ""
    blocks = groupby(
        read_rows(run.root, "blocks", split, _COLUMNS, label=label),
        lambda row: f"{row['dialogue_id']}/{row['first_turn']}",
    )
    judgments = read_rows(run.root, "judgments", split, SCORE_COLUMNS, label=BLOCK_JUDGMENTS.label)
    for prompt_id, rows in groupby(judgments, lambda row: row["prompt_id"]):
        scores = scores_of(rows, run.judges)
        of = next((list(some) for prompt, some in blocks if prompt == prompt_id), [])
        if not scores.keys() <= {row["id"] for row in of}:
            again = f"mascot-data judge --subject {run.subject}"
            raise DatasetError(f"{run.root}: the judgments are of other {run.subject}; run  {again}  again")
        whole = [row for row in of if _is_whole(run, scores.get(row["id"], ()))]
        counted["missing-scores"] += len(of) - len(whole) if scores else 0
        if whole:
            roster = len(run.cards.roster_for(domains[whole[0]["dialogue_id"]]).personas)
            yield [_block(run, row, k, scores[row["id"]], roster) for k, row in enumerate(whole)]


def _is_whole(run: _Run, scores: Sequence[Scored]) -> bool:
    return {(one.judge, one.criterion) for one in scores} >= run.places


def _block(run: _Run, row: Mapping[str, Any], k: int, scores: Sequence[Scored], roster: int) -> _Block:
    speakers = exchange(row).speakers
    judged = Judged(row["id"], k, block_lines(row["turns"], run.cards), tuple(scores))
    return _Block(row, judged, speakers, max(roster, len(set(speakers))))


def block_lines(turns: Sequence[Mapping[str, Any]], cards: Personas) -> str:
    """Return the turns of a block as lines of the room; ``build.projection.from_lines`` reads them back.

    Raises:
        UsageError: a persona has no card.
    """
    unknown = {turn["persona"] for turn in turns} - {None, *cards.cards}
    if unknown:
        raise UsageError(f"there is no card for {min(unknown)!r}; give the folder with --personas")
    speakers = {turn["speaker"]: SpeakerRow(turn["speaker"], turn["kind"], turn["persona"], None, "") for turn in turns}
    names = room_names(list(speakers.values()), cards)
    return "\n".join(to_line(names[turn["speaker"]], turn["text"]) for turn in turns)


def _pairs(run: _Run, prompts: Sequence[Sequence[_Block]], counted: Counter[str]) -> Iterator[Pair]:
    for blocks in prompts:
        for pair in pairs_of(blocks[0].prompt_id, [one.judged for one in blocks], run.strategy):
            if isinstance(pair, Refused):
                counted[pair.reason] += 1
            elif pair.compared.gap >= run.margin and pair.compared.gap > 0:
                counted["longer"] += pair.longer_wins is True
                counted["shorter"] += pair.longer_wins is False
                yield pair
            else:
                counted["ties"] += 1


def _pair_row(blocks: Mapping[str, _Block], pair: Pair) -> tuple[Any, ...]:
    row = blocks[pair.chosen.id].row
    name = f"{pair.chosen.id}>{pair.rejected.id}"
    return preference_row(pair, name, {**row, "turn_index": row["first_turn"], "persona": None})


def _reward_row(run: _Run, block: _Block) -> tuple[Any, ...]:
    scores = by_criterion(block.judged.scores)
    coherence = math.fsum(scores.values()) / len(scores) if run.coherence == MEAN else scores[run.coherence]
    reward = group_reward(coherence, block.speakers, block.roster, run.eta)
    return (
        block.judged.id,
        block.row["dialogue_id"],
        block.prompt_id,
        block.row["subset"],
        [(message["role"], message["content"]) for message in block.row["prompt"]],
        block.judged.text,
        list(scores.items()),
        reward.coherence,
        run.coherence,
        block.speakers,
        block.roster,
        reward.diversity,
        run.eta,
        reward.reward,
        list(dict.fromkeys(judge for judge, _ in sorted(run.places))),
        block.row["license"],
        SCHEMA_VERSION,
    )


_REWARD = 13
"""Place of the reward in a row."""
