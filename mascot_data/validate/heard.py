"""What a prompt shows of a dialogue, read back: the names and the words of its turns, no more and no less."""

from collections.abc import Sequence

from mascot_data.build.projection import Said
from mascot_data.build.views import room_names
from mascot_data.personas import Card, Personas
from mascot_data.records import Dialogue
from mascot_data.records.rows import SpeakerRow

OWN = ""
"""Name that stands for the agent's own turns, which carry none in its prompt."""


class Names:
    """Under which name each speaker is heard.

    A card's name is in no row, and the cards may be a user's own: it is learnt where the persona is first heard, and
    has to be the same wherever it is heard again.
    """

    def __init__(self) -> None:
        self._cards: dict[str, str] = {}
        self._last: tuple[Dialogue, dict[str, str | None]] | None = None

    def of(self, dialogue: Dialogue) -> dict[str, str | None]:
        """Return speaker id to name, None for an agent that was not heard yet."""
        if self._last is None or self._last[0] is not dialogue:
            names = _room_names(dialogue, self._known(dialogue))
            unheard = {s.id for s in dialogue.speakers if s.persona and s.persona not in self._cards}
            self._last = dialogue, {speaker: None if speaker in unheard else name for speaker, name in names.items()}
        return self._last[1]

    def learn(self, dialogue: Dialogue, persona: str, heard: str) -> None:
        """Enter the name under which a persona is heard in a dialogue, less the number of a namesake."""
        agent = next(speaker.id for speaker in dialogue.speakers if speaker.persona == persona)
        bare = heard.rpartition(" (")[0]
        numbered = bare and _room_names(dialogue, {**self._known(dialogue), persona: bare})[agent] == heard
        self._cards[persona] = bare if numbered else heard
        self._last = None

    def _known(self, dialogue: Dialogue) -> dict[str, str]:
        personas = [speaker.persona for speaker in dialogue.speakers if speaker.persona]
        return {persona: self._cards.get(persona, f"unknown {persona}") for persona in personas}


def _room_names(dialogue: Dialogue, cards: dict[str, str]) -> dict[str, str]:
    named = {persona: Card.model_construct(name=name) for persona, name in cards.items()}
    speakers = [SpeakerRow(s.id, s.kind, s.persona, s.role, s.name) for s in dialogue.speakers]
    return room_names(speakers, Personas(named, {}))


def heard_problem(
    dialogue: Dialogue, said: Sequence[Said], first: int, end: int, names: Names, me: str | None = None
) -> str | None:
    """Say where what was read back from a prompt differs from turns ``[first, end)``; None when it does not.

    ``me`` is the id of the speaker whose own turns carry the name ``OWN``.
    """
    turns = dialogue.turns[first:end]
    known = names.of(dialogue)
    if said == [(OWN if turn.speaker == me else known.get(turn.speaker), turn.text) for turn in turns]:
        return None
    if len(said) != len(turns):
        return f"its prompt shows {len(said)} turns, not the {len(turns)} from {first} to {end}"
    for index, (turn, found) in enumerate(zip(turns, said, strict=True), start=first):
        if found.text != turn.text:
            return f"its prompt shows another text for turn {index}"
        if turn.speaker != me and turn.persona and known.get(turn.speaker) is None:
            names.learn(dialogue, turn.persona, found.name)
            known = names.of(dialogue)
        if found.name != (OWN if turn.speaker == me else known.get(turn.speaker)):
            return f"its prompt gives turn {index} to {found.name or 'itself'!r}, not to {turn.speaker!r}"
    return None
