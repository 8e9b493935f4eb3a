"""What a local model says: sampling token by token, and the probabilities of given answers.

A sample is a function of its prompt, its settings and its seed. What else is in the batch touches only the last
digits of its numbers: the noise of its ``n``-th token is the ``n``-th number of its own generator, wherever its row is.
"""

import gc
from collections.abc import Sequence
from functools import cached_property
from math import exp
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mascot_data.models import packing
from mascot_data.models.chat import Ask, Chances, Failure, Sample
from mascot_data.models.drawing import Draft, draw, noise
from mascot_data.models.prompting import Parts, Prompts
from mascot_data.models.reading import Readings
from mascot_data.models.rows import Reading

_DROPPED_SHARE = 8
_MOST_PACKED = 4096  # tokens behind a root in one pass: the mask grows as their square
NAN = Failure("nan-logits", "the model computed something that is not a number: try another --dtype")


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error of torch says that memory is exhausted."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    known = ("can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
    return isinstance(error, RuntimeError) and any(words in str(error) for words in known)


def free_memory() -> None:
    """Give back what no tensor uses."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class Engine:
    """A model with its tokenizer that answers batches; what does not fit in memory is the caller's concern."""

    def __init__(self, model: Any, prompts: Prompts, ends: frozenset[int], chunk: int) -> None:
        """Take a loaded model; ``ends`` are the end-of-turn tokens, ``chunk`` how many tokens are read at a time."""
        self._model, self._prompts, self._ends, self._chunk = model, prompts, ends, chunk

    def sample(self, asks: Sequence[Ask], encoded: Sequence[Sequence[int]]) -> list[list[Sample] | Failure]:
        """Answer asks with encoded prompts; a prompt is read once, whatever the number of its samples."""
        drafts = [Draft(row, ask, self._prompts) for row, ask in enumerate(asks) for _ in ask.seeds]
        if rows := [place for place, draft in enumerate(drafts) if draft.going]:
            with torch.inference_mode():
                reading = Readings(self._model, encoded, self._chunk).joined([drafts[place].row for place in rows])
                self._say(reading, [drafts[place] for place in rows], self._noise(asks)[:, rows])
        return [_assembled(row, drafts, len(prompt)) for row, prompt in enumerate(encoded)]

    def _noise(self, asks: Sequence[Ask]) -> Tensor:
        """Return the number that decides a token, by step and sample."""
        most = max(ask.sampling.max_tokens for ask in asks)
        numbers = np.stack([noise(seed, most) for ask in asks for seed in ask.seeds], axis=1)
        return torch.from_numpy(numbers).to(self._model.device)

    def _say(self, reading: Reading, drafts: list[Draft], numbers: Tensor) -> None:
        """Finish drafts, one row each; rows that are done leave the batch once they are an eighth of it."""
        for number in range(len(numbers)):
            tokens = self._next(reading.logits, drafts, numbers[number])
            going = [place for place, draft in enumerate(drafts) if draft.going]
            if not going:
                return
            if (len(drafts) - len(going)) * _DROPPED_SHARE >= len(drafts):
                reading.take(going)
                drafts, tokens, numbers = [drafts[place] for place in going], tokens[going], numbers[:, going]
            reading.step(tokens)

    def _next(self, logits: Tensor, drafts: Sequence[Draft], uniform: Tensor) -> Tensor:
        total = logits.logsumexp(-1)
        sound = total.isfinite()
        logits = logits.where(sound[:, None], 0.0)
        tokens = draw(logits, [draft.sampling for draft in drafts], uniform)
        logprobs = logits.gather(1, tokens[:, None]).squeeze(1) - total
        told = torch.stack([tokens.double(), logprobs.double(), sound.double()]).tolist()
        for draft, token, logprob, fine in zip(drafts, *told, strict=True):
            draft.broken |= not fine
            if draft.going:
                draft.add(int(token), logprob, self._ends)
        return tokens

    @cached_property
    def packs(self) -> bool:
        """Whether choices can be read as packed trees: found by trying."""
        if not Reading(self._model).is_plain:
            return False
        try:
            trial = [list(answer.logprobs) for answer in self._packed(packing.TRIAL) if isinstance(answer, Chances)]
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError, NotImplementedError):
            return False
        alone = (self._choose([parts])[0] for parts in packing.TRIAL)
        wanted = [list(answer.logprobs) for answer in alone if isinstance(answer, Chances)]
        return len(trial) == len(wanted) > 0 and packing.close(trial, wanted, self._model.dtype)

    def choose(self, choices: Sequence[Parts]) -> list[Chances | Failure]:
        """Answer choices, packed as trees where the model takes them."""
        return self._packed(choices) if self.packs else self._choose(choices)

    def _packed(self, choices: Sequence[Parts]) -> list[Chances | Failure]:
        with torch.inference_mode():
            read = packing.read_packs(self._model, choices, min(2 * self._chunk, _MOST_PACKED), self._chunk)
            found = {place: _chances(choices[place], logprobs) for place, logprobs in read}
        # What is not a number spreads over a whole pack: each of its choices is read by itself.
        found |= {place: self._choose([choices[place]])[0] for place in found if found[place] is NAN}
        return [found[place] for place in range(len(choices))]

    def _choose(self, choices: Sequence[Parts]) -> list[Chances | Failure]:
        """Answer choices; a prompt is read once, then its answers side by side."""
        pairs = [(row, answer) for row, parts in enumerate(choices) for answer in parts.answers]
        with torch.inference_mode():
            found = iter(self._logprobs([parts.common for parts in choices], pairs).tolist())
        return [_chances(parts, [next(found) for _ in parts.answers]) for parts in choices]

    def _logprobs(self, prompts: Sequence[Sequence[int]], pairs: Sequence[tuple[int, Sequence[int]]]) -> Tensor:
        """Return the log-probability of every pair of a prompt's place and an answer's tokens."""
        readings = Readings(self._model, prompts, self._chunk)
        first = readings.logits.log_softmax(-1)
        sums = torch.zeros(len(pairs), dtype=torch.double)
        if begun := [place for place, (_, answer) in enumerate(pairs) if answer]:
            begins = first[[pairs[place][0] for place in begun], [pairs[place][1][0] for place in begun]]
            sums[begun] = begins.double().cpu()
        if longer := [place for place in begun if len(pairs[place][1]) > 1]:
            reading = readings.joined([pairs[place][0] for place in longer])
            sums[longer] += _followed(reading, [pairs[place][1] for place in longer], self._model.device)
        return sums


def _followed(reading: Reading, answers: Sequence[Sequence[int]], device: Any) -> Tensor:
    """Return the log-probability of every answer after its first token."""
    width = max(map(len, answers)) - 1
    read = torch.tensor([[*answer[:-1], *[0] * (width + 1 - len(answer))] for answer in answers], device=device)
    wanted = torch.tensor([[*answer[1:], *[0] * (width + 1 - len(answer))] for answer in answers], device=device)
    real = torch.tensor([[place < len(answer) - 1 for place in range(width)] for answer in answers], device=device)
    logits = reading.ahead(read)
    each = logits.gather(2, wanted[:, :, None]).squeeze(2) - logits.logsumexp(-1)
    return each.double().where(real, 0.0).sum(1).cpu()


def _chances(parts: Parts, logprobs: list[float]) -> Chances | Failure:
    if np.isnan(logprobs).any():
        return NAN
    apart = _apart(parts.answers)
    mass = sum(exp(logprob) for logprob, alone in zip(logprobs, apart, strict=True) if alone)
    return Chances(tuple(logprobs), min(mass, 1.0), len(parts.common))


def _apart(answers: Sequence[tuple[int, ...]]) -> list[bool]:
    """Tell of every answer whether no other one's probability contains its own: not the same one, not its beginning."""
    return [
        not any(
            answer[: len(other)] == other and (len(other) < len(answer) or before < place)
            for before, other in enumerate(answers)
            if before != place
        )
        for place, answer in enumerate(answers)
    ]


def _assembled(row: int, drafts: Sequence[Draft], prompt_tokens: int) -> list[Sample] | Failure:
    own = [draft for draft in drafts if draft.row == row]
    return NAN if any(draft.broken for draft in own) else [draft.sample(prompt_tokens) for draft in own]
