"""What is said of whole two-party conversations: the situation, the survey, other fields, and their flags."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.bits import bit
from mascot_data.build.columns import Numbers, integers, lists, repeated, strings, structs, take, true
from mascot_data.build.said import Said
from mascot_data.build.spool import SCHEMA
from mascot_data.build.tables import problem_type, valences
from mascot_data.build.texts import cleaned, lettered
from mascot_data.records.dialogue import Valence
from mascot_data.sources.conversation import Conversation

_SCORES = {str(score): score for score in range(1, 6)}
_SURVEY = {
    "initial_intensity": "survey_score.seeker.initial_emotion_intensity",
    "final_intensity": "survey_score.seeker.final_emotion_intensity",
    "empathy": "survey_score.seeker.empathy",
    "relevance": "survey_score.seeker.relevance",
    "supporter_relevance": "survey_score.supporter.relevance",
}
_SURVEY_FIELDS = frozenset(_SURVEY.values())
_NO_SCORES = (None,) * len(_SURVEY)
Scores = tuple[int | None, ...]


class Scenes(NamedTuple):
    """By conversation: its columns, and its flags as bits."""

    situations: list[str]
    valences: list[Valence | None]
    scenario: pa.StructArray
    outcome: pa.StructArray
    extra: pa.ListArray
    flags: Numbers


def score(value: str | None) -> tuple[int | None, bool]:
    """Read a score; the second value tells that there is one outside 1 to 5."""
    if value is None or not value.strip():
        return None, False
    found = _SCORES.get(value.strip())
    return found, found is None


def scenes(said: Said, *, clean: bool) -> Scenes:
    """Describe the conversations."""
    conversations = said.conversations
    raw = strings([conversation.situation for conversation in conversations])
    tidy = cleaned(raw)
    shown = tidy if clean else raw
    situations: list[str] = shown.to_pylist()
    emotions = [conversation.emotion.strip().lower() for conversation in conversations]
    found = [valences().get(emotion) for emotion in emotions]
    flags = _shape_flags(said, tidy) | np.where(lettered(shown), 0, bit("number-only-situation"))
    problems: list[str | None] = []
    outcomes: list[Scores] = []
    extra: list[list[tuple[str, str]]] = []
    for number, (conversation, situation) in enumerate(zip(conversations, situations, strict=True)):
        fields, marked = _fields(conversation, situation)
        problem, also = _problem(fields)
        outcome, more = _outcome(conversation.fields)
        flags[number] |= marked | also | more | bit(*conversation.flags)
        problems.append(problem)
        outcomes.append(outcome)
        extra.append([(name, value) for name, value in sorted(fields.items()) if not _is_shown(name, value)])
    return Scenes(
        situations, found, _scenario(shown, emotions, found, problems), _outcomes(outcomes), _extra(extra), flags
    )


def _shape_flags(said: Said, situations: pa.StringArray) -> Numbers:
    size = np.diff(said.first)
    flags = np.where(size == 1, bit("one-utterance"), 0)
    full = np.flatnonzero(size)
    first, last = said.first[full], said.first[full + 1] - 1
    same = true(pc.equal(cleaned(take(said.raw, first)), take(situations, full)))
    flags[full] |= np.where(said.agent[first], bit("supporter-first"), 0)
    flags[full] |= np.where(said.agent[last], bit("ends-with-agent"), 0)
    flags[full] |= np.where(same, bit("prompt-is-first-turn"), 0)
    return flags | (bit("labels-model") if said.rules.acts_origin == "model" else 0)


def _fields(conversation: Conversation, situation: str) -> tuple[dict[str, str], int]:
    fields = dict(conversation.fields)
    if situation == conversation.situation:
        return fields, 0
    fields["situation"] = conversation.situation
    return fields, 0 if situation == conversation.situation.strip() else bit("situation-white-space")


def _problem(fields: dict[str, str]) -> tuple[str | None, int]:
    """Return the normalised problem type; it is taken out of the fields if that is what it was."""
    stated = fields.get("problem_type")
    problem = problem_type(stated) if stated is not None else None
    if problem != stated:
        return problem, bit("problem-renamed")
    fields.pop("problem_type", None)
    return problem, 0


def _outcome(fields: Mapping[str, str]) -> tuple[Scores, int]:
    if _SURVEY_FIELDS.isdisjoint(fields):
        return _NO_SCORES, bit("survey-missing") if "experience_type" in fields else 0
    found = [score(fields.get(name)) for name in _SURVEY.values()]
    flags = bit("survey-out-of-range") if any(bad for _, bad in found) else 0
    if any(name not in fields for name in _SURVEY.values()):
        flags |= bit("survey-missing")
    return tuple(value for value, _ in found), flags


def _is_shown(name: str, value: str) -> bool:
    """Tell whether a field is whole in `outcome`, so that it need not be in `extra`."""
    return name in _SURVEY_FIELDS and score(value)[0] is not None


def _scenario(situations: pa.StringArray, *columns: Sequence[str | None]) -> pa.StructArray:
    absent = [None] * len(situations)
    return structs(
        SCHEMA.field("scenario").type, [situations, *(repeated(column) for column in (*columns, absent, absent))]
    )


def _outcomes(found: list[Scores]) -> pa.StructArray:
    values = np.array([[score or 0 for score in scores] for scores in found], np.int64).reshape(
        len(found), len(_SURVEY)
    )
    return structs(SCHEMA.field("outcome").type, [integers(column, column == 0) for column in values.T])


def _extra(found: list[list[tuple[str, str]]]) -> pa.ListArray:
    rows = [field for fields in found for field in fields]
    kind: Any = SCHEMA.field("extra").type.value_type
    columns = [repeated([name for name, _ in rows]), strings([value for _, value in rows])]
    return lists(np.array(list(map(len, found)), np.int64), structs(kind, columns))
