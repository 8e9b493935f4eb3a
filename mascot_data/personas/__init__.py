"""Persona cards and rosters as data, their loader, and the one template that makes a card a system message.

The data stands in ``cards/`` (one file a card) and ``rosters.yaml``; a user's own folder is laid over it.
"""

from mascot_data.personas.card import Ban, Card, Roster
from mascot_data.personas.library import Personas, load_personas
from mascot_data.personas.system import director_message, system_message

__all__ = ["Ban", "Card", "Personas", "Roster", "director_message", "load_personas", "system_message"]
