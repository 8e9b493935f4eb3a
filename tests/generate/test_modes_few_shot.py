import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.generate.examples import Example, load_examples
from mascot_data.models.chat import Ask
from mascot_data.personas import Personas, load_personas
from mascot_data.personas.card import fold
from mascot_data.records.dialogue import Source
from tests.generate.scenes import Fake, make_scene, prompt_of, respond

DOMAINS: dict[Source, str] = {
    "esconv": "psychological-support",
    "empathetic-dialogues": "psychological-support",
    "qmsum": "workplace",
}
TURNS = {
    "psychological-support": ("anchor", "beacon", "catalyst"),
    "workplace": ("scribe", "decision-logger", "action-captain"),
}


@pytest.mark.parametrize("domain", TURNS)
def test_there_are_three_examples_with_answers_of_those_who_answer(domain: str) -> None:
    examples = load_examples(domain)
    assert len(examples) == 3
    for example in examples:
        assert set(example.personas) == set(TURNS[domain])
        assert example.conversation[-1].name == "User"
        assert len({example.answer, *(worked.answer for worked in example.personas.values())}) == 4


@pytest.mark.parametrize("domain", TURNS)
def test_no_example_is_a_prototype_of_a_card(domain: str) -> None:
    prototypes = {fold(example) for card in load_personas().cards.values() for example in card.examples}
    for example in load_examples(domain):
        for worked in (example, *example.personas.values()):
            assert fold(worked.answer) not in prototypes


@given(st.sampled_from([*load_examples("psychological-support"), *load_examples("workplace")]), st.text(max_size=5))
def test_who_has_no_answer_of_its_own_gets_the_assistants(example: Example, persona: str) -> None:
    assert example.by(persona) is example.personas.get(persona, example)
    assert example.by(None) is example


def contents(ask: Ask, role: str) -> list[str]:
    return [content for said_by, content in ask.messages if said_by == role]


@pytest.mark.parametrize("source", DOMAINS)
def test_few_shot_shows_three_answers_and_no_thoughts(source: Source) -> None:
    fake = Fake()
    stage = respond("few-shot", make_scene(source), fake)
    (ask,) = fake.asks("speaker")
    examples = load_examples(DOMAINS[source])
    assert contents(ask, "assistant") == [example.answer for example in examples]
    assert contents(ask, "user")[-1] == stage.room()[: -len(f"\nAssistant: {stage.heard[-1].text}")]
    assert not any(example.thoughts in prompt_of(ask) for example in examples)
    assert [heard.name for heard in stage.heard[len(stage.scene.opening) :]] == ["Assistant"]


@pytest.mark.parametrize("source", DOMAINS)
def test_with_thoughts_three_personas_answer_in_turn(source: Source) -> None:
    fake = Fake()
    stage = respond("few-shot-cot", make_scene(source), fake)
    domain = DOMAINS[source]
    spoken = stage.heard[len(stage.scene.opening) :]
    assert tuple(heard.persona for heard in spoken) == TURNS[domain]
    asks = fake.asks("speaker")
    assert len(asks) == 6
    for number, (heard, step) in enumerate(zip(spoken, stage.steps, strict=True)):
        thinking, answering = asks[2 * number : 2 * number + 2]
        worked = [example.by(heard.persona) for example in load_examples(domain)]
        assert contents(thinking, "assistant") == [example.thoughts for example in worked]
        assert contents(answering, "assistant")[:3] == [example.answer for example in worked]
        assert len({content.split("\n\n")[-1] for content in contents(thinking, "user")}) == 1
        assert answering.messages[0][1].startswith(f"You are {heard.name} (")
        assert step.reasoning
        assert step.reasoning in answering.messages[0][1]
        assert all(before.text in prompt_of(answering) for before in spoken[:number])


def test_an_own_roster_answers_with_its_first_three() -> None:
    personas = load_personas()
    own = personas.rosters["companions"].model_copy(update={"personas": ("guide", "beacon")})
    stage = respond("few-shot-cot", make_scene(cards=Personas(personas.cards, {"own": own})), Fake())
    assert [heard.persona for heard in stage.heard[1:]] == ["beacon", "guide"]
