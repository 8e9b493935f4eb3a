"""Seeds that depend on what they are for, so that a result is the same whatever else is asked in the run."""

import hashlib
import math
from collections.abc import Sequence

_BITS = 31  # what every server takes


def seed_of(seed: int, *of: object) -> int:
    """Derive a seed, 0 to 2**31 - 1, from the run's seed and what it is for (an id and a number, say)."""
    text = "\x1f".join(map(str, (seed, *of)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> (64 - _BITS)


def pick(logprobs: Sequence[float], temperature: float, seed: int) -> int:
    """Choose one of several answers by their log-probabilities: the likeliest at temperature 0, else a seeded draw.

    The probabilities are renormalised over the answers given. An answer of log-probability minus infinity is never
    chosen unless all of them are, in which case the draw is even.
    """
    best = max(logprobs)
    if math.isinf(best):
        return seed % len(logprobs)
    if temperature == 0:
        return logprobs.index(best)
    weights = [math.exp((logprob - best) / temperature) for logprob in logprobs]
    left = seed / 2**_BITS * math.fsum(weights)
    for index, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return index
    return len(weights) - 1 - next(i for i, weight in enumerate(reversed(weights)) if weight)
