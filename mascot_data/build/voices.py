"""Who says an utterance of a two-party corpus: the user, or the persona that its act belongs to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from mascot_data.build.acts import label_acts
from mascot_data.build.columns import Marks, Numbers, take
from mascot_data.build.tables import table
from mascot_data.personas import Card, Personas
from mascot_data.records.dialogue import Origin
from mascot_data.sources.conversation import Conversation

TwoParty = Literal["esconv", "empathetic-dialogues"]
USER = "user"
NOBODY = ""


class Voice(NamedTuple):
    """Who says an utterance and by what act.

    ``speaker`` is the user, a persona, or empty for a neutral act, which belongs to nobody by itself. ``act`` is the
    label shown, ``key`` the table's act that it stands for; each has its origin.
    """

    agent: bool
    speaker: str
    act: str | None
    act_origin: Origin | None
    key: str = ""
    key_origin: Origin = "rule"
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CorpusRules:
    """What the recasting needs to know of a two-party corpus; see ``rules_for``.

    ``voices`` are those met so far, known by their numbers.
    """

    source: TwoParty
    roster: Sequence[Card]
    roles: Mapping[str, str]
    persona_of: Mapping[str, str]
    aliases: Mapping[str, str]
    neutral: frozenset[str]
    acts_origin: Origin
    user_role: str
    license: str
    voices: list[Voice] = field(default_factory=list)
    _numbers: dict[Voice, int] = field(default_factory=dict)
    _by_act: dict[tuple[bool, str | None], int | None] = field(default_factory=dict)

    @property
    def speakers(self) -> list[str]:
        """Who can speak: the user and the personas; known by their numbers, and nobody is -1."""
        return [USER, *self.roles]

    def voices_of(self, conversations: Iterable[Conversation], texts: pa.StringArray) -> Numbers:
        """Return the number of the voice of each utterance; ``texts`` are theirs."""
        known = self._by_act
        places = [
            (utterance.speaker in conversation.agents, utterance.act)
            for conversation in conversations
            for utterance in conversation.utterances
        ]
        for place in set(places) - known.keys():
            known[place] = self._voice(*place)
        found = [known[place] for place in places]
        unknown = [number for number, voice in enumerate(found) if voice is None]
        keys = label_acts(take(texts, np.array(unknown, np.int64)), self.source) if unknown else []
        for number, key in zip(unknown, keys, strict=True):
            found[number] = self._number(self._by_words(places[number][1], key))
        return np.array(found, np.int64)

    def _number(self, voice: Voice) -> int:
        if voice not in self._numbers:
            self._numbers[voice] = len(self.voices)
            self.voices.append(voice)
        return self._numbers[voice]

    def _voice(self, agent: bool, act: str | None) -> int | None:
        """Return the voice of an act; None for an agent's act that is not in the table: its words have to tell."""
        if not agent:
            return self._number(Voice(False, USER, act, self.acts_origin if act else None))
        key = "" if act is None else self.aliases.get(act, act)
        if key not in self.persona_of and key not in self.neutral:
            return None
        return self._number(Voice(True, self.persona_of.get(key, NOBODY), act, self.acts_origin, key, self.acts_origin))

    def _by_words(self, act: str | None, key: str) -> Voice:
        speaker = self.persona_of.get(key, NOBODY)
        if act is not None:
            return Voice(True, speaker, act, self.acts_origin, key, "rule", ("unknown-act",))
        return Voice(True, speaker, key, "rule", key, "rule", () if self.acts_origin == "rule" else ("acts-missing",))


def rules_for(source: TwoParty, personas: Personas, labelled: bool) -> CorpusRules:
    """Put together the rules of a corpus from the cards and tables; ``labelled``: the corpus comes with act labels."""
    roster = personas.roster_for("psychological-support")
    acts = table("acts")[source]
    human: Origin = "human" if source == "esconv" else "model"
    return CorpusRules(
        source=source,
        roster=[personas.cards[persona] for persona in roster.personas],
        roles={persona: personas.cards[persona].role for persona in roster.personas},
        persona_of=personas.by_act(source, roster),
        aliases=acts["aliases"],
        neutral=frozenset(acts["neutral"]),
        acts_origin=human if labelled else "rule",
        user_role="seeker" if source == "esconv" else "speaker",
        license="cc-by-nc-4.0",
    )


def with_neighbours(speakers: Numbers, first: Numbers, default: int) -> Numbers:
    """Give utterances without a speaker (neutral acts of agents) to a neighbour.

    That is the agent before in the same run, else the one after it in the run, else the last agent before the run, else
    the first one after it; ``default`` where no agent has an act of its own.

    Args:
        speakers: the number of each utterance's speaker: 0 for the user, -1 for nobody.
        first: where conversations begin, and where the last one ends.
        default: the number of a persona.
    """
    begin, end = np.repeat(first[:-1], np.diff(first)), np.repeat(first[1:], np.diff(first))
    own_before, own_after = _nearest(speakers > 0)
    user_before, user_after = _nearest(speakers == 0)
    chosen = np.select(
        [
            own_before >= np.maximum(user_before + 1, begin),
            own_after < np.minimum(user_after, end),
            own_before >= begin,
            own_after < end,
        ],
        [own_before, own_after, own_before, own_after],
        len(speakers),
    )
    return np.where(speakers < 0, np.append(speakers, default)[chosen], speakers)


def _nearest(where: Marks) -> tuple[Numbers, Numbers]:
    """Return for each place the nearest marked one up to it (-1 for none) and from it on (their number for none)."""
    count, place = len(where), np.arange(len(where))
    before = np.maximum.accumulate(np.where(where, place, -1))
    after = np.minimum.accumulate(np.where(where, place, count)[::-1])[::-1]
    return before, after
