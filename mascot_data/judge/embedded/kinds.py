"""What turns do: probabilities of personas and of the Director's verbs, by the probe or by example."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mascot_data.build.directives import verbs_and_focuses
from mascot_data.judge.embedded import prototype
from mascot_data.judge.embedded.labels import forms, verb_of
from mascot_data.judge.embedded.learnt import Learnt
from mascot_data.judge.embedded.states import Array
from mascot_data.judge.subject import Directive
from mascot_data.personas import Card
from mascot_data.records.judgments import Method

Examples = Mapping[str, tuple[str, ...]]
"""Sentences by what they are examples of."""


class Chance(NamedTuple):
    """The probability of one of so many classes, and how it came about."""

    value: float
    classes: int
    method: Method


class Kinds:
    """The turns of one batch.

    The probe answers where its labels are those that are asked about; probabilities of a probe and of examples are
    never mixed in one comparison.
    """

    def __init__(
        self, learnt: Learnt, prototypes: Callable[[tuple[str, ...]], Array], texts: Sequence[str], states: Array
    ) -> None:
        """Take a batch.

        Args:
            learnt: What was learnt.
            prototypes: Gives what stands for a kind, from its examples.
            texts: The turns.
            states: Their hidden states, a row each.
        """
        self._heads = learnt.probe.heads if learnt.probe else {}
        self._probed = {kind: learnt.probe.chances(kind, texts, states) for kind in self._heads} if learnt.probe else {}
        self._scaled, self._prototypes = learnt.scale(states), prototypes

    def persona(self, row: int, card: Card, roster: Sequence[Card]) -> Chance | None:
        """Return the probability that a turn is the card's and not another's of the roster; None with no other."""
        if len(roster) < 2:
            return None
        labels, examples = [one.id for one in roster], {one.id: one.examples for one in roster}
        known = "persona" in self._heads and set(labels) <= set(self._heads["persona"].labels)
        found = self._probable("persona", row, labels) if known else self._alike(row, examples)
        return Chance(found[card.id], len(found), "probe" if known else "prototype")

    def action(self, row: int, source: str, directive: Directive | None, roster: Mapping[str, Card]) -> Chance | None:
        """Return the probability that a turn does what the directive's verb says.

        Where the action follows from the agent alone, as in meetings, it is that of the agent's persona. None without a
        directive, or for an action that is not the corpus's.
        """
        verb = verb_of(source, directive.action) if directive else None
        if directive is None or verb is None:
            return None
        verbs, focuses = verbs_and_focuses(source)
        if not focuses:
            agent = roster.get(directive.agent)
            return self.persona(row, agent, list(roster.values())) if agent else None
        if "verb" in self._heads and verb in self._heads["verb"].labels:
            found = self._probable("verb", row, self._heads["verb"].labels)
            return Chance(found[verb], len(found), "probe")
        found = self._alike(row, {one: forms().verbs[one] for one in verbs})
        return Chance(found[verb], len(found), "prototype")

    def warmth(self, row: int) -> Chance:
        """Return the probability of the warm verbs against that of the factual ones."""
        warm, factual = forms().warm, forms().factual
        known = self._heads["verb"].labels if "verb" in self._heads else ()
        probed = any(verb in known for verb in warm) and any(verb in known for verb in factual)
        verbs = [verb for verb in (*warm, *factual) if verb in known or not probed]
        found = self._probable("verb", row, verbs) if probed else self._alike(row, {v: forms().verbs[v] for v in verbs})
        value = sum(chance for verb, chance in found.items() if verb in warm)
        return Chance(value, 2, "probe" if probed else "prototype")

    def _probable(self, kind: str, row: int, labels: Sequence[str]) -> dict[str, float]:
        """Return the probe's probabilities, made to sum to 1 over some of its labels."""
        every = dict(zip(self._heads[kind].labels, self._probed[kind][row].tolist(), strict=True))
        total = sum(every[label] for label in labels)
        return {label: every[label] / total for label in labels}

    def _alike(self, row: int, examples: Examples) -> dict[str, float]:
        stands = [self._prototypes(tuple(sentences)) for sentences in examples.values()]
        found = prototype.chances(self._scaled[row : row + 1], stands)[0]
        return dict(zip(examples, found.tolist(), strict=True))
