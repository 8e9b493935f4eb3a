"""``mascot-data build``."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from mascot_data.build.account import Account
from mascot_data.build.corpora import CORPORA
from mascot_data.build.run import BuildReport
from mascot_data.build.run import build as run_build
from mascot_data.cli.progress import shown_progress
from mascot_data.records.dialogue import SPLITS


def build(
    source: Annotated[str, typer.Option(help="esconv, empathetic-dialogues, qmsum or all.")] = "all",
    input: Annotated[
        Path | None,
        typer.Option(help="File, folder or archive of the corpus; for all, a folder with a sub-folder each."),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for the dataset directories.")] = Path("mascot"),
    sample: Annotated[bool, typer.Option("--sample", help="Take the small corpus inside the package.")] = False,
    intents: Annotated[
        Path | None, typer.Option(help="Folder of EmpatheticIntents labels for Empathetic Dialogues.")
    ] = None,
    include_failed: Annotated[
        bool, typer.Option("--include-failed", help="Take in ESConv's failed conversations (subset failed, in train).")
    ] = False,
    clean: Annotated[
        bool, typer.Option(help="Tidy white space and speech transcripts; the raw text is kept too.")
    ] = True,
    allow_partial: Annotated[
        bool, typer.Option("--allow-partial", help="Go on when the counts are not the published ones.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Only the first so many conversations of each corpus.")] = None,
    personas: Annotated[Path | None, typer.Option(help="Folder with persona cards and rosters of your own.")] = None,
    context_turns: Annotated[
        int | None, typer.Option(min=1, help="Turns of context that a prompt shows at most.")
    ] = None,
    context_tokens: Annotated[
        int, typer.Option(min=0, help="Tokens of context at most, at four characters each; 0: no bound.")
    ] = 2048,
    block_turns: Annotated[int, typer.Option(min=1, help="Turns in a block.")] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")] = False,
) -> None:
    """Turn corpora into multi-persona dataset directories.

    Sources are looked for in --input, $MASCOT_SOURCES/CORPUS, the cache, the pinned upstream release.

    Example: `mascot-data build --source esconv --input ESConv.json`, then `load_dataset("mascot/esconv-multiagent")`.
    """
    with shown_progress(quiet=as_json) as progress:
        reports = run_build(
            source,
            input=input,
            output=output,
            sample=sample,
            intents=intents,
            include_failed=include_failed,
            clean=clean,
            allow_partial=allow_partial,
            limit=limit,
            personas=personas,
            context_turns=context_turns,
            context_tokens=context_tokens or None,
            block_turns=block_turns,
            progress=progress,
        )
    if as_json:
        typer.echo(json.dumps([report.as_dict() for report in reports], indent=2))
        return
    for report in reports:
        typer.echo("\n".join(account_lines(report)))


def account_lines(report: BuildReport) -> list[str]:
    """Say in lines what a build read and what became of it."""
    account = report.account
    read = f"{account.conversations:,} {CORPORA[report.corpus].unit}, {account.utterances:,} utterances"
    if account.failed_conversations:
        read += f"; failed: {account.failed_conversations:,}, {account.failed_utterances:,} utterances"
    if account.queries:
        read += f", {account.queries:,} queries"
    kept = f"{account.kept:,} utterances, of these {account.merged:,} merged into the turn before"
    if account.shared:
        kept += f"; {account.shared:,} are in a second segment too"
    lines = [
        f"{report.corpus} -> {report.directory}",
        f"  read      {read}",
        f"  kept      {kept}",
        f"  dropped   {_counts(account.dropped) or 'nothing'}",
        f"  dialogues {_counts({split: account.dialogues[split] for split in SPLITS}, sort=False)}",
        f"  turns     {_counts(account.turns)}",
        f"  personas  {_counts(account.personas)}",
        f"  flagged   {_counts(account.flagged) or 'none'}",
        f"  views     {_counts({name: counts.total() for name, counts in account.rows.items()}, sort=False)}",
        f"  rows      sha256 {report.rows_digest[:16]}",
    ]
    lines += [f"  director  {line}" for line in label_lines(account)]
    lines += [f"  partial   {difference}" for difference in report.differences]
    return lines + [f"  note      {note}" for note in report.notes]


def label_lines(account: Account) -> list[str]:
    """Say how the Director's labels are spread, and how often always saying the commonest one is right."""
    lines = []
    for name, splits in account.labels.items():
        counts = sum(splits.values(), Counter[str]())
        shares = [f"{label} {count / counts.total():.1%}" for label, count in counts.most_common(4)]
        rest = f" and {len(counts) - 4} more" if len(counts) > 4 else ""
        right = ", ".join(f"{split} {share:.1%}" for split, share in account.baselines()[name].items())
        lines.append(f"{name}: {', '.join(shares)}{rest}; always the commonest is right in {right}")
    return lines


def _counts(counter: dict[str, int], sort: bool = True) -> str:
    items = sorted(counter.items(), key=lambda item: -item[1]) if sort else counter.items()
    return ", ".join(f"{name} {count:,}" for name, count in items)
