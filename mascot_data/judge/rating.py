"""Ratings by one forward pass: a forced beginning, and the probabilities of the labels 1 to 5 as what comes next."""

import math
from collections.abc import Sequence

from mascot_data.judge.asking import Tree, prompt_hash, tree
from mascot_data.judge.model_judge import ModelJudge
from mascot_data.judge.subject import Context
from mascot_data.judge.verdict import Verdict, Verdicts
from mascot_data.models import Chances, Failure


class RatingJudge(ModelJudge):
    """A judge whose score is the expected label under the probabilities that a model gives to the labels 1 to 5.

    For capable models (about 8B parameters and more): small ones rate no better than chance. Nothing is decoded, so
    that there is nothing to parse. A score's ``label_mass`` says how much the model wanted to answer with a label.
    """

    method = "rating"
    version = "1"

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge a batch; see ``verdict.Judge``."""
        trees = [tree(context, self.rubric) for context in contexts]
        found = iter(
            self.choose(
                [
                    tree.choice(branch, leaf)
                    for tree in trees
                    for branch in range(len(tree.branches))
                    for leaf in range(len(tree.leaves))
                ]
            )
        )
        return [
            [self._verdicts(tree, branch, [next(found) for _ in tree.leaves]) for branch in range(len(tree.branches))]
            for tree in trees
        ]

    def _verdicts(self, tree: Tree, branch: int, answers: Sequence[Chances | Failure]) -> Verdicts:
        if all(isinstance(answer, Failure) for answer in answers) and isinstance(answers[0], Failure):
            return answers[0]
        digest = prompt_hash(tree, branch)
        return [
            rated(criterion, answer, digest)
            for criterion, answer in zip(self.criteria, answers, strict=True)
            if isinstance(answer, Chances)
        ]


def rated(criterion: str, chances: Chances, digest: str) -> Verdict:
    """Return the verdict of label log-probabilities: the distribution over the labels and its expected value."""
    shares = shares_of(chances)
    score = math.fsum(level * share for level, share in enumerate(shares, start=1))
    return Verdict(criterion, min(5.0, max(1.0, score)), "rating", shares, chances.mass, None, digest)


def shares_of(chances: Chances) -> tuple[float, ...]:
    """Return the probabilities of the answers among themselves, summing to 1."""
    best = max(chances.logprobs)
    weights = [math.exp(logprob - best) for logprob in chances.logprobs]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)
