"""What is sent to a server: request bodies as pure functions of the question."""

import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal

from mascot_data.models.chat import Ask, Choice, Message, Sampling

Body = dict[str, Any]
Dialect = Literal["vllm", "transformers", "plain"]
"""What a server speaks beyond the common protocol; a vendor is ``plain``."""

TOP_LOGPROBS = 20
"""How many of the likeliest first tokens a vendor tells at most."""

LETTERS = 26
"""How many answers ``/v1/systemone`` can label."""

_UNBENT: dict[Dialect, Body] = {
    # Both servers would else fill in what the model's own generation_config.json says.
    "vllm": {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0},
    # Without do_sample it takes the likeliest token at every temperature, and without top_k one of the 50 likeliest.
    "transformers": {"generation_config": json.dumps({"do_sample": True, "top_k": 0})},
    "plain": {},
}
# Models that can think before they answer, and were not asked to, answer at once.
_AT_ONCE: Body = {"chat_template_kwargs": {"enable_thinking": False}}
_CAN_GO = ("max_tokens", "top_logprobs", "logprobs", "seed", "response_format", *_UNBENT["vllm"], "generation_config")


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return messages as the protocol has them."""
    return [{"role": role, "content": content} for role, content in messages]


def chat_body(model: str, ask: Ask, seed: int, dialect: Dialect = "plain") -> Body:
    """Ask for one sample of the next message."""
    body = {"model": model, "messages": chat_messages(ask.messages), "logprobs": True}
    return body | _sampling(ask.sampling, seed, dialect) | (_AT_ONCE if dialect != "plain" else {})


def continue_body(model: str, tokens: Sequence[int], sampling: Sampling, seed: int) -> Body:
    """Ask vLLM for one sample of what follows these tokens."""
    return {"model": model, "prompt": list(tokens), "logprobs": 0} | _sampling(sampling, seed, "vllm")


def _sampling(sampling: Sampling, seed: int, dialect: Dialect) -> Body:
    body: Body = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": seed,
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    return body | ({} if dialect == "transformers" and not sampling.temperature else _UNBENT[dialect])


def tokenize_chat_body(model: str, messages: Sequence[Message]) -> Body:
    """Ask vLLM for the tokens of a prompt, up to where the next assistant message begins."""
    return {"model": model, "messages": chat_messages(messages), "add_generation_prompt": True} | _AT_ONCE


def tokenize_text_body(model: str, text: str) -> Body:
    """Ask vLLM for the tokens of a piece of text."""
    return {"model": model, "prompt": text, "add_special_tokens": False}


def next_tokens_body(model: str, prompts: Sequence[Sequence[int]], tokens: Sequence[int]) -> Body:
    """Ask vLLM how likely each of ``tokens`` (at most 128) is after each of ``prompts``.

    One more token than is needed is sampled, since vLLM tells log-probabilities only where it samples.
    """
    return {
        "model": model,
        "prompt": [list(prompt) for prompt in prompts],
        "max_tokens": 1,
        "temperature": 0.0,
        "logprobs": len(tokens),
        "logprob_token_ids": list(tokens),
        "return_tokens_as_token_ids": True,
    }


def systemone_body(model: str, choice: Choice) -> Body:
    """Ask for the probability of each answer through ``/v1/systemone``.

    The server writes the prompt itself: it lists the answers under letters, and tells how likely each letter is. So
    these are chances of a like question, not of the message itself.
    """
    state = "\n\n".join(f"{role.capitalize()}: {content}" for role, content in choice.messages)
    begun = f" after {choice.prefix}" if choice.prefix else ""
    question = {
        "type": "choice",
        "instructions": f"How does the assistant answer{begun}?",
        "criteria": dict.fromkeys(choice.answers),
    }
    return {"model": model, "state": state, "questions": {"answer": question}}


def first_token_body(model: str, choice: Choice) -> Body:
    """Ask for the likeliest first tokens of the next message: they tell all about answers of one character each."""
    return {
        "model": model,
        "messages": chat_messages(choice.messages),
        "temperature": 1.0,
        "max_tokens": 1,
        "seed": 0,
        "logprobs": True,
        "top_logprobs": TOP_LOGPROBS,
    }


def one_of_body(model: str, choice: Choice) -> Body:
    """Ask for the likeliest of the answers as JSON; a server that cannot hold the form is told it in words too."""
    begun = f"Your answer begins with {choice.prefix} and only what comes next is asked for. " if choice.prefix else ""
    told = f"{begun}Answer with exactly one of these, and nothing else: {' | '.join(choice.answers)}"
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(choice.answers)}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {
        "model": model,
        "messages": chat_messages(_with(choice.messages, told)),
        "temperature": 0.0,
        "max_tokens": 64 + max(len(answer.encode()) for answer in choice.answers),
        "seed": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}},
    }


def _with(messages: Sequence[Message], told: str) -> list[Message]:
    """Add a sentence to the last message of the user; servers differ on two user messages in a row."""
    *before, (role, content) = messages
    return [*before, (role, f"{content}\n\n{told}")] if role == "user" else [*messages, ("user", told)]


def fitted(body: Body, refused: AbstractSet[str]) -> Body:
    """Leave out what the server refused.

    Newer models of OpenAI take ``max_completion_tokens`` in place of ``max_tokens``.
    """
    kept = {key: value for key, value in body.items() if key not in refused}
    if "max_tokens" in refused:
        kept["max_completion_tokens"] = body["max_tokens"]
    return kept


def refused_field(body: Mapping[str, Any], param: str, what: str) -> str | None:
    """Return the field of a body that a server's refusal is about, if the question can be put without it."""
    for field in _CAN_GO:
        if field in body and (param == field or re.search(rf"\b{field}\b", what)):
            return field
    return None
