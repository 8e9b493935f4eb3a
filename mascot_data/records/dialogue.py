"""One row of the config ``dialogues``: a whole conversation with its speakers, acts and directives."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1.1"

Source = Literal["esconv", "empathetic-dialogues", "qmsum"]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
Kind = Literal["user", "agent", "participant"]
Origin = Literal["human", "model", "rule"]
Valence = Literal["positive", "negative", "neutral"]
Score = Annotated[int, Field(ge=1, le=5)]
Index = Annotated[int, Field(ge=0)]


class Row(BaseModel):
    """Base of all rows: immutable, and a field that is not in the schema is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Directive(Row):
    """What the Director asked for at a turn (MASCOT, phase 2): who speaks, doing what, in which tone."""

    agent: str = Field(description="Persona id of the agent that speaks; always the persona of the turn.")
    action: str = Field(description="What the agent is to do, from the closed list of actions in the tables.")
    tone: str = Field(description="How it is to sound, from the closed list of tones in the tables.")
    origin: Origin = Field(
        description="Where the action comes from: human when it follows a human act label, model when a model's, "
        "rule when no label was there."
    )


class Evidence(Row):
    """A span of raw utterances that an answer rests on (QMSum `relevant_text_span`)."""

    first: Index = Field(description="First raw utterance, 0-based.")
    last: Index = Field(description="Last raw utterance, inclusive.")


class Turn(Row):
    """One speaker's uninterrupted contribution, made of one or more raw utterances."""

    index: Index = Field(description="Position in the dialogue, 0-based and without gaps.")
    speaker: str = Field(description="Id of the speaker, one of `speakers[].id`.")
    kind: Kind = Field(
        description="user: the person being helped or asking; agent: a persona; participant: a person in a meeting."
    )
    persona: str | None = Field(description="Persona id of an agent turn; null for people.")
    text: str = Field(description="What is said; the merged utterances are joined by a line break (speech: a space).")
    acts: list[str] = Field(
        description="The corpus's own act labels, one for each merged utterance that has one, in order; for "
        "acts_origin rule, the labeller's."
    )
    acts_origin: Origin | None = Field(description="Who gave the acts; null when there are none.")
    source_turns: list[Index] = Field(
        description="0-based raw utterances this turn is made of; empty for query and answer turns of QMSum."
    )
    source_texts: list[str] = Field(
        description="Exact raw text of each of `source_turns`; empty when splitting `text` at line breaks gives "
        "just those texts."
    )
    source_speakers: list[str] = Field(
        description="Raw speaker name of each of `source_turns`; empty when all are the speaker's `name`."
    )
    source_query: int | None = Field(
        description="QMSum: number of the query that a query or answer turn comes from (general queries first, then "
        "specific ones, 0-based); null elsewhere."
    )
    evidence: list[Evidence] = Field(description="QMSum: raw utterances the annotators marked for an answer.")
    directive: Directive | None = Field(description="The Director's label of an agent turn; null for people.")
    feedback: Score | None = Field(
        description="The seeker's rating of the help so far, 1 to 5, given with this turn (ESConv); else null."
    )
    flags: list[str] = Field(description="What is unusual about this turn; names as in `records/flags.py`.")


class Speaker(Row):
    """Somebody who speaks in the dialogue."""

    id: str = Field(description="Unique in the dialogue: `user`, a persona id, or a participant's canonical name.")
    kind: Kind = Field(description="user, agent or participant.")
    persona: str | None = Field(description="Persona id of an agent, else null.")
    role: str | None = Field(description="Role in the conversation: seeker, a persona's role, a meeting role.")
    name: str = Field(description="The name the raw file uses for this speaker (the most frequent spelling).")


class Scenario(Row):
    """What the conversation is about."""

    situation: str | None = Field(description="The person's own description of the situation; QMSum: the outline.")
    emotion: str | None = Field(description="Emotion label of the corpus, lower case.")
    valence: Valence | None = Field(description="Valence of the emotion, from the table.")
    problem: str | None = Field(description="Normalised problem type (ESConv).")
    topic: str | None = Field(description="Topic of the meeting segment (QMSum).")
    query: str | None = Field(description="First query put to the meeting in this dialogue (QMSum).")


class Outcome(Row):
    """Survey answers of the two people after the conversation (ESConv, 1 to 5)."""

    initial_intensity: Score | None = Field(description="Seeker: intensity of the emotion before.")
    final_intensity: Score | None = Field(description="Seeker: intensity of the emotion after.")
    empathy: Score | None = Field(description="Seeker: how well the supporter understood.")
    relevance: Score | None = Field(description="Seeker: how relevant the replies were.")
    supporter_relevance: Score | None = Field(description="Supporter: how relevant the seeker's messages were.")


class Extra(Row):
    """A field of the original that has no column of its own, word for word."""

    name: str = Field(description="Name of the field in the raw file.")
    value: str = Field(description="Its content as text.")


class Dialogue(Row):
    """A conversation of the source corpus recast for several personas; the words are the people's own."""

    id: str = Field(description="`<source>:<source_id>`, unique, stable over rebuilds.")
    source: Source = Field(description="The corpus.")
    source_id: str = Field(description="The conversation in the corpus (position, conversation id, meeting#segment).")
    domain: Literal["psychological-support", "workplace"] = Field(description="Which roster of personas speaks.")
    subset: str = Field(
        description="Reporting group: `main` or `failed` (ESConv), the valence (Empathetic Dialogues), `academic`, "
        "`committee`, `product` or `other` (QMSum)."
    )
    scenario: Scenario = Field(description="What the conversation is about.")
    speakers: list[Speaker] = Field(description="Everybody who speaks, in order of first appearance.")
    turns: list[Turn] = Field(description="What is said, in order; each turn is one speaker's.")
    outcome: Outcome = Field(description="Survey answers after the conversation; all null but in ESConv.")
    extra: list[Extra] = Field(description="Fields of the original without a column of their own, sorted by name.")
    flags: list[str] = Field(description="Flags of the dialogue and of all its turns, sorted, each once.")
    license: str = Field(description="SPDX id (lower case, as on the Hub) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")

    def raw_utterances(self) -> list[tuple[int, str, str]]:
        """Give back what the raw file holds: ``(utterance number, speaker, text)`` in order of appearance."""
        names = {speaker.id: speaker.name for speaker in self.speakers}
        found: list[tuple[int, str, str]] = []
        for turn in self.turns:
            if not turn.source_turns:
                continue
            count = len(turn.source_turns)
            texts = turn.source_texts or turn.text.split("\n")
            speakers = turn.source_speakers or [names[turn.speaker]] * count
            found.extend(zip(turn.source_turns, speakers, texts, strict=True))
        return found
