"""Load the mapping tables of the build; they are data, in ``build/tables/*.yaml``."""

import re
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import yaml

from mascot_data.records.dialogue import Valence


@cache
def table(name: str) -> dict[str, Any]:
    """Return the table ``name`` of ``build/tables``; callers must not change it."""
    text = resources.files("mascot_data.build").joinpath("tables", f"{name}.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return loaded


@cache
def valences() -> dict[str, Valence]:
    """Return emotion label to valence."""
    kinds: tuple[Valence, ...] = ("positive", "negative", "neutral")
    return {emotion: valence for valence in kinds for emotion in table("emotions")[valence]}


class Watchword(NamedTuple):
    """Words that put a flag on a turn: cheap ``triggers`` for a whole conversation, the ``pattern`` for a turn."""

    flag: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]


@cache
def watchwords() -> tuple[Watchword, ...]:
    """Return the watchwords; triggers and patterns are for lower-case text."""
    return tuple(
        Watchword(flag, tuple(entry["triggers"]), re.compile(entry["pattern"]))
        for flag, entry in table("watchwords").items()
    )


@cache
def problem_type(stated: str) -> str:
    """Normalise a problem type of ESConv; an unknown one is only lower-cased."""
    problems = table("problems")
    lowered = " ".join(stated.lower().split())
    renamed: dict[str, str] = problems["renamed"]
    return renamed.get(lowered, lowered)
