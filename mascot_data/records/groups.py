"""Rows of the config ``group_rewards``: what a block of turns is worth as the work of a group (MASCOT, phase 2)."""

from typing import Annotated

from pydantic import Field

from mascot_data.records.dialogue import Index, Row
from mascot_data.records.judgments import Points, Share
from mascot_data.records.views import Message


class CriterionScore(Row):
    """The score of a block under one criterion."""

    name: str = Field(description="Id of the criterion.")
    score: Points = Field(description="1 to 5, the mean over the judges.")


class GroupReward(Row):
    """The reward of a block: coherence + eta * diversity. A block without a score under some criterion has no row."""

    id: str = Field(description="Id of the row of `blocks`, unique.")
    dialogue_id: str = Field(description="The dialogue the block is from.")
    prompt_id: str = Field(description="`<dialogue_id>/<first_turn>`: rewards of one prompt can be compared.")
    subset: str = Field(description="Reporting group of the dialogue.")
    prompt: list[Message] = Field(description="The Director's system message and the room before the block.")
    block: str = Field(description="The turns of the block as lines of the room, `Name: text`.")
    criteria: list[CriterionScore] = Field(description="The scores under the collective criteria.")
    coherence: Points = Field(description="Mean of the criteria, or one of them: see coherence_of.")
    coherence_of: str = Field(description="mean, or the id of the criterion that counts as coherence.")
    speakers: list[str] = Field(description="Who speaks each agent turn: persona id, or speaker id without a persona.")
    roster: Index = Field(description="How many agents could have spoken.")
    diversity: Share | None = Field(
        description="How evenly the agents share the block: entropy of who speaks over the largest that so many turns "
        "of such a roster can have. Null where fewer than two agent turns, or agents, leave it undefined."
    )
    eta: Annotated[float, Field(ge=0)] = Field(description="Weight of the diversity.")
    reward: float | None = Field(description="coherence + eta * diversity; null where the diversity is.")
    judges: list[str] = Field(description="Names of the judges that the scores are means over.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")
