"""``mascot-data demo``."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mascot_data.build.run import build
from mascot_data.cli.build import account_lines
from mascot_data.cli.progress import shown_progress
from mascot_data.errors import PrerequisiteError
from mascot_data.generate import candidates, rollouts
from mascot_data.judge import judge
from mascot_data.preferences import pairs
from mascot_data.report import report
from mascot_data.show.find import find_dialogue
from mascot_data.show.render import render_text

PROMPTS = 6
TOKENS = 40
MARGIN = 0.5


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the dataset directories.")] = Path("mascot-demo"),
) -> None:
    """Run the main job on the small corpus inside the package: build, show, candidates, judge, pairs, rollouts, report.

    Example: `mascot-data demo`
    """
    for built in build("all", sample=True, output=output):
        typer.echo("\n".join(account_lines(built)))
    directory = output / "esconv-multiagent"
    typer.echo(f"\nmascot-data show {directory}\n")
    console = Console(highlight=False)
    for line in render_text(find_dialogue(directory)):
        console.print(line)
    if find_spec("torch") and find_spec("transformers"):
        _speak(directory)
    else:
        typer.echo(f"\n{PrerequisiteError('letting the small model speak', 'judge')}")
    page = report(directory, output / "report.html").output
    typer.echo(f"\nmascot-data report {directory} --output {page}")


def _speak(directory: Path) -> None:
    typer.echo(f"\nmascot-data candidates {directory} --split train --limit {PROMPTS} --k 2 --max-tokens {TOKENS}")
    with shown_progress(every=1) as progress:
        replies = candidates(
            directory, k=2, splits=["train"], limit=PROMPTS, max_tokens=TOKENS, replace=True, progress=progress
        )
    typer.echo(f"  {replies.rows.total()} rows, {replies.rows['human']} of them what people said")
    typer.echo(f"mascot-data judge {directory} --judge embedded --split train")
    with shown_progress(every=1) as progress:
        scores = judge(directory, splits=["train"], replace=True, progress=progress)
    for (name, criterion), count in scores.rows.items():
        typer.echo(f"  {name}  {criterion}: mean {scores.means[name, criterion]:.2f} over {count}")
    typer.echo(f"mascot-data pairs {directory} --split train --margin {MARGIN}")
    made = pairs(directory, splits=["train"], margin=MARGIN)
    typer.echo(f"  {made.pairs.total()} pairs, {made.ties.total()} ties")
    typer.echo(f"mascot-data rollouts {directory} --split test --limit 1 --turns 4 --max-tokens {TOKENS}")
    with shown_progress(every=1) as progress:
        talks = rollouts(
            directory, splits=["test"], limit=1, turns=4, max_tokens=TOKENS, replace=True, progress=progress
        )
    typer.echo(f"  {talks.rows.total()} conversation")
