"""Rows of the configs that trainers read: ``speaker_turns``, ``director_turns``, ``blocks``; views of ``dialogues``."""

from typing import Literal

from pydantic import Field

from mascot_data.records.dialogue import Directive, Index, Kind, Origin, Row


class Message(Row):
    """A chat message in the trainers' format."""

    role: Literal["system", "user", "assistant"] = Field(description="system, user or assistant.")
    content: str = Field(description="The text; speakers are named inside it, since trainers drop a name key.")


class SpeakerTurn(Row):
    """An agent's turn to train a Speaker on: its card, what was said before, the Director's directive, its words."""

    id: str = Field(description="`<dialogue_id>/<turn_index>`, unique, stable over rebuilds.")
    dialogue_id: str = Field(description="The dialogue the turn is in.")
    turn_index: Index = Field(description="The turn's index in the dialogue.")
    persona: str = Field(description="Persona id of the agent that speaks.")
    subset: str = Field(description="Reporting group of the dialogue.")
    directive: Directive = Field(description="What the Director asked for; also the last line of the prompt.")
    prompt: list[Message] = Field(
        description="The persona card as system message, then the context: the agent's own turns as assistant "
        "messages, everybody else's inside user messages as `Name: text`."
    )
    completion: list[Message] = Field(description="One assistant message: what was said.")
    context_turns: Index = Field(description="Turns before this one that the prompt shows.")
    context_cut: Index = Field(description="Turns cut from the front to keep the budget; 0 when all are there.")
    flags: list[str] = Field(description="Flags of the turn.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")


class DirectorTurn(Row):
    """A decision to train a Director on: the whole room so far, and who was to speak next, doing what, how."""

    id: str = Field(description="`<dialogue_id>/<turn_index>`, unique, stable over rebuilds.")
    dialogue_id: str = Field(description="The dialogue the decision is in.")
    turn_index: Index = Field(description="Index of the turn that followed the decision.")
    subset: str = Field(description="Reporting group of the dialogue.")
    prompt: list[Message] = Field(
        description="The Director's system message and one user message with the room so far."
    )
    completion: list[Message] = Field(description="One assistant message: the JSON of agent, action and tone.")
    agent: str = Field(description="Persona id of the agent that spoke next.")
    action: str = Field(description="What it did, from the closed list of the corpus.")
    tone: str = Field(description="How, from the closed list of the roster.")
    candidates_agents: list[str] = Field(
        description="Who may speak: the roster without the agent that has just spoken (unless the source did that)."
    )
    agent_origin: Origin = Field(
        description="Origin of the agent: that of the act it follows from; rule for neutral acts and for meetings."
    )
    action_origin: Origin = Field(description="Origin of the act the action follows from; its focus is by rule.")
    tone_origin: Origin = Field(description="Origin of the tone: always rule, from persona and valence.")
    context_turns: Index = Field(description="Turns before the decision that the prompt shows.")
    context_cut: Index = Field(description="Turns cut from the front to keep the budget; 0 when all are there.")
    flags: list[str] = Field(description="Flags of the turn that followed.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")


class BlockTurn(Row):
    """A turn of a block."""

    speaker: str = Field(description="Id of the speaker.")
    kind: Kind = Field(description="user, agent or participant.")
    persona: str | None = Field(description="Persona id of an agent turn, else null.")
    text: str = Field(description="What is said.")
    directive: Directive | None = Field(description="The Director's directive of an agent turn, else null.")


class PartModel(Row):
    """The model that played a part of a rollout, and how it was sampled."""

    part: Literal["speaker", "director", "user"] = Field(description="speaker: what agents say; director; user.")
    model: str = Field(description="Name of the model, as it was given.")
    revision: str = Field(description="Commit on the Hub, digest of a local directory, or what a server told.")
    backend: str = Field(description="transformers, openai or vllm.")
    dtype: str = Field(description="Type of the weights; empty where a server does not tell.")
    temperature: float = Field(description="Sampling temperature; 0 is the likeliest.")
    top_p: float = Field(description="Nucleus sampling mass.")
    max_tokens: Index = Field(description="Most tokens of an answer; 0 for the Director, which chooses.")


class RolloutStep(Row):
    """How one turn of a rollout came to be, in the order of the block's turns."""

    finish_reason: str = Field(description="stop, length, or speaker-tag (cut where it spoke for somebody else).")
    tokens: Index = Field(description="Tokens that were sampled for the turn's answer.")
    logprob: float | None = Field(description="Sum of their log-probabilities; null where the model does not tell.")
    reasoning: str | None = Field(description="What was thought and not said; null where nothing was.")


class Rollout(Row):
    """How a block was generated; null for blocks of the corpus."""

    mode: str = Field(description="The system that spoke: mascot, zero-shot, ...")
    number: Index = Field(description="Which of several rollouts of the same dialogue, system and profile.")
    models: list[PartModel] = Field(description="The models that played the parts.")
    user_profile: str = Field(description="Profile of the simulated person.")
    seed: Index = Field(description="Seed of the run.")
    agents_per_turn: Index = Field(description="Agent turns after each turn of the person, where several agents are.")
    prompts_version: str = Field(description="Version of the systems' prompts.")
    personas: str = Field(description="Digest of the persona cards and rosters.")
    steps: list[RolloutStep] = Field(description="How each turn of the block came to be.")


class Block(Row):
    """A window of consecutive turns of the whole room, the unit of the group reward (MASCOT, phase 2)."""

    id: str = Field(
        description="`<dialogue_id>/<first_turn>+<number of turns>`, unique, stable over rebuilds; "
        "a rollout's ends in `~<mode>-<profile>-<number>`."
    )
    dialogue_id: str = Field(description="The dialogue the block is from.")
    subset: str = Field(description="Reporting group of the dialogue.")
    first_turn: Index = Field(description="Index of the block's first turn in the dialogue.")
    turns: list[BlockTurn] = Field(description="The turns; the last block of a dialogue may be shorter.")
    prompt: list[Message] = Field(description="The Director's system message and the room before the block.")
    context_turns: Index = Field(description="Turns before the block that the prompt shows.")
    context_cut: Index = Field(description="Turns cut from the front to keep the budget; 0 when all are there.")
    origin: Literal["corpus", "rollout"] = Field(description="corpus: people's turns; rollout: generated.")
    rollout: Rollout | None = Field(description="How it was generated; null for the corpus.")
    license: str = Field(description="SPDX id (lower case) of the source's licence.")
    schema_version: str = Field(description="Version of these columns.")
