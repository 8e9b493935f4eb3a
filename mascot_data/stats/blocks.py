"""All measures over rows of ``blocks``, for each system: the corpus, and each mode of rollouts."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import accumulate
from typing import Any, NamedTuple

import yaml

from mascot_data.errors import MascotError, PrerequisiteError
from mascot_data.personas import load_personas
from mascot_data.stats.blockwise import FORMS, MEANING, TURN_TAKING, Exchange, exchange, forms, meaning, turn_taking
from mascot_data.stats.diversity import distinct, distinct_of_size, sampled_self_bleu
from mascot_data.stats.embedding import Embedder, load_embedder
from mascot_data.stats.measure import Measure, missing, ratios
from mascot_data.stats.redundancy import chance_similarity
from mascot_data.stats.separability import separability
from mascot_data.stats.turn_taking import next_speaker_entropy

EMBEDDED_BLOCKS = 100


class About(NamedTuple):
    """What a measure is: a title, a sentence, its range, and what its ``n`` counts."""

    title: str
    says: str
    range: str
    of: str


class System(NamedTuple):
    """Whose turns are measured: the corpus (no mode) or the rollouts of a mode; ``subset`` None: of all subsets."""

    origin: str
    mode: str | None = None
    subset: str | None = None


@dataclass(frozen=True)
class Measured:
    """The measures of a system by name, as in ``about_measures``.

    ``embedded_blocks`` are the blocks that the measures of meaning were taken over; ``f1_by_persona`` is how well each
    persona is told apart from the others (0 to 1; empty where none can be).
    """

    system: System
    dialogues: int
    blocks: int
    agent_turns: int
    embedded_blocks: int
    measures: dict[str, Measure]
    f1_by_persona: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, numbers to four decimals."""
        measures = {
            name: {key: _rounded(value) for key, value in m._asdict().items()} for name, m in self.measures.items()
        }
        f1s = {name: _rounded(value) for name, value in self.f1_by_persona.items()}
        return {**vars(self), "system": self.system._asdict(), "measures": measures, "f1_by_persona": f1s}


@cache
def about_measures() -> Mapping[str, About]:
    """Return name to meaning of every measure, in the order of a report."""
    text = resources.files("mascot_data.stats").joinpath("measures.yaml").read_text("utf-8")
    return {name: About(**about) for name, about in yaml.safe_load(text).items()}


def measure_blocks(
    rows: Iterable[Mapping[str, Any]],
    *,
    by_subset: bool = False,
    embedded_blocks: int = EMBEDDED_BLOCKS,
    embedder: Embedder | None = None,
    seed: int = 0,
) -> list[Measured]:
    """Measure the agent turns of blocks, for each system; a measure whose packages are missing says so in ``why``.

    Args:
        rows: Rows of ``blocks``; the columns dialogue_id, subset, turns, origin and rollout are read.
        by_subset: Also measure each subset of a system by itself.
        embedded_blocks: Blocks of two agent turns and more that sentence embeddings are made of, drawn at random: they
            cost far more than all else.
        embedder: Embeds texts; by default the small model of ``load_embedder``, where the packages it needs are there.
        seed: Of everything that is drawn.

    Returns:
        The corpus first, then rollouts by mode; each as a whole, then its subsets by name.
    """
    found: dict[System, list[Exchange]] = {}
    for row in rows:
        system = System(row["origin"], row["rollout"]["mode"] if row["rollout"] else None)
        block = exchange(row)
        for one in (system, system._replace(subset=row["subset"]))[: 1 + by_subset]:
            found.setdefault(one, []).append(block)
    systems = sorted(found, key=lambda system: tuple(part or "" for part in system))
    return [_measured(system, found[system], embedded_blocks, embedder, seed) for system in systems]


def _measured(system: System, blocks: Sequence[Exchange], most: int, embedder: Embedder | None, seed: int) -> Measured:
    texts = [turn.text for block in blocks for turn in block.said]
    dialogues = [block.dialogue for block in blocks]
    roster = roster_of({speaker for block in blocks for speaker in block.speakers})
    embedded, alike = _meaning(_drawn(blocks, most, seed), embedder, seed)
    separated, by_persona = _separability(blocks, roster, seed)
    measures = {
        "distinct_1": distinct_of_size(texts, 1, seed=seed),
        "distinct_2": distinct_of_size(texts, 2, seed=seed),
        "distinct_1_all": distinct(texts, 1),
        "distinct_2_all": distinct(texts, 2),
        "self_bleu": sampled_self_bleu(texts, seed=seed),
        **alike,
        **separated,
        **ratios(dialogues, [turn_taking(block, len(roster)) for block in blocks], TURN_TAKING, seed),
        "next_speaker_entropy": next_speaker_entropy([block.speakers for block in blocks], len(roster)),
        **ratios(dialogues, [forms(block) for block in blocks], FORMS, seed),
    }
    in_order = {name: measures[name] for name in about_measures()}
    return Measured(system, len(set(dialogues)), len(blocks), len(texts), embedded, in_order, by_persona)


def roster_of(speakers: Iterable[str]) -> list[str]:
    """Return who could have spoken: the built-in roster that some of the speakers are on, and the other speakers."""
    spoke = set(speakers)
    for roster in load_personas().rosters.values():
        if roster.kind == "agent" and spoke.intersection(roster.personas):
            return [*roster.personas, *sorted(spoke.difference(roster.personas))]
    return sorted(spoke)


def _drawn(blocks: Sequence[Exchange], most: int, seed: int) -> list[Exchange]:
    usable = [number for number, block in enumerate(blocks) if len(block.speakers) > 1]
    if len(usable) > most:
        usable = sorted(random.Random(seed).sample(usable, most))  # noqa: S311
    return [blocks[number] for number in usable]


def _meaning(blocks: Sequence[Exchange], embedder: Embedder | None, seed: int) -> tuple[int, dict[str, Measure]]:
    """Return how many blocks were embedded, and the measures of meaning."""
    if not blocks:
        return 0, dict.fromkeys([*MEANING, "redundancy_chance"], missing("no block of two agent turns"))
    try:
        vectors = (embedder or load_embedder())([turn.text for block in blocks for turn in block.said])
    except MascotError as error:
        return 0, dict.fromkeys([*MEANING, "redundancy_chance"], missing(str(error)))
    ends = list(accumulate(len(block.speakers) for block in blocks))
    dialogues = [block.dialogue for block in blocks]
    sums = [meaning(block, vectors[end - len(block.speakers) : end]) for block, end in zip(blocks, ends, strict=True)]
    of_turns = [block.dialogue for block in blocks for _ in block.speakers]
    chance = {"redundancy_chance": chance_similarity(vectors, of_turns)}
    return len(blocks), ratios(dialogues, sums, MEANING, seed) | chance


def _separability(
    blocks: Sequence[Exchange], roster: Sequence[str], seed: int
) -> tuple[dict[str, Measure], dict[str, float]]:
    cards = load_personas().cards
    names = [
        name for one in roster for name in (one, one.replace("-", " "), *([cards[one].name] if one in cards else []))
    ]
    said = [
        (turn.text, speaker, block.dialogue)
        for block in blocks
        for turn, speaker in zip(block.said, block.speakers, strict=True)
    ]
    texts, personas, dialogues = ([row[column] for row in said] for column in range(3))
    try:
        found = separability(texts, personas, dialogues, names=names, seed=seed)
    except PrerequisiteError as error:
        return dict.fromkeys(_SEPARABILITY, missing(str(error))), {}
    return dict(zip(_SEPARABILITY, found[:4], strict=True)), found.by_persona


_SEPARABILITY = ("separability", "separability_unigrams", "separability_majority", "separability_chance")


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
