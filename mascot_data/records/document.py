"""The page ``docs/formats.md``: tables of columns from the row models, rows as examples, around a template's text."""

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import jinja2
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_WORDS: dict[Any, str] = {str: "text", int: "int", float: "float", bool: "bool"}
_WIDTH = 110


def column_table(model: type[BaseModel]) -> str:
    """Return a Markdown table of a model's columns: name, type, meaning; nested models are links to their headings."""
    rows = [(f"`{name}`", _column_type(field), field.description or "") for name, field in model.model_fields.items()]
    return markdown_table(("column", "type", "meaning"), rows)


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table; a pipe or line break in a cell does not break it."""
    cells = [[" ".join(str(cell).split()).replace("|", "\\|") for cell in row] for row in rows]
    titles = list(head)
    return "\n".join("| " + " | ".join(row) + " |" for row in (titles, ["---"] * len(titles), *cells))


def nested_models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models inside a model, each before those inside it."""
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            yield inner
            yield from nested_models(inner)


def example(row: Mapping[str, Any]) -> str:
    """Return a row as YAML that a person can read: long text in lines, short lists and structs in one."""
    return yaml.dump(dict(row), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH).rstrip()


def render_page(template: str, **facts: Any) -> str:
    """Render the template; ``column_table``, ``example`` and ``markdown_table`` can be called in it.

    Raises:
        jinja2.UndefinedError: the template names a fact that is not given.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    environment.globals |= {"column_table": column_table, "example": example, "markdown_table": markdown_table}
    return environment.from_string(template).render(facts).rstrip() + "\n"


def new_models(models: Mapping[str, type[BaseModel]]) -> dict[str, list[type[BaseModel]]]:
    """Return for each config the nested models that no config before it has, so that a page describes each once."""
    seen: dict[str, None] = {}
    found: dict[str, list[type[BaseModel]]] = {}
    for config, model in models.items():
        inside = dict.fromkeys(nested_models(model))
        found[config] = [inner for inner in inside if inner.__name__ not in seen]
        seen |= dict.fromkeys(inner.__name__ for inner in inside)
    return found


def _column_type(field: FieldInfo) -> str:
    return _type(field.annotation) + _bounds(field.metadata)


def _type(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(args[0]) + _bounds(annotation.__metadata__)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if arg is types.NoneType else _type(arg) for arg in args)
    if origin in (list, tuple):
        return f"list of {_type(args[0])}"
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in args)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return _WORDS[annotation]


def _bounds(metadata: Iterable[Any]) -> str:
    limits: dict[str, Any] = {}
    for item in metadata:
        for inner in item.metadata if isinstance(item, FieldInfo) else [item]:
            limits |= {name: getattr(inner, name) for name in ("ge", "le") if hasattr(inner, name)}
    return f" {limits['ge']} to {limits['le']}" if len(limits) == 2 else ""


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for arg in get_args(annotation):
        yield from _models_in(arg)


class _Dumper(yaml.SafeDumper):
    """Flow style where a list or struct fits a line, literal style for text of several lines."""


def _is_short(value: Iterable[Any]) -> bool:
    parts = list(value)
    scalars = all(part is None or isinstance(part, str | int | float) for part in parts)
    return scalars and not any("\n" in str(part) for part in parts) and sum(len(f"{part}, ") for part in parts) < 100


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else ">" if len(value) > _WIDTH - 20 else None
    if not value.replace("\n", "").isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=_is_short(value))


def _struct(dumper: yaml.SafeDumper, value: dict[str, Any]) -> yaml.Node:
    short = _is_short([*value, *value.values()])
    return dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(dict, _struct)
