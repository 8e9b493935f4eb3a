"""What a turn does, by example: its hidden states beside those of a few sentences of each kind.

For personas that a corpus has no labels for: a user's own, and those of meetings.
"""

from collections.abc import Sequence

import numpy as np

from mascot_data.judge.embedded.states import Array

_SHARPNESS = 12.0


def prototypes(examples: Array) -> Array:
    """Return what stands for a kind: the mean direction of its examples (standardised states, a row each)."""
    found: Array = _unit(_unit(examples).mean(0, keepdims=True))[0]
    return found


def chances(states: Array, kinds: Sequence[Array]) -> Array:
    """Return the probability of every kind, a row a text.

    Args:
        states: Standardised hidden states, a row a text.
        kinds: What stands for each kind, from ``prototypes``.
    """
    odds = _SHARPNESS * _unit(states) @ np.stack(kinds).T
    raised = np.exp(odds - odds.max(1, keepdims=True))
    found: Array = (raised / raised.sum(1, keepdims=True)).astype(np.float32)
    return found


def _unit(rows: Array) -> Array:
    found: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return found
