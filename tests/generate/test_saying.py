from collections.abc import Callable
from typing import TypeVar

import pytest

from mascot_data.generate.saying import ATTEMPTS, choose, choose_all, say, say_all, think
from mascot_data.generate.stage import Settings, Stage
from mascot_data.generate.talk import Talk, hold_all
from mascot_data.models.chat import Choice, Failure, Sampling
from tests.generate.scenes import SETTINGS, Fake, make_scene

T = TypeVar("T")
PROMPTS = [(("user", "one"),), (("user", "two"),), (("user", "three"),)]


def ended(talk: Callable[[Stage], Talk[T]], fake: Fake, settings: Settings = SETTINGS) -> T | Failure:
    ((_, result),) = hold_all({"one": talk(Stage(make_scene(), settings))}, fake.answerers())
    return result


def test_a_reply_is_ones_own_words_and_how_they_came_to_be() -> None:
    fake = Fake(say=lambda ask, seed: "Anchor: Yes.\nUser: No.")
    said = ended(lambda stage: say(stage, "speaker", PROMPTS[0], Sampling(0.5, 0.9, 7), "Anchor"), fake)
    assert said == ("Yes.", ("speaker-tag", 3, -1.0, None))
    (ask,) = fake.asks("speaker")
    assert ask.sampling == Sampling(0.5, 0.9, 7, ("\nUser:", "\nCatalyst:", "\nBeacon:", "\nGuide:"))


def test_only_what_was_empty_is_asked_again_with_another_seed() -> None:
    answers = iter(["first", "", "third", "second"])
    fake = Fake(say=lambda ask, seed: next(answers))
    found = ended(lambda stage: say_all(stage, "user", PROMPTS, SETTINGS.user, "User"), fake)
    assert isinstance(found, list)
    assert [said.text for said in found] == ["first", "second", "third"]
    assert [len(asked) for _, asked in fake.rounds] == [3, 1]
    asks = fake.asks("user")
    assert asks[3].messages == asks[1].messages
    assert asks[3].seeds != asks[1].seeds


def test_who_stays_silent_fails() -> None:
    fake = Fake(say=lambda ask, seed: "" if ask.messages == PROMPTS[1] else "yes")
    found = ended(lambda stage: say_all(stage, "speaker", PROMPTS, SETTINGS.speaker, "Anchor"), fake)
    assert found == Failure("empty", "Anchor said nothing 3 times")
    assert [len(asked) for _, asked in fake.rounds] == [3, *[1] * (ATTEMPTS - 1)]


def test_notes_are_one_line_each_and_may_be_empty() -> None:
    answers = iter(["a\n\n  b ", "", "User: c"])
    fake = Fake(say=lambda ask, seed: next(answers))
    assert ended(lambda stage: think(stage, PROMPTS, 9), fake) == ["a b", "", "User: c"]
    assert {ask.sampling.max_tokens for ask in fake.asks("speaker")} == {9}
    assert all("\nUser:" in ask.sampling.stop for ask in fake.asks("speaker"))


def test_the_likeliest_is_chosen_at_temperature_nought() -> None:
    choices = [Choice(PROMPTS[0], ("a", "b", "c")), Choice(PROMPTS[1], ("d",)), Choice(PROMPTS[2], ("e", "f"))]
    fake = Fake(chances=lambda choice: [-1.0, -0.5, -2.0][: len(choice.answers)])
    assert ended(lambda stage: choose_all(stage, "speaker", choices), fake, Settings(director_temperature=0)) == [
        "b",
        "d",
        "f",
    ]
    assert fake.rounds == [("speaker", [choices[0], choices[2]])]


def test_nobody_is_asked_where_there_is_no_choice() -> None:
    fake = Fake()

    def talk(stage: Stage) -> Talk[str]:
        yield from think(stage, PROMPTS[:1], 1)
        return (yield from choose(stage, Choice(PROMPTS[0], ("only",))))

    assert ended(talk, fake) == "only"
    assert not fake.choices("director")


@pytest.mark.parametrize(("temperature", "most"), [(0.0, 1), (1.0, 2)])
def test_the_director_draws_at_its_temperature(temperature: float, most: int) -> None:
    fake = Fake(chances=lambda choice: [-0.7, -0.69])
    settings = Settings(director_temperature=temperature)

    def talk(stage: Stage) -> Talk[set[str]]:
        found = set()
        for _ in range(30):
            found.add((yield from choose(stage, Choice(PROMPTS[0], ("a", "b")))))
        return found

    result = ended(talk, fake, settings)
    assert isinstance(result, set)
    assert len(result) == most
