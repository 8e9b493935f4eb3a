"""Recast a two-party conversation (ESConv, Empathetic Dialogues) for the companions; the words stay the people's own.

The supporting side's utterances are given to personas by their act. Consecutive utterances of one side and one persona
are one turn, so that a supporter who reflects and then asks becomes the Anchor followed by the Catalyst. A neutral act
(a greeting, small talk) goes with the neighbouring agent turn.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from mascot_data.build.directives import directive
from mascot_data.build.tables import Watchword, problem_type, valences, watchwords
from mascot_data.build.turns import Dropped, clean_chat, kept_texts
from mascot_data.build.voices import CorpusRules, Voice, voices_of, weakest
from mascot_data.records.dialogue import SCHEMA_VERSION, Kind, Valence
from mascot_data.records.rows import (
    DialogueRow,
    DirectiveRow,
    ExtraRow,
    OutcomeRow,
    ScenarioRow,
    SpeakerRow,
    TurnRow,
)
from mascot_data.sources.conversation import Conversation, Utterance

_SEPARATOR = re.compile(r"\|\|+ *NEW CONVERSATION *\|*")
NO_OUTCOME = OutcomeRow()
_LETTER = re.compile(r"[^\W\d_]")
_SCORES = {str(score): score for score in range(1, 6)}
_SURVEY = {
    "initial_intensity": "survey_score.seeker.initial_emotion_intensity",
    "final_intensity": "survey_score.seeker.final_emotion_intensity",
    "empathy": "survey_score.seeker.empathy",
    "relevance": "survey_score.seeker.relevance",
    "supporter_relevance": "survey_score.supporter.relevance",
}
_SURVEY_FIELDS = frozenset(_SURVEY.values())


class _Spoken(NamedTuple):
    """A conversation on its way into turns: by utterance its voice, speaker and clean text, and the flags of a few."""

    utterances: Sequence[Utterance]
    voices: list[Voice]
    speakers: list[str]
    texts: list[str]
    flags: dict[int, list[str]]
    names: dict[bool, str]
    several_names: bool
    rated: bool
    watched: list[Watchword]


def recast(conversation: Conversation, rules: CorpusRules, *, clean: bool = True) -> tuple[DialogueRow, list[Dropped]]:
    """Turn a raw conversation into a dialogue; returns it and the utterances that are in no turn (blank ones)."""
    spoken = _spoken(conversation, rules, clean)
    runs, dropped = _runs(conversation, spoken)
    scenario, extra, flags = _scenario(conversation, clean)
    turns = [_turn(i, run, spoken, scenario.valence, rules) for i, run in enumerate(runs)]
    outcome, outcome_flags = _outcome(conversation)
    flags.update(conversation.flags, outcome_flags, _shape_flags(conversation, rules))
    for turn in turns:
        if turn.flags:
            flags.update(turn.flags)
    row = DialogueRow(
        id=f"{rules.source}:{conversation.source_id}",
        source=rules.source,
        source_id=conversation.source_id,
        domain="psychological-support",
        subset=conversation.subset or scenario.valence or "neutral",
        scenario=scenario,
        speakers=_speakers(turns, spoken.names, rules),
        turns=turns,
        outcome=outcome,
        extra=extra,
        flags=sorted(flags),
        license=rules.license,
        schema_version=SCHEMA_VERSION,
    )
    return row, dropped


def _spoken(conversation: Conversation, rules: CorpusRules, clean: bool) -> _Spoken:
    utterances = conversation.utterances
    voices, speakers = voices_of(conversation, rules)
    texts = [clean_chat(utterance.text) for utterance in utterances] if clean else [u.text for u in utterances]
    names: dict[bool, str] = {}
    for utterance, voice in zip(utterances, voices, strict=True):
        names.setdefault(voice.agent, utterance.speaker)
    rated = any(utterance.feedback is not None for utterance in utterances)
    several = len({utterance.speaker for utterance in utterances}) > len(names)
    spoken = _Spoken(utterances, voices, speakers, texts, {}, names, several, rated, _watched(texts))
    for number, text in enumerate(texts):
        found = _flags_of(number, text, spoken)
        if found:
            spoken.flags[number] = found
        if clean and "||" in text and _SEPARATOR.search(text):
            texts[number] = clean_chat(_SEPARATOR.sub(" ", text))
            spoken.flags[number] = [*found, "leaked-separator"]
    return spoken


def _flags_of(number: int, text: str, spoken: _Spoken) -> list[str]:
    flags = list(spoken.voices[number].flags)
    if not text[:1].isalpha() and not _LETTER.search(text):
        flags.append("number-only")
    if number:
        before, now = spoken.utterances[number - 1], spoken.utterances[number]
        if now.text == before.text and now.speaker == before.speaker:
            flags.append("repeat")
    return flags


def _watched(texts: Sequence[str]) -> list[Watchword]:
    text = "\n".join(texts).lower()
    return [word for word in watchwords() if [trigger for trigger in word.triggers if trigger in text]]


def _runs(conversation: Conversation, spoken: _Spoken) -> tuple[list[list[int]], list[Dropped]]:
    """Group consecutive utterances of one speaker, leaving out blank ones."""
    runs: list[list[int]] = []
    dropped: list[Dropped] = []
    last = ""
    for number, (text, speaker) in enumerate(zip(spoken.texts, spoken.speakers, strict=True)):
        if not text or text.isspace():
            raw = spoken.utterances[number]
            dropped.append(Dropped(conversation.source_id, number, raw.speaker, raw.text, "blank"))
        elif speaker == last:
            runs[-1].append(number)
        else:
            runs.append([number])
            last = speaker
    return runs, dropped


def _turn(index: int, run: list[int], spoken: _Spoken, valence: Valence | None, rules: CorpusRules) -> TurnRow:
    first = run[0]
    voice = spoken.voices[first]
    speaker = spoken.speakers[first]
    if len(run) == 1:
        text, raw = spoken.texts[first], spoken.utterances[first].text
        texts = [] if text == raw and "\n" not in raw else [raw]
        acts, origin = ([voice.act], voice.act_origin) if voice.act else ([], None)
        flags = spoken.flags.get(first, [])
    else:
        text, texts = kept_texts([spoken.texts[n] for n in run], [spoken.utterances[n].text for n in run])
        voices = [spoken.voices[n] for n in run]
        acts = [each.act for each in voices if each.act]
        origin = weakest([each.act_origin for each in voices if each.act_origin])
        flags = [flag for n in run for flag in spoken.flags.get(n, ())]
    flags = flags + _text_flags(text, spoken.watched) if spoken.watched else flags
    kind: Kind = "agent" if voice.agent else "user"
    asked: DirectiveRow | None = None
    if voice.agent:
        main = voice if len(run) == 1 else _main(run, spoken, rules)
        if main.key in rules.neutral:
            flags = [*flags, "neighbour-persona"]
        asked = directive(rules.source, speaker, main.key, text, valence, main.key_origin)
    feedback, feedback_flags = _feedback(run, spoken.utterances) if spoken.rated else (None, [])
    return TurnRow(
        index,
        speaker,
        kind,
        speaker if asked else None,
        text,
        acts,
        origin,
        run,
        texts,
        _raw_speakers(run, spoken) if spoken.several_names else [],
        None,
        [],
        asked,
        feedback,
        sorted({*flags, *feedback_flags}) if flags or feedback_flags else [],
    )


def _main(run: list[int], spoken: _Spoken, rules: CorpusRules) -> Voice:
    """Give the voice whose act names a merged turn: the longest utterance with an act of its own, else the longest."""
    return spoken.voices[max(run, key=lambda n: (spoken.voices[n].key not in rules.neutral, len(spoken.texts[n])))]


def _raw_speakers(run: list[int], spoken: _Spoken) -> list[str]:
    speakers = [spoken.utterances[n].speaker for n in run]
    name = spoken.names[spoken.voices[run[0]].agent]
    return [] if all(speaker == name for speaker in speakers) else speakers


def _text_flags(text: str, watched: list[Watchword]) -> list[str]:
    lowered = text.lower()
    return [word.flag for word in watched if word.pattern.search(lowered)]


def _score(value: str | None) -> tuple[int | None, bool]:
    """Read a score; the second value tells that there is one outside 1 to 5."""
    if value is None or not value.strip():
        return None, False
    score = _SCORES.get(value.strip())
    return score, score is None


def _feedback(run: list[int], utterances: Sequence[Utterance]) -> tuple[int | None, list[str]]:
    scores = [_score(utterances[n].feedback) for n in run]
    valid = [score for score, _ in scores if score is not None]
    return (valid[-1] if valid else None), ["feedback-out-of-range"] if any(bad for _, bad in scores) else []


def _outcome(conversation: Conversation) -> tuple[OutcomeRow, set[str]]:
    if _SURVEY_FIELDS.isdisjoint(conversation.fields):
        return NO_OUTCOME, {"survey-missing"} if "experience_type" in conversation.fields else set()
    scores = {name: _score(conversation.fields.get(field)) for name, field in _SURVEY.items()}
    flags = {"survey-out-of-range"} if any(bad for _, bad in scores.values()) else set()
    if any(field not in conversation.fields for field in _SURVEY.values()):
        flags.add("survey-missing")
    return OutcomeRow(**{name: score for name, (score, _) in scores.items()}), flags


def _scenario(conversation: Conversation, clean: bool) -> tuple[ScenarioRow, list[ExtraRow], set[str]]:
    fields = dict(conversation.fields)
    flags: set[str] = set()
    situation = clean_chat(conversation.situation) if clean else conversation.situation
    if situation != conversation.situation:
        fields["situation"] = conversation.situation
        if situation != conversation.situation.strip():
            flags.add("situation-white-space")
    if not _LETTER.search(situation):
        flags.add("number-only-situation")
    stated = fields.get("problem_type")
    problem = problem_type(stated) if stated is not None else None
    if problem != stated:
        flags.add("problem-renamed")
    elif stated is not None:
        del fields["problem_type"]
    emotion = conversation.emotion.strip().lower()
    extra = [ExtraRow(name, value) for name, value in sorted(fields.items()) if not _is_shown(name, value)]
    return ScenarioRow(situation, emotion, valences().get(emotion), problem), extra, flags


def _is_shown(name: str, value: str) -> bool:
    """Tell whether a field is whole in `outcome`, so that it need not be in `extra`."""
    return name in _SURVEY_FIELDS and _score(value)[0] is not None


def _shape_flags(conversation: Conversation, rules: CorpusRules) -> set[str]:
    utterances = conversation.utterances
    flags = set()
    if len(utterances) == 1:
        flags.add("one-utterance")
    if utterances and utterances[0].speaker in conversation.agents:
        flags.add("supporter-first")
    if utterances and utterances[-1].speaker in conversation.agents:
        flags.add("ends-with-agent")
    if utterances and clean_chat(utterances[0].text) == clean_chat(conversation.situation):
        flags.add("prompt-is-first-turn")
    if rules.acts_origin == "model":
        flags.add("labels-model")
    return flags


def _speakers(turns: list[TurnRow], names: dict[bool, str], rules: CorpusRules) -> list[SpeakerRow]:
    speakers: dict[str, SpeakerRow] = {}
    for turn in turns:
        if turn.speaker not in speakers:
            role = rules.user_role if turn.persona is None else rules.roles[turn.persona]
            name = names[turn.persona is not None]
            speakers[turn.speaker] = SpeakerRow(turn.speaker, turn.kind, turn.persona, role, name)
    return list(speakers.values())
