"""The vendor's Batch API: all questions in a file, answers within a day, at a lower price.

Where a state folder is given, a run that was killed finds its batch again and nothing is paid twice: the folder has a
file for each set of questions, with the number of the batch that asks them. It goes once a batch ended without any
answer, so that the next run may try anew; it stays otherwise, since the next run will ask other questions.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mascot_data.errors import ModelError
from mascot_data.models import bodies, replies
from mascot_data.models.batch_files import ROUTE, Found, Kept, Line, State, parted, read_results, untold
from mascot_data.models.calls import Caller, Waits
from mascot_data.models.chat import Answer, Ask, Chances, Choice, Failure
from mascot_data.models.faults import Refusal
from mascot_data.models.loop import gather
from mascot_data.models.options import ModelOptions
from mascot_data.models.questions import CHAT, NO_PREFIX, Questions, is_one_character
from mascot_data.models.spending import Tokens, most_prompt_tokens

_ENDED = ("completed", "failed", "expired", "cancelled")
_SLOWER = 1.5
_NOT_AFFORDABLE = Failure("max-cost", "not asked: more than the allowed cost could be spent")


class Batches:
    """Asks questions through the Batch API. It belongs to one event loop.

    Raises:
        ModelError: the server does not accept the key or the model, or a batch that was begun cannot be read.
        OutputError: the state folder cannot be used.
    """

    def __init__(self, caller: Caller, questions: Questions, model: str, options: ModelOptions, waits: Waits) -> None:
        self._caller, self._questions, self._model, self._options, self._waits = (
            caller,
            questions,
            model,
            options,
            waits,
        )

    async def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Ask for the samples of all questions; see ``ChatModel.sample``."""
        lines = [
            Line(f"{index}-{place}", bodies.chat_body(self._model, ask, seed), _most(ask, ask.sampling.max_tokens))
            for index, ask in enumerate(asks)
            if not ask.prefix
            for place, seed in enumerate(ask.seeds)
        ]
        found = await self._answers(lines)
        return [NO_PREFIX if ask.prefix else _samples(ask, index, found) for index, ask in enumerate(asks)]

    async def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
        """Ask for the chances of all answers; see ``ChatModel.choose``."""
        found = await self._answers([self._choice_line(str(index), choice) for index, choice in enumerate(choices)])
        return [_chances(choice, found[str(index)]) for index, choice in enumerate(choices)]

    def _choice_line(self, name: str, choice: Choice) -> Line:
        body = (bodies.first_token_body if is_one_character(choice) else bodies.one_of_body)(self._model, choice)
        return Line(name, body, _most(choice, body["max_tokens"]))

    async def _answers(self, lines: Sequence[Line]) -> dict[str, Found]:
        """Ask all lines, in as many batches as they need, and wait for all of them."""
        begun = [await self._begin(part) for part in parted(lines)]
        found: dict[str, Found] = {}
        for answers in await gather(self._end(batch) for batch in begun):
            found |= answers
        return found

    async def _begin(self, lines: Sequence[Line]) -> "_Batch":
        """Find the batch of these lines, or create it."""
        state = State(self._options.state_folder, [self._caller.url, *([line.name, line.body] for line in lines)])
        kept = state.read() or await self._upload(lines, state)
        if isinstance(kept, Failure):
            return _Batch(lines, 0, kept, state)
        number = kept.batch or await self._found(kept.file) or await self._created(kept.file)
        if isinstance(number, str):
            state.write(kept._replace(batch=number))
        return _Batch(lines, kept.sent, number, state)

    async def _upload(self, lines: Sequence[Line], state: State) -> Kept | Failure:
        sent = self._caller.ledger.affordable([line.most for line in lines])
        if not sent:
            return _NOT_AFFORDABLE
        # What the model refuses must be known before the file is written: ask one short question of each form.
        for body in {frozenset(line.body): line.body for line in lines[:sent]}.values():
            await self._questions.put(CHAT, body | {"max_tokens": 1})
        content = b"".join(line.as_json(self._questions.fitted) for line in lines[:sent])
        found = await self._caller.upload("/files", {"purpose": "batch"}, "questions.jsonl", content)
        number = _number(found)
        if isinstance(number, str):
            state.write(Kept(number, sent, None))
            return Kept(number, sent, None)
        return number

    async def _found(self, file: str) -> str | None:
        """Find the batch of a file among the latest ones: it may have been created and the answer lost."""
        found = await self._caller.get("/batches?limit=100")
        data = found.get("data") if isinstance(found, dict) else None
        for entry in data if isinstance(data, list) else ():
            if isinstance(entry, dict) and entry.get("input_file_id") == file and isinstance(entry.get("id"), str):
                return str(entry["id"])
        return None

    async def _created(self, file: str) -> str | Failure:
        """Create a batch. One attempt at a time: it must not be created twice when only the answer was lost."""
        body = {"input_file_id": file, "endpoint": ROUTE, "completion_window": "24h"}
        number: str | Failure | None = None
        for attempt in range(self._options.attempts):
            number = _number(await self._caller.post("/batches", body, attempts=1))
            if isinstance(number, str) or number.reason in ("garbage", "context-too-long"):
                return number
            await asyncio.sleep(self._waits.first * 2**attempt)
            if found := await self._found(file):
                return found
        return number or _NOT_AFFORDABLE

    async def _end(self, batch: "_Batch") -> dict[str, Found]:
        """Wait until a batch has ended, and read its answers."""
        if isinstance(batch.number, Failure):
            return dict.fromkeys((line.name for line in batch.lines), batch.number)
        ended = await self._ended(batch.number)
        told: dict[str, Found] = {}
        for name in ("error_file_id", "output_file_id"):
            if isinstance(file := ended.get(name), str):
                content = await self._caller.download(f"/files/{file}/content")
                if not isinstance(content, bytes):
                    raise ModelError(_lost(batch.number, content))
                told |= read_results(self._caller.url, content)
        return self._settled(batch, ended, told)

    def _settled(self, batch: "_Batch", ended: Mapping[str, Any], told: Mapping[str, Found]) -> dict[str, Found]:
        """Count what was used; what the batch says nothing about has failed with it."""
        nothing = untold(ended)
        found = {line.name: told.get(line.name, nothing) for line in batch.lines[: batch.sent]}
        for answer in found.values():
            used = Tokens(*(replies.tokens_used(answer) or (0, 0))) if isinstance(answer, dict) else Tokens()
            self._caller.ledger.spend(used, self._caller.ledger.price(used))
        if not any(isinstance(answer, dict) for answer in found.values()):
            batch.state.remove()
        return found | dict.fromkeys((line.name for line in batch.lines[batch.sent :]), _NOT_AFFORDABLE)

    async def _ended(self, number: str) -> dict[str, Any]:
        wait = self._waits.poll
        while True:
            found = await self._caller.get(f"/batches/{number}")
            if not isinstance(found, dict):
                raise ModelError(_lost(number, found))
            if found.get("status") in _ENDED:
                return found
            await asyncio.sleep(wait)
            wait = min(wait * _SLOWER, max(self._waits.most, self._waits.poll))


class _Batch(NamedTuple):
    """Lines, how many of them were sent, and the number of their batch or why there is none."""

    lines: Sequence[Line]
    sent: int
    number: str | Failure
    state: State


def _number(found: dict[str, Any] | Failure | Refusal) -> str | Failure:
    if isinstance(found, Refusal):
        return found.failure
    if isinstance(found, Failure):
        return found
    number = found.get("id")
    return number if isinstance(number, str) else Failure("garbage", "the server created something without an id")


def _lost(number: str, found: Failure | Refusal) -> str:
    return f"the batch {replies.shown(number)} cannot be read ({found.what}): start again to go on with it"


def _samples(ask: Ask, index: int, found: Mapping[str, Found]) -> Answer:
    samples = []
    for place in range(len(ask.seeds)):
        value = found[f"{index}-{place}"]
        sample = value if isinstance(value, Failure) else replies.read_sample(value, ask.sampling.stop)
        if isinstance(sample, Failure):
            return sample
        samples.append(sample)
    return samples


def _chances(choice: Choice, value: Found) -> Chances | Failure:
    if isinstance(value, Failure):
        return value
    first = replies.read_first_token(value, choice) if is_one_character(choice) else None
    if first is None or (isinstance(first, Failure) and first.reason == "no-logprobs"):
        return replies.read_one_of(value, choice)
    return first


def _most(question: Ask | Choice, tokens: int) -> Tokens:
    return Tokens(most_prompt_tokens(question.messages), tokens)
