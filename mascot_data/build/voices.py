"""Who says an utterance of a two-party corpus: the user, or the persona that its act belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mascot_data.build.acts import label_act
from mascot_data.build.tables import table
from mascot_data.personas import Card, Personas
from mascot_data.records.dialogue import Origin
from mascot_data.sources.conversation import Conversation, Utterance

TwoParty = Literal["esconv", "empathetic-dialogues"]
USER = "user"


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
    """What the recasting needs to know of a two-party corpus; see ``rules_for``."""

    source: TwoParty
    roster: Sequence[Card]
    roles: Mapping[str, str]
    persona_of: Mapping[str, str]
    aliases: Mapping[str, str]
    neutral: frozenset[str]
    acts_origin: Origin
    user_role: str
    license: str
    _voices: dict[tuple[bool, str | None], Voice] = field(default_factory=dict)

    def voice(self, utterance: Utterance, agent: bool) -> Voice:
        """Give an utterance of the user or of the supporting side its voice."""
        act = utterance.act
        found = self._voices.get((agent, act))
        if found is not None:
            return found
        if agent and self._key(act) is None:
            return self._by_words(utterance)
        return self._voices.setdefault((agent, act), self._by_act(act, agent))

    def _key(self, act: str | None) -> str | None:
        key = "" if act is None else self.aliases.get(act, act)
        return key if key in self.persona_of or key in self.neutral else None

    def _by_act(self, act: str | None, agent: bool) -> Voice:
        key = self._key(act)
        if not agent or key is None:
            return Voice(False, USER, act, self.acts_origin if act else None)
        return Voice(True, self.persona_of.get(key, ""), act, self.acts_origin, key, self.acts_origin)

    def _by_words(self, utterance: Utterance) -> Voice:
        key = label_act(utterance.text, self.source)
        speaker = self.persona_of.get(key, "")
        if utterance.act is not None:
            return Voice(True, speaker, utterance.act, self.acts_origin, key, "rule", ("unknown-act",))
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


def voices_of(conversation: Conversation, rules: CorpusRules) -> tuple[list[Voice], list[str]]:
    """Give each utterance its voice, and say who speaks it once neutral acts have gone to a neighbour."""
    agents = conversation.agents
    voices = [rules.voice(utterance, utterance.speaker in agents) for utterance in conversation.utterances]
    speakers = [voice.speaker for voice in voices]
    return voices, with_neighbours(speakers, rules.roster[0].id) if "" in speakers else speakers


def with_neighbours(speakers: Sequence[str], default: str) -> list[str]:
    """Give utterances without a speaker (neutral acts of agents) to a neighbour.

    That is the agent before in the same run, else the one after it in the run, else the last agent before the run, else
    the first one after it; ``default`` where no agent has an act of its own.
    """
    resolved = list(speakers)
    last = ""
    start = 0
    while start < len(speakers):
        if speakers[start] == USER:
            start += 1
            continue
        end = next((i for i in range(start, len(speakers)) if speakers[i] == USER), len(speakers))
        current = _first(speakers[start:end]) or last or _first(speakers[end:]) or default
        for i in range(start, end):
            current = resolved[i] = speakers[i] or current
        last, start = current, end
    return resolved


def _first(speakers: Sequence[str]) -> str:
    return next((speaker for speaker in speakers if speaker and speaker != USER), "")


def weakest(origins: Sequence[Origin]) -> Origin | None:
    """Give the origin of a merged turn's acts: rule when any of them is."""
    return "rule" if "rule" in origins else origins[0] if origins else None
