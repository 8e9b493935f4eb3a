"""How alike in meaning the agent turns of a block are, by the cosines of their sentence embeddings.

A cosine means little by itself: turns about one matter are alike. ``chance_similarity`` is what turns of different
conversations have in common.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mascot_data.stats.embedding import Vectors
from mascot_data.stats.measure import Measure, missing


class Redundancy(NamedTuple):
    """Cosines, -1 to 1, between the agent turns of one block.

    Attributes:
        others: Of each pair of turns of two different agents.
        previous: Of each turn with the agent turn before it.
        earlier: Of each turn but the first, the largest with an earlier one.
    """

    others: list[float]
    previous: list[float]
    earlier: list[float]


def block_redundancy(vectors: Vectors, speakers: Sequence[str]) -> Redundancy:
    """Compare the agent turns of a block.

    Args:
        vectors: A row a turn, in order, each of length 1.
        speakers: The agent of each turn.
    """
    cosines = (vectors @ vectors.T).clip(-1, 1).tolist()
    numbers = range(len(speakers))
    return Redundancy(
        [cosines[i][j] for i in numbers for j in range(i) if speakers[i] != speakers[j]],
        [cosines[i][i - 1] for i in numbers[1:]],
        [max(cosines[i][:i]) for i in numbers[1:]],
    )


def chance_similarity(vectors: Vectors, dialogues: Sequence[str]) -> Measure:
    """Return the mean cosine between turns of different dialogues.

    Returns:
        -1 to 1, ``n`` being the pairs; no value with fewer than two dialogues.
    """
    numbers = np.unique(np.asarray(dialogues, dtype=str), return_inverse=True)[1]
    sums = np.zeros((numbers.max(initial=-1) + 1, vectors.shape[1]))
    np.add.at(sums, numbers, vectors)
    pairs = len(vectors) ** 2 - int((np.bincount(numbers) ** 2).sum())
    if not pairs:
        return missing("fewer than two dialogues")
    # The product of sums is the sum of products; pairs within a dialogue are taken out again.
    total = (sums.sum(0) ** 2).sum() - (sums**2).sum()
    return Measure(float(total) / pairs, pairs // 2)
