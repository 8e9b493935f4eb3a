"""Rows of the config ``director_labels``: what a model says a Director's directive was (MASCOT, phase 2)."""

from typing import Literal

from pydantic import Field

from mascot_data.records.dialogue import Index, Origin, Row
from mascot_data.records.judgments import JudgeModel, Share


class Option(Row):
    """A legal answer and how likely the model holds it."""

    name: str = Field(description="The persona id, action or tone.")
    probability: Share = Field(description="Its probability among the legal answers; they sum to 1.")


class CorpusLabel(Row):
    """What `director_turns` says of the same turn, and where each label comes from."""

    agent: str = Field(description="Persona id of the agent that spoke.")
    action: str = Field(description="What it did.")
    tone: str = Field(description="How.")
    agent_origin: Origin = Field(description="Origin of the agent.")
    action_origin: Origin = Field(description="Origin of the action.")
    tone_origin: Origin = Field(description="Origin of the tone.")


class DirectorLabel(Row):
    """A directive that a model reads off a turn, chosen from the legal ones; without an answer there is no row."""

    id: str = Field(description="Id of the row of `director_turns`, unique.")
    dialogue_id: str = Field(description="The dialogue the turn is in.")
    turn_index: Index = Field(description="The turn's index in the dialogue.")
    subset: str = Field(description="Reporting group of the dialogue.")
    agent: str = Field(description="The agent that action and tone are for.")
    agent_from: Literal["corpus", "model"] = Field(
        description="corpus: the agent that spoke is kept, and the model fills action and tone; model: its likeliest."
    )
    agent_options: list[Option] = Field(description="Every agent that may speak here, with the model's probability.")
    action: str = Field(description="The likeliest action.")
    action_options: list[Option] = Field(description="Every action of that agent.")
    tone: str = Field(description="The likeliest tone.")
    tone_options: list[Option] = Field(description="Every tone of that agent.")
    origin: Literal["model"] = Field(description="Where action and tone come from: always model.")
    corpus: CorpusLabel = Field(description="The corpus's own label, to compare with.")
    judge: JudgeModel = Field(description="The model.")
    judge_name: str = Field(description="The model as it was given.")
    prompt_hash: str = Field(description="Digest of what the model was shown, 16 hex digits.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")
