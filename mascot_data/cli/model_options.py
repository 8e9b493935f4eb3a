"""Options of every command that asks models, and how such a command ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Protocol

import typer

from mascot_data.errors import InputError
from mascot_data.models import ModelOptions, Usage
from mascot_data.models.asking import Plan

SHOWN = 10
"""Lost questions that are listed; --json lists all of them."""

Dtype = Annotated[str, typer.Option(help="Of local weights: auto, float32, bfloat16, float16.")]
Device = Annotated[
    list[str] | None, typer.Option(help="Where a local model runs (cpu, cuda:0, ...); may be given several times.")
]
BatchTokens = Annotated[int | None, typer.Option(min=1, help="Most tokens in one local batch.")]
ChatTemplate = Annotated[Path | None, typer.Option(help="A Jinja chat template, for a model that has none.")]
Concurrency = Annotated[int, typer.Option(min=1, help="Requests under way at once on a server.")]
PerMinute = Annotated[
    int | None, typer.Option("--requests-per-minute", min=1, help="Most requests begun in a minute on a server.")
]
Timeout = Annotated[float, typer.Option(min=0.001, help="Seconds that one request to a server may take.")]
Attempts = Annotated[int, typer.Option(min=1, help="How often a request is made before it counts as failed.")]
Prices = Annotated[
    tuple[float, float] | None,
    typer.Option(help="Price of a million prompt tokens and of a million completion tokens."),
]
MaxCost = Annotated[
    float | None, typer.Option(min=0, help="Ask a server no more once so much is spent; needs --prices.")
]
BatchApi = Annotated[
    bool, typer.Option("--batch-api", help="Use the vendor's Batch API: cheaper, takes up to a day, can be resumed.")
]
Splits = Annotated[
    list[str] | None,
    typer.Option("--split", help="train, validation or test; may be given several times.", show_default="all"),
]
StoreFile = Annotated[
    Path | None, typer.Option("--store", help="File of stored answers; by default beside the dataset directory.")
]


def model_options(
    dtype: str,
    device: Sequence[str] | None,
    batch_tokens: int | None,
    chat_template: Path | None,
    concurrency: int,
    requests_per_minute: int | None,
    timeout: float,
    attempts: int,
    prices: tuple[float, float] | None,
    max_cost: float | None,
    batch_api: bool = False,
) -> ModelOptions:
    """Put the options together.

    Raises:
        InputError: the chat template cannot be read.
        UsageError: options that do not go together.
    """
    template = None
    if chat_template is not None:
        try:
            template = chat_template.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(str(chat_template), f"cannot be read as a chat template ({error})") from error
    return ModelOptions(
        dtype=dtype,
        devices=tuple(device or ()),
        batch_tokens=batch_tokens,
        chat_template=template,
        concurrency=concurrency,
        requests_per_minute=requests_per_minute,
        timeout=timeout,
        attempts=attempts,
        prices=prices,
        max_cost=max_cost,
        batch_api=batch_api,
    )


class _Lost(Protocol):
    @property
    def where(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def what(self) -> str: ...


def end(lost: Sequence[_Lost]) -> None:
    """List what was lost on standard error and end with status 1, if there is anything."""
    for item in lost[:SHOWN]:
        line = f"lost: {item.where}: {item.reason}: {item.what}"
        typer.echo("".join(sign if sign.isprintable() else " " for sign in line), err=True)
    if len(lost) > SHOWN:
        typer.echo(f"lost: and {len(lost) - SHOWN:,} more; --json lists all", err=True)
    if lost:
        raise typer.Exit(1)


def usage_lines(asked: int, stored: int, usage: Usage, priced: bool) -> list[str]:
    """Say in lines what a run asked for."""
    cost = f", cost {usage.cost:,.2f}" if priced else ""
    tokens = f"{usage.prompt_tokens:,} prompt tokens, {usage.completion_tokens:,} completion tokens"
    return [f"  asked     {asked:,} answers, {stored:,} more were stored", f"  tokens    {tokens}{cost}"]


def plan_lines(plan: Plan, prices: tuple[float, float] | None) -> list[str]:
    """Say in lines what a run would ask for."""
    lines = [
        f"  would ask {plan.samples - plan.stored:,} answers, {plan.stored:,} are stored",
        f"  tokens    {plan.prompt_tokens:,} prompt tokens, at most {plan.most_tokens:,} completion tokens",
    ]
    if prices:
        most = (plan.prompt_tokens * prices[0] + plan.most_tokens * prices[1]) / 1e6
        lines.append(f"  cost      at most {most:,.2f}")
    return lines
