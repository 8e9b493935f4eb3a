"""``mascot-data judge``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mascot_data.cli.model_options import (
    Attempts,
    BatchTokens,
    ChatTemplate,
    Concurrency,
    Device,
    Dtype,
    MaxCost,
    PerMinute,
    Prices,
    Splits,
    StoreFile,
    Timeout,
    end,
    model_options,
)
from mascot_data.cli.progress import shown_progress
from mascot_data.judge.run import SUBJECTS, Subject, checked_subject
from mascot_data.judge.run import judge as run_judge


def judge(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="embedded, or a model that rates (org/name@revision, a directory, server:NAME@URL); may be given "
            "several times.",
            show_default="embedded",
        ),
    ] = None,
    subject: Annotated[str, typer.Option(help=f"What is judged: {', '.join(SUBJECTS)}.")] = "candidates",
    rubric: Annotated[
        str | None, typer.Option(help="Id of the rubric.", show_default="agent for candidates, else collective")
    ] = None,
    rubrics: Annotated[Path | None, typer.Option(help="Folder with rubrics of your own.")] = None,
    split: Splits = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many contexts of each split.")] = None,
    personas: Annotated[Path | None, typer.Option(help="The folder of cards that the dataset was built with.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace judgments made with other options.")] = False,
    store: StoreFile = None,
    dtype: Dtype = "auto",
    device: Device = None,
    batch_tokens: BatchTokens = None,
    chat_template: ChatTemplate = None,
    concurrency: Concurrency = 16,
    requests_per_minute: PerMinute = None,
    timeout: Timeout = 120.0,
    attempts: Attempts = 6,
    prices: Prices = None,
    max_cost: MaxCost = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Score candidates or blocks by a rubric, as the config judgments.

    Stopped at any moment and started again, it goes on where it was.

    The embedded judge works offline on a CPU; its scores see form, not intent. A model's rating is the expected value
    over the probabilities of the labels 1 to 5, in one forward pass; small models rate no better than chance.

    Example: `mascot-data judge mascot/esconv-multiagent --judge embedded --split train`
    """
    wanted: Subject = checked_subject(subject)
    options = model_options(
        dtype,
        device,
        batch_tokens,
        chat_template,
        concurrency,
        requests_per_minute,
        timeout,
        attempts,
        prices,
        max_cost,
    )
    with shown_progress(quiet=as_json, every=1) as progress:
        made = run_judge(
            directory,
            judge or ("embedded",),
            subject=wanted,
            rubric=rubric,
            rubrics=rubrics,
            splits=split or (),
            limit=limit,
            personas=personas,
            store=store,
            replace=replace,
            options=options,
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps(made.as_dict(), indent=2))
    else:
        typer.echo(f"{made.directory}: {made.contexts:,} contexts, {made.replies:,} replies")
        typer.echo(f"  judged    {made.judged:,} replies, {made.stored:,} more were stored")
        for (name, criterion), count in made.rows.items():
            typer.echo(f"  {name}  {criterion}: mean {made.means[name, criterion]:.2f} over {count:,}")
    end(made.lost)
