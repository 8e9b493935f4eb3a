"""Rows of ``preferences`` and ``ties`` (MASCOT, phase 1: of replies) and ``group_preferences`` (phase 2: of blocks)."""

from typing import Annotated, Literal

from pydantic import Field

from mascot_data.records.dialogue import Index, Row
from mascot_data.records.judgments import Points
from mascot_data.records.views import Message


class CriterionPair(Row):
    """The two scores of a pair under one criterion."""

    name: str = Field(description="Id of the criterion.")
    chosen: Points = Field(description="Score of the chosen reply, 1 to 5.")
    rejected: Points = Field(description="Score of the rejected reply, 1 to 5.")


class Preference(Row):
    """A pair of replies to one prompt, or of blocks after one opening, the better one first."""

    id: str = Field(
        description="`<prompt_id>#<k of chosen>><k of rejected>`, unique; of blocks, `<chosen_id>><rejected_id>`."
    )
    dialogue_id: str = Field(description="The dialogue the turn is in.")
    turn_index: Index = Field(description="The turn's index in the dialogue; of a block, that of its first turn.")
    persona: str | None = Field(description="Persona id of the agent that speaks; null for pairs of blocks.")
    subset: str = Field(description="Reporting group of the dialogue.")
    prompt: list[Message] = Field(description="The prompt that both answer.")
    chosen: list[Message] = Field(description="One assistant message: the better reply, or block in lines.")
    rejected: list[Message] = Field(description="One assistant message: the worse reply, or block in lines.")
    score_gap: Annotated[float, Field(ge=0, le=4)] = Field(description="Difference of the two mean scores.")
    chosen_score: Points = Field(description="Mean score of the chosen reply over the criteria and judges.")
    rejected_score: Points = Field(description="Mean score of the rejected reply over the criteria and judges.")
    criteria: list[CriterionPair] = Field(description="The scores by criterion, means over the judges.")
    probability: Annotated[float, Field(ge=0.5, le=1)] = Field(description="That the chosen one is preferred.")
    origin: Literal["ai", "human", "merged"] = Field(description="Whose preference it is.")
    judges: list[str] = Field(description="Names of the judges, or pseudonyms of the annotators.")
    n_annotators: Index = Field(description="People who judged the pair; 0 for AI feedback.")
    chosen_id: str = Field(description="Id of the chosen candidate or block.")
    rejected_id: str = Field(description="Id of the rejected candidate or block.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")
