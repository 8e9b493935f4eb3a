"""``mascot-data rollouts``."""

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
    plan_lines,
    usage_lines,
)
from mascot_data.cli.progress import shown_progress
from mascot_data.generate.rollouts import rollouts as run_rollouts


def rollouts(
    directory: Annotated[Path, typer.Argument(help="The dataset directory.")],
    model: Annotated[
        str,
        typer.Option(help="What agents speak with: smollm2-135m, org/name@revision, a directory, server:NAME@URL, ..."),
    ] = "smollm2-135m",
    mode: Annotated[
        list[str] | None,
        typer.Option(
            help="mascot, mascot-p, mascot-c, zero-shot, zero-shot-cot, few-shot, few-shot-cot, self-consistency or "
            "multi-agent-esc; may be given several times.",
            show_default="mascot",
        ),
    ] = None,
    director_model: Annotated[str | None, typer.Option(help="The Director's model.", show_default="--model")] = None,
    user_model: Annotated[
        str | None, typer.Option(help="The simulated person's model.", show_default="--model")
    ] = None,
    turns: Annotated[int, typer.Option(min=1, help="Turns to generate in each conversation.")] = 8,
    agents_per_turn: Annotated[int, typer.Option(min=1, help="Agent turns after each turn of the person.")] = 2,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            help="Profile of the person (intj, esfp, ...); may be given several times.",
            show_default="one for each dialogue, drawn",
        ),
    ] = None,
    profiles: Annotated[Path | None, typer.Option(help="Folder with profiles of your own.")] = None,
    number: Annotated[int, typer.Option(min=1, help="Conversations for each dialogue, mode and profile.")] = 1,
    split: Splits = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many dialogues of each split.")] = None,
    temperature: Annotated[float, typer.Option(min=0, help="Sampling temperature.")] = 0.8,
    top_p: Annotated[float, typer.Option(help="Nucleus sampling mass, up to 1.")] = 0.95,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of a turn.")] = 96,
    director_temperature: Annotated[
        float, typer.Option(min=0, help="Of the Director's draw among legal choices; 0 takes the likeliest.")
    ] = 1.0,
    context_tokens: Annotated[
        int, typer.Option(min=0, help="Tokens of context at most, at four characters each; 0: no bound.")
    ] = 1024,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    personas: Annotated[Path | None, typer.Option(help="The folder of cards that the dataset was built with.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace rollouts made with other options.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask nothing; estimate requests and tokens.")] = False,
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
    """Hold conversations of a system with a simulated person, as rows of blocks.

    Stopped at any moment and started again, it goes on where it was.

    Example: `mascot-data rollouts mascot/esconv-multiagent --mode mascot --mode zero-shot --split test --limit 10`
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
    )
    with shown_progress(quiet=as_json, every=1) as progress:
        made = run_rollouts(
            directory,
            model,
            modes=mode or ("mascot",),
            director_model=director_model,
            user_model=user_model,
            turns=turns,
            agents_per_turn=agents_per_turn,
            profiles=profile or (),
            profiles_folder=profiles,
            number=number,
            splits=split or (),
            limit=limit,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            director_temperature=director_temperature,
            context_tokens=context_tokens or None,
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
        typer.echo(f"{made.directory}: {made.conversations:,} conversations")
        if made.plan is not None:
            typer.echo("\n".join(plan_lines(made.plan, prices)))
            return
        typer.echo("\n".join(usage_lines(made.asked, made.stored, made.usage, prices is not None)))
        rows = ", ".join(f"{name} {count:,}" for name, count in sorted(made.rows.items()))
        typer.echo(f"  written   {rows or 'nothing'}")
    end(made.lost)
