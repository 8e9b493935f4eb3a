"""Run a build: read a corpus, recast it, account for it, write it beside the old dataset and put it in its place."""

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mascot_data.build.account import Account
from mascot_data.build.added import built, read_added, stray_files
from mascot_data.build.card import card
from mascot_data.build.corpora import Corpus, corpora
from mascot_data.build.dataset import DROPPED, fill, write
from mascot_data.build.pipeline import Recast, recast_all, select
from mascot_data.build.provenance import provenance, write_provenance
from mascot_data.build.spool import Spool
from mascot_data.build.staging import staged
from mascot_data.build.views import Budget, ViewOptions, Views
from mascot_data.build.writing import Written, sha256_of
from mascot_data.errors import AccountError, UsageError
from mascot_data.personas import load_personas
from mascot_data.sources.files import Inputs
from mascot_data.sources.locate import located

Progress = Callable[[str, int, int | None], None]
"""Called with the corpus, the conversations done, and how many there are (None when unknown)."""

_OWN_FILES = ("README.md", "provenance.json", DROPPED)


@dataclass(frozen=True, slots=True)
class Options:
    """What shapes the rows of a build; kept in its provenance. See ``build`` for the meanings."""

    include_failed: bool
    clean: bool
    allow_partial: bool
    limit: int | None
    sample: bool


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did. ``differences`` says how the corpus differs from the published one (with allow_partial)."""

    corpus: str
    directory: Path
    account: Account
    files: list[Written]
    rows_digest: str
    source_digest: str
    differences: list[str]
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "corpus": self.corpus,
            "directory": str(self.directory),
            "account": self.account.as_dict(),
            "files": [file._asdict() for file in self.files],
            "rows_digest": self.rows_digest,
            "source_digest": self.source_digest,
            "differences": self.differences,
            "notes": self.notes,
        }


def build(
    source: str = "all",
    *,
    input: str | Path | None = None,
    output: str | Path = "mascot",
    sample: bool = False,
    intents: str | Path | None = None,
    include_failed: bool = False,
    clean: bool = True,
    allow_partial: bool = False,
    limit: int | None = None,
    personas: str | Path | None = None,
    context_turns: int | None = None,
    context_tokens: int | None = 2048,
    block_turns: int = 8,
    progress: Progress | None = None,
) -> list[BuildReport]:
    """Build the dataset directory of a corpus, or of all three, below ``output``.

    The same input, options and pyarrow give the same bytes. A directory that is there already is replaced as a whole at
    the very end; until then, and whatever goes wrong, it stays as it is.

    Args:
        source: ``esconv``, ``empathetic-dialogues``, ``qmsum`` or ``all``.
        input: file, folder or archive of the corpus; for ``all`` a folder with one sub-folder a corpus. Without it:
            ``$MASCOT_SOURCES/<corpus>``, then the cache, then the pinned upstream release.
        output: folder for the dataset directories (``<output>/esconv-multiagent`` and so on).
        sample: take the small corpus inside the package.
        intents: folder of the EmpatheticIntents CSV files: listener acts for Empathetic Dialogues.
        include_failed: take in ESConv's failed conversations, as subset ``failed`` of train.
        clean: normalise white space and tidy speech transcripts; the raw text stays recoverable. False keeps it as is.
        allow_partial: go on when the counts are not the published ones.
        limit: take only the first so many conversations of each corpus; implies ``allow_partial``.
        personas: folder with persona cards and rosters of your own.
        context_turns: prompts show at most so many turns of context; None: no bound.
        context_tokens: prompts show at most so many tokens of context, at four characters each; None: no bound.
        block_turns: turns in a block.
        progress: called after each conversation.

    Returns:
        One report a corpus.

    Raises:
        UsageError: options that do not go together.
        InputError: a file cannot be read as the corpus; the message names file and line or record.
        AccountError: an utterance is unaccounted for, or the counts are not the published ones.
        DownloadError: the release cannot be fetched.
        OutputError: the result cannot be written.
    """
    chosen = corpora(source)
    if intents is not None and "empathetic-dialogues" not in {corpus.source for corpus in chosen}:
        raise UsageError("--intents belongs to Empathetic Dialogues; use it with --source empathetic-dialogues or all")
    if limit is not None and limit < 1:
        raise UsageError("--limit must be 1 or more")
    options = Options(include_failed, clean, allow_partial or limit is not None, limit, sample)
    cards = load_personas(None if personas is None else Path(personas))
    views = ViewOptions(cards, Budget(context_turns, context_tokens), block_turns)
    reports = []
    for corpus in chosen:
        with ExitStack() as stack:
            stack.enter_context(_collector_paused())
            inputs = stack.enter_context(
                located(
                    corpus.source,
                    corpus.folders,
                    given=None if input is None else Path(input),
                    many=len(chosen) > 1,
                    sample=sample,
                    include_failed=include_failed,
                    progress=progress is not None,
                )
            )
            labels = stack.enter_context(Inputs(Path(intents))) if intents and corpus.takes_intents else None
            reports.append(_build_one(corpus, inputs, labels, Path(output), options, views, progress))
    return reports


def is_own(name: str) -> bool:
    """Tell whether a rebuild replaces a file; everything else (annotations, judgments) is carried over."""
    return name in _OWN_FILES or built(name)


def _build_one(
    corpus: Corpus,
    inputs: Inputs,
    intents: Inputs | None,
    output: Path,
    options: Options,
    views: ViewOptions,
    progress: Progress | None,
) -> BuildReport:
    files = select(corpus, inputs, options.include_failed)
    labels = intents.files if intents else None
    target = output / corpus.directory
    account = Account()
    with staged(target, is_own) as root:
        with closing(Spool(root / ".spool")) as spool:
            stream = recast_all(corpus, files, labels, views.cards, clean=options.clean, limit=options.limit)
            fill(spool, account, root, _watched(stream, corpus, options, progress))
            differences = _check(account, corpus, options, inputs)
            written, digest = write(spool, account, root, Views(views))
        (root / ".spool").unlink()
        sources = [(file.name, file.sha256()) for file in files + (labels or [])]
        shown = {name: getattr(options, name) for name in ("include_failed", "clean", "limit", "sample")} | {
            "intents": labels is not None,
            "context_turns": views.budget.turns,
            "context_tokens": views.budget.tokens,
            "block_turns": views.block_turns,
            "personas": views.cards.digest(),
        }
        facts = provenance(
            corpus.source,
            sources,
            shown,
            account.as_dict(),
            written,
            {DROPPED: sha256_of(root / DROPPED)},
            digest,
        )
        write_provenance(root, facts)
        added = read_added(target)
        text = card(corpus, facts, added, stray_files(target, added))
        (root / "README.md").write_text(text, encoding="utf-8")
    return BuildReport(
        corpus=corpus.source,
        directory=target,
        account=account,
        files=written,
        rows_digest=digest,
        source_digest=facts["source"]["digest"],
        differences=differences,
        notes=[] if options.sample else _notes(corpus, inputs, labels is not None),
    )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: rows hold no cycles, and looking for them is a third of a build's time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _watched(stream: Iterator[Recast], corpus: Corpus, options: Options, progress: Progress | None) -> Iterator[Recast]:
    total = options.limit or (None if options.sample else corpus.size)
    done = 0
    for made in stream:
        yield made
        for _ in made.raw:
            done += 1
            if progress is not None:
                progress(corpus.source, done, total)


def _check(account: Account, corpus: Corpus, options: Options, inputs: Inputs) -> list[str]:
    if options.sample:
        return []
    differences = account.differences(corpus.source, options.include_failed)
    if differences and not options.allow_partial:
        raise AccountError(
            f"{inputs.path}: this is not the published {corpus.title}: {'; '.join(differences)}. Check the input, "
            "or add --allow-partial to build what is there"
        )
    return differences


def _notes(corpus: Corpus, inputs: Inputs, labelled: bool) -> list[str]:
    if labelled or not corpus.takes_intents:
        return []
    found = any(file.folder == "intents" for file in inputs.files)
    hint = f"{inputs.path / 'intents'} was not used; " if found else ""
    return [f"{hint}acts come from the rule-based labeller; --intents DIR takes the EmpatheticIntents labels"]
