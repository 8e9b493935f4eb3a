"""One assistant without a persona, which answers each turn of the person once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mascot_data.generate.cases import words
from mascot_data.generate.modes.prompts import assistant, question
from mascot_data.generate.saying import ATTEMPTS, Said, say, think
from mascot_data.generate.stage import Heard, Stage, Step
from mascot_data.generate.talk import Talk, TalkFailed, sampled
from mascot_data.generate.trim import stops, trim
from mascot_data.models.chat import Ask

ME = "Assistant"
"""The name under which the room hears it."""

SAMPLES = 5
"""Answers among which self-consistency finds the one that most agree with."""

THOUGHT_TOKENS = 96
"""Tokens that thoughts may take at most; no more than speech has, either."""


def zero_shot(stage: Stage) -> Talk[None]:
    """Answer the conversation as it is."""
    speak(stage, (yield from answer(stage, assistant(stage))))


def zero_shot_cot(stage: Stage) -> Talk[None]:
    """Think first, then answer with the thoughts at hand; only the answer is heard.

    Thinking and answering are two questions, because small models do not keep a form in which the two could be told
    apart.
    """
    (thoughts,) = yield from think(stage, [question(stage, "thoughts")], THOUGHT_TOKENS)
    said = yield from answer(stage, assistant(stage, notes=[thoughts]))
    speak(stage, said, thoughts or None)


def self_consistency(stage: Stage) -> Talk[None]:
    """Sample several answers and say the one that the others agree with most; of equals, the first.

    Agreement is the mean F1 of the words that two answers have in common.
    """
    answers = yield from _answers(stage)
    chosen, agreement = medoid([said.text for said in answers])
    speak(stage, answers[chosen], f"mean agreement {agreement:.2f} among {len(answers)}")


def answer(stage: Stage, system: str) -> Talk[Said]:
    """Have the assistant answer under a system message."""
    return (yield from say(stage, "speaker", stage.messages(system, ME), stage.settings.speaker, ME))


def speak(stage: Stage, said: Said, reasoning: str | None = None) -> None:
    """Add the assistant's answer to the conversation."""
    stage.add(Heard("assistant", ME, "agent", None, said.text), said.step._replace(reasoning=reasoning))


def medoid(texts: Sequence[str]) -> tuple[int, float]:
    """Return which text agrees with the others most, and its mean agreement with them, 0 to 1 (1 for a single one)."""
    bags = [Counter(words(text)) for text in texts]
    agreements = [
        sum(_overlap(bag, other) for other in bags[:index] + bags[index + 1 :]) / (len(bags) - 1)
        if len(bags) > 1
        else 1.0
        for index, bag in enumerate(bags)
    ]
    best = max(agreements)
    return agreements.index(best), best


def _answers(stage: Stage) -> Talk[list[Said]]:
    messages = stage.messages(assistant(stage), ME)
    sampling = replace(stage.settings.speaker, stop=stops(stage.names, ME))
    for _ in range(ATTEMPTS):
        seeds = tuple(stage.seed() for _ in range(SAMPLES))
        samples = yield from sampled("speaker", Ask(messages, sampling, seeds))
        replies = [(trim(sample.text, sample.finish_reason, stage.names, ME), sample) for sample in samples]
        if any(reply.text for reply, _ in replies):
            return [
                Said(reply.text, Step(reply.finish_reason, sample.tokens, sample.logprob, None))
                for reply, sample in replies
                if reply.text
            ]
    raise TalkFailed("empty", f"{ME} said nothing {ATTEMPTS} times")


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """Return the F1 of the words in common; 0 where neither has any."""
    size = one.total() + other.total()
    return 2 * (one & other).total() / size if size else 0.0
