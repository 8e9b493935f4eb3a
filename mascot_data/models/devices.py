"""Where a local model runs, how much fits there, and one model on several devices at once."""

import os
import signal
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Self

import torch

from mascot_data.errors import MascotError, ModelError
from mascot_data.models.chat import Answer, Ask, Chances, Choice, Failure, Message, Usage
from mascot_data.models.local import open_on
from mascot_data.models.options import ModelOptions
from mascot_data.models.parting import spent
from mascot_data.models.places import Place

_MOST_TOKENS = {"cpu": 32768, "cuda": 262144}
_CHUNK_TOKENS = {"cpu": 512, "cuda": 16384}
_CPU_BYTES = 1.5e9
_GPU_SHARE = 0.8
_BATCHES_EACH = 4
_PATIENCE = 5.0


def chosen(options: ModelOptions) -> tuple[str, ...]:
    """Return the devices of the options, or all GPUs, or else the CPU.

    Raises:
        ModelError: there is no such device here.
    """
    gpus = tuple(f"cuda:{number}" for number in range(torch.cuda.device_count()))
    for name in options.devices:
        if name not in ("cpu", "cuda", *gpus):
            raise ModelError(f"--devices {name}: there is no such device here; choose from {', '.join(('cpu', *gpus))}")
    return options.devices or gpus or ("cpu",)


def chunk_tokens(device: str) -> int:
    """Return how many tokens of prompts are read in one pass; on a CPU more of them gain nothing."""
    return _CHUNK_TOKENS[torch.device(device).type]


def batch_tokens(model: Any, device: str) -> int:
    """Return how many tokens a batch has, by the kind of device and the size of the model, not by what is free now."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    token_bytes = 2 * config.num_hidden_layers * heads * width * model.dtype.itemsize
    kind, memory = torch.device(device).type, _CPU_BYTES
    if kind == "cuda":
        free = torch.cuda.get_device_properties(device).total_memory * _GPU_SHARE - model.get_memory_footprint()
        memory = free / 2  # when rows leave a batch, what stays is copied
    return max(1, min(_MOST_TOKENS[kind], int(memory / token_bytes)))


class ParallelModel:
    """One model on several devices, the first in this process: a batch is worked on in smaller ones, side by side."""

    def __init__(self, source: Place, options: ModelOptions, devices: Sequence[str]) -> None:
        """Load the model on every device.

        Raises:
            ModelError: it cannot be loaded on one of them.
        """
        self._workers = [Worker(device, len(devices), source, options) for device in devices[1:]]
        try:
            self._first = open_on(devices[0], source, options)
            for worker in self._workers:
                worker.receive()
        except BaseException:
            self._end()
            raise
        self.info, self.context_tokens, self.usage = self._first.info, self._first.context_tokens, Usage()

    def count_tokens(self, messages: Sequence[Message], prefix: str = "") -> int:
        """Count the tokens of a prompt exactly."""
        return self._first.count_tokens(messages, prefix)

    def batches(self, questions: Sequence[Ask | Choice]) -> list[list[int]]:
        """Part questions into batches, each of them some batches for every device."""
        return self._first.parted(questions, _BATCHES_EACH * (len(self._workers) + 1))

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer one batch, in its order."""
        return self._answered("sample", asks)

    def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
        """Answer one batch, in its order."""
        return self._answered("choose", choices)

    def _answered(self, method: str, questions: Sequence[Any]) -> list[Any]:
        waiting = deque(self._first.batches(questions))
        found: dict[int, Any] = {}

        def work(ask: Callable[[str, list[Any]], list[Any]]) -> None:
            try:
                while waiting:
                    batch = waiting.popleft()
                    found.update(zip(batch, ask(method, [questions[place] for place in batch]), strict=True))
            except IndexError:  # another one took the last batch
                return
            except BaseException:
                waiting.clear()
                raise

        seats: list[Callable[[str, list[Any]], list[Any]]] = [
            lambda name, part: getattr(self._first, name)(part),
            *(worker.ask for worker in self._workers),
        ]
        with ThreadPoolExecutor(len(seats)) as pool:
            for done in [pool.submit(work, seat) for seat in seats]:
                done.result()
        answers = [found[place] for place in range(len(questions))]
        self.usage = spent(self.usage, answers)
        return answers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes and let go of the memory."""
        self._end()
        self._first.__exit__()

    def _end(self) -> None:
        for worker in self._workers:
            worker.end()


class Worker:
    """A process with the model on a device of its own."""

    def __init__(self, device: str, share: int, source: Place, options: ModelOptions) -> None:
        """Begin to load; ``receive`` waits until it is done."""
        self._device = device
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, device, share, source, options), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, method: str, questions: list[Any]) -> list[Any]:
        """Have a batch answered there."""
        try:
            self._pipe.send((method, questions))
        except OSError as error:
            raise self._lost() from error
        found: list[Any] = self.receive()
        return found

    def receive(self) -> Any:
        """Wait for what the process sends; its errors are raised here."""
        try:
            found = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._lost() from error
        if isinstance(found, ModelError):
            raise found
        return found

    def _lost(self) -> ModelError:
        self._process.join(_PATIENCE)
        status = self._process.exitcode
        return ModelError(f"the process with the model on {self._device} ended (exit status {status}): start again")

    def end(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.terminate()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection, device: str, share: int, source: Place, options: ModelOptions) -> None:
    """Answer batches until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side ends this process
    if device == "cpu":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // share))
    try:
        with open_on(device, source, options) as model:
            pipe.send(None)
            while True:
                method, questions = pipe.recv()
                pipe.send(getattr(model, method)(questions))
    except (EOFError, BrokenPipeError):
        return
    except MascotError as error:
        pipe.send(ModelError(str(error)))
    except Exception as error:
        pipe.send(
            ModelError(f"the model on {device} failed: {type(error).__name__}, {' '.join(str(error).split())[:200]}")
        )
