"""Does a sentence hurt? The other measures see form: an insult in the form of a reflection would pass for one."""

from functools import cache
from importlib import resources

import numpy as np
import yaml

from mascot_data.judge.embedded.probe import Linear, learn
from mascot_data.judge.embedded.states import Array

_STRENGTH = 100.0
_FROM, _TO = 0.3, 0.7
_MOST, _LEAST = 5.0, 1.0


@cache
def hostile_sentences() -> tuple[str, ...]:
    """Read the examples of ``hostile.yaml``."""
    return tuple(yaml.safe_load(resources.files(__package__).joinpath("hostile.yaml").read_text("utf-8")))


def learn_hostility(hostile: Array, others: Array, seed: int) -> Linear:
    """Tell the hostile sentences from what helpers say, by their embeddings (a row each)."""
    labels = ["kind"] * len(others) + ["hostile"] * len(hostile)
    return learn(np.concatenate([others, hostile]), labels, ("kind", "hostile"), _STRENGTH, seed, balanced=True)


def hostility(classifier: Linear, embedded: Array) -> Array:
    """Return the probability that a sentence is hostile, of each row."""
    chances: Array = classifier(embedded)[:, 1]
    return chances


def hostility_cap(chance: float) -> float:
    """Return the most that a reply can score in emotion and empathy, by the probability of its most hostile sentence.

    No cap (5) up to 0.3; it falls to 1 for 0.7 and more.
    """
    return float(np.interp(chance, (_FROM, _TO), (_MOST, _LEAST)))
