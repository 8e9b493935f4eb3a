import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mascot_data.errors import PersonaError
from mascot_data.personas import load_personas


def test_the_built_in_ones_are_read_once() -> None:
    assert load_personas() is load_personas()


def test_rosters_by_domain() -> None:
    personas = load_personas()
    assert personas.roster_for("psychological-support").id == "companions"
    assert personas.roster_for("workplace").id == "workplace"
    with pytest.raises(PersonaError, match="psychological-support, workplace"):
        personas.roster_for("sports")


def test_others_are_the_rest_of_the_roster_in_order() -> None:
    personas = load_personas()
    others = personas.others("catalyst", personas.rosters["companions"])
    assert [card.id for card in others] == ["anchor", "beacon", "guide"]


@pytest.mark.parametrize("place", ["jester.yaml", "cards/jester.yaml", "jester.yml"])
def test_an_own_card_comes_beside_the_built_in_ones(
    fields: dict[str, Any], write: Any, tmp_path: Path, place: str
) -> None:
    write(place, fields)
    personas = load_personas(tmp_path)
    assert personas.cards["jester"].name == "Jester"
    assert set(personas.cards) == {*load_personas().cards, "jester"}
    assert dict(personas.rosters) == dict(load_personas().rosters)


def test_an_own_card_takes_the_place_of_the_built_in_one(fields: dict[str, Any], write: Any, tmp_path: Path) -> None:
    write("beacon.yaml", {**fields, "id": "beacon", "acts": {"esconv": ["Affirmation and Reassurance"]}})
    personas = load_personas(tmp_path)
    assert personas.cards["beacon"].role == "light-hearted companion"
    acts = personas.by_act("esconv", personas.roster_for("psychological-support"))
    assert acts["Affirmation and Reassurance"] == "beacon"
    assert "Self-disclosure" not in acts
    assert load_personas().cards["beacon"].role == "growth advocate"


def test_an_own_roster_is_taken_first(fields: dict[str, Any], write: Any, tmp_path: Path) -> None:
    write("jester.yaml", fields)
    write("rosters.yaml", {"merry": {"domain": "psychological-support", "personas": ["jester", "anchor"]}})
    personas = load_personas(tmp_path)
    assert personas.roster_for("psychological-support").personas == ("jester", "anchor")
    assert personas.roster_for("workplace").id == "workplace"
    assert "companions" in personas.rosters


def test_an_own_roster_takes_the_place_of_the_built_in_one(write: Any, tmp_path: Path) -> None:
    write("rosters.yaml", {"workplace": {"domain": "workplace", "personas": ["critic"]}})
    assert load_personas(tmp_path).roster_for("workplace").personas == ("critic",)


def test_own_meeting_roles_come_before_the_catch_all(fields: dict[str, Any], write: Any, tmp_path: Path) -> None:
    write("jester.yaml", {**fields, "meeting_roles": ["Court Jester"]})
    write("rosters.yaml", {"court": {"domain": "workplace", "kind": "participant", "personas": ["jester"]}})
    personas = load_personas(tmp_path)
    for name, persona in (("Court Jester", "jester"), ("PhD A", "phd-student"), ("Court Herald", "committee-member")):
        card = personas.for_meeting_role(name)
        assert card is not None
        assert card.id == persona
    assert personas.roster_for("workplace").id == "workplace"


def test_personas_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(load_personas())) == load_personas()


def test_the_file_is_named_after_the_card(fields: dict[str, Any], write: Any, tmp_path: Path) -> None:
    path = write("clown.yaml", fields)
    with pytest.raises(PersonaError, match=r"rename it to jester\.yaml") as caught:
        load_personas(tmp_path)
    assert str(path) in str(caught.value)


def test_a_card_stands_in_one_file(fields: dict[str, Any], write: Any, tmp_path: Path) -> None:
    first, second = write("jester.yaml", fields), write("cards/jester.yaml", fields)
    with pytest.raises(PersonaError) as caught:
        load_personas(tmp_path)
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        {"mine": ["anchor"]},
        {"mine": {"personas": ["anchor"]}},
        {"mine": {"domain": "sports", "personas": ["anchor"]}},
        {"mine": {"domain": "workplace", "personas": []}},
        {"mine": {"domain": "workplace", "personas": ["critic", "critic"]}},
        {"mine": {"domain": "workplace", "personas": ["critic"], "id": "mine"}},
        {"Mine": {"domain": "workplace", "personas": ["critic"]}},
        {5: {"domain": "workplace", "personas": ["critic"]}},
        {"mine": {"domain": "workplace", "personas": ["critic"], "leader": "critic"}},
    ],
)
def test_a_wrong_roster_names_the_file(write: Any, tmp_path: Path, content: object) -> None:
    path = write("rosters.yaml", content)
    with pytest.raises(PersonaError) as caught:
        load_personas(tmp_path)
    assert str(path) in str(caught.value)


def test_a_folder_that_is_missing_or_holds_nothing_is_named(tmp_path: Path, write: Any) -> None:
    write("notes.txt", "no card")
    write(".hidden.yaml", "no: card")
    for folder, said in ((tmp_path / "absent", "no such folder"), (tmp_path, "no persona card")):
        with pytest.raises(PersonaError) as caught:
            load_personas(folder)
        assert str(caught.value).startswith(f"{folder}: {said}")


def test_the_import_is_light() -> None:
    code = "import sys, mascot_data.personas; print([m for m in ('torch', 'datasets') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
