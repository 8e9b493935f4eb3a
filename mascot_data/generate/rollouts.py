"""Rollouts: whole conversations of a system with a simulated person, as blocks (MASCOT, phase 2)."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mascot_data.build.added import ROLLOUTS, add_part, check_options, read_base
from mascot_data.build.directives import tones, verbs_and_focuses
from mascot_data.build.reading import splits_of
from mascot_data.build.views import Budget
from mascot_data.errors import UsageError
from mascot_data.generate.candidates import Lost
from mascot_data.generate.cases import CaseBook
from mascot_data.generate.modes import MODES, PROMPTS_VERSION
from mascot_data.generate.scenes import Start, case_book, profiles_for, scene, starts
from mascot_data.generate.seeds import seed_of
from mascot_data.generate.stage import Scene, Settings, Stage
from mascot_data.generate.talk import Found, Part, Talk, hold_all
from mascot_data.generate.users import Profile, load_profiles, person
from mascot_data.models import (
    Ask,
    Chances,
    Choice,
    Failure,
    ModelOptions,
    Sample,
    Sampling,
    Usage,
    load_model,
)
from mascot_data.models.asking import Asker, Plan, telling
from mascot_data.models.store import Store, default_store
from mascot_data.personas import Personas, director_message, load_personas
from mascot_data.records.dialogue import SCHEMA_VERSION, Split

AT_ONCE = 256
"""Conversations that are held in step."""

_GROWING = ("splits", "limit", "number")
_PARTS: tuple[Part, ...] = ("speaker", "director", "user")

Progress = Callable[[str, int, int | None], None]
"""Called with ``rollouts``, the conversations that have ended, and how many there are; and, for each model, with the
questions dealt with (None: nobody knows how many there will be)."""


@dataclass(frozen=True, slots=True)
class RolloutsReport:
    """What a run did.

    ``rows`` counts blocks by mode. ``lost`` are conversations that came to no end; the next run takes them up again.
    ``plan`` is set for a dry run alone: an estimate, since what is asked depends on what was answered.
    """

    directory: Path
    conversations: int
    asked: int = 0
    stored: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    lost: list[Lost] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    plan: Plan | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "directory": str(self.directory),
            "conversations": self.conversations,
            "asked": self.asked,
            "stored": self.stored,
            "rows": dict(sorted(self.rows.items())),
            "lost": [lost._asdict() for lost in self.lost],
            "usage": self.usage._asdict(),
            "plan": None if self.plan is None else self.plan._asdict(),
        }


class _Planned(NamedTuple):
    """A conversation to hold."""

    name: str
    split: Split
    start: Start
    mode: str
    profile: Profile
    number: int
    seed: int


@dataclass(frozen=True)
class _Run:
    """What a run is made of."""

    root: Path
    base: Mapping[str, Any]
    modes: Sequence[str]
    models: Mapping[Part, str]
    settings: Settings
    profiles: tuple[str, ...]
    known: Mapping[str, Profile]
    number: int
    seed: int
    splits: Sequence[Split]
    limit: int | None
    cards: Personas

    def options(self) -> dict[str, Any]:
        """Return what shapes the rows, for the provenance."""
        settings = self.settings
        return {
            "modes": list(self.modes),
            "models": {part: self.models[part] for part in _PARTS},
            "turns": settings.turns,
            "agents_per_turn": settings.agents_per_turn,
            "temperature": settings.speaker.temperature,
            "top_p": settings.speaker.top_p,
            "max_tokens": settings.speaker.max_tokens,
            "director_temperature": settings.director_temperature,
            "context_tokens": settings.budget.tokens,
            "profiles": list(self.profiles) or "one of all by dialogue",
            "seed": self.seed,
            "prompts_version": PROMPTS_VERSION,
            "personas": self.cards.digest(),
            "number": self.number,
            "splits": list(self.splits),
            "limit": self.limit,
        }

    def planned(self) -> Iterator[_Planned]:
        """Yield the conversations in the order of their rows."""
        for split in self.splits:
            for start in starts(self.root, split, self.cards, self.limit):
                dialogue = start.dialogue.id
                for mode in self.modes:
                    for profile in profiles_for(dialogue, self.profiles, self.known, self.seed):
                        for number in range(self.number):
                            name = f"{dialogue}~{mode}-{profile.id}-{number}"
                            seed = seed_of(self.seed, name)
                            yield _Planned(name, split, start, mode, profile, number, seed)

    def scene(self, planned: _Planned, book: CaseBook | None) -> Scene:
        """Return the scene of a conversation."""
        return scene(planned.start, planned.profile, self.cards, planned.seed, book)


def rollouts(
    directory: str | Path,
    model: str = "smollm2-135m",
    *,
    modes: Sequence[str] = ("mascot",),
    director_model: str | None = None,
    user_model: str | None = None,
    turns: int = 8,
    agents_per_turn: int = 2,
    profiles: Sequence[str] = (),
    profiles_folder: str | Path | None = None,
    number: int = 1,
    splits: Sequence[str] = (),
    limit: int | None = None,
    temperature: float = 0.8,
    top_p: float = 0.95,
    max_tokens: int = 96,
    director_temperature: float = 1.0,
    context_tokens: int | None = 1024,
    seed: int = 0,
    personas: str | Path | None = None,
    store: str | Path | None = None,
    replace: bool = False,
    dry_run: bool = False,
    options: ModelOptions | None = None,
    progress: Progress | None = None,
) -> RolloutsReport:
    """Hold conversations of systems with a simulated person and add them to the config ``blocks``.

    Each begins with a dialogue's opening, up to the person's first words. Then the system and the simulated person
    speak in turn. Dialogues in which no agent answers a person are left out. Every answer is stored under what was
    asked before the next batch goes out: a run that was killed goes on where it was and ends with the same bytes.

    Args:
        directory: The dataset directory.
        model: Name of the model that speaks; see ``mascot_data.models.names``.
        modes: The systems; see ``mascot_data.generate.modes``.
        director_model: The Director's model; by default the Speakers'.
        user_model: The simulated person's model; by default the Speakers'.
        turns: Turns to generate; a round of agents is always finished.
        agents_per_turn: Agent turns after each turn of the person, in systems of several agents.
        profiles: Ids of profiles of the person; by default one of all sixteen for each dialogue, drawn by the seed.
        profiles_folder: Folder with profiles of your own.
        number: Conversations for each dialogue, mode and profile.
        splits: ``train``, ``validation``, ``test``; all of them when empty.
        limit: Only the first so many dialogues of each split.
        temperature: Sampling temperature of Speakers and person, 0 or more.
        top_p: Nucleus sampling mass, above 0 and up to 1.
        max_tokens: Most tokens of a turn.
        director_temperature: Of the draw among the Director's legal choices; 0 takes the likeliest.
        context_tokens: Tokens of context that a prompt shows at most, at four characters each; None: no bound.
        seed: Seed of the run.
        personas: The folder of cards that the dataset was built with.
        store: File of stored answers; by default beside the dataset directory.
        replace: Replace rollouts that were made with other options.
        dry_run: Ask nothing; estimate what would be asked.
        options: How models are run.
        progress: Called as conversations end.

    Raises:
        UsageError: options that do not go together, or rollouts made with other options are there.
        DatasetError: there is no dataset directory with dialogues.
        PersonaError: a profile or card breaks a rule.
        ModelError: a model cannot be used.
        OutputError: the store or the dataset cannot be written.
    """
    known = load_profiles(None if profiles_folder is None else Path(profiles_folder))
    cards = load_personas(None if personas is None else Path(personas))
    _check(modes, profiles, known, {"turns": turns, "agents_per_turn": agents_per_turn, "number": number})
    _check_sampling(temperature, director_temperature, top_p, max_tokens, limit, seed)
    speaker = Sampling(temperature, top_p, max_tokens)
    settings = Settings(turns, agents_per_turn, speaker, speaker, director_temperature, Budget(None, context_tokens))
    models: dict[Part, str] = {"speaker": model, "director": director_model or model, "user": user_model or model}
    chosen = splits_of(splits)
    root = Path(directory)
    base = read_base(root, ROLLOUTS)
    run = _Run(root, base, list(modes), models, settings, tuple(profiles), known, number, seed, chosen, limit, cards)
    if options is not None and options.batch_api:
        raise UsageError("--batch-api is for candidates: conversations would wait up to a day for every turn")
    if dry_run:
        return _estimated(run)
    if not replace:
        check_options(root, ROLLOUTS, run.options(), _GROWING)
    with Store(Path(store) if store else default_store(root)) as answers, ExitStack() as stack:
        loaded = {name: stack.enter_context(load_model(name, options)) for name in dict.fromkeys(models.values())}
        askers = {name: Asker(of, answers, telling(progress, name, None)) for name, of in loaded.items()}
        return _made(run, askers, progress)


def _check(
    modes: Sequence[str], profiles: Sequence[str], known: Mapping[str, Profile], counts: Mapping[str, int]
) -> None:
    if not modes:
        raise UsageError("give at least one --mode")
    for name, given, choices in (("mode", modes, MODES), ("profile", profiles, known)):
        if wrong := [one for one in given if one not in choices]:
            raise UsageError(f"--{name} {wrong[0]}: choose among {', '.join(choices)}")
        if len(set(given)) < len(given):
            raise UsageError(f"a --{name} is given twice; use --number for more rollouts")
    for name, value in counts.items():
        if value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be 1 or more")


def _check_sampling(
    temperature: float, director_temperature: float, top_p: float, max_tokens: int, limit: int | None, seed: int
) -> None:
    if not all(0 <= each < math.inf for each in (temperature, director_temperature)) or not 0 < top_p <= 1:
        raise UsageError("temperatures must be 0 or more, --top-p above 0 and up to 1")
    if max_tokens < 1 or (limit is not None and limit < 1):
        raise UsageError("--max-tokens and --limit must be 1 or more")
    if not 0 <= seed < 2**63:
        raise UsageError("--seed must be 0 or more, and below 2**63")


def _made(run: _Run, askers: Mapping[str, Asker], progress: Progress | None) -> RolloutsReport:
    planned = list(run.planned())
    book = case_book(run.root) if "multi-agent-esc" in run.modes else None
    rows: dict[Split, dict[str, tuple[Any, ...]]] = {split: {} for split in run.splits}
    lost: list[Lost] = []
    counts: Counter[str] = Counter()
    infos: dict[Part, Asker] = {part: askers[name] for part, name in run.models.items()}
    done = 0
    for start in range(0, len(planned), AT_ONCE):
        group = {one.name: one for one in planned[start : start + AT_ONCE]}
        talks = {name: _hold(Stage(run.scene(one, book), run.settings), one.mode) for name, one in group.items()}
        for name, ended in hold_all(talks, infos):
            one = group[name]
            if isinstance(ended, Failure):
                lost.append(Lost(run.models["speaker"], name, ended.reason, ended.what))
            else:
                rows[one.split][name] = _row(run, one, ended, infos)
                counts[one.mode] += 1
            done += 1
            if progress:
                progress("rollouts", done, len(planned))
    in_order = {
        split: [found[one.name] for one in planned if one.split == split and one.name in found]
        for split, found in rows.items()
    }
    summary = {
        "models": {part: asker.info._asdict() for part, asker in infos.items()},
        "rows": dict(sorted(counts.items())),
    }
    add_part(run.root, ROLLOUTS, in_order, run.options(), lambda: summary, run.base)
    return RolloutsReport(
        run.root,
        len(planned),
        asked=sum(asker.asked for asker in askers.values()),
        stored=sum(asker.stored for asker in askers.values()),
        rows=counts,
        lost=sorted(lost, key=lambda item: item.where),
        usage=Usage(*map(sum, zip(*(asker.usage for asker in askers.values()), strict=True))),
    )


def _hold(stage: Stage, mode: str) -> Talk[Stage]:
    """Let system and person speak in turn, to the end."""
    while True:
        yield from MODES[mode](stage)
        if stage.is_over:
            return stage
        yield from person(stage)
        if stage.is_over:
            return stage


def _row(run: _Run, planned: _Planned, stage: Stage, askers: Mapping[Part, Asker]) -> tuple[Any, ...]:
    dialogue, opening = planned.start.dialogue, planned.start.opening
    heard = stage.heard[len(opening) :]
    before = Stage(stage.scene, run.settings)
    shown = before.seen()
    turns = [
        (turn.speaker, turn.kind, turn.persona, turn.text, (*turn.directive, "model") if turn.directive else None)
        for turn in heard
    ]
    return (
        f"{dialogue.id}/{len(opening)}+{len(heard)}{planned.name.removeprefix(dialogue.id)}",
        dialogue.id,
        dialogue.subset,
        len(opening),
        turns,
        [("system", _director(before)), ("user", before.room())],
        len(shown),
        len(opening) - len(shown),
        "rollout",
        _how(run, planned, stage, askers),
        dialogue.license,
        SCHEMA_VERSION,
    )


def _how(run: _Run, planned: _Planned, stage: Stage, askers: Mapping[Part, Asker]) -> tuple[Any, ...]:
    settings = run.settings
    sampling = {
        "speaker": (settings.speaker.temperature, settings.speaker.top_p, settings.speaker.max_tokens),
        "director": (settings.director_temperature, 1.0, 0),
        "user": (settings.user.temperature, settings.user.top_p, settings.user.max_tokens),
    }
    return (
        planned.mode,
        planned.number,
        [(part, *askers[part].info, *sampling[part]) for part in _PARTS],
        planned.profile.id,
        run.seed,
        settings.agents_per_turn,
        PROMPTS_VERSION,
        run.cards.digest(),
        [tuple(step) for step in stage.steps],
    )


def _director(stage: Stage) -> str:
    verbs, focuses = verbs_and_focuses(stage.scene.source)
    system = director_message(stage.roster, verbs, focuses, tones([card.id for card in stage.roster]))
    return stage.with_outline(system)


def _estimated(run: _Run) -> RolloutsReport:
    """Hold the conversations with answers of middling length, and count what is asked."""
    planned = list(run.planned())
    counts = [0, 0, 0]

    def answer(questions: Sequence[Ask | Choice]) -> list[Found]:
        found: list[Found] = []
        for question in questions:
            counts[1] += sum(len(content) for _, content in question.messages) // 4
            if isinstance(question, Choice):
                counts[0] += 1
                found.append(Chances(tuple(0.0 for _ in question.answers), None, 0))
                continue
            most = question.sampling.max_tokens
            counts[0] += len(question.seeds)
            counts[2] += len(question.seeds) * most
            middling = max(1, most // 2)
            found.append([Sample("word " * middling, "stop", None, middling, 0) for _ in question.seeds])
        return found

    talks = {one.name: _hold(Stage(run.scene(one, None), run.settings), one.mode) for one in planned}
    for _ in hold_all(talks, dict.fromkeys(_PARTS, answer)):
        pass
    return RolloutsReport(run.root, len(planned), plan=Plan(counts[0], 0, counts[1], counts[2]))
