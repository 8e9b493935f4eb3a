"""What holds for every mode: it ends, nothing illegal comes, it repeats, and text is never read as a template."""

import shutil
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.build.directives import actions, tones
from mascot_data.generate import modes as package
from mascot_data.generate.modes import MODES, PROMPTS, PROMPTS_VERSION
from mascot_data.generate.modes.prompts import prompts_digest
from mascot_data.generate.stage import Heard, Stage
from mascot_data.generate.talk import Part, hold_all
from mascot_data.models.chat import Choice, Failure, Sampling
from mascot_data.records.dialogue import Source
from mascot_data.records.rows import ScenarioRow
from tests.generate.scenes import SETTINGS, Fake, make_scene, play, prompt_of, rollout

SOURCES: tuple[Source, ...] = get_args(Source)
DIRECTED = ("mascot", "mascot-p")
SINGLE = ("zero-shot", "zero-shot-cot", "few-shot", "self-consistency", "multi-agent-esc")
ROSTER = {"esconv": "companions", "empathetic-dialogues": "companions", "qmsum": "workplace"}

chance = st.floats(-30, 0) | st.just(float("-inf"))


def test_the_names_are_those_of_the_command_line() -> None:
    assert set(MODES) == {*DIRECTED, *SINGLE, "mascot-c", "few-shot-cot"}


def check_turns(mode: str, stage: Stage) -> None:
    first = len(stage.scene.opening)
    assert len(stage.heard) - first == len(stage.steps) >= stage.settings.turns
    roster = stage.scene.cards.rosters[ROSTER[stage.scene.source]].personas
    for before, heard in zip(stage.heard[first - 1 :], stage.heard[first:], strict=False):
        assert heard.text
        if heard.kind == "user":
            assert (heard.speaker, heard.name, heard.persona, heard.directive) == ("user", "User", None, None)
        elif mode in SINGLE:
            assert heard[:4] == ("assistant", "Assistant", "agent", None)
            assert before.kind == "user"
        else:
            assert heard.speaker == heard.persona != before.persona
            assert heard.persona in roster
        assert (heard.directive is not None) == (heard.kind == "agent" and mode in DIRECTED)
        if heard.directive:
            assert heard.directive.agent == heard.persona
            assert heard.directive.action in actions(stage.scene.source)
            assert heard.directive.tone in tones([heard.directive.agent])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_ends_with_legal_turns(mode: str, source: Source) -> None:
    check_turns(mode, play(mode, make_scene(source)))


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=10)
@given(data=st.data(), source=st.sampled_from(SOURCES), seed=st.integers(0, 2**31 - 1))
def test_whatever_a_model_prefers_the_turns_are_legal(
    mode: str, data: st.DataObject, source: Source, seed: int
) -> None:
    def chances(choice: Choice) -> list[float]:
        number = len(choice.answers)
        return data.draw(st.lists(chance, min_size=number, max_size=number))

    check_turns(mode, play(mode, make_scene(source, seed=seed), Fake(chances=chances)))


@pytest.mark.parametrize("mode", MODES)
def test_a_rollout_repeats_and_another_seed_makes_another(mode: str) -> None:
    one, again, other = (play(mode, make_scene(seed=seed)) for seed in (1, 1, 2))
    assert (one.heard, one.steps) == (again.heard, again.steps)
    assert one.heard != other.heard


@pytest.mark.parametrize("mode", MODES)
def test_no_seed_is_used_twice(mode: str) -> None:
    fake = Fake()
    play(mode, make_scene(), fake)
    seeds = [seed for part in fake.answerers() for ask in fake.asks(part) for seed in ask.seeds]
    assert len(seeds) == len(set(seeds)) > 6


@pytest.mark.parametrize("mode", MODES)
def test_thoughts_are_not_heard(mode: str) -> None:
    fake = Fake(chances=lambda choice: [-float(place) for place in range(len(choice.answers))])
    stage = play(mode, make_scene(), fake)
    thoughts = {line for step in stage.steps for line in (step.reasoning or "").splitlines() if "I say" in line}
    assert bool(thoughts) == (mode in ("zero-shot-cot", "few-shot-cot", "multi-agent-esc"))
    said = " ".join(heard.text for heard in stage.heard)
    assert not any(line in said for line in thoughts)
    assert not any(line in prompt_of(ask) for ask in fake.asks("user") for line in thoughts)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", MODES)
def test_text_is_never_read_as_a_template(mode: str, source: Source) -> None:
    sly = "{{ 7 * 7 }} {% for x in y %} {# gone #} {{ stage }} &<b> \\n $& </script>"
    fake = Fake(say=lambda ask, seed: f"{sly} {seed}")
    opening = (Heard("user", "User", "user", None, sly), Heard("user", "User", "user", None, "Well?"))
    scenario = ScenarioRow(sly, sly, "negative", sly, sly, sly)
    stage = play(mode, make_scene(source, opening=opening, scenario=scenario), fake)
    assert all(heard.text.startswith(sly) for heard in stage.heard if heard.text != "Well?")
    for part in get_args(Part):
        assert all(sly in prompt_of(question) for question in fake.asked(part))


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15)
@given(number=st.integers(0, 60))
def test_a_failure_ends_its_own_conversation_only(mode: str, number: int) -> None:
    whole = Fake()
    play(mode, make_scene(), whole)
    asked = sum(len(questions) for _, questions in whole.rounds)
    fake = Fake(fails=lambda asking: asking == number)
    talks = {mode: rollout(mode, Stage(make_scene(), SETTINGS))}
    ((_, result),) = hold_all(talks, fake.answerers())
    assert isinstance(result, Failure) == (number < asked)
    if isinstance(result, Failure):
        assert result == Failure("timeout", "it took too long")


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_says_nothing_is_a_failure(mode: str) -> None:
    ((_, result),) = hold_all(
        {mode: rollout(mode, Stage(make_scene(), SETTINGS))}, Fake(say=lambda ask, seed: " \n").answerers()
    )
    assert isinstance(result, Failure)
    assert result.reason == "empty"


@pytest.mark.parametrize("mode", MODES)
def test_speech_for_others_is_cut(mode: str) -> None:
    stage = play(mode, make_scene(), Fake(say=lambda ask, seed: f"Only {seed} is mine.\nGuide: mine too."))
    assert {step.finish_reason for step in stage.steps} == {"speaker-tag"}
    assert not any("Guide" in heard.text for heard in stage.heard)


@pytest.mark.parametrize("mode", MODES)
def test_every_part_is_sampled_as_the_settings_say(mode: str) -> None:
    fake = Fake()
    play(mode, make_scene(), fake)
    assert {ask.sampling.max_tokens for ask in fake.asks("user")} == {SETTINGS.user.max_tokens}
    speaking = {(ask.sampling.temperature, ask.sampling.top_p) for ask in fake.asks("speaker")}
    assert speaking == {(SETTINGS.speaker.temperature, SETTINGS.speaker.top_p)}
    assert not fake.asks("director")
    stops = {stop for ask in fake.asks("user") for stop in ask.sampling.stop}
    assert stops
    assert "\nUser:" not in stops


@pytest.mark.parametrize("mode", MODES)
def test_the_meetings_outline_is_told_to_agents_and_not_to_the_person(mode: str) -> None:
    fake = Fake()
    scene = make_scene("qmsum")
    assert scene.outline
    play(mode, scene, fake)
    for question in (*fake.asked("speaker"), *fake.asked("director")):
        assert scene.outline in question.messages[0][1]
    assert not any(scene.outline in prompt_of(ask) for ask in fake.asks("user"))


def test_a_changed_prompt_needs_a_new_version() -> None:
    assert PROMPTS[PROMPTS_VERSION] == prompts_digest(), (
        "a template, example or profile has changed: add a version with this digest to PROMPTS, keep the old ones"
    )
    assert list(PROMPTS) == [str(number) for number in range(1, len(PROMPTS) + 1)]
    assert len(set(PROMPTS.values())) == len(PROMPTS)


def test_every_change_of_a_prompt_is_noticed(tmp_path: Path) -> None:
    root = Path(package.__file__).parent.parent
    copy = tmp_path / "generate"
    shutil.copytree(root, copy)
    assert prompts_digest(copy) == prompts_digest()
    files = [path for path in sorted(copy.rglob("*")) if path.suffix in (".jinja", ".yaml")]
    assert {"assistant.jinja", "user.jinja", "infp.yaml", "workplace.yaml"} <= {path.name for path in files}
    digests = {prompts_digest(copy)}
    for number, path in enumerate(files, 1):
        path.write_text(path.read_text(encoding="utf-8").replace("\n", " \n", 1), encoding="utf-8")
        digests.add(prompts_digest(copy))
        assert len(digests) == number + 1, path


def test_a_short_settings_ends_after_one_round() -> None:
    few = type(SETTINGS)(turns=1, agents_per_turn=3, speaker=Sampling(max_tokens=4))
    assert len(play("mascot", make_scene(), settings=few).steps) == 3
