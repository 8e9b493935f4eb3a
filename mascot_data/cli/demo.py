"""``mascot-data demo``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mascot_data.build.run import build
from mascot_data.cli.build import account_lines
from mascot_data.report import report
from mascot_data.show.find import find_dialogue
from mascot_data.show.render import render_text


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the dataset directories.")] = Path("mascot-demo"),
) -> None:
    """Run the main job on the small corpus inside the package: build, show a dialogue, report.

    Example: `mascot-data demo`
    """
    for built in build("all", sample=True, output=output):
        typer.echo("\n".join(account_lines(built)))
    directory = output / "esconv-multiagent"
    typer.echo(f"\nmascot-data show {directory}\n")
    console = Console(highlight=False)
    for line in render_text(find_dialogue(directory)):
        console.print(line)
    page = report(directory, output / "report.html").output
    typer.echo(f"\nmascot-data report {directory} --output {page}")
