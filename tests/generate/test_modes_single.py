import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.generate.modes.single import SAMPLES, medoid
from mascot_data.models.chat import Ask
from mascot_data.personas import load_personas
from tests.generate.scenes import Fake, make_scene, play, prompt_of, respond

text = st.text("ab .", max_size=8)


def scripted(*said: str) -> Fake:
    """Say so, by the position of the seed in what was asked."""
    given = iter(said)
    return Fake(say=lambda ask, seed: next(given))


def test_zero_shot_asks_once_and_knows_no_personas() -> None:
    fake = Fake()
    stage = respond("zero-shot", make_scene(), fake)
    (ask,) = fake.asks("speaker")
    assert ask.messages[1:] == (("user", "User: Hi, my boss wants me to move for the job."),)
    for card in load_personas().cards.values():
        assert card.name not in ask.messages[0][1]
        assert card.purpose not in ask.messages[0][1]
    assert stage.steps[0].reasoning is None


def test_its_own_answers_are_the_assistants() -> None:
    fake = Fake()
    stage = play("zero-shot", make_scene(), fake)
    last = fake.asks("speaker")[-1].messages
    assert [role for role, _ in last] == ["system", *["user", "assistant"] * 3, "user"]
    assert [content for role, content in last if role == "assistant"] == [
        heard.text for heard in stage.heard[:-1] if heard.kind == "agent"
    ]


def test_chain_of_thought_thinks_before_it_answers() -> None:
    fake = scripted("They fear\nthe move.", "That is a lot.")
    stage = respond("zero-shot-cot", make_scene(), fake)
    thinking, answering = fake.asks("speaker")
    assert "Hi, my boss wants" in thinking.messages[0][1]
    assert "Hi, my boss wants" not in thinking.messages[1][1]
    assert "- They fear the move." in answering.messages[0][1]
    assert "They fear" not in prompt_of(thinking)
    assert stage.heard[-1].text == "That is a lot."
    assert stage.steps[-1].reasoning == "They fear the move."


def test_without_a_thought_there_is_an_answer_all_the_same() -> None:
    fake = scripted("  ", "That is a lot.")
    stage = respond("zero-shot-cot", make_scene(), fake)
    assert "private notes" not in fake.asks("speaker")[1].messages[0][1]
    assert stage.steps[-1].reasoning is None


def test_self_consistency_says_what_most_agree_with() -> None:
    fake = scripted("Eat a pear.", "Call your mum today.", "Go to bed.", "Call your mum!", "call your mum now")
    stage = respond("self-consistency", make_scene(), fake)
    (ask,) = fake.asks("speaker")
    assert len(set(ask.seeds)) == SAMPLES == 5
    assert stage.heard[-1].text == "Call your mum!"
    assert stage.steps[-1].reasoning == "mean agreement 0.43 among 5"


def test_empty_answers_have_no_vote() -> None:
    stage = respond("self-consistency", make_scene(), scripted("", "User: me", " ", "Only this.", "\n"))
    assert stage.heard[-1].text == "Only this."
    assert stage.steps[-1].reasoning == "mean agreement 1.00 among 1"


def test_it_is_asked_again_when_all_answers_are_empty() -> None:
    fake = scripted(*[""] * 5, *["Well."] * 5)
    assert respond("self-consistency", make_scene(), fake).heard[-1].text == "Well."
    one, two = fake.asks("speaker")
    assert isinstance(one, Ask)
    assert not set(one.seeds) & set(two.seeds)


@given(st.lists(text, min_size=1, max_size=6))
def test_nothing_agrees_more_than_the_medoid(texts: list[str]) -> None:
    chosen, agreement = medoid(texts)
    assert 0 <= agreement <= 1
    if len(set(texts)) == 1 and texts[0].strip(" ."):
        assert chosen == 0
        assert agreement == pytest.approx(1)
    for index in range(len(texts)):
        rotated = [texts[index], *texts[:index], *texts[index + 1 :]]
        assert medoid(rotated)[1] == pytest.approx(agreement)
    majority = [*texts, "zz yy", "zz yy", *["zz yy"] * len(texts)]
    assert majority[medoid(majority)[0]] == "zz yy"


def test_of_equals_the_first_is_said() -> None:
    assert medoid(["a b", "c d", "a b", "c d"])[0] == 0
    assert medoid(["x", "c d", "c d"])[0] == 1
