from typing import Any, get_args

import pytest
from pydantic import ValidationError

from mascot_data.personas import Card, Roster
from mascot_data.personas.card import Corpus, Domain
from mascot_data.records.dialogue import Dialogue, Source


def test_a_valid_card_is_taken_and_cannot_be_changed(fields: dict[str, Any]) -> None:
    card = Card.model_validate(fields)
    assert card.does == tuple(fields["does"])
    assert card.never[2].belongs_to is None
    with pytest.raises(ValidationError):
        card.name = "Clown"


def test_text_may_be_folded_over_lines(fields: dict[str, Any]) -> None:
    fields["purpose"] = "Bring some lightness in.\n"
    assert Card.model_validate(fields).purpose == "Bring some lightness in."


@pytest.mark.parametrize("bad", ["Jester", "je_ster", "-jester", "jester-", "je--ster", "jé", "1st", "", "user"])
def test_ids_are_kebab_case_and_not_reserved(fields: dict[str, Any], bad: str) -> None:
    with pytest.raises(ValidationError):
        Card.model_validate({**fields, "id": bad})
    with pytest.raises(ValidationError):
        Roster.model_validate({"id": bad, "domain": "workplace", "personas": ["critic"]})


@pytest.mark.parametrize("char", ["\x00", "\x07", "\x1b", "\n", "\t", "\x85", "\u2028", "\u202e", "\u2066"])
@pytest.mark.parametrize("field", ["name", "purpose", "does", "examples", "never"])
def test_control_characters_are_refused_everywhere(fields: dict[str, Any], field: str, char: str) -> None:
    text = f"bad{char}text"
    values = {"name": text, "purpose": text, "never": [{"what": text}, *fields["never"][1:]]}
    value = values.get(field) or [text, *fields[field][1:]]
    with pytest.raises(ValidationError, match=f"U\\+{ord(char):04X}"):
        Card.model_validate({**fields, field: value})


def test_joiners_of_emoji_and_other_scripts_are_no_control_characters(fields: dict[str, Any]) -> None:
    text = "Say \u0645\u06cc\u200c\u0634\u0648\u062f \U0001f469\u200d\U0001f52c"
    assert Card.model_validate({**fields, "purpose": text}).purpose == text


@pytest.mark.parametrize("field", ["traits", "does", "examples"])
def test_an_entry_stands_once(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match="twice"):
        Card.model_validate({**fields, field: [*fields[field], fields[field][0].upper()]})


def test_corpora_and_domains_are_those_of_the_rows() -> None:
    assert set(get_args(Corpus)) == set(get_args(Source))
    assert set(get_args(Domain)) == set(get_args(Dialogue.model_fields["domain"].annotation))
