"""Answers after three worked examples: by one assistant, or with thoughts by three personas in turn."""

from mascot_data.generate.examples import load_examples
from mascot_data.generate.modes.prompts import after_examples, assistant, question_after_examples
from mascot_data.generate.modes.single import ME, THOUGHT_TOKENS, speak
from mascot_data.generate.saying import say, think
from mascot_data.generate.stage import Heard, Stage
from mascot_data.generate.talk import Talk
from mascot_data.personas import Card

PERSONAS = ("anchor", "beacon", "catalyst")
"""Who answers in turn where they are on the roster; else its first three do."""


def few_shot(stage: Stage) -> Talk[None]:
    """Answer once, after three examples of good answers."""
    messages = after_examples(stage.messages(assistant(stage), ME), load_examples(stage.scene.domain))
    speak(stage, (yield from say(stage, "speaker", messages, stage.settings.speaker, ME)))


def few_shot_cot(stage: Stage) -> Talk[None]:
    """Answer as three personas in turn, each after examples with thoughts, and after thoughts of its own.

    A persona is told its name, role and purpose; its card is not shown.
    """
    examples = load_examples(stage.scene.domain)
    for card in _three(stage):
        prompt = question_after_examples(stage, "thoughts", examples, card.id)
        (thoughts,) = yield from think(stage, [prompt], THOUGHT_TOKENS)
        messages = stage.messages(assistant(stage, card=card, notes=[thoughts]), card.name)
        messages = after_examples(messages, examples, card.id)
        said = yield from say(stage, "speaker", messages, stage.settings.speaker, card.name)
        stage.add(
            Heard(card.id, card.name, "agent", card.id, said.text), said.step._replace(reasoning=thoughts or None)
        )


def _three(stage: Stage) -> list[Card]:
    cards = {card.id: card for card in stage.roster}
    first = [cards.pop(persona) for persona in PERSONAS if persona in cards]
    return [*first, *cards.values()][:3]
