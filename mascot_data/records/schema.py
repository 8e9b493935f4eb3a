"""From a row model to its JSON Schema, its Arrow schema and the features that a dataset card declares."""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pyarrow as pa
from pydantic import BaseModel

_SCALARS: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a row."""
    schema = model.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema


def arrow_schema(model: type[BaseModel]) -> pa.Schema:
    """Return the Arrow schema of a row; order and names are those of the model's fields."""
    return pa.schema([pa.field(name, _arrow_type(field.annotation)) for name, field in model.model_fields.items()])


def _arrow_type(annotation: Any) -> pa.DataType:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _arrow_type(args[0])
    if origin in (Union, types.UnionType):
        present = [arg for arg in args if arg is not type(None)]
        if len(present) != 1:
            raise TypeError(f"a column has one type, not {annotation}")
        return _arrow_type(present[0])
    if origin is list:
        return pa.list_(_arrow_type(args[0]))
    if origin is Literal:
        return _SCALARS[type(args[0])]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(list(arrow_schema(annotation)))
    return _SCALARS[annotation]


def features_yaml(schema: pa.Schema) -> list[dict[str, Any]]:
    """Return the ``dataset_info.features`` list of a card, as ``datasets`` itself writes it for this schema."""
    return [_feature(field) for field in schema]


def _feature(field: pa.Field) -> dict[str, Any]:
    return {"name": field.name, **_feature_type(field.type)}


def _feature_type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_struct(kind):
        return {"struct": [_feature(kind.field(i)) for i in range(kind.num_fields)]}
    if pa.types.is_list(kind):
        inner = _feature_type(kind.value_type)
        return {"list": inner.get("struct") or inner.get("dtype") or inner}
    return {"dtype": "float64" if pa.types.is_floating(kind) else str(kind)}
