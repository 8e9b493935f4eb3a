"""Render a dialogue for a terminal or as a page. Its text is untrusted: nothing in it is markup, here or there."""

import re
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from rich.text import Text

from mascot_data.errors import OutputError
from mascot_data.records import FLAGS, Dialogue, Turn
from mascot_data.show.find import find_dialogue

COLOURS = {
    "anchor": "#1f77b4",
    "catalyst": "#b8860b",
    "beacon": "#2e8b57",
    "guide": "#a8478a",
    "scribe": "#1f77b4",
    "decision-logger": "#2e8b57",
    "action-captain": "#b8860b",
    "critic": "#c0392b",
}
OTHER_COLOUR = "#7a7a7a"


def show(
    directory: str | Path,
    dialogue: str | None = None,
    *,
    split: str | None = None,
    number: int = 0,
    html: str | Path | None = None,
) -> str:
    """Return a dialogue as plain text; with ``html``, also write it there as a static page.

    See ``find_dialogue`` for what is shown and for the errors.

    Raises:
        OutputError: the page cannot be written.
    """
    row = find_dialogue(directory, dialogue, split=split, number=number)
    if html is not None:
        try:
            Path(html).write_text(render_html(row), encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{html}: cannot be written ({error.strerror})") from error
    return "".join(f"{line.plain}\n" for line in render_text(row))


def render_text(row: Dialogue) -> list[Text]:
    """Return the lines of a dialogue for a rich console; control characters of the text are made visible."""
    row = _shown(row)
    lines = [Text(row.id, style="bold"), *_scenario_lines(row), Text()]
    for turn in row.turns:
        lines.extend(_turn_lines(turn))
    if row.flags:
        lines.append(Text(f"flags: {', '.join(row.flags)}", style="dim"))
    return lines


def _scenario_lines(row: Dialogue) -> list[Text]:
    scenario = row.scenario
    facts = [row.subset, scenario.emotion, scenario.problem, scenario.topic]
    lines = [Text(" · ".join(fact for fact in facts if fact), style="dim")]
    if scenario.situation:
        lines.append(Text(scenario.situation, style="italic"))
    return lines


def _turn_lines(turn: Turn) -> list[Text]:
    colour = COLOURS.get(turn.persona or "", OTHER_COLOUR if turn.kind == "agent" else "default")
    head = Text(turn.speaker, style=f"bold {colour}" if colour != "default" else "bold")
    if turn.directive:
        head.append(f"  {turn.directive.action}; {turn.directive.tone}", style="dim not bold")
    if turn.flags:
        head.append(f"  [{', '.join(turn.flags)}]", style="dim not bold")
    return [head, Text(turn.text), Text()]


def visible(text: str) -> str:
    """Replace what could steer a terminal or turn the direction of writing by a visible escape; keeps line breaks."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _shown(row: Dialogue) -> Dialogue:
    return Dialogue.model_validate(_visible(row.model_dump()))


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_visible(item) for item in value]
    return {name: _visible(item) for name, item in value.items()} if isinstance(value, dict) else value


def render_html(row: Dialogue) -> str:
    """Return a dialogue as a self-contained page: no script, no outside request, every text escaped."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(
        resources.files("mascot_data.show").joinpath("page.html.jinja").read_text("utf-8")
    )
    row = _shown(row)
    roles = {speaker.id: speaker.role or "" for speaker in row.speakers}
    return template.render(row=row, roles=roles, colours=COLOURS, other=OTHER_COLOUR, flags=FLAGS)
