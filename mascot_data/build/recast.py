"""Recast two-party conversations (ESConv, Empathetic Dialogues) for the companions; the words stay the people's own.

The supporting side's utterances are given to personas by their act. Consecutive utterances of one side and one persona
are one turn, so that a supporter who reflects and then asks becomes the Anchor followed by the Catalyst. A neutral act
(a greeting, small talk) goes with the neighbouring agent turn.

Many conversations are recast at once, in columns over all their utterances (``Said``) and then over all their turns.
"""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.bits import bit, flag_lists, joined
from mascot_data.build.columns import (
    Marks,
    Numbers,
    bounds,
    by_code,
    constant,
    integers,
    lists,
    numbers,
    repeated,
    strings,
    structs,
    sums,
    take,
)
from mascot_data.build.directives import action_of, focuses, focuses_of, tone_of
from mascot_data.build.said import Said
from mascot_data.build.scenes import Scenes, scenes, score
from mascot_data.build.spool import SCHEMA
from mascot_data.build.tables import watchwords
from mascot_data.build.texts import lowered, matches
from mascot_data.build.turns import TURN, Dropped, Runs, shown
from mascot_data.build.voices import CorpusRules
from mascot_data.records.dialogue import SCHEMA_VERSION
from mascot_data.sources.conversation import Conversation


def recast(
    conversations: Sequence[Conversation], rules: CorpusRules, *, clean: bool = True
) -> tuple[pa.Table, list[Dropped], Numbers]:
    """Turn raw conversations into dialogues, one each.

    Returns:
        The dialogues; the utterances that are in no turn (blank ones); and the conversation of each of these.
    """
    said = Said(conversations, rules, clean=clean)
    runs, gone = said.runs()
    scene = scenes(said, clean=clean)
    home = said.home[runs.first]
    first = bounds(np.bincount(home, minlength=len(conversations)))
    turns, flags = _turns(said, runs, scene, home, first)
    count = len(conversations)
    subsets = [c.subset or v or "neutral" for c, v in zip(conversations, scene.valences, strict=True)]
    columns = [
        strings([f"{rules.source}:{conversation.source_id}" for conversation in conversations]),
        constant(rules.source, count),
        strings([conversation.source_id for conversation in conversations]),
        constant("psychological-support", count),
        repeated(subsets),
        scene.scenario,
        _speakers(said, runs, home, count),
        lists(np.diff(first), turns),
        scene.outcome,
        scene.extra,
        flag_lists(scene.flags | joined(flags, first)),
        constant(rules.license, count),
        constant(SCHEMA_VERSION, count),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA), said.dropped(gone), said.home[gone]


def _turns(said: Said, runs: Runs, scene: Scenes, home: Numbers, first: Numbers) -> tuple[pa.StructArray, Numbers]:
    """Return the turns, and their flags as bits."""
    text = runs.texts(said.text, "\n")
    agent = said.agent[runs.first]
    speaker = take(strings(said.rules.speakers), said.speaker[runs.first])
    directive, neutral = _directives(said, runs, scene, home, agent)
    feedback, bad = _feedback(said, runs)
    flags = runs.flags(said.flags) | _watched(said, home, text) | bad
    flags |= np.where(neutral, bit("neighbour-persona"), 0)
    count = len(runs.first)
    nothing = np.zeros(count, np.int64)
    columns = [
        integers(np.arange(count) - first[home]),
        speaker,
        take(strings(["user", "agent"]), agent.astype(np.int64)),
        take(strings(said.rules.speakers), said.speaker[runs.first], ~agent),
        text,
        *_acts(said, runs),
        runs.numbers(np.arange(len(said.home)) - said.first[said.home]),
        runs.kept(said.raw, runs.all(shown(said.text, said.raw))),
        runs.kept(take(said.names, said.name), runs.all(said.named)),
        pa.nulls(count, TURN.field("source_query").type),
        lists(nothing, pa.nulls(0, TURN.field("evidence").type.value_type)),
        directive,
        feedback,
        flag_lists(flags),
    ]
    return structs(TURN, columns), flags


def _acts(said: Said, runs: Runs) -> tuple[pa.ListArray, pa.StringArray]:
    """Return the acts of each turn and where they come from: rule when any of them does."""
    voices = said.rules.voices
    has_act = np.array([bool(voice.act) for voice in voices], np.bool_)[said.voice]
    by_rule = np.array([voice.act_origin == "rule" for voice in voices], np.bool_)[said.voice]
    acted = runs.said[has_act[runs.said]]
    acts = lists(sums(has_act[runs.said], runs.at), take(repeated([voice.act for voice in voices]), said.voice[acted]))
    origin = runs.any(has_act & by_rule).astype(np.int64)
    return acts, take(strings([said.rules.acts_origin, "rule"]), origin, ~runs.any(has_act))


def _directives(said: Said, runs: Runs, scene: Scenes, home: Numbers, agent: Marks) -> tuple[pa.StructArray, Marks]:
    """Label the agents' turns, and tell of which the act is neutral.

    A turn is named after the act of its longest utterance that has one of its own, else of its longest.
    """
    rules = said.rules
    voices, speakers, meant = rules.voices, rules.speakers, focuses()
    neutral = np.array([voice.key in rules.neutral for voice in voices], np.bool_)
    lengths = numbers(pc.utf8_length(said.text))
    main = said.voice[runs.foremost(np.where(neutral[said.voice], lengths, lengths + lengths.max(initial=0) + 1))]
    spoken = np.flatnonzero(said.agent)
    focus = np.full(len(said.voice), len(meant) - 1)
    focus[spoken] = focuses_of(lowered(take(said.text, spoken)))
    turns = np.flatnonzero(agent)
    speaker, act, focus = said.speaker[runs.first[turns]], main[turns], runs.least(focus)[turns]
    felt = list(dict.fromkeys(scene.valences))
    valence = np.array([felt.index(valence) for valence in scene.valences], np.int64)[home[turns]]
    many, kinds = len(meant), len(felt)
    columns = [
        take(strings(speakers), speaker),
        by_code(act * many + focus, lambda code: action_of(rules.source, voices[code // many].key, meant[code % many])),
        by_code(speaker * kinds + valence, lambda code: tone_of(speakers[code // kinds], felt[code % kinds])),
        by_code(act, lambda code: voices[code].key_origin),
    ]
    directive = structs(TURN.field("directive").type, columns)
    return take(directive, np.cumsum(agent) - 1, ~agent), agent & neutral[main]


def _watched(said: Said, home: Numbers, texts: pa.StringArray) -> Numbers:
    """Return the flags of words to look at; they are looked for where a conversation has one of their triggers."""
    flags = np.zeros(len(texts), np.int64)
    for word in watchwords():
        triggered = np.zeros(len(said.conversations), np.bool_)
        triggered[said.home[matches(said.heard, "|".join(map(re.escape, word.triggers)))]] = True
        turns = np.flatnonzero(triggered[home])
        for turn, text in zip(turns.tolist(), take(texts, turns).to_pylist(), strict=True):
            if word.pattern.search(text.lower()):
                flags[turn] |= bit(word.flag)
    return flags


def _feedback(said: Said, runs: Runs) -> tuple[pa.Int64Array, Numbers]:
    """Return the last rating given with each turn, and a flag where one is out of range."""
    value, bad = np.zeros(len(runs.first), np.int64), np.zeros(len(runs.first), np.int64)
    turn = np.full(len(said.home), -1)
    turn[runs.said] = np.repeat(np.arange(len(runs.count)), runs.count)
    for number, utterance in enumerate(said.utterances):
        if utterance.feedback is not None and turn[number] >= 0:
            found, wrong = score(utterance.feedback)
            value[turn[number]] = found or value[turn[number]]
            bad[turn[number]] |= bit("feedback-out-of-range") if wrong else 0
    return integers(value, value == 0), bad


def _speakers(said: Said, runs: Runs, home: Numbers, count: int) -> pa.ListArray:
    """List who speaks in each dialogue, in the order of their first turns."""
    rules = said.rules
    many = len(rules.speakers)
    turns = np.sort(np.unique(home * many + said.speaker[runs.first], return_index=True)[1])
    speaker, agent = said.speaker[runs.first[turns]], said.agent[runs.first[turns]]
    side = home[turns] * 2 + agent
    ids = strings(rules.speakers)
    columns = [
        take(ids, speaker),
        take(strings(["user", "agent"]), agent.astype(np.int64)),
        take(ids, speaker, ~agent),
        take(strings([rules.user_role, *rules.roles.values()]), speaker),
        take(said.names, said.first_name(side)),
    ]
    counts = np.bincount(home[turns], minlength=count)
    return lists(counts, structs(SCHEMA.field("speakers").type.value_type, columns))
