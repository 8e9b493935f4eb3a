"""Chat models behind one interface: local ones, servers, and the small one that comes from PyPI.

Nothing here is imported before a model is asked for: the base install has no torch and no client.
"""

from mascot_data.models.chat import (
    Answer,
    Ask,
    Chances,
    ChatModel,
    Choice,
    Failure,
    Message,
    ModelInfo,
    Sample,
    Sampling,
    Usage,
)
from mascot_data.models.names import ModelName, load_model, parse_name
from mascot_data.models.options import ModelOptions

__all__ = [
    "Answer",
    "Ask",
    "Chances",
    "ChatModel",
    "Choice",
    "Failure",
    "Message",
    "ModelInfo",
    "ModelName",
    "ModelOptions",
    "Sample",
    "Sampling",
    "Usage",
    "load_model",
    "parse_name",
]
