"""Flags as bits: a number for each turn or dialogue, and the lists of names that it stands for."""

import numpy as np
import pyarrow as pa

from mascot_data.build.columns import Numbers, lists, strings, take
from mascot_data.records.flags import FLAGS

_NAMES = sorted(FLAGS)
_BITS = {name: 1 << number for number, name in enumerate(_NAMES)}


def bit(*flags: str) -> int:
    """Return the number that stands for flags."""
    return sum(_BITS[flag] for flag in set(flags))


def names(number: int) -> list[str]:
    """Return the flags that a number stands for, in alphabetical order."""
    return [name for name in _NAMES if number & _BITS[name]]


def flag_lists(found: Numbers) -> pa.ListArray:
    """Return the flags of many turns or dialogues."""
    kinds, places = np.unique(found, return_inverse=True)
    listed = [names(number) for number in kinds.tolist()]
    counts = np.array(list(map(len, listed)), np.int64)
    return take(lists(counts, strings([name for each in listed for name in each])), places)


def joined(found: Numbers, first: Numbers) -> Numbers:
    """Return all flags of each dialogue's turns; ``first`` is the first turn of each, and the number of all turns."""
    together = np.zeros(len(first) - 1, np.int64)
    np.bitwise_or.at(together, np.repeat(np.arange(len(together)), np.diff(first)), found)
    return together
