"""From a dataset directory to the embedded judge over it."""

from pathlib import Path
from typing import NamedTuple

from mascot_data.build.provenance import read_provenance
from mascot_data.judge.embedded.held_out import held_out_scores
from mascot_data.judge.embedded.hostility import hostile_sentences
from mascot_data.judge.embedded.judge import EmbeddedJudge
from mascot_data.judge.embedded.labels import forms
from mascot_data.judge.embedded.learnt import Learnt, load_or_learn
from mascot_data.judge.embedded.measures import Measures
from mascot_data.judge.embedded.states import load_reader
from mascot_data.judge.embedded.training import Learner, Progress, Sizes, learn_from, usable_talks
from mascot_data.judge.rubric import Rubric
from mascot_data.models.embedded import CHAT_REVISION, EMBEDDING
from mascot_data.models.store import key_of
from mascot_data.personas import Personas
from mascot_data.sources.download import default_cache
from mascot_data.stats.embedding import load_embedder

LEARNING = "1"
"""Raised whenever what is learnt, or how, changes."""


class Options(NamedTuple):
    """How to open the judge; see ``embedded_judge``."""

    seed: int = 0
    sizes: Sizes | None = None
    cache: Path | None = None
    progress: Progress | None = None


def opened(root: Path, cards: Personas, rubric: Rubric, options: Options) -> EmbeddedJudge:
    """Open the judge; see ``embedded_judge``."""
    learnt, revision = learnt_from(root, cards, options)
    return EmbeddedJudge(Measures(learnt, load_reader(), load_embedder()), rubric, revision)


def learnt_from(root: Path, cards: Personas, options: Options) -> tuple[Learnt, str]:
    """Return what was learnt from a dataset, from the cache if it is there, and what identifies it and the models."""
    sizes = options.sizes or Sizes()
    models = (CHAT_REVISION, f"{EMBEDDING.version}-{EMBEDDING.digest}")
    data = (read_provenance(root)["rows_digest"], cards.digest(), forms(), hostile_sentences())
    key = key_of("embedded", LEARNING, models, data, sizes, options.seed)[:16]

    def learn() -> Learnt:
        learner = Learner(load_reader(), load_embedder(), sizes, options.seed, options.progress)
        examples = [text for card in cards.cards.values() for text in card.examples]
        learnt = learn_from(usable_talks(root, "train"), examples, learner)
        held_out = held_out_scores(learnt, usable_talks(root, "validation"), learner)
        return learnt._replace(facts={**learnt.facts, "held_out": held_out})

    learnt = load_or_learn(options.cache or default_cache(), key, learn)
    return learnt, f"{models[0]}+{models[1]}+{key}"
