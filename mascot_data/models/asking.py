"""Ask a model many questions: what is in the store is not asked again, the rest goes out in batches."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mascot_data.models.chat import Ask, Chances, ChatModel, Choice, Failure, Sample, Sampling, Usage
from mascot_data.models.store import Store, key_of

CHUNK = 1024
"""Questions that are parted into batches together: the more, the more alike in length are those of a batch."""

Found = list[Sample] | Chances | Failure
Question = Ask | Choice


class Plan(NamedTuple):
    """What a run would ask: samples in all, those stored already, tokens of the prompts and most tokens of the answers.

    The prompt of several samples counts once.
    """

    samples: int = 0
    stored: int = 0
    prompt_tokens: int = 0
    most_tokens: int = 0


class Asker:
    """Asks one model through a store; counts what was stored, asked and failed.

    Every batch is stored before the next one is asked. What failed is not stored, so that the next run tries it again.
    Half of a surrogate pair, which no file can hold, is replaced in what a model says.
    ``told`` is called after each batch with the number of questions that were dealt with so far. ``chunk`` questions
    are parted into batches together.
    """

    def __init__(
        self, model: ChatModel, store: Store, told: Callable[[int], None] | None = None, chunk: int = CHUNK
    ) -> None:
        self._model, self._store, self._told, self._at_once = model, store, told, chunk
        self.info = model.info
        self.stored = self.asked = self._done = 0

    @property
    def usage(self) -> Usage:
        """What the model was asked so far."""
        return self._model.usage

    def __call__(self, questions: Sequence[Question]) -> list[Found]:
        """Answer questions, in their order; the same question is asked once."""
        unique = list(dict.fromkeys(questions))
        found: dict[Question, Found] = {}
        for start in range(0, len(unique), self._at_once):
            part = unique[start : start + self._at_once]
            found |= zip(part, self._chunk(part), strict=True)
        return [found[question] for question in questions]

    def _chunk(self, questions: Sequence[Question]) -> list[Found]:
        keys = [self.keys(question) for question in questions]
        stored = self._store.get([key for part in keys for key in part])
        self.stored += len(stored)
        failed: dict[int, Failure] = {}
        for batch in self._model.batches(questions):
            missing = [index for index in batch if not all(key in stored for key in keys[index])]
            if missing:
                failed |= self._ask(missing, questions, keys, stored)
            self._done += len(batch)
            if self._told:
                self._told(self._done)
        return [
            failed.get(index) or self._assembled(question, [stored[key] for key in keys[index]])
            for index, question in enumerate(questions)
        ]

    def _ask(
        self, missing: list[int], questions: Sequence[Question], keys: list[list[str]], stored: dict[str, Any]
    ) -> dict[int, Failure]:
        wanted = [self._without(questions[index], keys[index], stored) for index in missing]
        new: dict[str, Any] = {}
        failed: dict[int, Failure] = {}
        for index, question, found in zip(missing, wanted, self._answer(wanted), strict=True):
            if isinstance(found, Failure):
                failed[index] = found
                continue
            answers = [[_sound(text), *rest] for text, *rest in found] if isinstance(found, list) else [list(found)]
            new |= zip(self.keys(question), answers, strict=True)
        self._store.put(new)
        self.asked += len(new)
        stored |= new
        return failed

    def _answer(self, wanted: list[Question]) -> Sequence[Found]:
        asks = [question for question in wanted if isinstance(question, Ask)]
        choices = [question for question in wanted if isinstance(question, Choice)]
        return self._model.sample(asks) if asks else self._model.choose(choices)

    @staticmethod
    def _assembled(question: Question, answers: list[Any]) -> Found:
        if isinstance(question, Ask):
            return [Sample(*answer) for answer in answers]
        ((logprobs, mass, prompt_tokens),) = answers
        return Chances(tuple(logprobs), mass, prompt_tokens)

    def stored_answers(self, questions: Sequence[Question]) -> list[Found | None]:
        """Return what is stored, without asking; None where something is missing."""
        keys = [self.keys(question) for question in questions]
        stored = self._store.get([key for part in keys for key in part])
        return [
            self._assembled(question, [stored[key] for key in row]) if all(key in stored for key in row) else None
            for question, row in zip(questions, keys, strict=True)
        ]

    def plan(self, questions: Sequence[Ask]) -> Plan:
        """Count what asking would cost, without asking."""
        stored = prompt_tokens = most_tokens = 0
        for start in range(0, len(questions), CHUNK):
            part = questions[start : start + CHUNK]
            keys = [self.keys(question) for question in part]
            found = self._store.get([key for row in keys for key in row])
            stored += len(found)
            for question, row in zip(part, keys, strict=True):
                missing = sum(key not in found for key in row)
                prompt_tokens += self._model.count_tokens(question.messages, question.prefix) if missing else 0
                most_tokens += missing * question.sampling.max_tokens
        samples = sum(len(question.seeds) for question in questions)
        return Plan(samples, stored, prompt_tokens, most_tokens)

    def keys(self, question: Question) -> list[str]:
        """Return the keys under which answers are stored: one for each seed of an Ask, one for a Choice."""
        base = [list(self.info), [list(message) for message in question.messages], question.prefix]
        if isinstance(question, Choice):
            return [key_of(*base, "choice", list(question.answers), question.suffix)]
        return [key_of(*base, "sample", _sampling(question.sampling), seed) for seed in question.seeds]

    def _without(self, question: Question, keys: list[str], stored: dict[str, Any]) -> Question:
        if isinstance(question, Choice):
            return question
        return question._replace(
            seeds=tuple(s for s, key in zip(question.seeds, keys, strict=True) if key not in stored)
        )


def _sound(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def telling(
    progress: Callable[[str, int, int | None], None] | None, name: str, total: int | None
) -> Callable[[int], None] | None:
    """Return a function for ``Asker`` that tells a run's progress."""
    return None if progress is None else lambda done: progress(name, done, total)


def _sampling(sampling: Sampling) -> list[Any]:
    return [sampling.temperature, sampling.top_p, sampling.max_tokens, list(sampling.stop)]
