"""The light rows of the build have the fields of the models, in their order."""

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from mascot_data.records import dialogue, rows

PAIRS = [
    (rows.DialogueRow, dialogue.Dialogue),
    (rows.TurnRow, dialogue.Turn),
    (rows.DirectiveRow, dialogue.Directive),
    (rows.EvidenceRow, dialogue.Evidence),
    (rows.SpeakerRow, dialogue.Speaker),
    (rows.ScenarioRow, dialogue.Scenario),
    (rows.OutcomeRow, dialogue.Outcome),
    (rows.ExtraRow, dialogue.Extra),
]


@pytest.mark.parametrize(("row", "model"), PAIRS, ids=[model.__name__ for _, model in PAIRS])
def test_a_light_row_has_the_fields_of_its_model(row: Any, model: type[BaseModel]) -> None:
    assert row._fields == tuple(model.model_fields)


@pytest.mark.parametrize(("row", "model"), PAIRS, ids=[model.__name__ for _, model in PAIRS])
def test_a_light_row_may_be_null_where_its_model_may(row: Any, model: type[BaseModel]) -> None:
    def optional(hints: dict[str, Any]) -> Iterator[str]:
        return (name for name, hint in hints.items() if type(None) in typing.get_args(hint))

    assert set(optional(typing.get_type_hints(row))) == set(optional(typing.get_type_hints(model)))
