import json
from collections import Counter
from typing import Any

import pytest

from mascot_data.build.views import decision
from mascot_data.generate.stage import Heard, Settings
from mascot_data.models.chat import Choice
from mascot_data.personas import Personas, load_personas
from tests.generate.scenes import Fake, make_scene, play, prompt_of, respond


def first(choice: Choice) -> list[float]:
    """Prefer the first answer by far."""
    return [0.0, *([-1000.0] * (len(choice.answers) - 1))]


def test_the_director_completes_its_json_field_by_field() -> None:
    fake = Fake(chances=first)
    stage = respond("mascot", make_scene(), fake, Settings(agents_per_turn=1))
    directive = stage.heard[-1].directive
    assert directive is not None
    agent, action, tone = fake.choices("director")
    assert agent.answers == ("anchor", "catalyst", "beacon", "guide")
    assert directive == (agent.answers[0], action.answers[0], tone.answers[0])
    whole = decision(*directive)
    for choice in (agent, action, tone):
        assert whole.startswith(choice.prefix + choice.answers[0] + choice.suffix)
    assert tone.prefix + directive.tone + tone.suffix + "}" == whole
    assert json.loads(whole)["agent"] == directive.agent


def test_actions_and_tones_are_those_of_the_chosen_agent() -> None:
    fake = Fake(chances=first)
    respond("mascot", make_scene(), fake, Settings(agents_per_turn=1))
    _, action, tone = fake.choices("director")
    assert {answer.split(" ")[0] for answer in action.answers} == {"restate", "reflect"}
    assert tone.answers == ("warm and glad", "calm and empathetic", "warm and attentive")


def test_the_director_sees_the_roster_and_the_room() -> None:
    fake = Fake()
    stage = play("mascot", make_scene(), fake)
    for choice in fake.choices("director"):
        (role, system), (asker, room) = choice.messages
        assert (role, asker) == ("system", "user")
        assert all(f"- {card.id}: {card.name}" in system for card in stage.roster)
        assert room.startswith("User: Hi, my boss")
    assert fake.choices("director")[-1].messages[-1][1].count("\n") == len(stage.heard) - 2


def test_the_speaker_answers_under_its_card_and_the_directive() -> None:
    fake = Fake(chances=first)
    stage = respond("mascot", make_scene(), fake)
    for heard, ask in zip(stage.heard[1:], fake.asks("speaker"), strict=True):
        assert heard.directive is not None
        assert ask.messages[0][1].startswith(f"You are {heard.name} (")
        assert "leave that to" in ask.messages[0][1]
        role, content = ask.messages[-1]
        assert role == "user"
        assert content.endswith(f"\nDirector: {heard.directive.action}; {heard.directive.tone}")


def test_so_many_agents_answer_each_turn_of_the_person() -> None:
    for number in (1, 2, 3):
        stage = play("mascot", make_scene(), settings=Settings(turns=9, agents_per_turn=number))
        kinds = "".join(heard.kind[0] for heard in stage.heard)
        assert set(kinds.split("u")) == {"", "a" * number}


def test_only_one_agent_leaves_nothing_to_choose() -> None:
    personas = load_personas()
    alone = personas.rosters["companions"].model_copy(update={"personas": ("guide",)})
    cards = Personas(personas.cards, {"alone": alone})
    fake = Fake()
    stage = play("mascot", make_scene(cards=cards), fake)
    assert {heard.persona for heard in stage.heard} == {None, "guide"}
    assert not any(set(choice.answers) & {"guide"} for choice in fake.choices("director"))


def test_without_cards_a_speaker_has_its_name_and_the_directive() -> None:
    fake, plain = Fake(), Fake()
    stage = play("mascot-p", make_scene(), fake)
    play("mascot", make_scene(), plain)
    assert fake.choices("director")[0] == plain.choices("director")[0]
    agents = [heard for heard in stage.heard if heard.kind == "agent"]
    for heard, ask in zip(agents, fake.asks("speaker"), strict=True):
        card = stage.scene.cards.cards[heard.persona or ""]
        system = ask.messages[0][1]
        assert heard.name in system
        for text in (card.role, card.purpose, *card.does, *card.style, *(ban.what for ban in card.never)):
            assert text not in system
        assert heard.directive is not None
        assert ask.messages[-1][1].endswith(f"Director: {heard.directive.action}; {heard.directive.tone}")


def test_without_a_director_the_order_is_drawn() -> None:
    fake = Fake()
    stages = [play("mascot-c", make_scene(seed=seed), fake) for seed in range(40)]
    assert not fake.choices("director")
    assert not any("Director:" in prompt_of(ask) for ask in fake.asks("speaker"))
    counts = Counter(stage.heard[1].persona for stage in stages)
    assert set(counts) == {"anchor", "catalyst", "beacon", "guide"}
    assert max(counts.values()) < 25
    pairs = {(stage.heard[1].persona, stage.heard[2].persona) for stage in stages}
    assert not any(one == two for one, two in pairs)
    assert len(pairs) > 6


@pytest.mark.parametrize("mode", ["mascot", "mascot-c"])
def test_an_agent_of_the_opening_does_not_speak_at_once_again(mode: str) -> None:
    opening: Any = (Heard("anchor", "Anchor", "agent", "anchor", "I hear you."),)
    for seed in range(20):
        stage = respond(mode, make_scene(opening=opening, seed=seed), Fake(), Settings(agents_per_turn=1))
        assert stage.heard[-1].persona != "anchor"
