"""Have a model label Director decisions, and add the labels to a dataset as the config ``director_labels``."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from mascot_data.build.added import DIRECTOR_LABELS, add_part, check_options, read_base
from mascot_data.build.projection import to_line
from mascot_data.build.reading import read_rows, splits_of
from mascot_data.errors import DatasetError, UsageError
from mascot_data.generate.candidates import Lost, prompt_hash
from mascot_data.generate.stage import Scene, Settings, Stage
from mascot_data.generate.templates import render
from mascot_data.models import Chances, Choice, Failure, Message, ModelInfo, ModelOptions, load_model
from mascot_data.models.asking import Asker, Found
from mascot_data.models.store import Store, default_store
from mascot_data.personas import Personas, load_personas
from mascot_data.records.dialogue import SCHEMA_VERSION, Source, Split

CHUNK = 64
"""Turns that are labelled together."""

LABELS = ("agent", "action", "tone")
_GROWING = ("splits", "limit")
_PROMPTS = Path(__file__).parent / "prompts"
_SPEAKER = "Somebody"

Find = Callable[[Sequence[Choice]], Sequence[Found | None]]
"""Answers choices, by asking a model or from what is stored (None: not there)."""
Progress = Callable[[str, int, int | None], None]
"""Called with the model's name, the turns dealt with, and how many there are."""
Shares = tuple[tuple[str, float], ...]
"""Legal answers with their probabilities."""


class Agreement(NamedTuple):
    """How often the model's label is the corpus's, over the turns whose label has this origin.

    ``agree`` and ``majority`` are shares of ``n``, 0 to 1; ``majority`` is what always saying the commonest of these
    labels would reach.
    """

    label: str
    origin: str
    n: int
    agree: float
    majority: float


@dataclass(frozen=True, slots=True)
class DirectorReport:
    """What a run did: labelled rows by split, turns left to the corpus's human acts, and how the labels agree.

    ``asked`` and ``stored`` count choices: up to three a turn, as nobody is asked where there is one legal answer.
    """

    directory: Path
    model: str
    turns: int
    skipped: int
    asked: int
    stored: int
    rows: Counter[str] = field(default_factory=Counter)
    agreements: list[Agreement] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "directory": str(self.directory),
            "model": self.model,
            "turns": self.turns,
            "skipped": self.skipped,
            "asked": self.asked,
            "stored": self.stored,
            "rows": dict(self.rows),
            "agreements": [one._asdict() for one in self.agreements],
            "lost": [lost._asdict() for lost in self.lost],
        }


class _Turn(NamedTuple):
    """A row of ``director_turns``, and what the model is shown of it."""

    row: Mapping[str, Any]
    messages: tuple[Message, ...]


class _Label(NamedTuple):
    """The probabilities of the legal agents, actions and tones of a turn, and the agent that the last two are for."""

    agents: Shares
    agent: str
    actions: Shares
    tones: Shares


@dataclass(frozen=True)
class _Run:
    """What a run is made of."""

    root: Path
    base: Mapping[str, Any]
    model: str
    every: bool
    splits: Sequence[Split]
    limit: int | None
    cards: Personas

    def options(self) -> dict[str, Any]:
        """Return what shapes the rows, for the provenance."""
        return {
            "judge": self.model,
            "all": self.every,
            "personas": self.cards.digest(),
            "splits": list(self.splits),
            "limit": self.limit,
        }


def label_director(
    directory: str | Path,
    model: str,
    *,
    every: bool = False,
    splits: Sequence[str] = (),
    limit: int | None = None,
    personas: str | Path | None = None,
    store: str | Path | None = None,
    replace: bool = False,
    options: ModelOptions | None = None,
    progress: Progress | None = None,
) -> DirectorReport:
    """Have a model read off each turn the directive it was said under, as the config ``director_labels``.

    The model sees the Director's system message, the room so far and the words of the turn without its speaker. It
    gives log-probabilities of the legal answers alone, so that no label is illegal: agents from ``candidates_agents``
    (nobody follows itself unless the source did), actions and tones from those of the agent. By default the turns are
    those whose action does not follow a human act, the agent stays the one that spoke, and the model fills action and
    tone. Answers are stored before the next ones are asked: a run that was killed goes on where it was.

    Args:
        directory: The dataset directory.
        model: Name of the model; see ``mascot_data.models.names``.
        every: Label every turn, the agent, too.
        splits: ``train``, ``validation``, ``test``; all of them when empty.
        limit: Only the first so many of these turns of each split.
        personas: The folder of cards that the dataset was built with.
        store: File of stored answers; by default beside the dataset directory.
        replace: Replace labels that were made with other options.
        options: How the model is run.
        progress: Called after each chunk of turns.

    Raises:
        UsageError: options that do not go together, or labels made with other options are there.
        DatasetError: there are no such turns.
        ModelError: the model cannot be used.
        OutputError: the store or the dataset cannot be written.
    """
    if limit is not None and limit < 1:
        raise UsageError("--limit must be 1 or more")
    root, chosen = Path(directory), splits_of(splits)
    cards = load_personas(None if personas is None else Path(personas))
    run = _Run(root, read_base(root, DIRECTOR_LABELS), model, every, chosen, limit, cards)
    if not replace:
        check_options(root, DIRECTOR_LABELS, run.options(), _GROWING)
    skipped = Counter[str]()
    turns = sum(1 for split in chosen for _ in _turns(run, split, skipped))
    if not turns:
        raise DatasetError(f"{root}: every action of these splits follows a human act; label all turns with --all")
    with Store(Path(store) if store else default_store(root)) as answers, load_model(model, options) as opened:
        asker = Asker(opened, answers)
        lost = _ask(run, asker, turns, progress)
        kept = _Kept(run, asker)
        add_part(root, DIRECTOR_LABELS, {one: kept.rows(one) for one in chosen}, run.options(), kept.summary, run.base)
    made = (kept.counts, kept.agreements(), lost)
    return DirectorReport(root, model, turns, skipped.total(), asker.asked, asker.stored, *made)


def _turns(run: _Run, split: Split, skipped: Counter[str] | None = None) -> Iterator[_Turn]:
    """Yield the turns of a split that are to be labelled, in the order of the rows."""
    spoken = read_rows(run.root, "speaker_turns", split, ("id", "completion"))
    count = 0
    for row in read_rows(run.root, "director_turns", split):
        if count == run.limit:
            return
        said = next((one["completion"][0]["content"] for one in spoken if one["id"] == row["id"]), None)
        if said is None:
            raise DatasetError(f"{run.root}: {row['id']} is no row of speaker_turns; build the dataset again")
        if not run.every and row["action_origin"] == "human":
            if skipped is not None:
                skipped[split] += 1
            continue
        count += 1
        yield _Turn(row, label_messages(row, said))


def label_messages(row: Mapping[str, Any], said: str) -> tuple[Message, ...]:
    """Return what the model is shown of a row of ``director_turns`` and the words of its turn."""
    system, room = (message["content"] for message in row["prompt"])
    # As a line of the room: the words of a turn cannot pass for another speaker's line or for what is asked.
    shown = render(_PROMPTS, "director", room=room, turn=to_line(_SPEAKER, said))
    return (("system", system), ("user", shown))


def _chunks(run: _Run, split: Split) -> Iterator[list[_Turn]]:
    chunk: list[_Turn] = []
    for turn in _turns(run, split):
        chunk.append(turn)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _ask(run: _Run, asker: Asker, turns: int, progress: Progress | None) -> list[Lost]:
    lost: list[Lost] = []
    done = 0
    for chunk in chain.from_iterable(_chunks(run, split) for split in run.splits):
        for turn, label in zip(chunk, labels(run.cards, chunk, every=run.every, find=asker), strict=True):
            if isinstance(label, Failure):
                lost.append(Lost(run.model, turn.row["id"], label.reason, label.what))
        done += len(chunk)
        if progress:
            progress(run.model, done, turns)
    return lost


Asking = Generator[Choice, Shares, _Label]


def labels(cards: Personas, turns: Sequence[_Turn], *, every: bool, find: Find) -> list[_Label | Failure]:
    """Label turns side by side: all agents first, then the actions of those agents, then the tones."""
    found: dict[int, _Label | Failure] = {}
    asking = [(place, one, next(one)) for place, one in enumerate(_asking(cards, turn, every) for turn in turns)]
    while asking:
        answers = _choose([choice for _, _, choice in asking], find)
        going_on = []
        for (place, one, _), answer in zip(asking, answers, strict=True):
            if isinstance(answer, Failure):
                found[place] = answer
                continue
            try:
                going_on.append((place, one, one.send(answer)))
            except StopIteration as end:
                found[place] = end.value
        asking = going_on
    return [found[place] for place in range(len(turns))]


def _asking(cards: Personas, turn: _Turn, every: bool) -> Asking:
    agents = yield _choice(turn, "agent", turn.row["candidates_agents"])
    agent = likeliest(agents) if every else str(turn.row["agent"])
    legal_actions, legal_tones = legal(cards, source_of(turn.row["id"]), agent)
    actions = yield _choice(turn, "action", legal_actions, agent=agent)
    tones = yield _choice(turn, "tone", legal_tones, agent=agent, action=likeliest(actions))
    return _Label(agents, agent, actions, tones)


def _choice(turn: _Turn, name: str, answers: Sequence[str], **known: str) -> Choice:
    begun = "".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}, " for key, value in known.items())
    return Choice(turn.messages, tuple(answers), f'{{{begun}"{name}": "', '"')


def _choose(choices: Sequence[Choice], find: Find) -> list[Shares | Failure]:
    """Return the probabilities of the answers of every choice; where there is one answer, nobody is asked."""
    open_ones = [choice for choice in choices if len(choice.answers) > 1]
    found = iter(find(open_ones) if open_ones else ())
    return [
        _shares(choice.answers, next(found)) if len(choice.answers) > 1 else ((choice.answers[0], 1.0),)
        for choice in choices
    ]


def _shares(answers: Sequence[str], found: Found | None) -> Shares | Failure:
    if isinstance(found, Failure):
        return found
    if not isinstance(found, Chances) or not math.isfinite(best := max(found.logprobs)):
        return Failure("no-logprobs", "the model gives none of the legal answers a probability")
    weights = [math.exp(logprob - best) for logprob in found.logprobs]
    total = math.fsum(weights)
    return tuple((answer, weight / total) for answer, weight in zip(answers, weights, strict=True))


def likeliest(shares: Shares) -> str:
    """Return the likeliest answer; of equals, the first."""
    return max(shares, key=lambda one: one[1])[0]


def legal(cards: Personas, source: Source, agent: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the actions and tones that a Director may ask of an agent, as in rollouts."""
    if agent not in cards.cards:
        raise UsageError(f"there is no card for {agent!r}; give the folder with --personas")
    stage = _stage(source)
    return stage.legal_actions(cards.cards[agent]), stage.legal_tones(cards.cards[agent])


def source_of(name: str) -> Source:
    """Return the corpus of a dialogue or turn by its id, which begins with it."""
    found: Source = TypeAdapter(Source).validate_python(name.partition(":")[0])
    return found


@cache
def _stage(source: Source) -> Stage:
    """Return an empty stage of a corpus: it knows what is legal there."""
    domain = "workplace" if source == "qmsum" else "psychological-support"
    return Stage(Scene("", source, domain, (), ("", ""), "", None, load_personas(), 0), Settings())


class _Kept:
    """The rows of a run, from what is stored; counts them, and how they agree with the corpus, as they are taken."""

    def __init__(self, run: _Run, asker: Asker) -> None:
        self._run, self._asker = run, asker
        self.counts: Counter[str] = Counter()
        self._pairs: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)

    def summary(self) -> dict[str, Any]:
        """Return the counts, the model and the agreement, for the provenance."""
        info: ModelInfo = self._asker.info
        return {
            "models": [info._asdict()],
            "rows": dict(self.counts),
            "agreement": [one._asdict() for one in self.agreements()],
        }

    def agreements(self) -> list[Agreement]:
        """Return the agreement with the corpus by label and origin."""
        found = []
        for (label, origin), pairs in sorted(self._pairs.items(), key=lambda one: (LABELS.index(one[0][0]), one[0][1])):
            agree = sum(mine == theirs for mine, theirs in pairs)
            most = Counter(theirs for _, theirs in pairs).most_common(1)[0][1]
            found.append(Agreement(label, origin, len(pairs), agree / len(pairs), most / len(pairs)))
        return found

    def rows(self, split: Split) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a split."""
        for chunk in _chunks(self._run, split):
            found = labels(self._run.cards, chunk, every=self._run.every, find=self._asker.stored_answers)
            for turn, label in zip(chunk, found, strict=True):
                if isinstance(label, _Label):
                    yield self._row(split, turn, label)

    def _row(self, split: Split, turn: _Turn, label: _Label) -> tuple[Any, ...]:
        row, info = turn.row, self._asker.info
        action, tone = likeliest(label.actions), likeliest(label.tones)
        self.counts[split] += 1
        for name, mine in zip(LABELS, (likeliest(label.agents), action, tone), strict=True):
            self._pairs[name, row[f"{name}_origin"]].append((mine, row[name]))
        return (
            row["id"],
            row["dialogue_id"],
            row["turn_index"],
            row["subset"],
            label.agent,
            "model" if self._run.every else "corpus",
            label.agents,
            action,
            label.actions,
            tone,
            label.tones,
            "model",
            tuple(row[name] for name in (*LABELS, "agent_origin", "action_origin", "tone_origin")),
            info,
            self._run.model,
            prompt_hash(turn.messages),
            row["license"],
            SCHEMA_VERSION,
        )
