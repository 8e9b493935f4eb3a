"""Questions to servers and connections to the faulty one, as the tests need them."""

from typing import Any

from mascot_data.models.calls import Waits
from mascot_data.models.chat import Ask, Sampling
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.server import ServerModel, connect
from tests.models.faulty_server import Faulty

QUICK = Waits(first=0.01, most=0.05, poll=0.01)
KEY = "sk-very-secret-0123456789"
INTRODUCTIONS = 2
"""Requests by which the model and the routes of a server are found out."""


def to(faulty: Faulty, name: str = "m", **options: Any) -> ServerModel:
    """A connection that waits for little."""
    settings: dict[str, Any] = {"timeout": 5.0, "attempts": 3, "concurrency": 4} | options
    return connect(ModelName("server", name, url=faulty.url), ModelOptions(**settings), QUICK)


def ask(text: str, *seeds: int, **sampling: Any) -> Ask:
    """A question for a few words."""
    return Ask((("system", "Be brief."), ("user", text)), Sampling(**{"max_tokens": 8} | sampling), seeds or (1,))
