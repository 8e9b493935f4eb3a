"""Candidates: replies of models to the prompts of ``speaker_turns``, beside the human's (MASCOT, phase 1)."""

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mascot_data.build.added import CANDIDATES, add_part, check_options, read_base
from mascot_data.build.projection import from_lines
from mascot_data.build.reading import read_rows, splits_of
from mascot_data.build.views import DIRECTOR
from mascot_data.errors import ModelError, UsageError
from mascot_data.generate.seeds import seed_of
from mascot_data.generate.trim import stops, trim
from mascot_data.models import Ask, Failure, ModelOptions, Sample, Sampling, Usage, load_model, parse_name
from mascot_data.models.asking import CHUNK, Asker, Plan, telling
from mascot_data.models.store import IN_MEMORY, Store, default_store, key_of
from mascot_data.personas import Personas, load_personas
from mascot_data.records.dialogue import SCHEMA_VERSION, Split

_COLUMNS = ("id", "dialogue_id", "persona", "subset", "prompt", "completion", "license")
_GROWING = ("splits", "limit")

Progress = Callable[[str, int, int | None], None]
"""Called with the model's name, the questions dealt with (one a prompt and temperature), and how many there are."""


class Lost(NamedTuple):
    """A question that got no answer: what was asked, for which prompt or rollout, and why not."""

    model: str
    where: str
    reason: str
    what: str


@dataclass(frozen=True, slots=True)
class CandidatesReport:
    """What a run did.

    ``rows`` counts what was written by origin and why it ended, ``dropped`` samples that were not kept by reason
    (duplicate, empty). ``lost`` are questions without an answer; the next run asks them again. ``plan`` is set
    for a dry run alone, which asks and writes nothing.
    """

    directory: Path
    prompts: int
    asked: int = 0
    stored: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    lost: list[Lost] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    plan: Plan | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "directory": str(self.directory),
            "prompts": self.prompts,
            "asked": self.asked,
            "stored": self.stored,
            "rows": dict(sorted(self.rows.items())),
            "dropped": dict(sorted(self.dropped.items())),
            "lost": [lost._asdict() for lost in self.lost],
            "usage": self.usage._asdict(),
            "plan": None if self.plan is None else self.plan._asdict(),
        }


class _Sampled(NamedTuple):
    """A sample, and what it was asked with."""

    asker: Asker
    ask: Ask
    seed: int
    sample: Sample


class _Prompt(NamedTuple):
    """A row of ``speaker_turns`` as it is asked: the messages, the name it is answered under, and who else is there."""

    row: dict[str, Any]
    messages: tuple[tuple[str, str], ...]
    me: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    """What a run is made of."""

    root: Path
    base: Mapping[str, Any]
    models: Sequence[str]
    k: int
    temperatures: Sequence[float]
    sampling: Sampling
    seed: int
    splits: Sequence[Split]
    limit: int | None
    cards: Personas
    portion: int = CHUNK
    """Questions that are asked together; with a Batch API all of them, as it takes up to a day each time."""

    def options(self) -> dict[str, Any]:
        """Return what shapes the rows, for the provenance."""
        return {
            "models": list(self.models),
            "k": self.k,
            "temperatures": list(self.temperatures),
            "top_p": self.sampling.top_p,
            "max_tokens": self.sampling.max_tokens,
            "seed": self.seed,
            "personas": self.cards.digest(),
            "splits": list(self.splits),
            "limit": self.limit,
        }

    def prompts(self, split: Split) -> Iterator[_Prompt]:
        """Read the prompts of a split."""
        for number, row in enumerate(read_rows(self.root, "speaker_turns", split, _COLUMNS)):
            if number == self.limit:
                return
            yield _prompt(row, self.cards)

    def asks(self, prompt: _Prompt, model: int) -> list[Ask]:
        """Return what a model is asked for a prompt: one Ask a temperature."""
        found = []
        for place, temperature in enumerate(self.temperatures):
            first = 1 + (model * len(self.temperatures) + place) * self.k
            seeds = tuple(seed_of(self.seed, prompt.row["id"], number) for number in range(first, first + self.k))
            sampling = dataclasses.replace(self.sampling, temperature=temperature, stop=stops(prompt.names, prompt.me))
            found.append(Ask(prompt.messages, sampling, seeds))
        return found


def candidates(
    directory: str | Path,
    models: Sequence[str] = ("smollm2-135m",),
    *,
    k: int = 4,
    splits: Sequence[str] = (),
    limit: int | None = None,
    temperatures: Sequence[float] = (0.8,),
    top_p: float = 0.95,
    max_tokens: int = 96,
    seed: int = 0,
    personas: str | Path | None = None,
    store: str | Path | None = None,
    replace: bool = False,
    dry_run: bool = False,
    options: ModelOptions | None = None,
    progress: Progress | None = None,
) -> CandidatesReport:
    """Sample replies to every prompt of ``speaker_turns`` and add them to the dataset as the config ``candidates``.

    Candidate 0 is the human reply; then come ``k`` samples for each model and temperature. Samples equal to an earlier
    one (white space and case apart) and empty ones are dropped and counted. Every answer is stored under what was asked
    before the next batch goes out: a run that was killed goes on where it was and ends with the same bytes.

    Args:
        directory: The dataset directory.
        models: Names of models; see ``mascot_data.models.names``.
        k: Samples a prompt, model and temperature.
        splits: ``train``, ``validation``, ``test``; all of them when empty.
        limit: Only the first so many prompts of each split.
        temperatures: Sampling temperatures, 0 or more.
        top_p: Nucleus sampling mass, above 0 and up to 1.
        max_tokens: Most tokens of a sample; longer ones are cut, and say so.
        seed: Seed of the run.
        personas: The folder of cards that the dataset was built with.
        store: File of stored answers; by default beside the dataset directory.
        replace: Replace candidates that were made with other options.
        dry_run: Ask nothing; count what would be asked.
        options: How models are run.
        progress: Called after each batch.

    Raises:
        UsageError: options that do not go together, or candidates made with other options are there.
        DatasetError: there is no dataset directory with speaker turns.
        ModelError: no model could be used.
        OutputError: the store or the dataset cannot be written.
    """
    cards = load_personas(None if personas is None else Path(personas))
    base = Sampling(1.0, top_p, max_tokens)
    root = Path(directory)
    facts = read_base(root, CANDIDATES)
    options, place = options or ModelOptions(), Path(store) if store else default_store(root)
    portion = CHUNK
    if options.batch_api:
        options, portion = dataclasses.replace(options, state_folder=place.parent), sys.maxsize
    run = _Run(root, facts, list(models), k, list(temperatures), base, seed, splits_of(splits), limit, cards, portion)
    _check(run)
    if dry_run:
        with Store(place if place.exists() else IN_MEMORY) as answers:
            return _planned(run, answers, options)
    if not replace:
        check_options(root, CANDIDATES, run.options(), _GROWING)
    with Store(place) as answers:
        return _made(run, answers, options, progress)


def _check(run: _Run) -> None:
    if not run.models or not run.temperatures:
        raise UsageError("give at least one --model and one --temperature")
    for name in run.models:
        parse_name(name)
    if len(set(run.models)) < len(run.models) or len(set(run.temperatures)) < len(run.temperatures):
        raise UsageError("a --model or --temperature is given twice; use --k for more samples")
    if run.k < 1 or run.sampling.max_tokens < 1 or (run.limit is not None and run.limit < 1):
        raise UsageError("--k, --max-tokens and --limit must be 1 or more")
    if not all(0 <= each < math.inf for each in run.temperatures) or not 0 < run.sampling.top_p <= 1:
        raise UsageError("--temperature must be 0 or more, --top-p above 0 and up to 1")


def _planned(run: _Run, store: Store, options: ModelOptions | None) -> CandidatesReport:
    plan, prompts = Plan(), 0
    for number, name in enumerate(run.models):
        with load_model(name, options) as model:
            asker = Asker(model, store)
            prompts = 0
            for part in _portions(run):
                prompts += len(part)
                asks = [ask for prompt in part for ask in run.asks(prompt, number)]
                plan = Plan(*map(sum, zip(plan, asker.plan(asks), strict=True)))
    return CandidatesReport(run.root, prompts, plan=plan)


def _made(run: _Run, store: Store, options: ModelOptions | None, progress: Progress | None) -> CandidatesReport:
    total = sum(len(part) for part in _portions(run))
    askers: list[Asker | None] = []
    lost: list[Lost] = []
    for number, name in enumerate(run.models):
        try:
            with load_model(name, options) as model:
                asker = Asker(model, store, telling(progress, name, total * len(run.temperatures)), run.portion)
                lost += _ask(run, number, asker)
                askers.append(asker)
        except ModelError as error:
            if len(run.models) == 1:
                raise
            askers.append(None)
            lost.append(Lost(name, "every prompt", "model", str(error)))
    used = [asker for asker in askers if asker is not None]
    if not used:
        raise ModelError(f"none of the models can be used: {lost[0].what}")
    kept = _Kept(run, askers)
    rows = {split: kept.rows(split) for split in run.splits}
    add_part(run.root, CANDIDATES, rows, run.options(), kept.summary, run.base)
    return CandidatesReport(
        run.root,
        total,
        asked=sum(asker.asked for asker in used),
        stored=sum(asker.stored for asker in used),
        rows=kept.counts,
        dropped=kept.dropped,
        lost=lost,
        usage=Usage(*map(sum, zip(*(asker.usage for asker in used), strict=True))),
    )


def _portions(run: _Run, split: Split | None = None) -> Iterator[list[_Prompt]]:
    portion: list[_Prompt] = []
    for one in run.splits if split is None else [split]:
        for prompt in run.prompts(one):
            portion.append(prompt)
            if len(portion) * len(run.temperatures) >= run.portion:
                yield portion
                portion = []
    if portion:
        yield portion


def _ask(run: _Run, number: int, asker: Asker) -> list[Lost]:
    """Ask a model for its samples of all prompts, and return what it gave none for."""
    lost: list[Lost] = []
    for part in _portions(run):
        asks = [(prompt, ask) for prompt in part for ask in run.asks(prompt, number)]
        found = asker([ask for _, ask in asks])
        for (prompt, _), answer in zip(asks, found, strict=True):
            if isinstance(answer, Failure):
                lost.append(Lost(run.models[number], prompt.row["id"], answer.reason, answer.what))
    return lost


class _Kept:
    """The rows of a run, from what is stored; counts them as they are taken."""

    def __init__(self, run: _Run, askers: Sequence[Asker | None]) -> None:
        self._run, self._askers = run, askers
        self.counts: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    def summary(self) -> dict[str, Any]:
        """Return the counts, and the models that were used, for the provenance."""
        return {
            "models": [None if asker is None else asker.info._asdict() for asker in self._askers],
            "rows": dict(sorted(self.counts.items())),
            "dropped": dict(sorted(self.dropped.items())),
        }

    def rows(self, split: Split) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a split, prompt by prompt, each prompt's in the order of k."""
        for part in _portions(self._run, split):
            found = [self._stored(part, number) for number in range(len(self._askers))]
            for prompt, *answers in zip(part, *found, strict=True):
                yield from self._of(prompt, [row for rows in answers for row in rows])

    def _stored(self, part: Sequence[_Prompt], number: int) -> list[list[_Sampled | None]]:
        asker = self._askers[number]
        if asker is None:  # its numbers stay free, so that those of the others are the same when it is there
            return [[None] * (len(self._run.temperatures) * self._run.k) for _ in part]
        asks = [self._run.asks(prompt, number) for prompt in part]
        answers = iter(asker.stored_answers([ask for row in asks for ask in row]))
        return [
            [
                _Sampled(asker, ask, seed, sample) if sample else None
                for ask in row
                for seed, sample in zip(ask.seeds, _samples(next(answers), len(ask.seeds)), strict=True)
            ]
            for row in asks
        ]

    def _of(self, prompt: _Prompt, sampled: Sequence[_Sampled | None]) -> Iterator[tuple[Any, ...]]:
        row = prompt.row
        digest = prompt_hash(prompt.messages)
        human = row["completion"][0]["content"]
        seen = {plain(human)}
        yield self._row(prompt, digest, 0, "human", human, None, None, "human", None)
        for k, one in enumerate(sampled, start=1):
            if one is None:
                continue
            asker, ask, seed, sample = one
            reply = trim(sample.text, sample.finish_reason, prompt.names, prompt.me)
            if not reply.text or plain(reply.text) in seen:
                self.dropped["duplicate" if reply.text else "empty"] += 1
                continue
            seen.add(plain(reply.text))
            how = (*asker.info, "sample", ask.sampling.temperature, ask.sampling.top_p, ask.sampling.max_tokens, seed)
            yield self._row(
                prompt, digest, k, "model", reply.text, sample.logprob, sample.tokens, reply.finish_reason, how
            )

    def _row(self, prompt: _Prompt, digest: str, k: int, origin: str, text: str, *rest: Any) -> tuple[Any, ...]:
        row = prompt.row
        self.counts[rest[2]] += 1
        return (
            f"{row['id']}#{k}",
            row["id"],
            row["dialogue_id"],
            row["persona"],
            row["subset"],
            k,
            origin,
            text,
            *rest,
            digest,
            row["license"],
            SCHEMA_VERSION,
        )


def prompt_hash(messages: Sequence[tuple[str, str]]) -> str:
    """Return the digest of a prompt's messages (role, content), 16 hex digits."""
    return key_of(*messages)[:16]


def _samples(found: object, count: int) -> list[Sample | None]:
    return list(found) if isinstance(found, list) else [None] * count


def plain(text: str) -> str:
    """Return a text as it is compared with others: white space and case apart."""
    return " ".join(text.casefold().split())


def _prompt(row: dict[str, Any], cards: Personas) -> _Prompt:
    card = cards.cards.get(row["persona"])
    if card is None:
        raise UsageError(f"{row['id']}: there is no card for {row['persona']!r}; give the folder with --personas")
    messages = tuple((message["role"], message["content"]) for message in row["prompt"])
    heard = [said.name for role, content in messages if role == "user" for said in from_lines(content)]
    agents = [other.name for other in cards.others_of_agent(card.id)]
    names = dict.fromkeys([*heard, *agents])
    return _Prompt(row, messages, card.name, tuple(name for name in names if name not in (card.name, DIRECTOR)))
