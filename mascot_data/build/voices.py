"""Who says an utterance of a two-party corpus: the user, or the persona that its act belongs to."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from mascot_data.build.acts import label_act
from mascot_data.build.tables import table
from mascot_data.personas import Card, Personas
from mascot_data.records.dialogue import Origin
from mascot_data.sources.conversation import Conversation, Utterance

TwoParty = Literal["esconv", "empathetic-dialogues"]


class CorpusRules(NamedTuple):
    """What the recasting needs to know of a two-party corpus; see ``rules_for``."""

    source: TwoParty
    roster: Sequence[Card]
    persona_of: Mapping[str, str]
    aliases: Mapping[str, str]
    neutral: frozenset[str]
    acts_origin: Origin
    user_role: str
    license: str


def rules_for(source: TwoParty, personas: Personas, labelled: bool) -> CorpusRules:
    """Put together the rules of a corpus from the cards and tables; ``labelled``: the corpus comes with act labels."""
    roster = personas.roster_for("psychological-support")
    acts = table("acts")[source]
    human: Origin = "human" if source == "esconv" else "model"
    return CorpusRules(
        source=source,
        roster=[personas.cards[persona] for persona in roster.personas],
        persona_of=personas.by_act(source, roster),
        aliases=acts["aliases"],
        neutral=frozenset(acts["neutral"]),
        acts_origin=human if labelled else "rule",
        user_role="seeker" if source == "esconv" else "speaker",
        license="cc-by-nc-4.0",
    )


class Voice(NamedTuple):
    """Who says an utterance and by what act. ``act`` is the label shown, ``key`` the table's act that it stands for.

    ``persona`` is None for the user, and at first for a neutral act.
    """

    agent: bool
    persona: str | None
    act: str | None
    act_origin: Origin | None
    key: str = ""
    key_origin: Origin = "rule"
    flags: tuple[str, ...] = ()


def voices_of(conversation: Conversation, rules: CorpusRules) -> list[Voice]:
    """Give each utterance its voice."""
    return with_neighbours([_voice_of(u, conversation, rules) for u in conversation.utterances], rules.roster[0].id)


def _voice_of(utterance: Utterance, conversation: Conversation, rules: CorpusRules) -> Voice:
    act = utterance.act
    if utterance.speaker not in conversation.agents:
        return Voice(False, None, act, rules.acts_origin if act else None)
    key = "" if act is None else rules.aliases.get(act, act)
    if act is not None and (key in rules.persona_of or key in rules.neutral):
        return Voice(True, rules.persona_of.get(key), act, rules.acts_origin, key, rules.acts_origin)
    key = label_act(utterance.text, rules.source)
    persona = rules.persona_of.get(key)
    if act is not None:
        return Voice(True, persona, act, rules.acts_origin, key, "rule", ("unknown-act",))
    return Voice(True, persona, key, "rule", key, "rule", ("acts-missing",) if rules.acts_origin != "rule" else ())


def with_neighbours(voices: list[Voice], default: str) -> list[Voice]:
    """Give neutral agent utterances the persona of a neighbour.

    That is the agent utterance before it in the same run, else after it in the run, else the last one before the run,
    else the first one after it; ``default`` where no agent utterance has a persona of its own.
    """
    resolved: list[Voice] = []
    last: str | None = None
    for start, end in _agent_runs(voices):
        resolved.extend(voices[len(resolved) : start])
        own = next((v.persona for v in voices[start:end] if v.persona), None)
        ahead = next((v.persona for v in voices[end:] if v.persona), None) if own is None and last is None else None
        current = own or last or ahead or default
        for voice in voices[start:end]:
            current = voice.persona or current
            resolved.append(voice if voice.persona else voice._replace(persona=current))
        last = current
    return resolved + voices[len(resolved) :]


def _agent_runs(voices: list[Voice]) -> Iterator[tuple[int, int]]:
    start = 0
    for agent, group in groupby(voices, key=lambda voice: voice.agent):
        end = start + sum(1 for _ in group)
        if agent:
            yield start, end
        start = end


def weakest(origins: Sequence[Origin]) -> Origin | None:
    """Give the origin of a merged turn's acts: rule when any of them is."""
    return "rule" if "rule" in origins else origins[0] if origins else None
