"""Label what an utterance does by cue phrases, for corpora that come without act labels.

The cues are data: ``build/tables/cues.yaml``, which also describes their notation. A label's score is its prior plus
the weights of those of its cues that the text holds; the highest score wins, on a tie the label that stands first.
``benchmarks/acts.py`` measures how often that agrees with the corpora's own labels.

Whole columns of texts are labelled at once. No expression with a choice to make sees a text: it is cut into words once,
and from each word on at most as many words are looked up as the longest phrase has. The work grows linearly with the
text, whatever the text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.columns import Marks, Numbers, bounds, flat, integers, lists, numbers, ranges, scalar, strings
from mascot_data.build.tables import table
from mascot_data.build.texts import lowered, spaced

Inventory = Literal["empathetic-dialogues", "esconv"]
"""Whose labels to give: the nine intents of EmpatheticIntents or the eight strategies of ESConv."""

_ALTERNATIVES = re.compile(r"\(([^()]*)\)")
_SPACING = (
    (r"['`’‘ʼ´]", ""),
    (r"""[,\-"():;*“”–—]""", " "),
    (r"[.…]", " . "),
    (r"\?", " ? "),
    (r"!", " ! "),
    (r"\n", " . "),
)


_UNKNOWN = integers(np.array([-1])).cast(pa.int32())[0]


class _Rules(NamedTuple):
    """A compiled block of the table.

    Words and cues are known by their numbers (words from 1 on). Phrases are a tree: ``follow[node, word]`` is the node
    that a word leads to from the root, 0, on, and 0 where it leads nowhere; ``branches`` tells where any word leads on.
    The cues that end at a node are ``cues`` from ``ends[node]`` to ``ends[node + 1]``.
    """

    labels: tuple[str, ...]
    priors: Numbers
    speaks_for: Numbers
    weights: Numbers
    words: pa.StringArray
    follow: Numbers
    branches: Marks
    ends: Numbers
    cues: Numbers


def label_act(text: str, inventory: Inventory = "empathetic-dialogues") -> str:
    """Return the label of ``inventory`` that fits an utterance best; every text gets one."""
    return label_acts(_column([text]), inventory)[0]


def label_acts(texts: pa.StringArray, inventory: Inventory) -> list[str]:
    """Return the label of ``inventory`` for each of many utterances."""
    return _best(_words(texts), _rules(inventory))


def label_query(query: str) -> str:
    """Return the id of the workplace persona that is to answer a query about a meeting."""
    return label_queries([query])[0]


def label_queries(queries: Sequence[str]) -> list[str]:
    """Return the ids of the workplace personas that are to answer queries about meetings.

    What follows words such as "when discussing" says where in the meeting to look, not what is asked, and has no say.
    """
    found = [_without_context(words) for words in _words(_column(queries)).to_pylist()]
    counts = np.array([len(words) for words in found], np.int64)
    return _best(lists(counts, strings([word for words in found for word in words])), _rules("qmsum"))


def _without_context(words: list[str]) -> list[str]:
    for position, pair in enumerate(zip(words, words[1:], strict=False)):
        if pair in _contexts() and position > 1:
            return [*words[:position], "$"]
    return words


def strategy_of(act: str) -> str:
    """Return the ESConv strategy that stands nearest to an intent; both belong to the same persona."""
    nearest: str = table("cues")["nearest strategy"][act]
    return nearest


def expand(cue: str) -> Iterator[tuple[str, ...]]:
    """Yield the phrases that a cue stands for.

    >>> list(expand("(so|very|) sorry"))
    [('so', 'sorry'), ('very', 'sorry'), ('sorry',)]
    """
    parts = _ALTERNATIVES.split(cue.replace("^", "(.|?|!)"))
    choices = [part.split("|") if position % 2 else [part] for position, part in enumerate(parts)]
    for chosen in product(*choices):
        yield tuple("".join(chosen).split())


def _column(texts: Sequence[str]) -> pa.StringArray:
    return strings([text.encode(errors="replace").decode() for text in texts])


def _best(words: pa.ListArray, rules: _Rules) -> list[str]:
    counts, flat_words = flat(words)
    home = np.repeat(np.arange(len(counts)), counts)
    text, cue = _held(numbers(pc.index_in(flat_words, value_set=rules.words).fill_null(_UNKNOWN)) + 1, home, rules)
    many = len(rules.labels)
    score = np.bincount(text * many + rules.speaks_for[cue], rules.weights[cue], len(counts) * many)
    best = np.argmax(score.reshape(-1, many) + rules.priors, axis=1)
    return [rules.labels[label] for label in best.tolist()]


def _held(words: Numbers, home: Numbers, rules: _Rules) -> tuple[Numbers, Numbers]:
    """Return which cues texts hold, each once a text: the texts and the cues. ``home`` is the text of each word."""
    count = len(rules.weights)
    held = np.zeros((int(home[-1]) + 1) * count if len(home) else 0, np.bool_)
    place = np.flatnonzero(words)
    node = np.zeros(len(place), np.int64)
    while len(place):
        node = rules.follow[node, words[place]]
        place, node = place[node > 0], node[node > 0]
        ends = rules.ends[node + 1] - rules.ends[node]
        held[np.repeat(home[place], ends) * count + rules.cues[ranges(rules.ends[node], ends)]] = True
        goes_on = rules.branches[node] & (place + 1 < len(words))
        place, node = place[goes_on] + 1, node[goes_on]
        inside = home[place] == home[place - 1]
        place, node = place[inside], node[inside]
    return np.divmod(np.flatnonzero(held), count)


def _words(texts: pa.StringArray) -> pa.ListArray:
    """Cut texts into lower-case words and marks (. ? !); a mark stands before the first word, ``$`` after the last."""
    texts = spaced(lowered(texts))
    for pattern, instead in _SPACING:
        texts = pc.replace_substring_regex(texts, pattern, instead)
    return pc.ascii_split_whitespace(pc.binary_join_element_wise(scalar("."), texts, scalar("$"), scalar(" ")))


@cache
def _contexts() -> frozenset[tuple[str, ...]]:
    return frozenset(phrase for cue in table("cues")["query contexts"] for phrase in expand(cue))


@cache
def _rules(block: str) -> _Rules:
    entries = table("cues")[block]
    cues = [
        (label, cue, weight) for label, entry in enumerate(entries.values()) for cue, weight in entry["cues"].items()
    ]
    words: dict[str, int] = {}
    tree: dict[tuple[int, int], int] = {}
    ends: dict[int, list[int]] = {}
    for number, (_, cue, _) in enumerate(cues):
        for phrase in expand(cue):
            node = 0
            for word in phrase:
                step = node, words.setdefault(word, len(words) + 1)
                node = tree.setdefault(step, len(tree) + 1)
            ends.setdefault(node, []).append(number)
    follow = np.zeros((len(tree) + 1, len(words) + 1), np.int64)
    for step, node in tree.items():
        follow[step] = node
    at_node = [ends.get(node, []) for node in range(len(tree) + 1)]
    return _Rules(
        labels=tuple(entries),
        priors=np.array([entry["prior"] for entry in entries.values()], np.int64),
        speaks_for=np.array([label for label, _, _ in cues], np.int64),
        weights=np.array([weight for _, _, weight in cues], np.int64),
        words=strings(list(words)),
        follow=follow,
        branches=follow.max(axis=1) > 0,
        ends=bounds(np.array(list(map(len, at_node)), np.int64)),
        cues=np.array([cue for each in at_node for cue in each], np.int64),
    )
