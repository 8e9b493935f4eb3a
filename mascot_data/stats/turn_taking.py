"""Who speaks among the agents: evenly or always the same, in a fixed order or not.

``speaker_entropy`` over one block is also the diversity in the group reward of MASCOT's second phase (2026).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from mascot_data.stats.measure import Measure, missing


def speaker_entropy(speakers: Sequence[str], roster: int) -> Measure:
    """Return how evenly the turns of a block are shared by the agents on the roster.

    The entropy of who speaks, over the largest that so many turns of so many agents can have.

    Args:
        speakers: The agent of each agent turn.
        roster: How many agents could have spoken; at least those who did.

    Returns:
        0 (always the same) to 1 (as even as can be), ``n`` being the turns; no value for fewer than two turns or
        agents.
    """
    roster = max(roster, len(set(speakers)))
    if roster < 2 or len(speakers) < 2:
        return missing(
            "fewer than two agents on the roster" if roster < 2 else "fewer than two agent turns", len(speakers)
        )
    turns, more = divmod(len(speakers), roster)
    most = _entropy([turns + 1] * more + [turns] * (roster - more))
    return Measure(min(1.0, _entropy(Counter(speakers).values()) / most), len(speakers))


def next_speaker_entropy(blocks: Iterable[Sequence[str]], roster: int) -> Measure:
    """Return how open it is who speaks next when one knows who spoke last, over the agent turns of many blocks.

    The conditional entropy over the logarithm of the roster. From few transitions it comes out too low.

    Returns:
        0 (always the same agent after another, as in a round) to 1 (anybody after anybody, equally often), ``n`` being
        the transitions; no value without any, or for fewer than two agents.
    """
    steps = Counter(step for speakers in blocks for step in zip(speakers, speakers[1:], strict=False))
    number, roster = steps.total(), max(roster, len({speaker for step in steps for speaker in step}))
    if roster < 2 or not number:
        return missing("fewer than two agents on the roster" if roster < 2 else "no two agent turns in a block", number)
    lasts: Counter[str] = Counter()
    for (last, _), times in steps.items():
        lasts[last] += times
    open_ = (_entropy(steps.values()) - _entropy(lasts.values())) / math.log(roster)
    return Measure(min(1.0, max(0.0, open_)), number)


def roster_share(speakers: Sequence[str], roster: int) -> Measure:
    """Return which share of those who could have spoken did.

    As many as there are turns, at most: with three turns, three of four agents are all.

    Returns:
        More than 0 to 1, ``n`` being the turns; no value without any, or for fewer than two agents.
    """
    roster = max(roster, len(set(speakers)))
    if roster < 2 or not speakers:
        return missing("no agent turn" if not speakers else "fewer than two agents on the roster", len(speakers))
    return Measure(len(set(speakers)) / min(roster, len(speakers)), len(speakers))


def longest_run(speakers: Sequence[str]) -> int:
    """Return the most agent turns in a row by one agent, whatever people say in between; 0 without any."""
    return max((sum(1 for _ in run) for _, run in groupby(speakers)), default=0)


def _entropy(counts: Iterable[int]) -> float:
    """Return the entropy in nats of counts that are not all 0."""
    found = [count for count in counts if count]
    whole = sum(found)
    return -sum(count / whole * math.log(count / whole) for count in found)
