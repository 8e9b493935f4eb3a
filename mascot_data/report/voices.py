"""Who speaks in a report: the order, the name and the colour of each voice."""

from collections.abc import Iterable

from mascot_data.personas import load_personas
from mascot_data.report.counting import END, START

COLOURS = 6
PEOPLE = {"user": "User", "participant": "Participants"}
_EDGES = {START: "(start)", END: "(end)"}


def in_order(voices: Iterable[str]) -> list[str]:
    """Sort voices: people, then the built-in personas as their rosters have them, then a user's own by name."""
    known = [persona for roster in load_personas().rosters.values() for persona in roster.personas]
    order = {voice: number for number, voice in enumerate([*PEOPLE, *known])}
    return sorted(voices, key=lambda voice: (order.get(voice, len(order)), voice))


def name(voice: str) -> str:
    """Return the name of a voice: that of its card, or its id where the card is a user's own."""
    cards = load_personas().cards
    return PEOPLE.get(voice) or _EDGES.get(voice) or (cards[voice].name if voice in cards else voice)


def css_classes(voices: Iterable[str]) -> dict[str, str]:
    """Give each voice a class of the style sheet: a built-in persona always the same, a user's own one still free."""
    rosters = [roster for roster in load_personas().rosters.values() if roster.kind == "agent"]
    slots = {persona: number for roster in rosters for number, persona in enumerate(roster.personas)}
    present = in_order(voices)
    free = [slot for slot in range(COLOURS) if slot not in {slots.get(voice) for voice in present}]
    own = [voice for voice in present if voice not in slots and voice not in PEOPLE]
    slots |= {voice: free[number % len(free)] for number, voice in enumerate(own)}
    people = {"user": "u", "participant": "m"}
    return {voice: people.get(voice) or f"p{slots[voice] % COLOURS}" for voice in present}
