"""The embedded judge: what it measures of replies and blocks, scored from 1 to 5 under the criteria of the rubrics.

The scores are proxies. They see the form of what is said, its words and how it goes with what was said before, never
what was meant by it.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Self

from mascot_data.errors import UsageError
from mascot_data.judge.embedded.hostility import hostility_cap
from mascot_data.judge.embedded.kinds import Chance
from mascot_data.judge.embedded.measures import Item, Measured, Measures, is_agent
from mascot_data.judge.embedded.overlap import parroting_cap
from mascot_data.judge.embedded.scales import EVEN, LIKELIHOOD, as_of_four, points
from mascot_data.judge.rubric import Rubric
from mascot_data.judge.subject import Context, Reply, Spoken
from mascot_data.judge.verdict import JudgeInfo, Verdict, Verdicts
from mascot_data.models.chat import Failure
from mascot_data.models.store import key_of
from mascot_data.stats.turn_taking import speaker_entropy

VERSION = "2"
"""Raised whenever the way from a context and a reply to a score changes."""

OF_REPLIES = ("emotion", "empathy", "consistency", "relevance", "contribution")
OF_BLOCKS = ("group-fidelity", "group-originality", "group-relevance", "group-engagement")

_BATCH_REPLIES = 64
_DIGITS = 4


class EmbeddedJudge:
    """Judges offline, on the CPU, with two small models and what was learnt from the dataset's training split.

    Of a reply: ``emotion`` is how warm its kind is (feelings named, affirmed, consoled) against factual kinds;
    ``empathy`` whether it does what the Director asked for; ``consistency`` whether it is this persona's rather than
    another's of the roster; ``relevance`` whether it is more likely here than elsewhere, less for repeating the person;
    ``contribution`` how many new words it brings and how little it repeats. Hostile sentences cap emotion and empathy.

    Of a block, over its agent turns: ``group-fidelity`` is the mean probability of the turns' personas,
    ``group-originality`` their mean originality, ``group-relevance`` how well each follows from those before it,
    ``group-engagement`` how evenly agents speak and how often they ask the person something. An assistant without a
    card has no persona to keep to: its blocks have no ``group-fidelity``.
    """

    compares = False

    def __init__(self, measures: Measures, rubric: Rubric, revision: str) -> None:
        """Take what measures, the rubric, and what identifies the models and what was learnt.

        Raises:
            UsageError: the rubric has none of the criteria that this judge knows.
        """
        known = OF_REPLIES if rubric.subject == "reply" else OF_BLOCKS
        self.criteria = tuple(criterion.id for criterion in rubric.criteria if criterion.id in known)
        if not self.criteria:
            what = f"the embedded judge knows the criteria {', '.join(known)}"
            raise UsageError(f"{what}, and the rubric {rubric.id} has none of them; choose a model with --judge")
        self.name = "embedded"
        self.info = JudgeInfo(self.name, revision, "transformers", "float32")
        self.identity = key_of("embedded", VERSION, revision, rubric.label, self.criteria)
        self.measures = measures

    def batches(self, contexts: Sequence[Context]) -> list[list[int]]:
        """Part contexts, in order, into batches of about 64 replies."""
        batches: list[list[int]] = []
        size = _BATCH_REPLIES
        for place, context in enumerate(contexts):
            if size >= _BATCH_REPLIES:
                batches.append([])
                size = 0
            batches[-1].append(place)
            size += len(context.replies)
        return batches

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge a batch; see ``verdict.Judge``."""
        items = [[_items(context, reply) for reply in context.replies] for context in contexts]
        found = iter(self.measures([item for context in items for reply in context for item in reply]))
        return [
            [
                self._verdicts(context, reply, [next(found) for _ in own])
                for reply, own in zip(context.replies, of_context, strict=True)
            ]
            for context, of_context in zip(contexts, items, strict=True)
        ]

    def _verdicts(self, context: Context, reply: Reply, measured: Sequence[Measured]) -> Verdicts:
        if not measured:
            return Failure("empty", "no agent speaks in it")
        found = of_reply(measured[0]) if context.subject == "candidate" else of_block(context, reply, measured)
        card = context.card.id if context.card else None
        shown = key_of(card, context.directive, context.heard, reply.turns)[:16]
        of_criterion = {one.criterion: _rounded(one)._replace(prompt_hash=shown) for one in found}
        return [of_criterion[criterion] for criterion in self.criteria if criterion in of_criterion]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _rounded(verdict: Verdict) -> Verdict:
    """Leave out the last digits, which depend on what else was in the batch."""
    value = None if verdict.value is None else round(verdict.value, _DIGITS)
    return verdict._replace(score=round(verdict.score, _DIGITS), value=value)


def _items(context: Context, reply: Reply) -> list[Item]:
    """Return the agent turns of a reply, each with all that was heard before it."""
    cards = {card.id: card for card in context.roster}
    heard: list[Spoken] = list(context.heard)
    items = []
    for turn in reply.turns:
        if is_agent(turn, context.roster):
            card = cards.get(turn.persona or "")
            items.append(Item(context.source, card, context.roster, context.directive, tuple(heard), turn.text))
        heard.append(turn)
    return items


def of_reply(measured: Measured) -> list[Verdict]:
    """Score one reply under every criterion that it can be scored under."""
    cap = hostility_cap(measured.hostility)
    warm, fits, own = measured.warmth, measured.action, measured.persona
    verdicts = [
        Verdict("emotion", min(cap, points(warm.value, EVEN)), warm.method, value=warm.value),
        Verdict("relevance", _relevance(measured), "likelihood", value=measured.follows),
        Verdict("contribution", points(measured.originality, EVEN), "overlap", value=measured.originality),
    ]
    if fits:
        verdicts.append(Verdict("empathy", min(cap, _likely(fits)), fits.method, value=fits.value))
    if own:
        verdicts.append(Verdict("consistency", _likely(own), own.method, value=own.value))
    return verdicts


def of_block(context: Context, block: Reply, measured: Sequence[Measured]) -> list[Verdict]:
    """Score a block with at least one agent turn."""
    personas = [one.persona for one in measured if one.persona]
    new = fmean(one.originality for one in measured)
    engagement = _engagement(context, block)
    verdicts = [
        Verdict("group-originality", points(new, EVEN), "overlap", value=new),
        Verdict("group-engagement", points(engagement, EVEN), "overlap", value=engagement),
        Verdict(
            "group-relevance",
            fmean(_relevance(one) for one in measured),
            "likelihood",
            value=fmean(one.follows for one in measured),
        ),
    ]
    if personas:
        value = fmean(one.value for one in personas)
        verdicts.append(Verdict("group-fidelity", fmean(map(_likely, personas)), personas[0].method, value=value))
    return verdicts


def _likely(chance: Chance) -> float:
    return points(as_of_four(chance.value, chance.classes), LIKELIHOOD)


def _relevance(measured: Measured) -> float:
    return min(parroting_cap(measured.parroting), points(measured.follows, EVEN))


def _engagement(context: Context, block: Reply) -> float:
    """Return the mean of how evenly the agents speak and in how many of their rounds they ask something, 0 to 1.

    A round is what agents say between two turns of people. A single agent turn is as even as it can be.
    """
    rounds: list[str] = []
    open_ = False
    for turn in block.turns:
        agent = is_agent(turn, context.roster)
        if agent:
            rounds = [*rounds[:-1], f"{rounds[-1]} {turn.text}"] if open_ else [*rounds, turn.text]
        open_ = agent
    speakers = [turn.persona or turn.name for turn in block.turns if is_agent(turn, context.roster)]
    even = speaker_entropy(speakers, len(context.roster)).value
    return fmean([1.0 if even is None else even, fmean("?" in one for one in rounds)])
