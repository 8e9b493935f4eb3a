"""Rows of the config ``candidates``: what models, and the human, say at an agent's turn."""

from typing import Literal

from pydantic import Field

from mascot_data.records.dialogue import Index, Row


class Generator(Row):
    """The model that said a candidate, and how it was sampled."""

    model: str = Field(description="Name of the model, as it was given.")
    revision: str = Field(description="Commit on the Hub, digest of a local directory, or what a server told.")
    backend: str = Field(description="transformers, openai or vllm.")
    dtype: str = Field(description="Type of the weights; empty where a server does not tell.")
    method: Literal["sample"] = Field(description="sample: ancestral sampling under temperature and top_p.")
    temperature: float = Field(description="Sampling temperature; 0 is the likeliest.")
    top_p: float = Field(description="Nucleus sampling mass.")
    max_tokens: Index = Field(description="Most tokens of an answer.")
    seed: Index = Field(description="Seed of this sample.")


class Candidate(Row):
    """One reply to a prompt of ``speaker_turns``: the human's (k = 0), or a sample of a model."""

    id: str = Field(description="`<prompt_id>#<k>`, unique, stable over repetitions of the run.")
    prompt_id: str = Field(description="Id of the row of `speaker_turns` whose prompt was answered.")
    dialogue_id: str = Field(description="The dialogue the turn is in.")
    persona: str = Field(description="Persona id of the agent that speaks.")
    subset: str = Field(description="Reporting group of the dialogue.")
    k: Index = Field(description="0 for the human reply, then the samples; a dropped sample's number is missing.")
    origin: Literal["human", "model"] = Field(description="human: what was really said; model: sampled.")
    text: str = Field(description="The reply, cut where the model began to speak for somebody else.")
    logprob: float | None = Field(
        description="Sum of the log-probabilities of the sampled tokens, at temperature 1, before cutting; null for "
        "the human reply and where the model does not tell."
    )
    tokens: Index | None = Field(description="Tokens that were sampled; null for the human reply.")
    finish_reason: Literal["human", "stop", "length", "speaker-tag"] = Field(
        description="human; stop: the model was done; length: it had said all the tokens it may, the reply is "
        "truncated; speaker-tag: it was cut where it began to speak for somebody else."
    )
    generator: Generator | None = Field(description="What said it; null for the human reply.")
    prompt_hash: str = Field(description="Digest of the prompt's messages, 16 hex digits, to notice a changed prompt.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")
