"""What modes ask on a stage: a reply, a private note, a choice; several at once where they do not hang together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mascot_data.generate.seeds import pick
from mascot_data.generate.stage import Stage, Step
from mascot_data.generate.talk import Part, Question, Talk, TalkFailed, chances_in, samples_in
from mascot_data.generate.trim import stops, trim
from mascot_data.models.chat import Ask, Choice, Message, Sampling

ATTEMPTS = 3
"""How often a model that says nothing is asked, each time with another seed."""


class Said(NamedTuple):
    """A reply, never empty, and how it came to be."""

    text: str
    step: Step


def say(stage: Stage, part: Part, messages: Sequence[Message], sampling: Sampling, me: str) -> Talk[Said]:
    """Ask for one reply of the speaker called ``me``, and again while there are no words of its own in it.

    Raises:
        TalkFailed: the model gives none.
    """
    (said,) = yield from say_all(stage, part, [messages], sampling, me)
    return said


def say_all(
    stage: Stage, part: Part, prompts: Sequence[Sequence[Message]], sampling: Sampling, me: str
) -> Talk[list[Said]]:
    """Ask for one reply to each of several prompts at once; as ``say`` else.

    Raises:
        TalkFailed: the model gives none to one of them.
    """
    sampling = replace(sampling, stop=stops(stage.names, me))
    said: dict[int, Said] = {}
    for _ in range(ATTEMPTS):
        missing = [index for index in range(len(prompts)) if index not in said]
        asks = [Ask(tuple(prompts[index]), sampling, (stage.seed(),)) for index in missing]
        found = yield [Question(part, ask) for ask in asks]
        for index, answer in zip(missing, found, strict=True):
            (sample,) = samples_in(answer)
            reply = trim(sample.text, sample.finish_reason, stage.names, me)
            if reply.text:
                said[index] = Said(reply.text, Step(reply.finish_reason, sample.tokens, sample.logprob, None))
        if len(said) == len(prompts):
            return [said[index] for index in range(len(prompts))]
    raise TalkFailed("empty", f"{me} said nothing {ATTEMPTS} times")


def think(stage: Stage, prompts: Sequence[Sequence[Message]], max_tokens: int) -> Talk[list[str]]:
    """Ask for a private note on each of several prompts at once: one line each, empty where the model has none.

    It is sampled as speech is, with ``max_tokens`` at most and no more than speech has, and ends where the model begins
    to write the conversation.

    Raises:
        TalkFailed: the model fails.
    """
    speaker = stage.settings.speaker
    sampling = replace(speaker, max_tokens=min(max_tokens, speaker.max_tokens), stop=stops(stage.names, ""))
    asks = [Ask(tuple(prompt), sampling, (stage.seed(),)) for prompt in prompts]
    found = yield [Question("speaker", ask) for ask in asks]
    return [" ".join(sample.text.split()) for answer in found for sample in samples_in(answer)]


def choose(stage: Stage, choice: Choice) -> Talk[str]:
    """Have the Director choose one of the answers; it cannot be any other.

    Raises:
        TalkFailed: the model does not tell.
    """
    (answer,) = yield from choose_all(stage, "director", [choice])
    return answer


def choose_all(stage: Stage, part: Part, choices: Sequence[Choice]) -> Talk[list[str]]:
    """Have an answer chosen to each of several choices at once; where there is only one answer, nobody is asked.

    Raises:
        TalkFailed: the model does not tell.
    """
    open_ones = [choice for choice in choices if len(choice.answers) > 1]
    found = (yield [Question(part, choice) for choice in open_ones]) if open_ones else []
    chances = iter([chances_in(answer) for answer in found])
    temperature = stage.settings.director_temperature
    return [
        choice.answers[pick(next(chances).logprobs, temperature, stage.seed()) if len(choice.answers) > 1 else 0]
        for choice in choices
    ]
