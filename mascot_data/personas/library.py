"""The persona library: the built-in cards and rosters, and a user's own laid over them."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mascot_data.errors import PersonaError
from mascot_data.personas.card import Card, Roster
from mascot_data.personas.reading import parse, read_mapping, read_own
from mascot_data.personas.rules import Found, check

_HERE = Path(__file__).parent
_YAML = {".yaml", ".yml"}
Reader = Callable[[Path], dict[Any, Any]]


@dataclass(frozen=True)
class Personas:
    """Checked cards and rosters by id; a user's rosters come before the built-in ones."""

    cards: Mapping[str, Card]
    rosters: Mapping[str, Roster]

    def roster_for(self, domain: str) -> Roster:
        """Return the first roster of agents for a domain.

        Raises:
            PersonaError: No roster of agents has this domain.
        """
        agents = [roster for roster in self.rosters.values() if roster.kind == "agent"]
        for roster in agents:
            if roster.domain == domain:
                return roster
        known = ", ".join(sorted({roster.domain for roster in agents}))
        raise PersonaError(f"no roster of agents for the domain {domain!r}, known are: {known}")

    def by_act(self, corpus: str, roster: Roster) -> dict[str, str]:
        """Return whose work each act label of a corpus is: label to persona id, nothing for a corpus without acts."""
        return {
            label: persona
            for persona in roster.personas
            for source, labels in self.cards[persona].acts.items()
            if source == corpus
            for label in labels
        }

    def digest(self) -> str:
        """Return 16 hex digits that change whenever a card or a roster does."""
        models: list[BaseModel] = [*self.cards.values(), *self.rosters.values()]
        text = "\n".join(sorted(model.model_dump_json() for model in models))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def others_of_agent(self, persona: str) -> tuple[Card, ...]:
        """Return the cards of all agents that share a roster with this one, but its own."""
        shared = [r.personas for r in self.rosters.values() if r.kind == "agent" and persona in r.personas]
        ids = dict.fromkeys(other for personas in shared for other in personas if other != persona)
        return tuple(self.cards[other] for other in ids)

    def others(self, persona: str, roster: Roster) -> tuple[Card, ...]:
        """Return the cards of the roster but this persona's, in order."""
        return tuple(self.cards[other] for other in roster.personas if other != persona)

    def for_meeting_role(self, speaker_name: str) -> Card | None:
        """Return the card of somebody in a meeting by the speaker name of the transcript, such as ``PhD A``.

        Rosters and their cards are tried in order (agents have no ``meeting_roles``); the whole name must match.
        The built-in ``committee-member`` takes every other name of two words and more: a real person's.
        """
        name = " ".join(speaker_name.split())
        for roster in self.rosters.values():
            for persona in roster.personas:
                if any(re.fullmatch(pattern, name) for pattern in self.cards[persona].meeting_roles):
                    return self.cards[persona]
        return None


def load_personas(directory: Path | None = None) -> Personas:
    """Return the built-in personas, with the cards and rosters of a folder laid over them.

    Args:
        directory: A user's folder: cards in ``cards/*.yaml`` or ``*.yaml``, each named after its id, and if wanted
            ``rosters.yaml``. A card or roster with the id of a built-in one takes its place.

    Raises:
        PersonaError: The folder is missing or empty, or a file breaks a rule; the message names the file.
    """
    built_in, personas = _built_in()
    if directory is None:
        return personas
    own = _read(directory)
    older = {key: value for key, value in built_in.rosters.items() if key not in own.rosters}
    return _checked(Found({**built_in.cards, **own.cards}, {**own.rosters, **older}))


@cache
def _built_in() -> tuple[Found, Personas]:
    found = _read(_HERE, read_own)
    return found, _checked(found)


def _checked(found: Found) -> Personas:
    check(found)
    cards = {key: card for key, (_, card) in found.cards.items()}
    rosters = {key: roster for key, (_, roster) in found.rosters.items()}
    return Personas(cards, rosters)


def _read(directory: Path, read: Reader = read_mapping) -> Found:
    if not directory.is_dir():
        raise PersonaError(f"{directory}: no such folder, give one that holds persona cards")
    files = [*_yaml_files(directory), *_yaml_files(directory / "cards")]
    rosters: dict[str, tuple[Path, Roster]] = {}
    cards: dict[str, tuple[Path, Card]] = {}
    for path in files:
        if path.stem == "rosters" and path.parent == directory:
            rosters.update(_read_rosters(path, read))
            continue
        card = _read_card(path, read)
        if card.id in cards:
            raise PersonaError(f"{path}: the card `{card.id}` also stands in {cards[card.id][0]}, remove one")
        cards[card.id] = (path, card)
    if not files:
        raise PersonaError(f"{directory}: no persona card and no rosters.yaml here, add one or give another folder")
    return Found(cards, rosters)


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[!.]*") if path.suffix in _YAML)


def _read_card(path: Path, read: Reader) -> Card:
    card = parse(Card, read(path), str(path))
    if card.id != path.stem:
        raise PersonaError(f"{path}: the file holds the card `{card.id}`, rename it to {card.id}{path.suffix}")
    return card


def _read_rosters(path: Path, read: Reader) -> dict[str, tuple[Path, Roster]]:
    rosters = {}
    for key, fields in read(path).items():
        where = f"{path}: roster `{key}`"
        if not isinstance(fields, dict) or "id" in fields:
            raise PersonaError(f"{where} is not a mapping with the fields domain, kind and personas")
        rosters[str(key)] = (path, parse(Roster, {"id": key, **fields}, where))
    return rosters
