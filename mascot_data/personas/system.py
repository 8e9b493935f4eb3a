"""From cards to system messages; the wording stands in ``system.jinja`` and ``director.jinja``."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import SandboxedEnvironment

from mascot_data.personas.card import Card


def system_message(card: Card, others: Sequence[Card] = (), *, name: str | None = None) -> str:
    """Return the system message under which a model plays the card; the card's examples are not in it.

    Args:
        card: The persona to play. Its text is put in literally, never read as a template.
        others: Who else is in the conversation; work that belongs to one of them is left to it by name.
        name: The name it speaks under, where that is not the card's (somebody in a meeting, such as ``PhD A``).
    """
    names = {other.id: other.name for other in others}
    return _template("system").render(card=card, name=name or card.name, names=names)


@cache
def _template(name: str) -> Template:
    # Plain text for a model, not HTML: escaping would put `&#39;` into the prompt.
    environment = SandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    return environment.from_string(Path(__file__).with_name(f"{name}.jinja").read_text(encoding="utf-8"))


def director_message(cards: Sequence[Card], verbs: Sequence[str], focuses: Sequence[str], tones: Sequence[str]) -> str:
    """Return the system message of the Director over the given agents, with the closed lists it chooses from.

    An action is a verb and a focus, parted by a space; without focuses it is a verb.
    """
    return _template("director").render(cards=cards, verbs=verbs, focuses=focuses, tones=tones)
