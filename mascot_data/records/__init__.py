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
from mascot_data.records.director_labels import CorpusLabel, DirectorLabel, Option
from mascot_data.records.flags import FLAGS
from mascot_data.records.groups import CriterionScore, GroupReward
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
    "CorpusLabel",
    "CriterionPair",
    "CriterionScore",
    "Dialogue",
    "Directive",
    "DirectorLabel",
    "DirectorTurn",
    "Evidence",
    "Extra",
    "Generator",
    "GroupReward",
    "JudgeModel",
    "Judgment",
    "Message",
    "Option",
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
    "group_rewards": GroupReward,
    "group_preferences": Preference,
    "director_labels": DirectorLabel,
}
"""Row model of every config that a later command adds."""
