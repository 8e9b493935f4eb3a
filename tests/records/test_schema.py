import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel

from docs.generate import schema_text
from mascot_data.records import ADDED_CONFIGS, CONFIGS, arrow_schema, features_yaml, json_schema

ALL = CONFIGS | ADDED_CONFIGS
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("config", ALL)
def test_committed_json_schema_is_in_step_with_the_model(config: str) -> None:
    committed = (ROOT / "schemas" / f"{config}.schema.json").read_text(encoding="utf-8")
    assert committed == schema_text(config), "run  make schemas  after changing a row model"


@pytest.mark.parametrize("config", ALL)
def test_features_of_the_card_are_what_datasets_derives_from_the_arrow_schema(config: str) -> None:
    datasets = pytest.importorskip("datasets")
    schema = arrow_schema(ALL[config])
    assert features_yaml(schema) == datasets.Features.from_arrow_schema(schema)._to_yaml_list()


@pytest.mark.parametrize("config", ALL)
def test_every_field_says_what_it_is(config: str) -> None:
    def undescribed(model: type[BaseModel]) -> list[str]:
        return [n for n, f in model.model_fields.items() if not f.description and n not in ("name", "value")]

    missing = undescribed(ALL[config])
    assert set(missing) <= {"scenario", "turns", "outcome", "schema_version", "license"}


def test_rows_of_a_build_fit_the_json_schema(sample_build: Path) -> None:
    validator = jsonschema.Draft202012Validator(json_schema(CONFIGS["dialogues"]))
    rows: list[dict[str, Any]] = []
    for path in sample_build.glob("*/data/dialogues/*.parquet"):
        rows += pq.read_table(path).to_pylist()
    assert len(rows) > 30
    assert [error.message for row in rows for error in validator.iter_errors(row)] == []


def test_a_column_of_two_types_is_refused() -> None:
    class Odd(BaseModel):
        value: int | str

    with pytest.raises(TypeError, match="one type"):
        arrow_schema(Odd)


def test_optional_and_nested_types() -> None:
    class Inner(BaseModel):
        name: str | None

    class Outer(BaseModel):
        inner: Inner | None
        many: list[list[int]]

    schema = arrow_schema(Outer)
    assert schema.field("inner").type == pa.struct([pa.field("name", pa.string())])
    assert schema.field("many").type == pa.list_(pa.list_(pa.int64()))
    assert json.dumps(features_yaml(schema))
