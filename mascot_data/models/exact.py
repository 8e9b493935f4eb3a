"""Exact chances of answers on vLLM, token by token.

Answers are sequences of tokens after one prompt, and part where they differ. At each place where an answer has another
token to come (a fork), vLLM is asked how likely each token is that comes somewhere in an answer. All forks of a
question are prompts of one request: they share their beginning, so that the prefix cache computes it once.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mascot_data.models.chat import Chances, Failure

MOST_LABELS = 128
"""How many tokens vLLM tells about in one request."""

Tokens = tuple[int, ...]


class Forks(NamedTuple):
    """Where to ask and about which tokens; ``begun`` are the beginnings of answers that have a token to come."""

    prompt: Tokens
    answers: tuple[Tokens, ...]
    begun: tuple[Tokens, ...]
    labels: Tokens

    @property
    def prompts(self) -> list[Tokens]:
        """What vLLM is asked to go on from."""
        return [self.prompt + begun for begun in self.begun]

    def label_parts(self) -> list[Tokens]:
        """Part the labels by how many can be asked about at once."""
        return [self.labels[at : at + MOST_LABELS] for at in range(0, len(self.labels), MOST_LABELS)]


def forks(prompt: Tokens, answers: Sequence[Tokens]) -> Forks:
    """Find the forks of answers, which are given as their tokens after the prompt."""
    begun = dict.fromkeys(answer[:end] for answer in answers for end in range(len(answer)))
    return Forks(prompt, tuple(answers), tuple(begun), tuple(sorted({token for answer in answers for token in answer})))


def read_forks(values: Sequence[Mapping[str, Any]], asked: Forks) -> Chances | Failure:
    """Add up the log-probabilities along each answer; there is a value for each part of the labels."""
    at: dict[tuple[Tokens, int], float] = {}
    for told in map(_told, values):
        if len(told) != len(asked.begun):
            return Failure("garbage", f"vLLM was asked about {len(asked.begun)} prompts and answered {len(told)}")
        for begun, chances in zip(asked.begun, told, strict=True):
            at |= {(begun, token): chance for token, chance in chances.items()}
    sums = []
    for answer in asked.answers:
        steps = [at[answer[:end], token] for end, token in enumerate(answer) if (answer[:end], token) in at]
        if len(steps) != len(answer):
            return Failure("no-logprobs", "vLLM does not tell about the tokens asked for: a newer one does")
        sums.append(math.fsum(steps))
    return Chances(tuple(sums), min(1.0, math.fsum(map(math.exp, sums))), len(asked.prompt))


def _told(value: Mapping[str, Any]) -> list[dict[int, float]]:
    choices = value.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        return []
    ordered = sorted(choices, key=lambda choice: choice["index"] if isinstance(choice.get("index"), int) else 0)
    return [_first_token(choice.get("logprobs")) for choice in ordered]


def _first_token(logprobs: object) -> dict[int, float]:
    top = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    found = top[0] if isinstance(top, list) and top and isinstance(top[0], dict) else {}
    return {
        int(name.removeprefix("token_id:")): float(chance)
        for name, chance in found.items()
        if name.removeprefix("token_id:").isdecimal() and isinstance(chance, int | float) and math.isfinite(chance)
    }
