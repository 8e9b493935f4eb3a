"""Rows of the config ``judgments``: what a judge says of a subject under one criterion."""

from typing import Annotated, Literal

from pydantic import Field

from mascot_data.records.dialogue import Index, Row

Points = Annotated[float, Field(ge=1, le=5)]
Share = Annotated[float, Field(ge=0, le=1)]
Method = Literal["rating", "likelihood", "probe", "prototype", "overlap", "pairwise", "text", "composite"]


COMPOSITE = "composite"
"""The criterion of rows that hold the mean of a judge's criteria."""


class JudgeModel(Row):
    """The model that judged."""

    model: str = Field(description="Name of the model, as it was given.")
    revision: str = Field(description="Commit on the Hub, digest of a local directory or probe, or what a server told.")
    backend: str = Field(description="transformers, openai, vllm, or builtin for what needs no model.")
    dtype: str = Field(description="Type of the weights; empty where a server does not tell or there are none.")


class Judgment(Row):
    """One score: a subject under a criterion, by a method of a judge. A missing score has no row."""

    id: str = Field(description="`<subject_id>!<criterion>!<judge_name>`, unique.")
    subject_id: str = Field(description="Id of the row of `candidates` or `blocks` that was judged.")
    subject: Literal["candidate", "block"] = Field(description="Which config the subject is in.")
    dialogue_id: str = Field(description="The dialogue of the subject.")
    prompt_id: str = Field(description="What the subject was an answer to: subjects of one prompt can be compared.")
    persona: str | None = Field(description="Persona id of the agent that speaks; null for blocks.")
    subset: str = Field(description="Reporting group of the dialogue.")
    criterion: str = Field(description="Id of the criterion in the rubric; composite for the mean of the criteria.")
    score: Points = Field(description="1 (worst) to 5 (best): the expected value where there is a distribution.")
    distribution: list[Share] | None = Field(
        description="Probability of each level 1 to 5, summing to 1; null for methods that give a value only."
    )
    label_mass: Share | None = Field(
        description="Probability that the model gave to the five labels together, before they were made to sum to 1; "
        "low where it would rather have said something else. Null for methods without labels."
    )
    value: float | None = Field(description="What the method measured before it was mapped to 1 to 5; null if nothing.")
    order_gap: Share | None = Field(
        description="Of replies compared in both orders: how far the probabilities of both are apart, on average over "
        "the other replies; null for other methods."
    )
    method: Method = Field(description="How the score came about; see the page on judging.")
    judge: JudgeModel = Field(description="The model.")
    judge_name: str = Field(description="Name of the judge in the run: embedded, or the model as it was given.")
    rubric: str = Field(description="Rubric and version, such as agent/1.")
    prompt_hash: str = Field(description="Digest of what the judge was shown, 16 hex digits.")
    k: Index | None = Field(description="Number of the candidate among those of its prompt; null for blocks.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")
