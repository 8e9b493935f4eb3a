"""How likely a model finds the words of a reply: nothing is asked, and nothing can be parsed wrong."""

import math
from collections.abc import Iterator, Sequence

from mascot_data.build.projection import SILENCE, to_line
from mascot_data.errors import ModelError, UsageError
from mascot_data.judge.embedded.overlap import overlap, parroting_cap
from mascot_data.judge.embedded.scales import EVEN, LIKELIHOOD, as_of_four, points
from mascot_data.judge.model_judge import ModelJudge
from mascot_data.judge.rubric import Rubric
from mascot_data.judge.subject import Context, Reply
from mascot_data.judge.verdict import Verdict, Verdicts
from mascot_data.models import Chances, ChatModel, Choice, Failure, Message
from mascot_data.models.store import key_of
from mascot_data.personas.system import system_message
from mascot_data.stats.words import words

HEARD = 5
"""Turns before the reply that count."""

KNOWN = ("consistency", "relevance")
"""The criteria that likelihood says something about."""

SLOPE, OFFSET = 3.6, -1.3
"""From nats a word to the log-odds of the true turn against a random one (smollm2-135m, ESConv's validation split)."""


class LikelihoodJudge(ModelJudge):
    """A judge of how likely a model finds the words of a reply, in the light of what is around them.

    ``relevance``: the pointwise mutual information of the reply with the last turns of the room (log-probability behind
    them, less that without them), in nats a word, mapped to the probability that it is the true next turn; less for
    repeating the person, which raises it every time. ``consistency``: the probability of the speaker's card among
    those of the roster, given the reply. Its scores are of use within one model only.
    """

    method = "likelihood"
    version = "1"

    def __init__(self, model: ChatModel, rubric: Rubric) -> None:
        """Take an opened model and what is judged by.

        Raises:
            UsageError: the rubric has none of the criteria that likelihood says something about.
            ModelError: the model does not tell how likely a given text is.
        """
        super().__init__(model, rubric)
        self.criteria = tuple(name for name in self.criteria if name in KNOWN and rubric.subject == "reply")
        if not self.criteria:
            raise UsageError(
                f"likelihood judges replies under {' and '.join(KNOWN)}, which {rubric.id} does not ask for"
            )
        if model.info.backend == "openai":
            what = "such a server does not tell how likely a given text is"
            raise ModelError(f"{model.info.name}: {what}; take --method rating, a local model, or vllm:NAME")

    def judge(self, contexts: Sequence[Context]) -> list[list[Verdicts]]:
        """Judge a batch; see ``verdict.Judge``."""
        asked = [[list(self._choices(context, reply)) for reply in context.replies] for context in contexts]
        answers = iter(self.choose([choice for context in asked for reply in context for choice in reply]))
        return [
            [
                self._verdicts(context, reply, [next(answers) for _ in choices])
                for reply, choices in zip(context.replies, of_context, strict=True)
            ]
            for context, of_context in zip(contexts, asked, strict=True)
        ]

    def _choices(self, context: Context, reply: Reply) -> Iterator[Choice]:
        """Ask for the reply behind the last turns and behind nothing, and under every card of the roster."""
        room = "\n".join(to_line(one.name, one.text) for one in context.heard[-HEARD:]) or SILENCE
        yield _behind(reply, ("user", room))
        yield _behind(reply, ("user", SILENCE))
        for card in context.roster:
            others = [other for other in context.roster if other.id != card.id]
            yield _behind(reply, ("system", system_message(card, others)), ("user", room))

    def _verdicts(self, context: Context, reply: Reply, answers: Sequence[Chances | Failure]) -> Verdicts:
        if failed := next((one for one in answers if isinstance(one, Failure)), None):
            return failed
        told = [one.logprobs[0] for one in answers if isinstance(one, Chances)]
        length = max(1, len(words(reply.text)))
        shown = key_of(context.roster[0].id, context.heard, reply.turns)[:16]
        found = {}
        if context.heard:
            value = (told[0] - told[1]) / length
            people = [one.text for one in context.heard if one.persona is None]
            score = points(true_turn(value), EVEN)
            score = min(parroting_cap(overlap(reply.text, people)), score)
            found["relevance"] = Verdict("relevance", score, "likelihood", value=value, prompt_hash=shown)
        if len(context.roster) > 1:
            value = own_share(told[2:], length)
            score = points(as_of_four(value, len(context.roster)), LIKELIHOOD)
            found["consistency"] = Verdict("consistency", score, "likelihood", value=value, prompt_hash=shown)
        return [found[criterion] for criterion in self.criteria if criterion in found]


def true_turn(value: float) -> float:
    """Return the probability of the true next turn, 0 to 1, by its mutual information in nats a word."""
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, SLOPE * value + OFFSET))))


def own_share(logprobs: Sequence[float], length: int) -> float:
    """Return the probability of the first card by the log-probabilities under all, for a text of so many words.

    The words of a text are far from independent: their log-probabilities count by the root of their number.
    """
    weights = [math.exp((one - max(logprobs)) / math.sqrt(length)) for one in logprobs]
    return weights[0] / math.fsum(weights)


def _behind(reply: Reply, *messages: Message) -> Choice:
    return Choice(messages, (reply.text,))
