"""Classifiers that learn from a corpus's own labels what a turn does: on hidden states, and on its words.

They see the form of a turn, not what is meant by it: a question mark makes a question.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mascot_data.judge.embedded.states import Array
from mascot_data.judge.embedded.wording import Wording, sentences
from mascot_data.stats.words import words

STATES_STRENGTH, WORDS_STRENGTH = 0.003, 1.0
"""Inverse strength of the regularisation."""


class Scale(NamedTuple):
    """Mean and standard deviation of every dimension of the hidden states, over turns of agents."""

    means: Array
    deviations: Array

    @classmethod
    def of(cls, states: Array) -> "Scale":
        """Measure them."""
        return cls(states.mean(0), np.maximum(states.std(0), 1e-6))

    def __call__(self, states: Array) -> Array:
        """Bring every dimension to mean 0 and deviation 1."""
        found: Array = ((states - self.means) / self.deviations).astype(np.float32)
        return found


class Linear(NamedTuple):
    """A multinomial logistic regression: a row of weights and a bias a label."""

    weights: Array
    biases: Array

    def __call__(self, features: Any) -> Array:
        """Return the probability of every label, a row a text."""
        odds = np.asarray(features @ self.weights.T) + self.biases
        raised = np.exp(odds - odds.max(1, keepdims=True))
        chances: Array = (raised / raised.sum(1, keepdims=True)).astype(np.float32)
        return chances


class Head(NamedTuple):
    """What tells the labels of one kind apart, the labels in order."""

    labels: tuple[str, ...]
    by_words: Linear
    by_states: Linear


class Probe(NamedTuple):
    """The classifiers of a corpus by what they tell: ``persona`` and ``verb``."""

    wording: Wording
    scale: Scale
    heads: Mapping[str, Head]

    def chances(self, kind: str, texts: Sequence[str], states: Array) -> Array:
        """Return the probability of every label of a kind, a row a text: the mean of both classifiers.

        By its words a text is judged sentence by sentence, each weighing as much as it is long, so that one sentence
        more changes no more than its share.
        """
        head = self.heads[kind]
        found: Array = np.float32(0.5) * (self.by_words(head, texts) + head.by_states(self.scale(states)))
        return found

    def by_words(self, head: Head, texts: Sequence[str]) -> Array:
        """Return the probabilities by the words alone."""
        cut = [sentences(text) for text in texts]
        each = head.by_words(self.wording([one for parts in cut for one in parts]))
        weights = np.array([len(words(one)) + 1 for parts in cut for one in parts], np.float32)[:, None]
        starts = np.cumsum([0, *map(len, cut[:-1])])
        found: Array = (np.add.reduceat(each * weights, starts) / np.add.reduceat(weights, starts)).astype(np.float32)
        return found


def learn(
    features: Any, labels: Sequence[str], kinds: Sequence[str], strength: float, seed: int, *, balanced: bool = False
) -> Linear:
    """Fit a logistic regression.

    Args:
        features: A row a text, dense or sparse.
        labels: The label of each.
        kinds: The labels, in the order wanted; there is a text of each.
        strength: Inverse strength of the regularisation.
        seed: Of the solver.
        balanced: Let every kind weigh the same, however many texts it has.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        model = LogisticRegression(
            C=strength, max_iter=1000, random_state=seed, class_weight="balanced" if balanced else None
        ).fit(features, labels)
    order = [model.classes_.tolist().index(kind) for kind in kinds]
    weights, biases = model.coef_, model.intercept_
    if len(kinds) == 2:  # one row is fitted for two labels, that of the second
        weights, biases = np.stack([np.zeros_like(weights[0]), weights[0]]), np.array([0.0, biases[0]])
    return Linear(weights[order].astype(np.float32), biases[order].astype(np.float32))
