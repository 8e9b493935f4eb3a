from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.errors import PersonaError
from mascot_data.generate.stage import Heard, Stage
from mascot_data.generate.talk import Talk
from mascot_data.generate.users import Profile, load_profiles, person, user_message
from mascot_data.records.rows import ScenarioRow
from tests.generate.scenes import SETTINGS, Fake, hold, make_scene

PROFILES = load_profiles()
SENTENCES = ("who", "opens_up", "wants", "decides", "disagrees", "writes")
FIELDS = {"id": "owl", "name": "Owl", **{field: f"You {field} at night." for field in SENTENCES}}
SCENARIO = ScenarioRow("My flat\nis cold.", "anger", "negative", "housing", "Heating", "Who pays for it?")
TYPES = {a + b + c + d for a in "ei" for b in "sn" for c in "tf" for d in "jp"}


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def test_there_is_a_profile_of_each_type() -> None:
    assert list(PROFILES) == sorted(TYPES)
    assert all(profile.name == key.upper() for key, profile in PROFILES.items())


def test_no_sentence_stands_in_two_profiles() -> None:
    found = [getattr(profile, field) for profile in PROFILES.values() for field in SENTENCES]
    assert len(set(found)) == len(found) == 96
    assert all(text.startswith(("You ", "When ")) and text.endswith(".") for text in found)


@pytest.mark.parametrize("key", PROFILES)
def test_a_model_hears_the_sentences_and_no_type(key: str) -> None:
    profile = PROFILES[key]
    message = user_message(profile, "psychological-support", SCENARIO)
    assert all(getattr(profile, field) in message for field in SENTENCES)
    assert profile.name not in message
    assert 100 <= len(message.split()) <= 220


def test_somebody_who_seeks_support_has_the_situation() -> None:
    message = user_message(PROFILES["intj"], "psychological-support", SCENARIO)
    assert message.startswith("You are User, ")
    for line in ("Your situation: My flat is cold.", "Your feeling: anger", "Your problem: housing"):
        assert line in message.splitlines()
    assert "Who pays" not in message


def test_somebody_who_was_not_in_the_meeting_does_not_know_its_outline() -> None:
    message = user_message(PROFILES["intj"], "workplace", SCENARIO, "User (2)")
    assert message.startswith("You are User (2), ")
    for line in ("What the meeting talked about: Heating", "What you want to know: Who pays for it?"):
        assert line in message.splitlines()
    assert "My flat" not in message


@pytest.mark.parametrize("domain", ["psychological-support", "workplace"])
def test_what_the_corpus_does_not_say_is_left_out(domain: str) -> None:
    message = user_message(PROFILES["estp"], domain, ScenarioRow(None))
    assert "None" not in message
    assert not any(line.startswith(("Your ", "What ")) for line in message.splitlines())


def test_the_person_stays_and_does_not_say_goodbye() -> None:
    message = user_message(PROFILES["esfj"], "psychological-support", SCENARIO)
    assert "goodbye" in message
    assert "doubt or disagree" in message
    assert "only your own next message" in message


snippets = st.sampled_from(["{{ 7 * 7 }}", "{% for x in y %}", "{# gone #}", "<b>&amp;", "\\n", '"', "%}"])
texts = st.lists(snippets | st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1).map(" ".join)


@given(texts, texts)
def test_text_comes_out_literally(situation: str, who: str) -> None:
    profile = Profile.model_validate({**FIELDS, "who": who})
    message = user_message(profile, "psychological-support", ScenarioRow(situation))
    assert f"Your situation: {situation}" in message.split("\n")
    assert profile.who in message


def test_an_own_profile_comes_beside_the_built_in_ones(tmp_path: Path) -> None:
    write(tmp_path, "owl.yaml", FIELDS)
    profiles = load_profiles(tmp_path)
    assert set(profiles) == {*TYPES, "owl"}
    assert profiles["owl"].who == "You who at night."
    assert "owl" not in load_profiles()


def test_an_own_profile_takes_the_place_of_the_built_in_one(tmp_path: Path) -> None:
    write(tmp_path, "istj.yml", {**FIELDS, "id": "istj"})
    profiles = load_profiles(tmp_path)
    assert profiles["istj"].name == "Owl"
    assert len(profiles) == 16
    assert load_profiles()["istj"].name == "ISTJ"


def without(field: str) -> dict[str, Any]:
    return {key: value for key, value in FIELDS.items() if key != field}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("hawk.yaml", FIELDS, "rename it to owl.yaml"),
        ("owl.yaml", without("wants"), "the field `wants` is missing"),
        ("owl.yaml", {**FIELDS, "mood": "good"}, "the field `mood` is unknown"),
        ("owl.yaml", {**FIELDS, "who": "You are\x07 loud."}, "control character"),
        ("owl.yaml", {**FIELDS, "id": "Owl"}, "kebab-case"),
        ("owl.yaml", "- a list\n", "not a mapping"),
        ("owl.yaml", "id: owl\nid: owl\n", "line 2"),
    ],
)
def test_a_wrong_profile_names_the_file(tmp_path: Path, name: str, content: object, said: str) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(PersonaError) as caught:
        load_profiles(tmp_path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_profile_stands_in_one_file(tmp_path: Path) -> None:
    write(tmp_path, "owl.yaml", FIELDS)
    write(tmp_path, "owl.yml", FIELDS)
    with pytest.raises(PersonaError, match="`owl` stands in this folder twice"):
        load_profiles(tmp_path)


def test_a_folder_that_is_missing_or_holds_nothing_is_named(tmp_path: Path) -> None:
    write(tmp_path, ".owl.yaml", FIELDS)
    for folder, said in ((tmp_path / "absent", "no such folder"), (tmp_path, "no user profile here")):
        with pytest.raises(PersonaError) as caught:
            load_profiles(folder)
        assert str(caught.value).startswith(f"{folder}: {said}")


def take_turn(stage: Stage) -> Talk[Stage]:
    yield from person(stage)
    return stage


def test_the_person_hears_the_room_from_its_own_side() -> None:
    opening = (
        Heard("user", "User", "user", None, "My flat is cold."),
        Heard("guide", "Guide", "agent", "guide", "Call the landlord."),
        Heard("anchor", "Anchor", "agent", "anchor", "Brr."),
    )
    fake = Fake(say=lambda ask, seed: "User: I did.\nGuide: And?")
    stage = hold(take_turn(Stage(make_scene(opening=opening), SETTINGS)), fake)
    (ask,) = fake.asks("user")
    assert ask.messages[0] == ("system", stage.scene.person)
    assert [role for role, _ in ask.messages[1:]] == ["user", "assistant", "user"]
    assert ask.messages[2:] == (
        ("assistant", "My flat is cold."),
        ("user", "Guide: Call the landlord.\nAnchor: Brr."),
    )
    assert stage.heard[-1] == Heard("user", "User", "user", None, "I did.")
    assert stage.steps[-1].finish_reason == "speaker-tag"
