"""``mascot-data candidates``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mascot_data.cli.model_options import (
    Attempts,
    BatchApi,
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
    plan_lines,
    usage_lines,
)
from mascot_data.cli.progress import shown_progress
from mascot_data.generate.candidates import candidates as run_candidates


def candidates(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="smollm2-135m, org/name@revision, a directory, server:NAME@URL or vllm:NAME; may be given several "
            "times.",
            show_default="smollm2-135m",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Samples for each prompt, model and temperature.")] = 4,
    split: Splits = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many prompts of each split.")] = None,
    temperature: Annotated[
        list[float] | None,
        typer.Option(min=0, help="Sampling temperature; may be given several times.", show_default="0.8"),
    ] = None,
    top_p: Annotated[float, typer.Option(help="Nucleus sampling mass, up to 1.")] = 0.95,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of a sample.")] = 96,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    personas: Annotated[Path | None, typer.Option(help="The folder of cards that the dataset was built with.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace candidates made with other options.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask nothing; count requests and tokens.")] = False,
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
    batch_api: BatchApi = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Sample replies of models to every speaker turn, as the config candidates.

    Candidate 0 is the human reply. Stopped at any moment and started again, it goes on where it was.

    Example: `mascot-data candidates mascot/esconv-multiagent --model smollm2-135m --k 4 --split train --limit 200`
    """
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
        batch_api,
    )
    with shown_progress(quiet=as_json, every=1) as progress:
        made = run_candidates(
            directory,
            model or ("smollm2-135m",),
            k=k,
            splits=split or (),
            limit=limit,
            temperatures=temperature or (0.8,),
            top_p=top_p,
            max_tokens=max_tokens,
            seed=seed,
            personas=personas,
            store=store,
            replace=replace,
            dry_run=dry_run,
            options=options,
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps(made.as_dict(), indent=2))
    else:
        typer.echo(f"{made.directory}: {made.prompts:,} prompts")
        if made.plan is not None:
            typer.echo("\n".join(plan_lines(made.plan, prices)))
            return
        typer.echo("\n".join(usage_lines(made.asked, made.stored, made.usage, prices is not None)))
        typer.echo(f"  written   {_counts(made.rows)}")
        typer.echo(f"  dropped   {_counts(made.dropped) or 'nothing'}")
    end(made.lost)


def _counts(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counter.items(), key=lambda item: -item[1]))
