"""``mascot-data pairs``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mascot_data.cli.model_options import Splits
from mascot_data.preferences.groups import GROUP_SUBJECTS, MEAN, GroupsReport, checked_group_subject, groups
from mascot_data.preferences.run import STRATEGIES, PairsReport, checked_strategy
from mascot_data.preferences.run import pairs as run_pairs

CANDIDATES = "candidates"


def pairs(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    subject: Annotated[
        str, typer.Option(help=f"Whose judgments: {', '.join((CANDIDATES, *GROUP_SUBJECTS))}.")
    ] = CANDIDATES,
    margin: Annotated[float, typer.Option(min=0, max=4, help="Smallest gap of the mean scores.")] = 0.5,
    strategy: Annotated[str, typer.Option(help=f"Which pairs of a prompt: {' or '.join(STRATEGIES)}.")] = "all",
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="Only scores of this judge; may be given several times.", show_default="all"),
    ] = None,
    split: Splits = None,
    eta: Annotated[float, typer.Option(min=0, help="Weight of the diversity in a group reward.")] = 1.0,
    coherence: Annotated[
        str, typer.Option(help="What counts as coherence in a group reward: mean, or the id of a criterion.")
    ] = MEAN,
    balance_length: Annotated[
        bool,
        typer.Option("--balance-length", help="Leave out pairs so that the longer one wins half of them."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the draw of what is left out.")] = 0,
    personas: Annotated[
        Path | None, typer.Option(help="The folder of cards that the dataset was built with (blocks and rollouts).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Make preference pairs for a reward model from judgments, as the config preferences.

    Pairs that lead by less than the margin are kept apart, as the config ties. With --subject blocks or rollouts it
    makes the configs group_rewards (coherence + eta * diversity of the speakers) and group_preferences (pairs of
    rollouts of one opening).

    Example: `mascot-data pairs mascot/esconv-multiagent --margin 0.5`
    """
    made: PairsReport | GroupsReport
    if subject == CANDIDATES:
        made = run_pairs(
            directory,
            margin=margin,
            strategy=checked_strategy(strategy),
            judges=judge or (),
            splits=split or (),
            balance_length=balance_length,
            seed=seed,
        )
    else:
        made = groups(
            directory,
            subject=checked_group_subject(subject),
            eta=eta,
            coherence=coherence,
            margin=margin,
            strategy=checked_strategy(strategy),
            judges=judge or (),
            splits=split or (),
            balance_length=balance_length,
            seed=seed,
            personas=personas,
        )
    if as_json:
        typer.echo(json.dumps(made.as_dict(), indent=2))
        return
    decided = made.longer_wins + made.shorter_wins
    typer.echo(f"{made.directory}: {made.prompts:,} prompts")
    if isinstance(made, GroupsReport):
        typer.echo(
            f"  rewards   {_counts(made.rewards) or 'none'}{f', {made.open:,} of them open' if made.open else ''}"
        )
    typer.echo(f"  pairs     {_counts(made.pairs) or 'none'}")
    ties = f"{made.ties:,}, not kept" if isinstance(made, GroupsReport) else _counts(made.ties)
    typer.echo(f"  ties      {ties or 'none'}")
    typer.echo(f"  refused   {_counts(made.refused) or 'none'}")
    if decided:
        typer.echo(f"  length    the longer one wins {made.longer_wins / decided:.1%} of {decided:,} pairs")


def _counts(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.items())
