"""What the embedded judge measures of a turn: numbers from 0 to 1, before anything is scored."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from mascot_data.judge.embedded import prototype
from mascot_data.judge.embedded.hostility import hostility
from mascot_data.judge.embedded.kinds import Chance, Kinds
from mascot_data.judge.embedded.learnt import Learnt
from mascot_data.judge.embedded.matching import HEARD, context_vector
from mascot_data.judge.embedded.overlap import originality, overlap
from mascot_data.judge.embedded.states import Array, Reader
from mascot_data.judge.embedded.wording import sentences
from mascot_data.judge.subject import Directive, Spoken
from mascot_data.personas import Card
from mascot_data.stats.embedding import Embedder

_REMEMBERED = 20_000


class Item(NamedTuple):
    """A turn of an agent: whose, what was asked of it, what was heard before it, and what it says.

    The ``card`` is None for an assistant without a persona.
    """

    source: str
    card: Card | None
    roster: tuple[Card, ...]
    directive: Directive | None
    heard: tuple[Spoken, ...]
    text: str

    def said(self, *, by_agents: bool) -> list[str]:
        """Return what agents, or people, said before."""
        return [one.text for one in self.heard if self.is_agent(one) == by_agents]

    def is_agent(self, one: Spoken) -> bool:
        """Tell whether a turn is of an agent: the name of somebody in a meeting can be that of a card, too."""
        return is_agent(one, self.roster)


def is_agent(turn: Spoken, roster: Sequence[Card]) -> bool:
    """Tell whether a turn is of somebody on the roster, or of an assistant without a card."""
    if turn.persona is None:
        return turn.agent
    return any(turn.persona == card.id for card in roster)


class Measured(NamedTuple):
    """What was measured of a turn.

    Attributes:
        persona: That it is this persona's and not another's of the roster; None without a card or anybody else on it.
        action: That it does what the directive's verb says; None without a directive, or for an unknown verb.
        warmth: That it is of a warm kind rather than of a factual one.
        follows: That it is the true next turn and not a random one; 0.5 where nothing was heard yet.
        parroting: The largest share of its pairs of words that one turn of a person has.
        originality: How much of its own it brings.
        hostility: The probability that its most hostile sentence is hostile.
    """

    persona: Chance | None
    action: Chance | None
    warmth: Chance
    follows: float
    parroting: float
    originality: float
    hostility: float


class Measures:
    """Measures turns with what was learnt from a dataset."""

    def __init__(self, learnt: Learnt, reader: Reader, embedder: Embedder) -> None:
        self._learnt, self._reader, self._embedder = learnt, reader, embedder
        self._embedded: dict[str, Array] = {}
        self._prototype = cache(self._made)

    def _made(self, examples: tuple[str, ...]) -> Array:
        return prototype.prototypes(self._learnt.scale(self._reader(examples)))

    def __call__(self, items: Sequence[Item]) -> list[Measured]:
        """Measure turns; a text is read once, however many contexts it is in."""
        if not items:
            return []
        texts = list(dict.fromkeys(item.text for item in items))
        rows = {text: row for row, text in enumerate(texts)}
        kinds = Kinds(self._learnt, self._prototype, texts, self._reader(texts))
        self._embed([*texts, *(one for text in texts for one in sentences(text)), *_last_heard(items)])
        follows = self._follows(items)
        return [self._measured(item, rows[item.text], kinds, follows[place]) for place, item in enumerate(items)]

    def _measured(self, item: Item, row: int, kinds: Kinds, follows: float) -> Measured:
        agents, people = item.said(by_agents=True), item.said(by_agents=False)
        return Measured(
            kinds.persona(row, item.card, item.roster) if item.card else None,
            kinds.action(row, item.source, item.directive, {card.id: card for card in item.roster}),
            kinds.warmth(row),
            follows,
            overlap(item.text, people),
            originality(item.text, agents, people),
            float(hostility(self._learnt.hostility, self._rows(sentences(item.text))).max()),
        )

    def _embed(self, texts: Sequence[str]) -> None:
        if len(self._embedded) > _REMEMBERED:
            self._embedded.clear()
        new = list(dict.fromkeys(text for text in texts if text not in self._embedded))
        self._embedded.update(zip(new, self._embedder(new), strict=True))

    def _rows(self, texts: Sequence[str]) -> Array:
        return np.stack([self._embedded[text] for text in texts])

    def _follows(self, items: Sequence[Item]) -> list[float]:
        found = [0.5] * len(items)
        places = [place for place, item in enumerate(items) if item.heard]
        if places:
            contexts = np.stack([self._context(items[place]) for place in places])
            chances = self._learnt.matching.chances(contexts, self._rows([items[place].text for place in places]))
            for place, chance in zip(places, chances.tolist(), strict=True):
                found[place] = chance
        return found

    def _context(self, item: Item) -> Array:
        heard = item.heard[-HEARD:]
        return context_vector(self._rows([one.text for one in heard]), [not item.is_agent(one) for one in heard])


def _last_heard(items: Sequence[Item]) -> list[str]:
    return [one.text for item in items for one in item.heard[-HEARD:]]
