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
from mascot_data.errors import UsageError
from mascot_data.judge.director import DirectorReport, label_director
from mascot_data.judge.judges import METHODS, RATING
from mascot_data.judge.run import SUBJECTS, Subject, checked_subject
from mascot_data.judge.run import judge as run_judge


def judge(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="embedded, or a model (org/name@revision, a directory, server:NAME@URL); may be given several times.",
            show_default="embedded",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"How models judge: {', '.join(METHODS)}; may be given several times.", show_default="rating"
        ),
    ] = None,
    task: Annotated[
        str, typer.Option(help="scores, or director: a model labels what the Director asked for at each turn.")
    ] = "scores",
    every: Annotated[
        bool, typer.Option("--all", help="Task director: label the turns with a human act, and all agents, too.")
    ] = False,
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
    over the probabilities of the labels 1 to 5, in one forward pass; small models rate no better than chance. Method
    pairwise compares every two replies in both orders, likelihood takes how likely the model finds a reply, and text
    reads written scores, for models that tell no probabilities.

    With --task director a model chooses the action and tone of each turn whose action follows no human act, from the
    legal ones alone, as the config director_labels.

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
    if task == "director":
        if rubric or rubrics or method or wanted != "candidates":
            raise UsageError("--subject, --method, --rubric and --rubrics are for --task scores")
        with shown_progress(quiet=as_json, every=1) as progress:
            labelled = label_director(
                directory,
                _one_model(judge),
                every=every,
                splits=split or (),
                limit=limit,
                personas=personas,
                store=store,
                replace=replace,
                options=options,
                progress=progress,
            )
        typer.echo(json.dumps(labelled.as_dict(), indent=2) if as_json else "\n".join(_lines(labelled)))
        end(labelled.lost)
        return
    if task != "scores" or every:
        raise UsageError("--all is for --task director" if every else f"--task {task}: choose scores or director")
    with shown_progress(quiet=as_json, every=1) as progress:
        made = run_judge(
            directory,
            judge or ("embedded",),
            methods=method or (RATING,),
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
        for name, gap in made.order_gaps.items():
            typer.echo(f"  {name}  both orders: {gap:.2f} apart")
        for criterion, gap in made.disagreements.items():
            typer.echo(f"  judges    {criterion}: {gap:.2f} apart")
    end(made.lost)


def _one_model(names: list[str] | None) -> str:
    if names is None or len(names) != 1 or names[0] == "embedded":
        raise UsageError("--task director needs one model that chooses: give it with --judge (smollm2-135m, say)")
    return names[0]


def _lines(made: DirectorReport) -> list[str]:
    rows = ", ".join(f"{split} {count:,}" for split, count in made.rows.items())
    return [
        f"{made.directory}: {made.turns:,} turns, {made.skipped:,} more have a human act",
        f"  labelled  {rows or 'none'} ({made.asked:,} choices, {made.stored:,} more were stored)",
        *(
            f"  {one.label:<8}  {one.agree:.1%} of {one.n:,} agree with the corpus ({one.origin}); "
            f"always the commonest: {one.majority:.1%}"
            for one in made.agreements
        ),
    ]
