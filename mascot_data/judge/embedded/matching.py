"""Does a reply follow from what was said? Sentence embeddings, turned so that true next turns lie near their context.

To find each context's own reply among others is to estimate the log-ratio of the reply's probability in its context to
that anywhere: their pointwise mutual information.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from mascot_data.judge.embedded.states import Array

HEARD = 5
"""Turns before a reply that count."""
ENOUGH_PAIRS = 1_000
"""Turns with their context from which on the turning is learnt; with fewer the embeddings are compared as they are."""

CONTEXT_PARTS = (0.6, 0.3, 0.1)
"""What the parts of a context vector weigh before anything is learnt."""

_FADE = 0.6
_EPOCHS, _BATCH, _RATE, _DECAY, _SHARPNESS = 4, 256, 3e-4, 0.01, 12.0
_UNTAUGHT = (10.0, -3.0)
_HELD_OUT = 8


class Matching(NamedTuple):
    """Two linear maps into one space, and a line from the cosine there to the log-odds of being the true next turn."""

    ahead: Array
    back: Array
    slope: float
    offset: float

    def cosines(self, contexts: Array, replies: Array) -> Array:
        """Return the cosine of each context with its reply."""
        found: Array = np.einsum("nd,nd->n", _unit(contexts @ self.ahead.T), _unit(replies @ self.back.T))
        return found

    def chances(self, contexts: Array, replies: Array) -> Array:
        """Return the probability that a reply is the true next turn, when the other choice is a random turn."""
        chances: Array = 1 / (1 + np.exp(-(self.slope * self.cosines(contexts, replies) + self.offset)))
        return chances


def context_vector(heard: Array, by_people: Sequence[bool]) -> Array:
    """Put what was heard together: the last turns (a later one counts more), the person's last, and the last.

    Args:
        heard: A row a turn, in order; only the last ``HEARD`` count. At least one.
        by_people: Of each turn, whether a person said it.
    """
    last = heard[-HEARD:]
    weights = _FADE ** np.arange(len(last) - 1, -1, -1)
    theirs = [row for row, person in zip(last, by_people[-HEARD:], strict=True) if person]
    mean = (last * weights[:, None]).sum(0) / weights.sum()
    found: Array = np.concatenate([mean, theirs[-1] if theirs else last[-1], last[-1]]).astype(np.float32)
    return found


def untaught(width: int) -> Matching:
    """Return the maps that leave embeddings as they are; the line was fitted on the training split of ESConv."""
    ahead = np.concatenate([part * np.eye(width) for part in CONTEXT_PARTS], axis=1).astype(np.float32)
    return Matching(ahead, np.eye(width, dtype=np.float32), *_UNTAUGHT)


def taught(contexts: Array, replies: Array, dialogues: Sequence[str], seed: int) -> Matching:
    """Learn the maps: among the replies of a batch, each context is to find its own.

    Every eighth dialogue is kept out of it, and the line is fitted there.

    Args:
        contexts: A row a turn, by ``context_vector``.
        replies: The turns' own embeddings.
        dialogues: The dialogue of each turn.
        seed: Of the order, and of the wrong replies that the line is fitted with.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(dialogues))}
    kept = np.array([numbers[name] % _HELD_OUT == 0 for name in dialogues])
    start = untaught(replies.shape[1])
    ahead, back = _contrasted(start, contexts[~kept], replies[~kept], seed)
    return fitted(start._replace(ahead=ahead, back=back), contexts[kept], replies[kept], seed)


def _contrasted(start: Matching, contexts: Array, replies: Array, seed: int) -> tuple[Array, Array]:
    order = torch.Generator().manual_seed(seed)
    ahead, back = (torch.tensor(part, requires_grad=True) for part in (start.ahead, start.back))
    sharpness = torch.tensor(_SHARPNESS).log().requires_grad_()
    steps = torch.optim.AdamW([ahead, back, sharpness], lr=_RATE, weight_decay=_DECAY)
    before, after = torch.from_numpy(contexts), torch.from_numpy(replies)
    for _ in range(_EPOCHS):
        for batch in torch.randperm(len(before), generator=order).split(_BATCH):
            left = functional.normalize(before[batch] @ ahead.T, dim=1)
            right = functional.normalize(after[batch] @ back.T, dim=1)
            loss = functional.cross_entropy(left @ right.T * sharpness.exp(), torch.arange(len(batch)))
            steps.zero_grad()
            loss.backward()
            steps.step()
    return ahead.detach().numpy(), back.detach().numpy()


def fitted(matching: Matching, contexts: Array, replies: Array, seed: int) -> Matching:
    """Fit the line on true turns and as many wrong ones, drawn among the replies."""
    from sklearn.linear_model import LogisticRegression

    wrong = np.random.default_rng(seed).permutation(len(replies))
    cosines = np.concatenate([matching.cosines(contexts, replies), matching.cosines(contexts, replies[wrong])])
    true = np.arange(len(cosines)) < len(replies)
    line = LogisticRegression(C=100.0).fit(cosines[:, None], true)
    return matching._replace(slope=float(line.coef_[0, 0]), offset=float(line.intercept_[0]))


def _unit(rows: Array) -> Array:
    found: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return found
