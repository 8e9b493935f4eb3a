"""Drawing tokens from logits, and the message that they grow into."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mascot_data.models.chat import Ask, Sample, Sampling, Stop
from mascot_data.models.prompting import Prompts

_LIKELIEST = 512
_SLACK = 8


class Draft:
    """A sample under way: row of its prompt, its tokens so far, and why it ended, once it has."""

    def __init__(self, row: int, ask: Ask, prompts: Prompts) -> None:
        self.row, self.sampling = row, ask.sampling
        self.finish: Stop | None = None if ask.sampling.max_tokens > 0 else "length"
        self.broken = False
        self._prompts, self._before = prompts, prompts.inside(ask.prefix)
        self._stops = tuple(stop for stop in ask.sampling.stop if stop)
        # A stop string has at most as many tokens as bytes.
        self._window = max((len(stop.encode()) for stop in self._stops), default=0) + _SLACK
        self._tokens: list[int] = []
        self._count, self._logprob, self._text = 0, 0.0, ""

    @property
    def going(self) -> bool:
        """Whether another token is wanted."""
        return self.finish is None and not self.broken

    def add(self, token: int, logprob: float, ends: frozenset[int]) -> None:
        """Take the next token; the sample may end with it."""
        self._count += 1
        self._logprob += logprob
        if token in ends:
            self.finish = "stop"
        else:
            self._tokens.append(token)
            if self._stopped():
                return
            if self._count == self.sampling.max_tokens:
                self.finish = "length"
        if self.finish:
            self._text = self._prompts.text(self._before, self._tokens)

    def _stopped(self) -> bool:
        if not self._stops or not self._found(self._prompts.text((), self._tokens[-self._window :])):
            return False
        text = self._prompts.text(self._before, self._tokens)
        if found := self._found(text):
            self.finish, self._text = "stop", text[: min(found)]
        return bool(found)

    def _found(self, text: str) -> list[int]:
        return [place for stop in self._stops if (place := text.find(stop)) >= 0]

    def sample(self, prompt_tokens: int) -> Sample:
        """Return the finished sample."""
        return Sample(self._text, self.finish or "length", self._logprob, self._count, prompt_tokens)


def noise(seed: int, steps: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the numbers in [0, 1) that decide the first tokens of a sample; the n-th one depends on the seed alone."""
    return np.random.Generator(np.random.Philox(key=seed % 2**128)).random(steps)


def draw(logits: Tensor, settings: Sequence[Sampling], uniform: Tensor) -> Tensor:
    """Draw a token for every row of logits, by its settings and its number in [0, 1)."""
    cold = [row for row, each in enumerate(settings) if each.temperature == 0]
    if len(cold) == len(settings):
        return logits.argmax(-1)
    temperature = torch.tensor([[each.temperature or 1.0] for each in settings], device=logits.device)
    weights = (logits / temperature).softmax(-1)
    tokens = _inverse(weights, uniform)
    if narrow := [row for row, each in enumerate(settings) if each.top_p < 1]:
        mass = torch.tensor([settings[row].top_p for row in narrow], device=logits.device)
        tokens[narrow] = _from_nucleus(weights[narrow], mass, uniform[narrow])
    if cold:
        tokens[cold] = logits[cold].argmax(-1)
    return tokens


def _inverse(weights: Tensor, uniform: Tensor) -> Tensor:
    """Return the first token up to which the weights exceed the row's share of their sum; no token of weight 0."""
    below = weights.double().cumsum(-1)
    found = torch.searchsorted(below, uniform[:, None] * below[:, -1:], right=True)
    return found.squeeze(1).clamp(max=weights.shape[-1] - 1)


def _from_nucleus(weights: Tensor, mass: Tensor, uniform: Tensor) -> Tensor:
    """Draw from the fewest likeliest tokens whose probabilities reach ``mass``."""
    likeliest, tokens = weights.topk(min(_LIKELIEST, weights.shape[-1]))
    if bool((likeliest.double().sum(-1) < mass).any()):
        likeliest, tokens = weights.sort(descending=True)
    before = likeliest.double().cumsum(-1) - likeliest
    drawn = _inverse(torch.where(before < mass[:, None], likeliest, 0.0), uniform)
    return tokens.gather(1, drawn[:, None]).squeeze(1)
