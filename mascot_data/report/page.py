"""Render a report as one self-contained page. Texts of the rows are untrusted: nothing in them is markup."""

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from mascot_data.build.corpora import CORPORA
from mascot_data.records import CONFIGS, FLAGS, Dialogue, Turn
from mascot_data.report import voices
from mascot_data.report.data import Data
from mascot_data.report.sections import sections
from mascot_data.show.render import visible

SHOWN_TURNS = 12
"""Turns of an example that are shown at its beginning and again at its end."""


class Example(NamedTuple):
    """A dialogue as it is shown: its first turns, how many are left out, its last turns."""

    row: Dialogue
    first: Sequence[Turn]
    left_out: int
    last: Sequence[Turn]
    roles: Mapping[str, str | None]


def example(row: Dialogue) -> Example:
    """Cut the middle of a long dialogue."""
    roles = {speaker.id: speaker.role for speaker in row.speakers}
    if len(row.turns) <= 2 * SHOWN_TURNS:
        return Example(row, row.turns, 0, [], roles)
    left_out = len(row.turns) - 2 * SHOWN_TURNS
    return Example(row, row.turns[:SHOWN_TURNS], left_out, row.turns[-SHOWN_TURNS:], roles)


def render(data: Data, facts: Mapping[str, Any], examples: Sequence[Dialogue]) -> str:
    """Return the page; the same data give the same page.

    Args:
        data: the numbers.
        facts: the provenance of the build.
        examples: dialogues to show.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    environment.filters["pos"] = lambda value: f"{value:.2f}%"
    here = resources.files("mascot_data.report")
    template = environment.from_string(here.joinpath("page.html.jinja").read_text("utf-8"))
    source = facts["source"]["corpus"]
    corpus = CORPORA.get(source)
    return template.render(
        style=Markup(here.joinpath("page.css").read_text("utf-8")),  # noqa: S704
        corpus=corpus,
        source=source,
        facts=facts,
        data=data,
        rows={config: counts for config in CONFIGS if (counts := facts["account"]["rows"].get(config))},
        tiles=_tiles(data),
        sections=sections(data, facts["account"], corpus.unit if corpus else "conversations"),
        examples=[example(row) for row in examples],
        classes=voices.css_classes(data.voices),
        flags=FLAGS,
    )


def _shown(value: Any) -> Any:
    """Make control characters of a text visible, so that none can turn the writing direction of what is around it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _tiles(data: Data) -> list[tuple[str, str]]:
    lengths, words = data.turns_a_dialogue.values(), data.words_a_turn
    agents = [found for voice, found in words.items() if voice not in voices.PEOPLE]
    return [
        ("dialogues", f"{sum(found.number for found in lengths):,}"),
        ("turns", f"{sum(found.number for found in words.values()):,}"),
        ("agent turns", f"{sum(found.number for found in agents):,}"),
        ("personas", f"{len(agents):,}"),
        ("words", f"{sum(found.total for found in words.values()):,}"),
    ]
