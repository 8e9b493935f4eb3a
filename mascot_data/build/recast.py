"""Recast a two-party conversation (ESConv, Empathetic Dialogues) for the companions; the words stay the people's own.

The supporting side's utterances are given to personas by their act. Consecutive utterances of one side and one persona
are one turn, so that a supporter who reflects and then asks becomes the Anchor followed by the Catalyst. A neutral act
(a greeting, small talk) goes with the neighbouring agent turn.
"""

import re

from mascot_data.build.directives import directive
from mascot_data.build.tables import Watchword, problem_type, valences, watchwords
from mascot_data.build.turns import Dropped, Piece, clean_chat, repeats, runs, source_fields
from mascot_data.build.voices import CorpusRules, Voice, voices_of, weakest
from mascot_data.records.dialogue import (
    SCHEMA_VERSION,
    Dialogue,
    Extra,
    Outcome,
    Scenario,
    Speaker,
    Turn,
    Valence,
)
from mascot_data.sources.conversation import Conversation

SEPARATOR = "|||| NEW CONVERSATION"
USER = "user"
NO_OUTCOME = Outcome(
    initial_intensity=None, final_intensity=None, empathy=None, relevance=None, supporter_relevance=None
)
_LETTER = re.compile(r"[^\W\d_]")
_SURVEY = {
    "initial_intensity": "survey_score.seeker.initial_emotion_intensity",
    "final_intensity": "survey_score.seeker.final_emotion_intensity",
    "empathy": "survey_score.seeker.empathy",
    "relevance": "survey_score.seeker.relevance",
    "supporter_relevance": "survey_score.supporter.relevance",
}


def recast(conversation: Conversation, rules: CorpusRules, *, clean: bool = True) -> tuple[Dialogue, list[Dropped]]:
    """Turn a raw conversation into a dialogue; returns it and the utterances that are in no turn (blank ones)."""
    voices = voices_of(conversation, rules)
    pieces, dropped = _pieces(conversation, voices, clean)
    scenario, extra, scenario_flags = _scenario(conversation, clean)
    watched = _watched(conversation)
    names = _names(conversation)
    turns = [_turn(i, run, voices, names, scenario.valence, rules, watched) for i, run in enumerate(runs(pieces))]
    outcome, outcome_flags = _outcome(conversation)
    flags = {*conversation.flags, *scenario_flags, *outcome_flags, *_shape_flags(conversation, rules)}
    flags.update(flag for turn in turns for flag in turn.flags)
    dialogue = Dialogue(
        id=f"{rules.source}:{conversation.source_id}",
        source=rules.source,
        source_id=conversation.source_id,
        domain="psychological-support",
        subset=conversation.subset or scenario.valence or "neutral",
        scenario=scenario,
        speakers=_speakers(turns, names, rules),
        turns=turns,
        outcome=outcome,
        extra=extra,
        flags=sorted(flags),
        license=rules.license,
        schema_version=SCHEMA_VERSION,
    )
    return dialogue, dropped


def _clean(text: str) -> tuple[str, tuple[str, ...]]:
    cleaned = clean_chat(text)
    if SEPARATOR in cleaned:
        cleaned = clean_chat(cleaned.replace(SEPARATOR, " ").replace("||||", " "))
        return cleaned, ("leaked-separator",)
    return cleaned, ()


def _pieces(conversation: Conversation, voices: list[Voice], clean: bool) -> tuple[list[Piece], list[Dropped]]:
    pieces: list[Piece] = []
    dropped: list[Dropped] = []
    repeated = repeats(conversation.utterances)
    for number, utterance in enumerate(conversation.utterances):
        text, flags = _clean(utterance.text) if clean else (utterance.text, ())
        if not utterance.text.strip():
            dropped.append(Dropped(conversation.source_id, number, utterance.speaker, utterance.text, "blank"))
            continue
        flags += voices[number].flags
        if number in repeated:
            flags += ("repeat",)
        if not _LETTER.search(text):
            flags += ("number-only",)
        pieces.append(Piece(number, voices[number].persona or USER, text, utterance, flags))
    return pieces, dropped


def _names(conversation: Conversation) -> dict[bool, str]:
    """Give the raw name of the supporting side (True) and of the user (False): the first one that occurs."""
    names: dict[bool, str] = {}
    for utterance in conversation.utterances:
        names.setdefault(utterance.speaker in conversation.agents, utterance.speaker)
    return names


def _turn(
    index: int,
    run: list[Piece],
    voices: list[Voice],
    names: dict[bool, str],
    valence: Valence | None,
    rules: CorpusRules,
    watched: list[Watchword],
) -> Turn:
    spoken = [voices[piece.number] for piece in run]
    source = source_fields(run, names[spoken[0].agent], "\n")
    flags = {flag for piece in run for flag in piece.flags}
    if watched:
        lowered = source["text"].lower()
        flags.update(word.flag for word in watched if word.pattern.search(lowered))
    asked = None
    if spoken[0].agent:
        main = max(run, key=lambda piece: (voices[piece.number].key not in rules.neutral, len(piece.text)))
        voice = voices[main.number]
        if voice.key in rules.neutral:
            flags.add("neighbour-persona")
        asked = directive(rules.source, run[0].voice, voice.key, source["text"], valence, voice.key_origin)
    feedback, feedback_flags = _feedback(run)
    return Turn(
        index=index,
        speaker=run[0].voice,
        kind="agent" if asked else "user",
        persona=run[0].voice if asked else None,
        acts=[voice.act for voice in spoken if voice.act],
        acts_origin=weakest([voice.act_origin for voice in spoken if voice.act_origin]),
        source_query=None,
        evidence=[],
        directive=asked,
        feedback=feedback,
        flags=sorted(flags | feedback_flags),
        **source,
    )


def _score(value: str | None) -> tuple[int | None, bool]:
    """Read a score; the second value tells that there is one outside 1 to 5."""
    if value is None or not value.strip():
        return None, False
    number = int(value) if value.strip().isdecimal() else 0
    return (number, False) if 1 <= number <= 5 else (None, True)


def _feedback(run: list[Piece]) -> tuple[int | None, set[str]]:
    scores = [_score(piece.raw.feedback) for piece in run if piece.raw.feedback is not None]
    valid = [score for score, _ in scores if score is not None]
    return (valid[-1] if valid else None), ({"feedback-out-of-range"} if any(bad for _, bad in scores) else set())


def _outcome(conversation: Conversation) -> tuple[Outcome, set[str]]:
    if not any(name.startswith("survey_score") for name in conversation.fields):
        return NO_OUTCOME, {"survey-missing"} if "experience_type" in conversation.fields else set()
    scores = {name: _score(conversation.fields.get(field)) for name, field in _SURVEY.items()}
    flags = {"survey-out-of-range"} if any(bad for _, bad in scores.values()) else set()
    if any(field not in conversation.fields for field in _SURVEY.values()):
        flags.add("survey-missing")
    return Outcome.model_validate({name: score for name, (score, _) in scores.items()}), flags


def _scenario(conversation: Conversation, clean: bool) -> tuple[Scenario, list[Extra], set[str]]:
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
    extra = [Extra(name=name, value=value) for name, value in sorted(fields.items()) if not _is_shown(name, value)]
    scenario = Scenario(
        situation=situation,
        emotion=emotion,
        valence=valences().get(emotion),
        problem=problem,
        topic=None,
        query=None,
    )
    return scenario, extra, flags


def _is_shown(name: str, value: str) -> bool:
    """Tell whether a field is whole in `outcome`, so that it need not be in `extra`."""
    return name in _SURVEY.values() and _score(value)[0] is not None


def _watched(conversation: Conversation) -> list[Watchword]:
    text = "\n".join([utterance.text for utterance in conversation.utterances]).lower()
    return [word for word in watchwords() if any(trigger in text for trigger in word.triggers)]


def _shape_flags(conversation: Conversation, rules: CorpusRules) -> set[str]:
    utterances = conversation.utterances
    flags = set()
    if len(utterances) == 1:
        flags.add("one-utterance")
    if utterances and utterances[0].speaker in conversation.agents:
        flags.add("supporter-first")
    if utterances and utterances[-1].speaker in conversation.agents:
        flags.add("ends-with-agent")
    if utterances and utterances[0].text.strip() == conversation.situation.strip():
        flags.add("prompt-is-first-turn")
    if rules.acts_origin == "model":
        flags.add("labels-model")
    return flags


def _speakers(turns: list[Turn], names: dict[bool, str], rules: CorpusRules) -> list[Speaker]:
    roles = {card.id: card.role for card in rules.roster}
    speakers: dict[str, Speaker] = {}
    for turn in turns:
        if turn.speaker not in speakers:
            speakers[turn.speaker] = Speaker(
                id=turn.speaker,
                kind=turn.kind,
                persona=turn.persona,
                role=roles[turn.persona] if turn.persona else rules.user_role,
                name=names[turn.kind == "agent"],
            )
    return list(speakers.values())
