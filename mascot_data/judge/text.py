"""Scores as text, for models behind an interface that tells no probabilities: asked for, read, asked for again."""

import re
from collections.abc import Sequence

from mascot_data.judge.asking import Tree, in_words, prompt_hash
from mascot_data.judge.model_judge import ModelJudge
from mascot_data.judge.rubric import Criterion
from mascot_data.judge.subject import Context
from mascot_data.judge.verdict import Verdict, Verdicts
from mascot_data.models import Answer, Ask, Failure, Sampling

TRIES = 3
"""How often a reply is asked about while scores are missing: the likeliest answer first, then sampled ones."""

_FIRST = Sampling(temperature=0.0, max_tokens=120)
_AGAIN = Sampling(temperature=0.7, top_p=0.95, max_tokens=120)
_UNREAD = Failure("garbage", f"no score could be read in {TRIES} answers")


class TextJudge(ModelJudge):
    """A judge that writes its scores, all criteria of a reply in one answer.

    What cannot be read is asked for again; what still cannot be read is a missing score, never a default. Slow, and
    small models rarely keep to the form: prefer ``rating`` wherever a model tells probabilities.
    """

    method = "text"
    version = "1"

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge a batch; see ``verdict.Judge``."""
        trees = [in_words(context, self.rubric) for context in contexts]
        places = [(tree, branch) for tree in trees for branch in range(len(tree.branches))]
        scores: list[dict[str, float]] = [{} for _ in places]
        failed: dict[int, Failure] = {}
        open_ones = list(range(len(places)))
        for number in range(TRIES):
            answers = self.sample([_ask(*places[place], number) for place in open_ones]) if open_ones else []
            for place, answer in zip(open_ones, answers, strict=True):
                if isinstance(answer, Failure):
                    failed[place] = answer
                else:
                    scores[place] = {**_read(answer, self.rubric.criteria), **scores[place]}
            # A question that failed was tried again by the model's own rules already.
            open_ones = [at for at in open_ones if at not in failed and len(scores[at]) < len(self.criteria)]
        verdicts = (
            self._verdicts(*places[place], found) or failed.get(place, _UNREAD) for place, found in enumerate(scores)
        )
        return [[next(verdicts) for _ in tree.branches] for tree in trees]

    def _verdicts(self, tree: Tree, branch: int, scores: dict[str, float]) -> list[Verdict]:
        digest = prompt_hash(tree, branch)
        return [
            Verdict(criterion, scores[criterion], "text", prompt_hash=digest)
            for criterion in self.criteria
            if criterion in scores
        ]


def _ask(tree: Tree, branch: int, number: int) -> Ask:
    return Ask(tree.messages(branch, 0), _AGAIN if number else _FIRST, (number,))


def _read(answer: Answer, criteria: Sequence[Criterion]) -> dict[str, float]:
    return {} if isinstance(answer, Failure) else read_scores(answer[0].text, criteria)


def read_scores(text: str, criteria: Sequence[Criterion]) -> dict[str, float]:
    """Read scores from lines such as ``relevance: 4``; what is no number from 1 to 5, or said twice, is left out.

    The name of a criterion stands for its id, marks around both are passed over, and ``4/5`` is 4.
    """
    found = {}
    for criterion in criteria:
        names = "|".join(re.escape(name) for name in (criterion.id, criterion.name))
        matches = re.findall(
            rf"(?:^|[{{,\n])[\s*\"'#-]*(?:{names})[\s*\"']*[:=][\s*\"']*([0-9]+(?:\.[0-9]+)?)(?:/5)?(?![\w./-])(?!\.[0-9])",
            text,
            re.IGNORECASE,
        )
        if len(set(matches)) == 1 and 1 <= float(matches[0]) <= 5:
            found[criterion.id] = float(matches[0])
    return found
