"""What a profile of a simulated person holds."""

from pydantic import BaseModel, ConfigDict, Field

from mascot_data.personas.card import Id, Text


class Profile(BaseModel):
    """How a simulated person talks with companions; each field but ``id`` and ``name`` is a sentence to this person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Id = Field(description="Kebab-case, unique, the name of the profile's file.")
    name: Text = Field(description="What reports call it, such as the type's four letters. No model is told.")
    who: Text = Field(description="What kind of person it is.")
    opens_up: Text = Field(description="How it tells of itself: soon or late, in facts or in feelings.")
    wants: Text = Field(description="What it wants from those it talks with.")
    decides: Text = Field(description="How it comes to a decision.")
    disagrees: Text = Field(description="What it does with an answer it does not like.")
    writes: Text = Field(description="Length and tone of its messages.")
