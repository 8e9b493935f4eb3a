"""The rows, one file a config; JSON Schema, Arrow schema and dataset features come from them."""

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
from mascot_data.records.schema import arrow_schema, features_yaml, json_schema

__all__ = [
    "CONFIGS",
    "FLAGS",
    "SCHEMA_VERSION",
    "Dialogue",
    "Directive",
    "Evidence",
    "Extra",
    "Outcome",
    "Scenario",
    "Speaker",
    "Turn",
    "arrow_schema",
    "features_yaml",
    "json_schema",
]

CONFIGS = {"dialogues": Dialogue}
"""Row model of every config, by the config's name."""
