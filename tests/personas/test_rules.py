from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mascot_data.errors import PersonaError
from mascot_data.personas import load_personas

Change = Callable[[dict[str, Any]], None]


def _repeat_built_in_example(card: dict[str, Any]) -> None:
    card["examples"].append(load_personas().cards["guide"].examples[0].upper())


def _ban_of_unknown_card(card: dict[str, Any]) -> None:
    card["never"][0]["belongs_to"] = "nobody-known"


def _ban_of_itself(card: dict[str, Any]) -> None:
    card["never"][0]["belongs_to"] = "jester"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_repeat_built_in_example, "guide.yaml"),
        (_ban_of_unknown_card, "nobody-known"),
        (_ban_of_itself, "itself"),
    ],
)
def test_a_card_against_the_others(fields: dict[str, Any], write: Any, change: Change, said: str) -> None:
    change(fields)
    path = write("jester.yaml", fields)
    with pytest.raises(PersonaError) as caught:
        load_personas(path.parent)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_an_example_of_two_own_cards_is_refused(fields: dict[str, Any], write: Any) -> None:
    write("jester.yaml", fields)
    twin = write("fool.yaml", {**fields, "id": "fool", "name": "Fool"})
    with pytest.raises(PersonaError) as caught:
        load_personas(twin.parent)
    assert "jester.yaml" in str(caught.value)
    assert "fool.yaml" in str(caught.value)


ROSTERS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "missing card": ({"personas": ["anchor", "ghost"]}, {}, "`ghost`"),
    "act claimed twice": (
        {"personas": ["catalyst", "jester"]},
        {"acts": {"esconv": ["Question"]}},
        "'Question'",
    ),
    "name taken twice": ({"personas": ["anchor", "jester"]}, {"name": "anchor"}, "'anchor'"),
    "people among agents": ({"personas": ["anchor", "marketing"]}, {}, "marketing.yaml"),
    "agents among people": ({"kind": "participant", "personas": ["jester"]}, {}, "jester.yaml"),
}


@pytest.mark.parametrize("case", ROSTERS)
def test_a_roster_against_its_cards(fields: dict[str, Any], write: Any, case: str) -> None:
    roster, change, said = ROSTERS[case]
    write("cards/jester.yaml", {**fields, **change})
    path = write("rosters.yaml", {"mine": {"domain": "psychological-support", **roster}})
    with pytest.raises(PersonaError) as caught:
        load_personas(path.parent)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_cards_that_share_an_act_may_stand_in_different_rosters(fields: dict[str, Any], write: Any) -> None:
    write("jester.yaml", {**fields, "acts": {"esconv": ["Question"]}})
    path: Path = write("rosters.yaml", {"mine": {"domain": "psychological-support", "personas": ["jester", "guide"]}})
    personas = load_personas(path.parent)
    assert personas.by_act("esconv", personas.rosters["mine"])["Question"] == "jester"
    assert personas.by_act("esconv", personas.rosters["companions"])["Question"] == "catalyst"
