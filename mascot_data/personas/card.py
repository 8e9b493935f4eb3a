"""A persona card and a roster: what each field may hold. Rules between cards stand in ``rules.py``."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Corpus = Literal["esconv", "empathetic-dialogues", "qmsum"]
Domain = Literal["psychological-support", "workplace"]
MIN_EXAMPLES = 4

_KEBAB_CASE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_CONTROL = {"Cc", "Cs", "Zl", "Zp"}
_BIDI_OVERRIDES = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def fold(text: str) -> str:
    """Return the text as it is compared for repeats: lower case, single spaces."""
    return " ".join(text.casefold().split())


def _one_line(text: str) -> str:
    for char in text:
        if unicodedata.category(char) in _CONTROL or char in _BIDI_OVERRIDES:
            raise ValueError(f"it holds the control character U+{ord(char):04X}, write one line of plain text")
    return text


def _kebab_case(text: str) -> str:
    if not _KEBAB_CASE.fullmatch(text):
        raise ValueError("an id is kebab-case, such as `devils-advocate`")
    if text == "user":
        raise ValueError("the id `user` is kept for the person who is helped, choose another")
    return text


def _each_once(items: tuple[str, ...]) -> tuple[str, ...]:
    if len({fold(item) for item in items}) < len(items):
        raise ValueError("the same entry stands there twice, remove one")
    return items


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression ({error})") from error
    return pattern


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_one_line)]
Id = Annotated[Text, AfterValidator(_kebab_case)]
Texts = Annotated[tuple[Text, ...], AfterValidator(_each_once)]
Pattern = Annotated[Text, AfterValidator(_compiles)]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ban(_Frozen):
    """Something a persona never does."""

    what: Text = Field(description="What it never does, as a verb phrase without a subject.")
    belongs_to: Id | None = Field(default=None, description="Id of the card whose work it is; null: nobody's.")


class Card(_Frozen):
    """A persona: who it is, what it does, how it sounds, and what it leaves to others."""

    id: Id = Field(description="Kebab-case, unique, the name of the card's file.")
    name: Text = Field(description="The name it goes by in a conversation.")
    role: Text = Field(description="Short noun phrase without an article.")
    purpose: Text = Field(description="One sentence in the imperative.")
    traits: Texts = Field(min_length=3, max_length=6, description="Adjectives or short phrases, 3 to 6.")
    style: Texts = Field(min_length=2, max_length=4, description="How it sounds, 2 to 4 short sentences.")
    does: Texts = Field(min_length=3, max_length=6, description="Its work, 3 to 6 verb phrases without a subject.")
    never: tuple[Ban, ...] = Field(min_length=3, max_length=6, description="What it never does, 3 to 6 entries.")
    examples: Texts = Field(
        min_length=MIN_EXAMPLES,
        description="Sentences it might say: the judge's prototypes. Never shown to a model that writes replies.",
    )
    acts: Mapping[Corpus, Texts] = Field(default={}, description="Act labels, in the corpus's own spelling, by corpus.")
    meeting_roles: tuple[Pattern, ...] = Field(
        default=(), description="Regular expressions over whole speaker names; cards of people in meetings only."
    )


class Roster(_Frozen):
    """The personas that can speak in one conversation."""

    id: Id = Field(description="Kebab-case, unique.")
    domain: Domain = Field(description="The kind of conversation.")
    kind: Literal["agent", "participant"] = Field(
        default="agent", description="agent: personas of the system; participant: people in a meeting."
    )
    personas: Annotated[tuple[Id, ...], AfterValidator(_each_once)] = Field(
        min_length=1, description="Ids of the cards, in the order in which they are listed and matched."
    )
