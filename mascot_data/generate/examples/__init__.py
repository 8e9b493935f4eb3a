"""Worked examples for the few-shot modes, one file a domain; every conversation was written for this package."""

from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mascot_data.personas.card import Id, Text
from mascot_data.personas.reading import parse, read_mapping


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Worked(_Frozen):
    """A good answer, and the thoughts that led to it."""

    thoughts: Text
    answer: Text


class Line(_Frozen):
    """A turn of an example's conversation."""

    name: Text
    text: Text


class Example(Worked):
    """A conversation with a good answer of a single assistant, and good answers of personas by their id."""

    conversation: Annotated[tuple[Line, ...], Field(min_length=1)]
    personas: dict[Id, Worked]

    def by(self, persona: str | None) -> Worked:
        """Return the answer of a persona; the assistant's where there is none."""
        return self.personas.get(persona or "", self)


class _File(_Frozen):
    examples: tuple[Example, ...]


@cache
def load_examples(domain: str) -> tuple[Example, ...]:
    """Return the examples of a domain."""
    path = Path(__file__).parent / f"{domain}.yaml"
    return parse(_File, read_mapping(path), str(path)).examples
