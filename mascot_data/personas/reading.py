"""From a YAML file to a checked model; every way to fail is a ``PersonaError`` that names the file."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from mascot_data.errors import PersonaError

Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.SafeLoader):
    """What ``yaml.safe_load`` uses, but a key that stands twice is an error instead of a silent loss."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f"the key `{key.value}` stands twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def read_own(path: Path) -> dict[Any, Any]:
    """Read a YAML file of this package, which is known to be sound; much quicker than ``read_mapping``."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    data: dict[Any, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)  # noqa: S506
    return data


def read_mapping(path: Path) -> dict[Any, Any]:
    """Read a YAML file that holds one mapping.

    Raises:
        PersonaError: The file cannot be read, is broken YAML (the message has the line) or is no mapping.
    """
    text = _text(path)
    try:
        data = _Loader(text).get_single_data()
    except yaml.YAMLError as error:
        raise PersonaError(_broken(path, text, error)) from error
    except Exception as error:  # a bad scalar (`2026-13-45`) or deep nesting ends in many builtin errors
        raise PersonaError(
            f"{path}: broken YAML ({error}), nest less, or put a value such as a date in quotes"
        ) from error
    if not isinstance(data, dict) or not data:
        raise PersonaError(f"{path}: this is not a mapping of fields, write lines such as `name: value`")
    return data


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PersonaError(f"{path}: not UTF-8 text, save the file as UTF-8") from error
    except OSError as error:
        raise PersonaError(f"{path}: cannot be read ({error.strerror}), check the file") from error


def _broken(path: Path, text: str, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{path}, line {error.problem_mark.line + 1}: broken YAML ({error.problem}), correct that line"
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"{path}, line {line}: a control character that YAML forbids, remove it"
    return f"{path}: broken YAML ({error})"


def parse(model: type[Model], data: object, where: str) -> Model:
    """Check the data against the model; ``where`` names the file, and the part of it.

    Raises:
        PersonaError: A field is missing, unknown or wrong; the message tells the first of them.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise PersonaError(f"{where}: {_explain(error)}") from error


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ", ".join(f"entry {part + 1}" if isinstance(part, int) else f"`{part}`" for part in first["loc"])
    context = first.get("ctx", {})
    match first["type"]:
        case "missing":
            return f"the field {field} is missing, add it"
        case "extra_forbidden":
            return f"the field {field} is unknown, remove it or correct its name"
        case "string_type":
            return f"the field {field} is not text, put it in quotes"
        case "too_short":
            return f"the field {field} has {context['actual_length']} entries, write at least {context['min_length']}"
        case "too_long":
            return f"the field {field} has too many entries, write at most {context['max_length']}"
        case _:
            message = first["msg"].removeprefix("Value error, ")
            return f"the field {field} is wrong: {message[:1].lower()}{message[1:]}"
