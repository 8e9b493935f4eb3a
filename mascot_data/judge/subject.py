"""What is judged: candidates with the prompt that they answer, and blocks; read from a dataset directory."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mascot_data.build.projection import Said, from_lines, from_speaker_view
from mascot_data.build.reading import read_rows
from mascot_data.build.views import DIRECTOR
from mascot_data.errors import DatasetError, UsageError
from mascot_data.personas import Card, Personas
from mascot_data.records.dialogue import Split


class Spoken(NamedTuple):
    """A turn of the room: the speaker's name, its persona, and what is said.

    Without a persona it is a person's, or, where ``agent`` says so, that of an assistant without a card.
    """

    name: str
    persona: str | None
    text: str
    agent: bool = False


class Reply(NamedTuple):
    """One answer to a context: a candidate's text, or the turns of a block."""

    id: str
    k: int | None
    turns: tuple[Spoken, ...]

    @property
    def text(self) -> str:
        """What is said, turns parted by line breaks."""
        return "\n".join(turn.text for turn in self.turns)


class Directive(NamedTuple):
    """What the Director asked for."""

    agent: str
    action: str
    tone: str


class Context(NamedTuple):
    """What several replies answer, and those replies: they are judged together.

    ``heard`` is the room before the reply, ``card`` the speaker's (None for blocks, whose agents are the ``roster``).
    """

    prompt_id: str
    dialogue_id: str
    source: str
    subject: Literal["candidate", "block"]
    subset: str
    license: str
    card: Card | None
    roster: tuple[Card, ...]
    directive: Directive | None
    heard: tuple[Spoken, ...]
    replies: tuple[Reply, ...]


def candidate_contexts(root: Path, split: Split, cards: Personas, limit: int | None = None) -> Iterator[Context]:
    """Yield the prompts of a split that have candidates, each with its candidates, in the order of the rows.

    Args:
        root: The dataset directory.
        split: The split.
        cards: The cards that the dataset was built with.
        limit: Only the first so many prompts.

    Raises:
        DatasetError: there are no candidates, or they are of other prompts than those that are there.
        UsageError: a persona has no card.
    """
    columns = ("id", "dialogue_id", "persona", "subset", "directive", "prompt", "license")
    prompts = read_rows(root, "speaker_turns", split, columns)
    found = groupby(
        read_rows(root, "candidates", split, ("id", "prompt_id", "k", "text")), lambda row: row["prompt_id"]
    )
    for number, (prompt_id, rows) in enumerate(found):
        if number == limit:
            return
        prompt = next((row for row in prompts if row["id"] == prompt_id), None)
        if prompt is None:
            raise DatasetError(f"{root}: the candidates are of other turns; run  mascot-data candidates  again")
        yield _context(prompt, list(rows), cards)


def _context(prompt: dict[str, Any], rows: list[dict[str, Any]], cards: Personas) -> Context:
    card = cards.cards.get(prompt["persona"])
    if card is None:
        raise UsageError(f"{prompt['id']}: no card for {prompt['persona']!r}; give the folder with --personas")
    messages = [(message["role"], message["content"]) for message in prompt["prompt"]]
    said = [said for said in from_speaker_view(messages, card.name) if said.name != DIRECTOR]
    directive = prompt["directive"]
    return Context(
        prompt_id=prompt["id"],
        dialogue_id=prompt["dialogue_id"],
        source=prompt["id"].partition(":")[0],
        subject="candidate",
        subset=prompt["subset"],
        license=prompt["license"],
        card=card,
        roster=(card, *cards.others_of_agent(card.id)),
        directive=Directive(directive["agent"], directive["action"], directive["tone"]),
        heard=_spoken(said, cards),
        replies=tuple(Reply(row["id"], row["k"], (Spoken(card.name, card.id, row["text"]),)) for row in rows),
    )


def block_contexts(
    root: Path, split: Split, cards: Personas, origin: Literal["corpus", "rollout"], limit: int | None = None
) -> Iterator[Context]:
    """Yield the blocks of a split by origin; rollouts of one dialogue's opening come together."""
    rows = read_rows(root, "blocks", split, label="rollouts" if origin == "rollout" else "")
    for number, (_, group) in enumerate(groupby(rows, lambda row: (row["dialogue_id"], row["first_turn"]))):
        if number == limit:
            return
        yield _block_context(list(group), cards)


def _block_context(rows: list[dict[str, Any]], cards: Personas) -> Context:
    first = rows[0]
    source = first["dialogue_id"].partition(":")[0]
    domain = "workplace" if source == "qmsum" else "psychological-support"
    heard = [s for message in first["prompt"] if message["role"] == "user" for s in from_lines(message["content"])]
    return Context(
        prompt_id=f"{first['dialogue_id']}/{first['first_turn']}",
        dialogue_id=first["dialogue_id"],
        source=source,
        subject="block",
        subset=first["subset"],
        license=first["license"],
        card=None,
        roster=tuple(cards.cards[persona] for persona in cards.roster_for(domain).personas),
        directive=None,
        heard=_spoken(heard, cards),
        replies=tuple(Reply(row["id"], None, tuple(_turn(turn, cards) for turn in row["turns"])) for row in rows),
    )


def _turn(turn: dict[str, Any], cards: Personas) -> Spoken:
    persona = turn["persona"]
    name = cards.cards[persona].name if persona in cards.cards else turn["speaker"]
    return Spoken(name, persona, turn["text"], turn["kind"] == "agent")


def _spoken(said: list[Said], cards: Personas) -> tuple[Spoken, ...]:
    by_name = {card.name: card.id for card in cards.cards.values()}
    return tuple(Spoken(one.name, by_name.get(one.name), one.text) for one in said)
