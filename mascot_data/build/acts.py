"""Label what an utterance does by cue phrases, for corpora that come without act labels.

The cues are data: ``build/tables/cues.yaml``, which also describes their notation. A label's score is its prior plus
the weights of those of its cues that the text holds; the highest score wins, on a tie the label that stands first.
``benchmarks/acts.py`` measures how often that agrees with the corpora's own labels.

No regular expression sees a text: it is cut into words once, and from each word on at most as many words are looked up
as the longest phrase has. The work grows linearly with the text, whatever the text.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple

from mascot_data.build.tables import table

Inventory = Literal["empathetic-dialogues", "esconv"]
"""Whose labels to give: the nine intents of EmpatheticIntents or the eight strategies of ESConv."""

_ALTERNATIVES = re.compile(r"\(([^()]*)\)")
_TYPOGRAPHY = str.maketrans(dict.fromkeys("’‘ʼ´", "'") | dict.fromkeys("“”–—", " ") | {"…": "."})
_SPACING = (
    *((mark, "") for mark in "'`"),
    *((mark, " ") for mark in ',-"():;*'),
    *((mark, f" {mark} ") for mark in ".?!"),
    ("\n", " . "),
)

_Node = tuple[tuple[int, ...], "dict[str, _Node]"]
"""The cues that end at a word, and the words that can follow it."""


class _Rules(NamedTuple):
    """A compiled block of the table; a cue is known by its number."""

    labels: tuple[str, ...]
    priors: tuple[int, ...]
    weights: tuple[tuple[int, int], ...]
    """Position of the label that a cue speaks for, and the cue's weight."""
    starts: dict[str, _Node]


def label_act(text: str, inventory: Inventory = "empathetic-dialogues") -> str:
    """Return the label of ``inventory`` that fits an utterance best; every text gets one."""
    return _best(_words(text), _rules(inventory))


def label_query(query: str) -> str:
    """Return the id of the workplace persona that is to answer a query about a meeting.

    What follows words such as "when discussing" says where in the meeting to look, not what is asked, and has no say.
    """
    words = _words(query)
    for position, pair in enumerate(zip(words, words[1:], strict=False)):
        if pair in _contexts() and position > 1:
            return _best([*words[:position], "$"], _rules("qmsum"))
    return _best(words, _rules("qmsum"))


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


def _best(words: list[str], rules: _Rules) -> str:
    scores = list(rules.priors)
    for cue in _held(words, rules.starts):
        label, weight = rules.weights[cue]
        scores[label] += weight
    return rules.labels[scores.index(max(scores))]


def _held(words: list[str], starts: dict[str, _Node]) -> set[int]:
    held: list[int] = []
    for following, word in enumerate(words, 1):
        if word in starts:
            cues, after = starts[word]
            held += cues
            while after and (node := after.get(words[following])):
                cues, after = node
                held += cues
                following += 1
    return set(held)


def _words(text: str) -> list[str]:
    """Cut a text into lower-case words and marks (. ? !); a mark stands before the first word, ``$`` after the last."""
    text = text.lower()
    if not text.isascii():
        text = text.translate(_TYPOGRAPHY)
    for mark, spaced in _SPACING:
        text = text.replace(mark, spaced)
    return f". {text} $".split()


@cache
def _contexts() -> frozenset[tuple[str, ...]]:
    return frozenset(phrase for cue in table("cues")["query contexts"] for phrase in expand(cue))


@cache
def _rules(block: str) -> _Rules:
    labels = table("cues")[block]
    weights: list[tuple[int, int]] = []
    starts: dict[str, Any] = {}
    for position, entry in enumerate(labels.values()):
        for cue, weight in entry["cues"].items():
            for phrase in expand(cue):
                _plant(starts, phrase, len(weights))
            weights.append((position, weight))
    return _Rules(tuple(labels), tuple(entry["prior"] for entry in labels.values()), tuple(weights), _frozen(starts))


def _plant(nodes: dict[str, Any], phrase: tuple[str, ...], cue: int) -> None:
    *before, last = phrase
    for word in before:
        nodes = nodes.setdefault(word, ([], {}))[1]
    nodes.setdefault(last, ([], {}))[0].append(cue)


def _frozen(nodes: dict[str, Any]) -> dict[str, _Node]:
    return {word: (tuple(cues), _frozen(after)) for word, (cues, after) in nodes.items()}
