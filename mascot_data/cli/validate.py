"""``mascot-data validate``."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from mascot_data.show.render import visible
from mascot_data.validate import Problem
from mascot_data.validate.run import validate as run_validate

SHOWN = 20


def validate(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Check a dataset directory: files, schema, rows, views, account, split leaks, card.

    Ends with 0 when it is sound, with 1 and a list when it is not.

    Example: `mascot-data validate mascot/esconv-multiagent`
    """
    report = run_validate(directory)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2))
    else:
        _print(report.problems, f"{directory}: {report.rows:,} rows checked")
    if report.problems:
        raise typer.Exit(1)


def _print(problems: list[Problem], head: str) -> None:
    typer.echo(f"{head}, {f'{len(problems):,} problems' if problems else 'no problem'}")
    seen: Counter[str] = Counter()
    for problem in problems:
        seen[problem.check] += 1
        if seen[problem.check] <= SHOWN:
            typer.echo(f"  {problem.check}: {visible(problem.where)}: {visible(problem.what)}")
    for check, count in seen.items():
        if count > SHOWN:
            typer.echo(f"  {check}: and {count - SHOWN:,} more (--json lists all)")
