"""Models that run here, on a CPU or on GPUs: the embedded one, a directory, or a repository of the Hub."""

from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from mascot_data.errors import PrerequisiteError
from mascot_data.models.chat import (
    Answer,
    Ask,
    Chances,
    ChatModel,
    Choice,
    Failure,
    Message,
    ModelInfo,
    Usage,
)
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.parting import Size, largest_first, part, size_of, spent, tokens_of
from mascot_data.models.places import Place, place_of, with_template
from mascot_data.models.prompting import Parts, Prompts, TemplateRefusal

if TYPE_CHECKING:
    from mascot_data.models.decoding import Engine

_TOO_BIG = Failure(
    "out-of-memory", "it does not fit in memory even alone: shorten the prompt or choose another --dtype"
)


def load(parsed: ModelName, options: ModelOptions) -> ChatModel:
    """Load a model of the kinds embedded, hub and directory, on every device of the options.

    Raises:
        ModelError: the model cannot be had, is broken, needs code of its own, or has no chat template.
        OutputError: the cache for the embedded model cannot be written.
        PrerequisiteError: torch or transformers are missing.
    """
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError("a local model", "judge") from error
    from mascot_data.models.devices import ParallelModel, chosen

    devices = chosen(options)
    source = _source(parsed, options)
    return ParallelModel(source, options, devices) if len(devices) > 1 else open_on(devices[0], source, options)


def _source(parsed: ModelName, options: ModelOptions) -> Place:
    if parsed.kind != "embedded":
        return place_of(parsed, options.chat_template)
    from mascot_data.models import embedded

    place = Place(embedded.directory(), parsed.name, embedded.CHAT_REVISION)
    return with_template(place, options.chat_template)


def open_on(device: str, source: Place, options: ModelOptions) -> "LocalModel":
    """Load a model onto one device."""
    from mascot_data.models import checkpoints, devices
    from mascot_data.models.decoding import Engine

    model, tokenizer = checkpoints.open_checkpoint(source.directory, source.name, options, device)
    prompts = Prompts(tokenizer, source.name, options.chat_template)
    engine = Engine(model, prompts, checkpoints.end_tokens(model, tokenizer), devices.chunk_tokens(device))
    info = ModelInfo(source.name, source.revision, "transformers", checkpoints.dtype_of(options, device))
    budget = options.batch_tokens or devices.batch_tokens(model, device)
    return LocalModel(info, engine, prompts, checkpoints.context_of(model), budget)


class LocalModel:
    """A model on one device."""

    def __init__(self, info: ModelInfo, engine: "Engine", prompts: Prompts, context: int | None, budget: int) -> None:
        """Take an engine; ``context`` is how many tokens it takes at most, ``budget`` how many a batch has."""
        self.info, self.context_tokens, self.usage = info, context, Usage()
        self._engine, self._prompts = engine, prompts
        self._budget = self._fitting = budget

    def count_tokens(self, messages: Sequence[Message], prefix: str = "") -> int:
        """Count the tokens of a prompt exactly; 0 where the chat template does not take it."""
        try:
            return len(self._prompts.encode(messages, prefix))
        except TemplateRefusal:
            return 0

    def batches(self, questions: Sequence[Ask | Choice]) -> list[list[int]]:
        """Part questions into batches, the largest first; prompts that begin alike are together."""
        return self.parted(questions)

    def parted(self, questions: Sequence[Ask | Choice], budgets: int = 1) -> list[list[int]]:
        """Part questions into runs of some batches each, the largest run of a kind first."""
        sizes = [self._size(question, self._prepared(question)) for question in questions]
        found: list[list[int]] = []
        for kind in (Ask, Choice):
            places = [place for place, question in enumerate(questions) if isinstance(question, kind)]
            batches = part([sizes[place] for place in places], self._budget)
            runs = [list(chain(*batches[start : start + budgets])) for start in range(0, len(batches), budgets)]
            found += largest_first([[places[index] for index in run] for run in runs], sizes)
        return found

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer one batch, in its order."""
        found: list[Answer] = self._answered(asks)
        self.usage = spent(self.usage, found)
        return found

    def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
        """Answer one batch, in its order."""
        found: list[Chances | Failure] = self._answered(choices)
        self.usage = spent(self.usage, found)
        return found

    def _prepared(self, question: Ask | Choice) -> Parts | Failure:
        """Return the tokens of a question, or why it cannot be asked."""
        try:
            parts = self._prompts.parts_of(question)
        except TemplateRefusal as error:
            return Failure("template", f"the chat template does not take the messages: {error}")
        length, context = size_of(question, parts, packs=False).length, self.context_tokens
        if context is not None and length > context:
            what = f"prompt and answer may have {length} tokens, but the model takes {context}: shorten either"
            return Failure("context-too-long", what)
        return parts

    def _size(self, question: Ask | Choice, parts: Parts | Failure) -> Size:
        packs = isinstance(question, Choice) and isinstance(parts, Parts) and self._engine.packs
        return size_of(question, parts, packs=packs)

    def _answered(self, questions: Sequence[Any]) -> list[Any]:
        """Answer questions of one kind; a batch that does not fit in memory is parted again, into smaller ones."""
        found: dict[int, Any] = {place: self._prepared(question) for place, question in enumerate(questions)}
        sizes = [self._size(question, found[place]) for place, question in enumerate(questions)]
        waiting = self._parted([place for place in found if not isinstance(found[place], Failure)], sizes)
        while waiting:
            batch = waiting.popleft()
            answers = self._tried([questions[place] for place in batch], [found[place] for place in batch])
            if answers is not None:
                found |= zip(batch, answers, strict=True)
            elif len(batch) > 1:
                self._fitting = max(1, tokens_of([sizes[place] for place in batch]) // 2)
                waiting = self._parted([*batch, *chain(*waiting)], sizes)
            else:
                found[batch[0]] = self._alone(questions[batch[0]])
        return [found[place] for place in range(len(questions))]

    def _parted(self, places: Sequence[int], sizes: Sequence[Size]) -> deque[list[int]]:
        batches = part([sizes[place] for place in places], self._fitting)
        return deque([places[index] for index in batch] for batch in batches)

    def _tried(self, questions: list[Any], parts: list[Parts]) -> list[Any] | None:
        """Answer a batch; None: it does not fit in memory."""
        from mascot_data.models.decoding import free_memory, is_out_of_memory

        try:
            if isinstance(questions[0], Ask):
                return list(self._engine.sample(questions, [each.common for each in parts]))
            return list(self._engine.choose(parts))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        free_memory()
        return None

    def _alone(self, question: Ask | Choice) -> Any:
        """Answer a question that does not fit in memory: half of its samples at a time."""
        if isinstance(question, Choice) or len(question.seeds) < 2:
            return _TOO_BIG
        middle = len(question.seeds) // 2
        halves = question.seeds[:middle], question.seeds[middle:]
        answers = [self._answered([question._replace(seeds=seeds)])[0] for seeds in halves]
        failures = [answer for answer in answers if isinstance(answer, Failure)]
        return failures[0] if failures else [sample for answer in answers for sample in answer]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the model and its memory."""
        from mascot_data.models.decoding import free_memory

        del self._engine
        free_memory()
