"""What judging and pairing added to a dataset directory, beside what it is of: dialogue by dialogue, in their order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mascot_data.build.added import (
    BLOCK_JUDGMENTS,
    CANDIDATES,
    DIRECTOR_LABELS,
    GROUP_PREFERENCES,
    GROUP_REWARDS,
    JUDGMENTS,
    PREFERENCES,
    ROLLOUTS,
    TIES,
    Part,
    built_part,
)
from mascot_data.records import (
    Block,
    Candidate,
    Dialogue,
    DirectorLabel,
    DirectorTurn,
    GroupReward,
    Judgment,
    Preference,
    SpeakerTurn,
)
from mascot_data.validate.director_labels import LabelsMade, director_label_problems
from mascot_data.validate.facts import Facts
from mascot_data.validate.groups import (
    GroupPairsMade,
    RewardsMade,
    group_pair_problems,
    known_cards,
    prompt_of,
    reward_problems,
)
from mascot_data.validate.judgments import JudgmentsMade, Scores, Subject, judgment_problems
from mascot_data.validate.label_counts import judgment_count_problems, open_problems, row_problems, split_problems
from mascot_data.validate.parts import made_with
from mascot_data.validate.preferences import PairsMade, PairsSeen, Plain, preference_problems
from mascot_data.validate.reading import PlainRows, Problem, UnreadableError, places_of
from mascot_data.validate.streams import AddedPart, AddedRows, SplitOf

_HEAD = ("id", "dialogue_id", "subset", "license")
_TURN = (*_HEAD, "turn_index", "persona", "prompt")
_CANDIDATE = (*_HEAD, "prompt_id", "persona", "k", "text")
_BLOCK = (*_HEAD, "first_turn", "turns", "prompt")
_ORIGINS = ("agent_origin", "action_origin", "tone_origin")
_DECISION = (*_HEAD, "turn_index", "candidates_agents", "agent", "action", "tone", *_ORIGINS)


class AddedLabels:
    """Checks what judging and pairing added; what is not there, or was made on other rows, is passed over."""

    def __init__(self, root: Path, facts: Facts, problems: list[Problem]) -> None:
        def pairs(part: Part) -> AddedPart[Preference, PairsMade]:
            return AddedPart(part, Preference, made_with(facts, part, PairsMade, problems))

        def judgments(part: Part) -> AddedPart[Judgment, JudgmentsMade]:
            return AddedPart(part, Judgment, made_with(facts, part, JudgmentsMade, problems))

        self._root, self._problems = root, problems
        self._judgments, self._block_judgments = judgments(JUDGMENTS), judgments(BLOCK_JUDGMENTS)
        self._pairs = pairs(PREFERENCES), pairs(TIES)
        rewards = made_with(facts, GROUP_REWARDS, RewardsMade, problems)
        self._rewards = AddedPart(GROUP_REWARDS, GroupReward, rewards)
        group_pairs = made_with(facts, GROUP_PREFERENCES, GroupPairsMade, problems)
        self._group_pairs = AddedPart(GROUP_PREFERENCES, Preference, group_pairs)
        self._labels = AddedPart(
            DIRECTOR_LABELS, DirectorLabel, made_with(facts, DIRECTOR_LABELS, LabelsMade, problems)
        )

    def check_split(self, split: str) -> None:
        """Enter what is wrong with the rows of a split, as far as what they are of can be read."""
        of_replies = (self._judgments.made, *(added.made for added in self._pairs))
        of_blocks = (self._block_judgments.made, self._rewards.made, self._group_pairs.made)
        checks = [
            (self._check_replies, any(of_replies)),
            (self._check_blocks, any(of_blocks)),
            (self._check_decisions, self._labels.made is not None),
        ]
        wanted = [check for check, is_there in checks if is_there]
        places = places_of(self._root, "dialogues", split, Dialogue) if wanted else None
        if places is None:
            return
        for check in wanted:
            try:
                check(SplitOf(self._root, split, places, self._problems))
            except UnreadableError:
                continue  # the checks of the views, candidates and rollouts tell

    def end(self) -> None:
        """Enter where the provenances name other splits, or count other rows, than there are."""
        for added in (self._judgments, self._block_judgments):
            if judged := added.made:
                self._count(added.part, judged.splits)
                self._enter(added.part, judgment_count_problems(self._root, added.part, judged))
        for of_pairs in self._pairs:
            if pairs := of_pairs.made:
                counts = pairs.summary.ties if of_pairs.part == TIES else pairs.summary.pairs
                self._count(of_pairs.part, pairs.splits, counts)
        if rewards := self._rewards.made:
            self._count(GROUP_REWARDS, rewards.splits, rewards.summary.rewards)
            self._enter(GROUP_REWARDS, open_problems(self._root, GROUP_REWARDS, rewards.summary.open))
        if group_pairs := self._group_pairs.made:
            self._count(GROUP_PREFERENCES, group_pairs.splits, group_pairs.summary.pairs)
        if labels := self._labels.made:
            self._count(DIRECTOR_LABELS, labels.splits, labels.summary.rows, labels.limit)

    def _count(
        self, part: Part, splits: Sequence[str], stated: Mapping[str, int] | None = None, limit: int | None = None
    ) -> None:
        self._enter(part, split_problems(self._root, part, splits))
        if stated is not None:
            self._enter(part, row_problems(self._root, part, stated, limit))

    def _enter(self, part: Part, found: Iterable[tuple[str, str]]) -> None:
        self._problems += [Problem(part.name, where, what) for where, what in found]

    def _check_replies(self, of: SplitOf) -> None:
        """Check the judgments of candidates, preferences and ties."""
        candidates = PlainRows(of.root, CANDIDATES, of.split, Candidate, of.places, _CANDIDATE)
        turns = PlainRows(of.root, built_part("speaker_turns"), of.split, SpeakerTurn, of.places, _TURN)
        judgments = AddedRows(self._judgments, of, candidates, "candidates")
        pairs = [AddedRows(added, of, candidates, "candidates") for added in self._pairs]
        for place in _all(of.places):
            replies, prompts = _by_id(candidates.take(place)), _by_id(turns.take(place))
            scores = _judged(judgments, place, {name: _candidate(row) for name, row in replies.items()})
            seen = PairsSeen()
            for rows in pairs:
                for where, row, made in rows.take(place):
                    again = list(seen.problems(row, made, replies.get(row.chosen_id, {}).get("prompt_id")))
                    found = preference_problems(row, made, prompts, replies, scores, tie=rows.part == TIES)
                    rows.enter(where, again or found)

    def _check_blocks(self, of: SplitOf) -> None:
        """Check the judgments of blocks, group rewards and pairs of rollouts."""
        judged, rewarded, paired = self._block_judgments.made, self._rewards.made, self._group_pairs.made
        subjects = [made.subject if made else None for made in (judged, rewarded, paired)]
        blocks = {subject: _blocks(of, subject) for subject in subjects if subject}
        bases = [(blocks[subject] if subject else None, subject or "") for subject in subjects]
        judgments = AddedRows(self._block_judgments, of, *bases[0])
        rewards = AddedRows(self._rewards, of, *bases[1])
        pairs = AddedRows(self._group_pairs, of, *bases[2])
        cards = {made.personas: known_cards(made.personas) for made in (rewarded, paired) if made}
        for place in _all(of.places):
            rows = {subject: _by_id(some.take(place)) for subject, some in blocks.items()}
            of_judged = rows.get(judged.subject, {}) if judged else {}
            found = _judged(judgments, place, {name: _block(row) for name, row in of_judged.items()})
            scores = {judged.subject: found} if judged else {}
            seen: set[str] = set()
            for where, reward, made in rewards.take(place):
                its = scores.get(made.subject, Scores())
                problems = reward_problems(reward, made, rows[made.subject], cards[made.personas], its)
                rewards.enter(where, _once(reward.id, seen, problems))
            pairs_seen = PairsSeen()
            for where, pair, options in pairs.take(place):
                its, mine = scores.get(options.subject, Scores()), rows[options.subject]
                opening = prompt_of(mine[pair.chosen_id]) if pair.chosen_id in mine else None
                again = list(pairs_seen.problems(pair, options, opening))
                problems = group_pair_problems(pair, options, mine, cards[options.personas], its)
                pairs.enter(where, again or problems)

    def _check_decisions(self, of: SplitOf) -> None:
        """Check the labels of the Director's decisions."""
        decisions = PlainRows(of.root, built_part("director_turns"), of.split, DirectorTurn, of.places, _DECISION)
        labels = AddedRows(self._labels, of, decisions, "director_turns")
        cards = known_cards(self._labels.made.personas) if self._labels.made else None
        for place in _all(of.places):
            turns = _by_id(decisions.take(place))
            seen: set[str] = set()
            for where, row, made in labels.take(place):
                labels.enter(where, _once(row.id, seen, director_label_problems(row, made, turns, cards)))


def _all(places: Mapping[str, int]) -> range:
    """Return every position of a split, and one more, at which rows that are left are taken."""
    return range(len(places) + 1)


def _by_id(rows: Iterable[Mapping[str, Any]]) -> dict[str, Plain]:
    return {row["id"]: row for row in rows}


def _blocks(of: SplitOf, subject: str) -> PlainRows:
    part = ROLLOUTS if subject == "rollouts" else built_part("blocks")
    return PlainRows(of.root, part, of.split, Block, of.places, _BLOCK)


def _candidate(row: Plain) -> Subject:
    return Subject(row["prompt_id"], row["persona"], row["subset"], row["license"], row["k"])


def _block(row: Plain) -> Subject:
    return Subject(prompt_of(row), None, row["subset"], row["license"], None)


def _judged(judgments: AddedRows[Judgment, JudgmentsMade], place: int, subjects: Mapping[str, Subject]) -> Scores:
    """Enter what is wrong with the judgments of a dialogue, and return the scores of those that are right."""
    taken = judgments.take(place)
    rows = [(where, row) for where, row, _ in taken]
    found, doubted = judgment_problems(rows, subjects, taken[0][2], whole=judgments.sure) if taken else ([], set())
    for where, what in found:
        judgments.enter(where, [what])
    return Scores(rows, doubted, known=judgments.sure)


def _once(name: str, seen: set[str], problems: Iterator[str]) -> Iterator[str]:
    """Yield the problems of a row, unless its id was there before."""
    if name in seen:
        yield "the id is there twice"
        return
    seen.add(name)
    yield from problems
