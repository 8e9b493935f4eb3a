"""The rows, one file a config; JSON Schema, Arrow schema and dataset features come from them."""

from pydantic import BaseModel

from mascot_data.records.candidates import Candidate, Generator
from mascot_data.records.dialogue import (
    SCHEMA_VERSION,
    Dialogue,
    Directive,
    Evidence,
    Extra,
    Outcome,
    Scenario,
    Speaker,
    Turn,
)
from mascot_data.records.flags import FLAGS
from mascot_data.records.judgments import JudgeModel, Judgment
from mascot_data.records.preferences import CriterionPair, Preference
from mascot_data.records.schema import arrow_schema, features_yaml, json_schema
from mascot_data.records.views import (
    Block,
    BlockTurn,
    DirectorTurn,
    Message,
    PartModel,
    Rollout,
    RolloutStep,
    SpeakerTurn,
)

__all__ = [
    "ADDED_CONFIGS",
    "CONFIGS",
    "FLAGS",
    "SCHEMA_VERSION",
    "Block",
    "BlockTurn",
    "Candidate",
    "CriterionPair",
    "Dialogue",
    "Directive",
    "DirectorTurn",
    "Evidence",
    "Extra",
    "Generator",
    "JudgeModel",
    "Judgment",
    "Message",
    "Outcome",
    "PartModel",
    "Preference",
    "Rollout",
    "RolloutStep",
    "Scenario",
    "Speaker",
    "SpeakerTurn",
    "Turn",
    "arrow_schema",
    "features_yaml",
    "json_schema",
]

CONFIGS: dict[str, type[BaseModel]] = {
    "dialogues": Dialogue,
    "speaker_turns": SpeakerTurn,
    "director_turns": DirectorTurn,
    "blocks": Block,
}
"""Row model of every config that a build makes, by the config's name."""

ADDED_CONFIGS: dict[str, type[BaseModel]] = {
    "candidates": Candidate,
    "judgments": Judgment,
    "preferences": Preference,
    "ties": Preference,
}
"""Row model of every config that a later command adds."""
