"""Group rewards and pairs of rollouts against the blocks that they are of, and the judgments that they come from."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mascot_data.build.projection import from_lines
from mascot_data.judge.director import source_of
from mascot_data.personas import Personas, load_personas
from mascot_data.preferences.groups import MEAN, block_lines, group_reward
from mascot_data.preferences.scores import by_criterion
from mascot_data.records import SCHEMA_VERSION, GroupReward, Preference
from mascot_data.stats.blockwise import exchange
from mascot_data.validate.judgments import NEAR, Scores
from mascot_data.validate.parts import Made
from mascot_data.validate.preferences import (
    PairOptions,
    Plain,
    head_problems,
    same_messages,
    score_problems,
    text_of,
    text_problems,
)


class RewardCounts(Made):
    """How many rewards there are by split, and how many of them are null."""

    rewards: dict[str, int]
    open: int


class RewardsMade(Made):
    """What group rewards were made with; see ``preferences.groups``."""

    subject: str
    judges: list[str] | str
    splits: list[str]
    personas: str
    eta: float
    coherence: str
    summary: RewardCounts


class GroupPairCounts(Made):
    """How many pairs there are by split."""

    pairs: dict[str, int]


class GroupPairsMade(PairOptions):
    """What pairs of rollouts were made with; see ``preferences.groups``."""

    subject: str
    personas: str
    summary: GroupPairCounts


def known_cards(digest: str) -> Personas | None:
    """Return the built-in cards where this is their digest; None for cards of a user, which are not at hand."""
    cards = load_personas()
    return cards if cards.digest() == digest else None


def prompt_of(block: Plain) -> str:
    """Return what blocks of one opening share."""
    return f"{block['dialogue_id']}/{block['first_turn']}"


def reward_problems(
    row: GroupReward, made: RewardsMade, blocks: Mapping[str, Plain], cards: Personas | None, scores: Scores
) -> Iterator[str]:
    """Yield what is wrong with a group reward.

    Args:
        row: The reward.
        made: What it was made with.
        blocks: The blocks of its dialogue that were judged, by id.
        cards: The cards that they were made with; None: not known.
        scores: The judgments of these blocks.
    """
    block = blocks.get(row.id)
    if block is None:
        yield f"there is no such block among the {made.subject} of its dialogue; run  mascot-data pairs  again"
        return
    if row.prompt_id != prompt_of(block):
        yield "prompt_id is not that of its block"
    for name in ("dialogue_id", "subset", "license"):
        if getattr(row, name) != block[name]:
            yield f"{name} is not that of its block"
    if not same_messages(row.prompt, block["prompt"]):
        yield "prompt is not that of its block"
    if row.schema_version != SCHEMA_VERSION:
        yield f"schema_version is {row.schema_version}, not {SCHEMA_VERSION}"
    if not says(row.block, block["turns"], cards):
        yield "block is not the turns of its block as lines of the room"
    wrong = list(_speaker_problems(row, block, cards)) or list(_reward_problems(row, made))
    yield from wrong or _score_problems(row, made, scores)


def says(text: str, turns: Sequence[Mapping[str, Any]], cards: Personas | None) -> bool:
    """Tell whether a text is the turns of a block as lines; where the cards are not known, whatever agents' names."""
    if cards is not None and {turn["persona"] for turn in turns} <= {None, *cards.cards}:
        return text == block_lines(turns, cards)
    said = from_lines(text)
    if [one.text for one in said] != [turn["text"] for turn in turns]:
        return False
    pairs = {(one.name, turn["speaker"]) for one, turn in zip(said, turns, strict=True)}
    return len({name for name, _ in pairs}) == len(pairs) == len({speaker for _, speaker in pairs})


def _speaker_problems(row: GroupReward, block: Plain, cards: Personas | None) -> Iterator[str]:
    if row.speakers != (speakers := exchange(block).speakers):
        yield "speakers are not those of the agent turns of its block"
    elif row.roster < (least := len(set(speakers))):
        yield f"roster is {row.roster}, but {least} agents speak"
    elif cards is not None:
        domain = "workplace" if source_of(row.dialogue_id) == "qmsum" else "psychological-support"
        if row.roster != (roster := max(least, len(cards.roster_for(domain).personas))):
            yield f"roster is {row.roster}, but there are {roster} agents"


def _reward_problems(row: GroupReward, made: RewardsMade) -> Iterator[str]:
    """Yield the first thing that is wrong in the computation of the reward from its own columns."""
    scores = {one.name: one.score for one in row.criteria}
    if len(scores) != len(row.criteria) or not scores:
        yield "criteria are none, or one is there twice"
        return
    if (row.eta, row.coherence_of) != (made.eta, made.coherence):
        yield f"eta {row.eta:g} or coherence_of {row.coherence_of} are not those of the options"
        return
    mean = math.fsum(scores.values()) / len(scores)
    coherence = mean if row.coherence_of == MEAN else scores.get(row.coherence_of)
    if coherence is None:
        yield f"coherence_of {row.coherence_of} is none of its criteria"
        return
    if not math.isclose(row.coherence, coherence, abs_tol=NEAR):
        yield f"coherence is {row.coherence:.6g}, but its criteria give {coherence:.6g}"
        return
    expected = group_reward(row.coherence, row.speakers, row.roster, row.eta)
    if not _near(row.diversity, expected.diversity):
        yield f"diversity is {_shown(row.diversity)}, but its speakers give {_shown(expected.diversity)}"
    elif not _near(row.reward, expected.reward):
        yield f"reward is {_shown(row.reward)}, but coherence + eta * diversity is {_shown(expected.reward)}"


def _score_problems(row: GroupReward, made: RewardsMade, scores: Scores) -> Iterator[str]:
    if made.judges != "all" and not set(row.judges) <= set(made.judges):
        yield f"judges {', '.join(row.judges)} are not those of the options ({', '.join(made.judges)})"
    elif (found := scores.of(row.id, made.judges)) is not None:
        judges = {one.judge for one in found}
        expected, mine = by_criterion(found), {one.name: one.score for one in row.criteria}
        if judges != set(row.judges):
            yield f"judges are {', '.join(row.judges)}, those of the judgments are {', '.join(sorted(judges))}"
        elif mine.keys() != expected.keys() or not all(_near(mine[name], expected[name]) for name in mine):
            yield "criteria are not the means of the judgments' scores; run  mascot-data pairs  again"


def _near(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, abs_tol=NEAR)


def _shown(number: float | None) -> str:
    return "null" if number is None else f"{number:.6g}"


def group_pair_problems(
    row: Preference, made: GroupPairsMade, blocks: Mapping[str, Plain], cards: Personas | None, scores: Scores
) -> Iterator[str]:
    """Yield what is wrong with a pair of rollouts; the arguments are those of ``reward_problems``."""
    chosen, rejected = blocks.get(row.chosen_id), blocks.get(row.rejected_id)
    if chosen is None or rejected is None:
        missing = row.chosen_id if chosen is None else row.rejected_id
        yield f"{missing} is not among the {made.subject} of its dialogue; run  mascot-data pairs  again"
        return
    if chosen is rejected:
        yield "chosen_id and rejected_id are the same block"
        return
    if prompt_of(chosen) != prompt_of(rejected):
        yield "chosen and rejected do not follow one opening"
        return
    if row.id != (name := f"{row.chosen_id}>{row.rejected_id}"):
        yield f"id is not {name}"
    yield from head_problems(row, {**chosen, "turn_index": chosen["first_turn"], "persona": None}, "the block")
    texts = text_of(row.chosen), text_of(row.rejected)
    mine, theirs = (
        text is not None and says(text, block["turns"], cards)
        for text, block in zip(texts, (chosen, rejected), strict=True)
    )
    yield from text_problems(*texts, (mine, theirs), "the block's")
    yield from score_problems(row, made, scores, tie=False)
