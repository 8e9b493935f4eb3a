"""MASCOT: a Director chooses who of the roster speaks, doing what, in which tone; and the paper's two ablations.

The paper tunes the Speakers on a persona reward (its MASCOT-P goes without that) and the Director on a group reward.
Here all of them are one model as it is, or one model each, so that ``mascot`` stands for the paper's system before
training, or after it when tuned models are given.
"""

import json

from mascot_data.build.directives import tones, verbs_and_focuses
from mascot_data.generate.modes.prompts import speaker
from mascot_data.generate.saying import choose, say
from mascot_data.generate.stage import Directive, Heard, Stage
from mascot_data.generate.talk import Talk
from mascot_data.models.chat import Choice, Message
from mascot_data.personas import Card, director_message, system_message


def mascot(stage: Stage) -> Talk[None]:
    """Let the Director choose an agent, its action and tone, and let that agent speak under its persona card."""
    for _ in range(stage.settings.agents_per_turn):
        card, directive = yield from _direct(stage)
        yield from _speak(stage, card, system_message(card, _others(stage, card)), directive)


def mascot_p(stage: Stage) -> Talk[None]:
    """Do as ``mascot``, but without persona cards: a Speaker gets its name and the directive, nothing else.

    The paper's MASCOT-P leaves the persona *training* away and keeps the cards. What stays out here is the persona
    itself: it shows what the cards do for a model that was not trained on them. The Director still knows the roster.
    """
    for _ in range(stage.settings.agents_per_turn):
        card, directive = yield from _direct(stage)
        yield from _speak(stage, card, speaker(stage, card.name), directive)


def mascot_c(stage: Stage) -> Talk[None]:
    """Do as ``mascot``, but without a Director: a seeded draw among the legal agents says who speaks.

    As nobody directs, there is no action and no tone either: the Speaker has its card and the conversation.
    """
    for _ in range(stage.settings.agents_per_turn):
        agents = stage.legal_agents()
        card = agents[stage.seed() % len(agents)]
        yield from _speak(stage, card, system_message(card, _others(stage, card)), None)


def _direct(stage: Stage) -> Talk[tuple[Card, Directive]]:
    """Have the Director's JSON completed field by field, each from its legal values."""
    messages = director_messages(stage)
    agents = {card.id: card for card in stage.legal_agents()}
    begun = '{"agent": "'
    agent = yield from choose(stage, Choice(messages, tuple(agents), begun, '"'))
    card = agents[agent]
    begun = f'{{"agent": {_json(agent)}, "action": "'
    action = yield from choose(stage, Choice(messages, stage.legal_actions(card), begun, '"'))
    begun = f'{{"agent": {_json(agent)}, "action": {_json(action)}, "tone": "'
    tone = yield from choose(stage, Choice(messages, stage.legal_tones(card), begun, '"'))
    return card, Directive(agent, action, tone)


def director_messages(stage: Stage) -> tuple[Message, ...]:
    """Return the prompt of the Director's next decision."""
    verbs, focuses = verbs_and_focuses(stage.scene.source)
    system = director_message(stage.roster, verbs, focuses, tones([card.id for card in stage.roster]))
    return (("system", stage.with_outline(system)), ("user", stage.room()))


def _speak(stage: Stage, card: Card, system: str, directive: Directive | None) -> Talk[None]:
    messages = stage.messages(system, card.name, directive)
    said = yield from say(stage, "speaker", messages, stage.settings.speaker, card.name)
    stage.add(Heard(card.id, card.name, "agent", card.id, said.text, directive), said.step)


def _others(stage: Stage, card: Card) -> list[Card]:
    return [other for other in stage.roster if other.id != card.id]


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
