from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.build.directives import actions, tones
from mascot_data.build.projection import SILENCE, Said, from_director_view, from_lines, from_speaker_view
from mascot_data.build.tables import table
from mascot_data.build.views import Budget
from mascot_data.generate.stage import Directive, Heard, Settings, Stage, Step
from mascot_data.personas import Personas, load_personas
from mascot_data.records.dialogue import Source
from tests.generate.scenes import SETTINGS, make_scene

PEOPLE = {
    "user": Heard("user", "User", "user", None, ""),
    "anchor": Heard("anchor", "Anchor", "agent", "anchor", ""),
    "guide": Heard("guide", "Guide", "agent", "guide", ""),
}
SOURCES: tuple[Source, ...] = get_args(Source)
COMPANIONS = load_personas().rosters["companions"].personas
STEP = Step("stop", 3, -1.0, None)

texts = st.text("ab :\n", max_size=12)
turns = st.builds(lambda who, text: PEOPLE[who]._replace(text=text), st.sampled_from(list(PEOPLE)), texts)
rooms = st.lists(turns, max_size=8).map(tuple)
budgets = st.builds(Budget, st.none() | st.integers(1, 5), st.none() | st.integers(1, 20), st.just(len))


def on(opening: tuple[Heard, ...], settings: Settings = SETTINGS, source: Source = "esconv") -> Stage:
    return Stage(make_scene(source, opening=opening), settings)


@given(rooms, st.sampled_from(["User", "Anchor", "Catalyst"]))
def test_a_prompt_holds_the_whole_room_from_ones_own_side(room: tuple[Heard, ...], me: str) -> None:
    system, *messages = on(room).messages("You are somebody.", me)
    assert system == ("system", "You are somebody.")
    assert [role for role, _ in messages] == [("user", "assistant")[n % 2] for n in range(len(messages))]
    assert messages[-1][0] == "user"
    assert from_speaker_view(messages, me) == [Said(heard.name, heard.text) for heard in room]


@given(rooms)
def test_the_room_can_be_read_back(room: tuple[Heard, ...]) -> None:
    assert from_director_view([("user", on(room).room())]) == [Said(heard.name, heard.text) for heard in room]


@given(rooms, budgets)
def test_the_last_turns_are_shown_as_far_as_the_budget_goes(room: tuple[Heard, ...], budget: Budget) -> None:
    seen = on(room, replace(SETTINGS, budget=budget)).seen()
    assert seen == list(room)[len(room) - len(seen) :]
    assert bool(seen) == bool(room)
    sizes = [len(f"{heard.name}: " + heard.text.replace("\n", "\n  ")) for heard in room]

    def fits(number: int) -> bool:
        within = budget.tokens is None or sum(sizes[len(room) - number :]) <= budget.tokens
        return within and (budget.turns is None or number <= budget.turns)

    assert len(seen) <= 1 or fits(len(seen))
    assert len(seen) == len(room) or not fits(len(seen) + 1)


def test_the_directive_is_the_last_line() -> None:
    directive = Directive("anchor", "reflect the feelings", "calm and empathetic")
    for room in ((), (PEOPLE["user"]._replace(text="Hi"),), (PEOPLE["anchor"]._replace(text="Hi"),)):
        content = on(room).messages("x", "Anchor", directive)[-1][1]
        assert from_lines(content)[-1] == Said("Director", "reflect the feelings; calm and empathetic")
        assert "(" not in content


def test_nobody_has_spoken() -> None:
    stage = on(())
    assert stage.room() == SILENCE
    assert stage.seen() == []
    assert stage.messages("x", "User") == (("system", "x"), ("user", SILENCE))


def test_the_outline_is_told_to_all_but_the_person() -> None:
    stage = Stage(make_scene("qmsum"), SETTINGS)
    assert stage.messages("x", "Scribe")[0][1] == stage.with_outline("x") == "x\n\nA meeting about an umbrella."
    assert stage.messages("x", "User")[0][1] == "x"
    assert on(()).with_outline("x") == "x"


@given(rooms)
def test_who_has_just_spoken_may_not_speak(room: tuple[Heard, ...]) -> None:
    legal = [card.id for card in on(room).legal_agents()]
    assert legal == [persona for persona in COMPANIONS if not room or persona != room[-1].persona]


def test_an_agent_that_is_alone_may_go_on() -> None:
    personas = load_personas()
    alone = personas.rosters["companions"].model_copy(update={"personas": ("guide",)})
    scene = make_scene(opening=(PEOPLE["guide"],), cards=Personas(personas.cards, {"alone": alone}))
    assert [card.id for card in Stage(scene, SETTINGS).legal_agents()] == ["guide"]


@pytest.mark.parametrize("source", SOURCES)
def test_actions_and_tones_are_from_the_closed_lists(source: Source) -> None:
    stage = Stage(make_scene(source), SETTINGS)
    assert len(stage.roster) == 4
    every = actions(source)
    for card in stage.roster:
        legal = stage.legal_actions(card)
        assert legal
        assert set(legal) <= set(every)
        assert set(stage.legal_tones(card)) <= set(tones([card.id]))
        assert "friendly and attentive" not in stage.legal_tones(card)
        if source != "qmsum":
            verbs = {table("acts")[source]["actions"][act] for act in card.acts[source]}
            assert {action for action in every for verb in verbs if action.startswith(f"{verb} ")} == set(legal)


def test_a_card_without_acts_may_do_anything() -> None:
    card = load_personas().cards["guide"].model_copy(update={"id": "own", "acts": {}})
    for source in SOURCES:
        stage = Stage(make_scene(source), SETTINGS)
        assert stage.legal_actions(card) == actions(source)
        assert stage.legal_tones(card) == ("friendly and attentive",)


def test_the_end_comes_when_enough_was_said() -> None:
    stage = on((PEOPLE["user"],), Settings(turns=2))
    for over in (False, False, True):
        assert stage.is_over == over
        stage.add(PEOPLE["anchor"]._replace(text="Yes."), STEP)
    assert stage.heard[0] == PEOPLE["user"]
    assert len(stage.heard) == 4
    assert stage.steps == [STEP] * 3


def test_names_are_those_of_all_who_may_speak_or_have_spoken() -> None:
    room = (Heard("PhD A", "PhD A", "participant", None, "Hm."), PEOPLE["user"])
    assert on(room).names == ["User", "Anchor", "Catalyst", "Beacon", "Guide", "PhD A"]


def test_seeds_repeat_with_the_scene_and_never_within_it() -> None:
    one, again, other = (Stage(make_scene(seed=seed), SETTINGS) for seed in (1, 1, 2))
    found = [one.seed() for _ in range(200)]
    assert found == [again.seed() for _ in range(200)]
    assert len(set(found)) == 200
    assert not set(found) & {other.seed() for _ in range(200)}
