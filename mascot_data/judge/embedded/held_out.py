"""How well what was learnt holds on dialogues that nothing was learnt from."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mascot_data.judge.embedded.labels import Talk
from mascot_data.judge.embedded.learnt import Learnt
from mascot_data.judge.embedded.matching import Matching
from mascot_data.judge.embedded.states import Array
from mascot_data.judge.embedded.training import Labelled, Learner, Pairs, embedded_pairs, labelled_turns


def held_out_scores(learnt: Learnt, talks: Sequence[Talk], learner: Learner) -> dict[str, Any]:
    """Measure what was learnt.

    Returns:
        For ``persona`` and ``verb``, how often the right label is more likely than a wrong one; for ``next_turn``, how
        often the true turn goes better with what was said than one of another dialogue. From 0 to 1, chance being 0.5,
        with the number of turns; what cannot be measured is left out.
    """
    found: dict[str, Any] = {}
    sample: list[Labelled] = learner.drawn(labelled_turns(talks), learner.sizes.held_out_states)
    if learnt.probe and sample:
        texts = [one.text for one in sample]
        states = learner.states(texts, "measuring")
        for kind, head in learnt.probe.heads.items():
            rows = [row for row, one in enumerate(sample) if getattr(one, kind) in head.labels]
            if rows:
                chances = learnt.probe.chances(kind, [texts[row] for row in rows], states[rows])
                right = np.array([head.labels.index(getattr(sample[row], kind)) for row in rows])
                found[kind] = {"n": len(rows), "right_over_wrong": _right_over_wrong(chances, right)}
    pairs = embedded_pairs(learner.drawn(talks, learner.sizes.held_out_dialogues), learner, "measuring")
    if len(set(pairs.dialogues)) > 1:
        score = _true_over_random(learnt.matching, pairs)
        found["next_turn"] = {"n": len(pairs.replies), "true_over_random": score}
    return found


def _right_over_wrong(chances: Array, right: Any) -> float:
    """Return how often the right label has more than a wrong one, over all pairs of them; a tie counts half."""
    own = chances[np.arange(len(chances)), right][:, None]
    ties = (own == chances).sum() - len(chances)
    return round(float(((own > chances).sum() + 0.5 * ties) / (chances.size - len(chances))), 4)


def _true_over_random(matching: Matching, pairs: Pairs) -> float:
    """Return how often the true turn has more than one of another dialogue, over all pairs of them."""
    names = np.array(pairs.dialogues)
    every = np.stack(
        [matching.cosines(pairs.contexts, np.broadcast_to(reply, pairs.replies.shape)) for reply in pairs.replies],
        axis=1,
    )
    own = np.diagonal(every)[:, None]
    return round(float((own > every)[names[:, None] != names].mean()), 4)
