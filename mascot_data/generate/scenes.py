"""From dialogues to the scenes that rollouts start from."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mascot_data.build.reading import read_rows
from mascot_data.build.views import room_names
from mascot_data.errors import UsageError
from mascot_data.generate.cases import CaseBook, cases_in, no_cases
from mascot_data.generate.seeds import seed_of
from mascot_data.generate.stage import Heard, Scene
from mascot_data.generate.users import Profile, user_message
from mascot_data.personas import Personas
from mascot_data.records import Dialogue
from mascot_data.records.dialogue import Split
from mascot_data.records.rows import ScenarioRow


class Start(NamedTuple):
    """A dialogue from which rollouts can start: its opening is everything up to the person's first words."""

    dialogue: Dialogue
    opening: tuple[Heard, ...]
    user: tuple[str, str]


def starts(root: Path, split: Split, cards: Personas, limit: int | None) -> Iterator[Start]:
    """Yield the starts of a split's first dialogues; those in which no agent answers a person have none."""
    rows = (Dialogue.model_validate(row) for row in read_rows(root, "dialogues", split))
    return islice((start for row in rows if (start := start_of(row, cards)) is not None), limit)


def start_of(dialogue: Dialogue, cards: Personas) -> Start | None:
    """Return where a rollout of a dialogue starts, or None if no agent speaks after a person.

    Raises:
        UsageError: a persona of the dialogue has no card.
    """
    end = opening_turns(dialogue)
    if end is None:
        return None
    for speaker in dialogue.speakers:
        if speaker.persona is not None and speaker.persona not in cards.cards:
            what = f"there is no card for {speaker.persona!r}; give the folder with --personas"
            raise UsageError(f"{dialogue.id}: {what}")
    names = room_names([(s.id, s.kind, s.persona, s.role, s.name) for s in dialogue.speakers], cards)
    heard = tuple(Heard(t.speaker, names[t.speaker], t.kind, t.persona, t.text) for t in dialogue.turns[:end])
    return Start(dialogue, heard, (heard[-1].speaker, heard[-1].name))


def opening_turns(dialogue: Dialogue) -> int | None:
    """Return how many turns a dialogue's opening has: up to the person's words that an agent answers first."""
    pairs = enumerate(zip(dialogue.turns, dialogue.turns[1:], strict=False), start=1)
    return next((end for end, (before, turn) in pairs if (before.kind, turn.kind) == ("user", "agent")), None)


def scene(start: Start, profile: Profile, cards: Personas, seed: int, book: CaseBook | None) -> Scene:
    """Return the scene of a start with a person of this profile."""
    dialogue = start.dialogue
    scenario = ScenarioRow(**dict(dialogue.scenario))
    return Scene(
        dialogue_id=dialogue.id,
        source=dialogue.source,
        domain=dialogue.domain,
        opening=start.opening,
        user=start.user,
        person=user_message(profile, dialogue.domain, scenario, start.user[1]),
        outline=scenario.situation if dialogue.source == "qmsum" else None,
        cards=cards,
        seed=seed,
        cases=no_cases if book is None else book.without(dialogue.id),
    )


def case_book(root: Path) -> CaseBook:
    """Return the past cases of a dataset: the turns of its training split."""
    rows = (Dialogue.model_validate(row) for row in read_rows(root, "dialogues", "train"))
    return CaseBook(case for row in rows for case in cases_in(row))


def profiles_for(dialogue_id: str, names: tuple[str, ...], known: Mapping[str, Profile], seed: int) -> list[Profile]:
    """Return the profiles of a dialogue's persons: those named, else one of all, drawn by the seed."""
    if names:
        return [known[name] for name in names]
    drawn = list(known)[seed_of(seed, dialogue_id, "profile") % len(known)]
    return [known[drawn]]
