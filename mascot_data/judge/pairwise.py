"""Which of two replies is better, asked in both orders: a model's liking for the first or the second one cancels."""

from collections.abc import Sequence
from itertools import permutations
from statistics import fmean
from typing import NamedTuple

from mascot_data.judge.asking import Tree, comparison, prompt_hash
from mascot_data.judge.model_judge import ModelJudge
from mascot_data.judge.rating import shares_of
from mascot_data.judge.subject import Context
from mascot_data.judge.verdict import Verdict, Verdicts
from mascot_data.models import Chances, Failure

_ALONE = Failure("empty", "there is no other reply to compare it with")


class _Asked(NamedTuple):
    """The questions about a context: who is first and who second, and the criterion."""

    tree: Tree
    pairs: list[tuple[int, int]]


class PairwiseJudge(ModelJudge):
    """A judge that compares every two replies to a context under each criterion, always in both orders.

    The probability that one is better is the mean of both orders. A reply's ``value`` is its mean over all others, and
    its score 1 + 4 times that: 3 is average among these replies, so scores of different contexts are not comparable.
    ``order_gap`` says how far the two orders are apart on average: 0 for a judge that does not care who comes first.
    """

    method = "pairwise"
    version = "1"
    compares = True

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge a batch; see ``verdict.Judge``."""
        asked = [
            _Asked(comparison(context, self.rubric), list(permutations(range(len(context.replies)), 2)))
            for context in contexts
        ]
        answers = iter(
            self.choose(
                [
                    one.tree.comparison(first, second, leaf)
                    for one in asked
                    for first, second in one.pairs
                    for leaf in range(len(self.criteria))
                ]
            )
        )
        return [
            self._verdicts(context, one, {pair: [next(answers) for _ in self.criteria] for pair in one.pairs})
            for context, one in zip(contexts, asked, strict=True)
        ]

    def _verdicts(
        self, context: Context, asked: _Asked, answers: dict[tuple[int, int], list[Chances | Failure]]
    ) -> list[Verdicts]:
        return [self._of_reply(place, len(context.replies), asked, answers) for place in range(len(context.replies))]

    def _of_reply(
        self, own: int, replies: int, asked: _Asked, answers: dict[tuple[int, int], list[Chances | Failure]]
    ) -> Verdicts:
        others = [other for other in range(replies) if other != own]
        if not others:
            return _ALONE
        found = []
        failed: Failure | None = None
        for leaf, criterion in enumerate(self.criteria):
            told = [(answers[own, other][leaf], answers[other, own][leaf]) for other in others]
            known = [(a, b) for a, b in told if isinstance(a, Chances) and isinstance(b, Chances)]
            if len(known) < len(told):
                failed = next(one for pair in told for one in pair if isinstance(one, Failure))
                continue
            first, second = [shares_of(a)[0] for a, _ in known], [shares_of(b)[1] for _, b in known]
            value = fmean([*first, *second])
            masses = [one.mass for pair in known for one in pair if one.mass is not None]
            found.append(
                Verdict(
                    criterion,
                    1 + 4 * value,
                    "pairwise",
                    label_mass=fmean(masses) if masses else None,
                    value=value,
                    prompt_hash=prompt_hash(asked.tree, own),
                    order_gap=fmean(abs(a - b) for a, b in zip(first, second, strict=True)),
                )
            )
        return found or failed or _ALONE
