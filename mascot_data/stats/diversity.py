"""How varied the words of many texts are: distinct n-grams, and how much each text repeats the others.

The more words or texts there are, the more they repeat one another: compare systems at the same size only, which is
what ``distinct_of_size`` and ``sampled_self_bleu`` are for.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from statistics import fmean

from mascot_data.stats.measure import Measure, missing
from mascot_data.stats.words import ngrams, words

ORDER = 4
EPSILON = 0.1
"""What stands for no match at all of an order, as in the usual smoothing (Chen and Cherry 2014, method 1)."""

NGram = tuple[str, ...]


def distinct(texts: Sequence[str], n: int) -> Measure:
    """Distinct-n (Li et al. 2016): different runs of n words over all such runs, none of which crosses two texts.

    Returns:
        More than 0 (the same again and again) to 1 (no run twice), ``n`` being all runs; no value without any.
    """
    runs = [run for text in texts for run in ngrams(words(text), n)]
    return Measure(len(set(runs)) / len(runs), len(runs)) if runs else missing(f"no text has {n} words")


def distinct_of_size(texts: Sequence[str], n: int, size: int = 500, most: int = 100, seed: int = 0) -> Measure:
    """Distinct-n of pieces of ``size`` words, their mean: comparable between systems that said more and less.

    The texts are shuffled and cut, end to end, into pieces; the first ``most`` are used.

    Returns:
        More than 0 to 1, ``n`` being the number of pieces; no value with fewer than ``size`` words.
    """
    shuffled = random.Random(seed).sample(texts, len(texts))  # noqa: S311
    stream = ((word, number) for number, text in enumerate(shuffled) for word in words(text))
    said = list(islice(stream, size * most))
    pieces = [said[start : start + size] for start in range(0, len(said) - size + 1, size)]
    values = [_distinct_of(piece, n) for piece in pieces]
    found = [value for value in values if value is not None]
    if not found:
        return missing(f"{len(said):,} words, {size:,} are needed")
    return Measure(fmean(found), len(found))


def _distinct_of(piece: Sequence[tuple[str, int]], n: int) -> float | None:
    """Return distinct-n of words with the number of their text."""
    windows = zip(*(piece[start:] for start in range(n)), strict=False)
    runs = [tuple(word for word, _ in window) for window in windows if window[0][1] == window[-1][1]]
    return len(set(runs)) / len(runs) if runs else None


def self_bleu(texts: Sequence[str]) -> Measure:
    """Self-BLEU (Zhu et al. 2018, Texygen): the mean BLEU-4 of each text with all the others as its references.

    Smoothed as there (an order without any match counts as 0.1 matches). Texts without words are left out.

    Returns:
        0 (nothing in common) to 1 (all the same), ``n`` being the number of texts; no value for fewer than two.
    """
    said = [found for text in texts if (found := words(text))]
    if len(said) < 2:
        return missing("fewer than two texts with words", len(said))
    matches = [_matches_in_others(said, n) for n in range(1, ORDER + 1)]
    lengths = Counter(map(len, said))
    scores = [_bleu(len(text), [order[i] for order in matches], lengths) for i, text in enumerate(said)]
    return Measure(fmean(scores), len(said))


def sampled_self_bleu(texts: Sequence[str], size: int = 50, draws: int = 20, seed: int = 0) -> Measure:
    """Self-BLEU of ``size`` texts, the mean of ``draws`` random samples: comparable between systems.

    Returns:
        0 to 1, ``n`` being the size of a sample; no value for fewer texts than that.
    """
    said = [text for text in texts if words(text)]
    if len(said) < max(size, 2):
        return missing(f"{len(said):,} texts, {max(size, 2):,} are needed", len(said))
    chance = random.Random(seed)  # noqa: S311
    values = [self_bleu(chance.sample(said, size)).value for _ in range(draws)]
    return Measure(fmean(value for value in values if value is not None), size)


def _matches_in_others(said: Sequence[Sequence[str]], n: int) -> list[int]:
    """Count, of each text, the runs of n words that another text has, each as often as one other has it at most."""
    counts: list[Counter[NGram]] = [Counter(ngrams(text, n)) for text in said]
    most: dict[NGram, tuple[int, int]] = {}
    for found in counts:
        for run, number in found.items():
            first, second = most.get(run, (0, 0))
            most[run] = (number, first) if number > first else (first, max(second, number))
    return [sum(min(number, _of_others(most[run], number)) for run, number in found.items()) for found in counts]


def _of_others(most: tuple[int, int], own: int) -> int:
    """Return the most often that another text has a run, from the two largest counts of all texts and the own one."""
    first, second = most
    return second if own == first else first


def _bleu(length: int, matches: Sequence[int], lengths: Counter[int]) -> float:
    if not matches[0]:
        return 0.0
    logs = [math.log((found or EPSILON) / max(1, length - n)) for n, found in enumerate(matches)]
    reference = min(
        (other for other in lengths if other != length or lengths[other] > 1), key=lambda o: (abs(o - length), o)
    )
    return math.exp(min(0.0, 1 - reference / length) + fmean(logs))
