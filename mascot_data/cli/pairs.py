"""``mascot-data pairs``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mascot_data.cli.model_options import Splits
from mascot_data.preferences.run import STRATEGIES, checked_strategy
from mascot_data.preferences.run import pairs as run_pairs


def pairs(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    margin: Annotated[float, typer.Option(min=0, max=4, help="Smallest gap of the mean scores.")] = 0.5,
    strategy: Annotated[str, typer.Option(help=f"Which pairs of a prompt: {' or '.join(STRATEGIES)}.")] = "all",
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="Only scores of this judge; may be given several times.", show_default="all"),
    ] = None,
    split: Splits = None,
    balance_length: Annotated[
        bool,
        typer.Option("--balance-length", help="Leave out pairs so that the longer reply wins half of them."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the draw of what is left out.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Make preference pairs for a reward model from judgments, as the config preferences.

    Pairs that lead by less than the margin are kept apart, as the config ties.

    Example: `mascot-data pairs mascot/esconv-multiagent --margin 0.5`
    """
    made = run_pairs(
        directory,
        margin=margin,
        strategy=checked_strategy(strategy),
        judges=judge or (),
        splits=split or (),
        balance_length=balance_length,
        seed=seed,
    )
    if as_json:
        typer.echo(json.dumps(made.as_dict(), indent=2))
        return
    decided = made.longer_wins + made.shorter_wins
    typer.echo(f"{made.directory}: {made.prompts:,} prompts")
    typer.echo(f"  pairs     {_counts(made.pairs) or 'none'}")
    typer.echo(f"  ties      {_counts(made.ties) or 'none'}")
    typer.echo(f"  refused   {_counts(made.refused) or 'none'}")
    if decided:
        typer.echo(f"  length    the longer reply wins {made.longer_wins / decided:.1%} of {decided:,} pairs")


def _counts(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.items())
