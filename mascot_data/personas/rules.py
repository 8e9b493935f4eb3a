"""Rules between cards: nobody's work twice, and no name that leads nowhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mascot_data.errors import PersonaError
from mascot_data.personas.card import Card, Roster, fold


class Found(NamedTuple):
    """Cards and rosters by id, each with the file it was read from."""

    cards: Mapping[str, tuple[Path, Card]]
    rosters: Mapping[str, tuple[Path, Roster]]


def check(found: Found) -> None:
    """Check the cards and rosters against each other.

    Raises:
        PersonaError: The first rule that is broken, with the file.
    """
    _examples(found)
    _bans(found)
    for path, roster in found.rosters.values():
        where = f"{path}: roster `{roster.id}`"
        members = _members(where, roster, found)
        _names(where, members)
        _acts(where, members)


def _examples(found: Found) -> None:
    seen: dict[str, Path] = {}
    for path, card in found.cards.values():
        for example in card.examples:
            other = seen.setdefault(fold(example), path)
            if other != path:
                raise PersonaError(f"{path}: the example {example!r} also stands in {other}, reword one of them")


def _bans(found: Found) -> None:
    for path, card in found.cards.values():
        for ban in card.never:
            if ban.belongs_to is not None and ban.belongs_to not in found.cards:
                raise PersonaError(
                    f"{path}: `never` names the card `{ban.belongs_to}`, which does not exist, correct it"
                )
            if ban.belongs_to == card.id:
                raise PersonaError(f"{path}: `never` gives {ban.what!r} to the card itself, name another or null")


def _members(where: str, roster: Roster, found: Found) -> list[tuple[Path, Card]]:
    missing = [persona for persona in roster.personas if persona not in found.cards]
    if missing:
        raise PersonaError(f"{where} names the card `{missing[0]}`, which does not exist, add it or correct the name")
    members = [found.cards[persona] for persona in roster.personas]
    for path, card in members:
        if bool(card.meeting_roles) != (roster.kind == "participant"):
            need = "needs" if roster.kind == "participant" else "cannot have"
            raise PersonaError(f"{where} is of kind {roster.kind}, so that {path} {need} `meeting_roles`")
    return members


def _names(where: str, members: list[tuple[Path, Card]]) -> None:
    seen: dict[str, Path] = {}
    for path, card in members:
        other = seen.setdefault(fold(card.name), path)
        if other != path:
            raise PersonaError(f"{where} has two cards with the name {card.name!r}, rename one: {other} and {path}")


def _acts(where: str, members: list[tuple[Path, Card]]) -> None:
    seen: dict[tuple[str, str], Path] = {}
    for path, card in members:
        for corpus, labels in card.acts.items():
            for label in labels:
                other = seen.setdefault((corpus, label), path)
                if other != path:
                    raise PersonaError(
                        f"{where}: two cards claim the {corpus} act {label!r}, keep one: {other} and {path}"
                    )
