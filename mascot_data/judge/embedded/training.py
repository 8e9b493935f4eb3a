"""Learn from the training split of a dataset what the embedded judge needs."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mascot_data.judge.embedded.hostility import hostile_sentences, learn_hostility
from mascot_data.judge.embedded.labels import FAILED, Talk, forms, read_talks
from mascot_data.judge.embedded.learnt import Learnt
from mascot_data.judge.embedded.matching import CONTEXT_PARTS, ENOUGH_PAIRS, context_vector, taught, untaught
from mascot_data.judge.embedded.probe import STATES_STRENGTH, WORDS_STRENGTH, Head, Probe, Scale, learn
from mascot_data.judge.embedded.states import Array, Reader
from mascot_data.judge.embedded.wording import Wording
from mascot_data.records.dialogue import Split
from mascot_data.stats.embedding import Embedder

ENOUGH_LABELS = 300
"""Labelled turns from which on a probe is learnt; with fewer, examples tell more."""
ENOUGH_OF_A_KIND = 20
"""Turns that a label needs to be learnt."""

_PIECE = 256

Progress = Callable[[str, int, int | None], None]
"""Called with what is going on, how much of it is done, and how much there is."""


class Sizes(NamedTuple):
    """How much is learnt from: more is better and slower.

    Attributes:
        states: Turns whose hidden states are read.
        dialogues: Dialogues whose turns are embedded.
        held_out_states: As ``states``, of the validation split.
        held_out_dialogues: As ``dialogues``, of the validation split.
    """

    states: int = 2000
    dialogues: int = 300
    held_out_states: int = 400
    held_out_dialogues: int = 50


class Labelled(NamedTuple):
    """An agent turn with its labels, None where there is none."""

    text: str
    persona: str | None
    verb: str | None


class Pairs(NamedTuple):
    """Agent turns with what was said before: context vector, own embedding and dialogue of each."""

    contexts: Array
    replies: Array
    dialogues: list[str]


class Learner(NamedTuple):
    """The models that are learnt over, and how."""

    reader: Reader
    embedder: Embedder
    sizes: Sizes = Sizes()
    seed: int = 0
    progress: Progress | None = None

    def states(self, texts: Sequence[str], doing: str) -> Array:
        """Read hidden states, telling how far it is."""
        return self._piecewise(texts, self.reader, doing)

    def embedded(self, texts: Sequence[str], doing: str) -> Array:
        """Embed texts, telling how far it is."""
        return self._piecewise(texts, self.embedder, doing)

    def drawn(self, items: Sequence[Any], most: int) -> list[Any]:
        """Draw at most so many."""
        return random.Random(self.seed).sample(items, min(most, len(items)))  # noqa: S311

    def _piecewise(self, texts: Sequence[str], read: Callable[[Sequence[str]], Array], doing: str) -> Array:
        found = []
        for start in range(0, len(texts), _PIECE):
            found.append(read(texts[start : start + _PIECE]))
            if self.progress:
                self.progress(doing, min(start + _PIECE, len(texts)), len(texts))
        return np.concatenate(found)


def usable_talks(root: Path, split: Split) -> list[Talk]:
    """Read the dialogues of a split that something can be learnt from: failed conversations are left out."""
    return [talk for talk in read_talks(root, split) if talk.subset != FAILED]


def learn_from(talks: Sequence[Talk], examples: Sequence[str], learner: Learner) -> Learnt:
    """Learn from dialogues.

    Args:
        talks: The dialogues.
        examples: Sentences of the persona cards, which stand in where dialogues have little to learn from.
        learner: The models.
    """
    said = [*examples, *(text for texts in forms().verbs.values() for text in texts)]
    labelled = labelled_turns(talks)
    enough_labels = len(labelled) >= ENOUGH_LABELS
    sample: list[Labelled] = learner.drawn(labelled if enough_labels else agent_turns(talks), learner.sizes.states)
    texts = [one.text for one in sample] + ([] if enough_labels else said)
    states = learner.states(texts, "reading turns")
    scale = Scale.of(states)
    probe = _probe(labelled, sample, scale, scale(states), learner.seed) if enough_labels else None
    pairs = embedded_pairs(learner.drawn(talks, learner.sizes.dialogues), learner, "comparing turns")
    kind = np.concatenate([pairs.replies, learner.embedder(said)])
    enough = len(pairs.replies) >= ENOUGH_PAIRS
    return Learnt(
        scale,
        probe,
        taught(*pairs, learner.seed) if enough else untaught(kind.shape[1]),
        learn_hostility(learner.embedder(hostile_sentences()), kind, learner.seed),
        {"labelled": len(labelled), "states": len(sample), "pairs": len(pairs.replies), "matching_learnt": enough},
    )


def labelled_turns(talks: Sequence[Talk]) -> list[Labelled]:
    """Return the agent turns that have a label."""
    return [one for one in agent_turns(talks) if one.persona or one.verb]


def agent_turns(talks: Sequence[Talk]) -> list[Labelled]:
    """Return the agent turns, with or without labels."""
    return [
        Labelled(turn.text, turn.persona if turn.by_persona else None, turn.verb)
        for talk in talks
        for turn in talk.turns
        if turn.persona
    ]


def embedded_pairs(talks: Sequence[Talk], learner: Learner, doing: str) -> Pairs:
    """Embed dialogues, and return the agent turns that have a context."""
    embedded = learner.embedded([turn.text for talk in talks for turn in talk.turns] or [""], doing)
    contexts, replies, dialogues, start = [], [], [], 0
    for talk in talks:
        rows = embedded[start : start + len(talk.turns)]
        start += len(talk.turns)
        people = [turn.persona is None for turn in talk.turns]
        for index, turn in enumerate(talk.turns):
            if turn.persona and index:
                contexts.append(context_vector(rows[:index], people[:index]))
                replies.append(rows[index])
                dialogues.append(talk.id)
    width = embedded.shape[1]
    return Pairs(
        np.array(contexts, np.float32).reshape(-1, len(CONTEXT_PARTS) * width),
        np.array(replies, np.float32).reshape(-1, width),
        dialogues,
    )


def _probe(
    labelled: Sequence[Labelled], sample: Sequence[Labelled], scale: Scale, states: Array, seed: int
) -> Probe | None:
    wording = Wording.learn([one.text for one in labelled])
    words = wording([one.text for one in labelled])
    heads = {}
    for kind in ("persona", "verb"):
        of_all, of_sample = ([getattr(one, kind) for one in some] for some in (labelled, sample))
        counts = Counter(of_sample)
        kinds = tuple(sorted(name for name, count in counts.items() if name and count >= ENOUGH_OF_A_KIND))
        if len(kinds) > 1:
            heads[kind] = Head(
                kinds,
                _learnt(words, of_all, kinds, WORDS_STRENGTH, seed),
                _learnt(states, of_sample, kinds, STATES_STRENGTH, seed),
            )
    return Probe(wording, scale, heads) if heads else None


def _learnt(features: Any, labels: Sequence[str | None], kinds: Sequence[str], strength: float, seed: int) -> Any:
    """Learn from the rows whose label is one of the kinds."""
    rows = [row for row, label in enumerate(labels) if label in kinds]
    return learn(features[rows], [str(labels[row]) for row in rows], kinds, strength, seed)
