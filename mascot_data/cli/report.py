"""``mascot-data report``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mascot_data.report.run import report as run_report


def report(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    output: Annotated[
        Path | None, typer.Option(help="The page's file; by default <directory's name>-report.html, here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers behind the page as JSON.")] = False,
) -> None:
    """Write a page about a dataset: account, counts, lengths, turn-taking, labels, flags, some dialogues.

    The page is one HTML file that needs nothing from outside.

    Example: `mascot-data report mascot/esconv-multiagent --output esconv.html`
    """
    made = run_report(directory, output or Path(f"{directory.resolve().name}-report.html"))
    if as_json:
        typer.echo(json.dumps(made.as_dict(), indent=2))
    else:
        size = len(made.html.encode()) / 1000
        typer.echo(f"{made.directory} -> {made.output} ({size:,.0f} kB)")
