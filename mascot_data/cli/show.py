"""``mascot-data show``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mascot_data.errors import OutputError
from mascot_data.show.find import find_dialogue
from mascot_data.show.render import render_html, render_text, visible


def show(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    dialogue: Annotated[str | None, typer.Argument(help="Its id, such as esconv:17 or 17; else --number.")] = None,
    split: Annotated[str | None, typer.Option(help="Look only in train, validation or test.")] = None,
    number: Annotated[int, typer.Option(min=0, help="0-based position, without an id.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Write a static page there instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the row as JSON.")] = False,
) -> None:
    """Show a dialogue, with a colour a persona.

    Example: `mascot-data show mascot/esconv-multiagent 17 --html dialogue.html`
    """
    row = find_dialogue(directory, dialogue, split=split, number=number)
    if html is not None:
        try:
            html.write_text(render_html(row), encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{html}: cannot be written ({error.strerror})") from error
        typer.echo(f"{visible(row.id)} -> {html}")
    elif as_json:
        typer.echo(row.model_dump_json(indent=2))
    else:
        console = Console(highlight=False)
        for line in render_text(row):
            console.print(line)
