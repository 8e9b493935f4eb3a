"""A chat model that says what a script says: for what real models do only now and then, and for stops at any moment.

In a process of its own (``ScriptedShell``) the command line is given this model under every name. What it is to do is
read from ``script.json`` in the working directory, and what it was asked is written to ``asked.jsonl`` there.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mascot_data.errors import ModelError
from mascot_data.generate import candidates as candidates_module
from mascot_data.generate import rollouts as rollouts_module
from mascot_data.models import Answer, Ask, Chances, Choice, Failure, Message, ModelInfo, ModelOptions, Sample, Usage
from mascot_data.models.asking import Question
from mascot_data.models.store import key_of
from tests.cli.commands import _FORKING, Shell, start

WORDS = (
    "well",
    "maybe",
    "you",
    "could",
    "try",
    "to",
    "talk",
    "about",
    "it",
    "again",
    "with",
    "somebody",
    "that",
    "knows",
)
BATCH = 8


def words_of(ask: Ask, seed: int) -> Sample:
    """Say some words that depend on seed, prompt and temperature; now and then none, the same, or somebody else's."""
    draw = random.Random(f"{seed} {ask.messages[-1]} {ask.sampling.temperature}")
    said = " ".join(draw.choices(WORDS, k=draw.randint(3, 12)))
    kind = seed % 10
    if kind == 0:
        said = ""
    elif kind == 1:
        said = f"{said}\nUser: no, {said}"
    elif kind == 2:
        said = "I  HEAR you." if seed % 4 else "I hear you."
    tokens = len(said.split()) + 1
    return Sample(said, "length" if kind == 3 else "stop", -draw.random() * tokens, tokens, 7)


def no_failure(question: Question) -> Failure | None:
    return None


class Scripted:
    """A ``ChatModel``; ``asked`` lists the prompts and seeds it was asked for, ``batched`` the sizes of batches."""

    def __init__(
        self,
        name: str = "scripted",
        says: Callable[[Ask, int], Sample] = words_of,
        fails: Callable[[Question], Failure | None] = no_failure,
        before: Callable[[Sequence[Question]], object] = len,
    ) -> None:
        self.info = ModelInfo(name, "r1", "transformers", "float32")
        self.context_tokens = None
        self.asked: list[tuple[tuple[Message, ...], int | None]] = []
        self.batched: list[int] = []
        self._says, self._fails, self._before = says, fails, before

    @property
    def usage(self) -> Usage:
        return Usage(len(self.batched), 7 * len(self.asked), len(self.asked), 0.0)

    def count_tokens(self, messages: Sequence[Message], prefix: str = "") -> int:
        return sum(len(content.split()) for _, content in messages)

    def batches(self, questions: Sequence[Question]) -> list[list[int]]:
        found: list[list[int]] = []
        for kind in (Ask, Choice):
            mine = [index for index, question in enumerate(questions) if isinstance(question, kind)]
            mine.sort(key=lambda index: (sum(len(content) for _, content in questions[index].messages), index))
            found += [mine[at : at + BATCH] for at in range(0, len(mine), BATCH)]
        return found

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        self._note(asks)
        return [self._fails(ask) or [self._says(ask, seed) for seed in ask.seeds] for ask in asks]

    def choose(self, choices: Sequence[Choice]) -> list[Chances | Failure]:
        self._note(choices)
        return [self._fails(choice) or self._chances(choice) for choice in choices]

    @staticmethod
    def _chances(choice: Choice) -> Chances:
        draw = random.Random(f"{choice.messages[-1]} {choice.prefix}")
        return Chances(tuple(-5 * draw.random() for _ in choice.answers), 0.5, 7)

    def _note(self, questions: Sequence[Question]) -> None:
        assert len({type(question) for question in questions}) == 1
        self._before(questions)
        self.batched.append(len(questions))
        for question in questions:
            self.asked += [(question.messages, seed) for seed in getattr(question, "seeds", [None])]

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *_: object) -> None:
        return


Loads = Callable[[str, ModelOptions | None], Scripted]


@contextmanager
def installed(*models: Scripted) -> Iterator[None]:
    """Have ``candidates`` and ``rollouts`` load these models by their names meanwhile; there are no others."""
    known = {model.info.name: model for model in models}

    def load(name: str, options: ModelOptions | None = None) -> Scripted:
        if name not in known:
            raise ModelError(f"{name}: there is no such model")
        return known[name]

    with pytest.MonkeyPatch.context() as patch:
        _give(load, patch.setattr)
        yield


def _give(load: Loads, give: Callable[[Any, str, Any], object]) -> None:
    for module in (sys.modules[candidates_module.__module__], sys.modules[rollouts_module.__module__]):
        give(module, "load_model", load)


_BATCHES = count(1)
"""Numbers of the batches of this process."""


def load_from_script(name: str, options: ModelOptions | None = None) -> Scripted:
    """Load a model that does what ``script.json`` says.

    ``kill_at``: the process is killed when asked for so many batches, counted from 1; ``seconds``: how long a batch
    takes; ``fails``: a part of prompts that get no answer; ``says``: what it always says; ``absent``: names of models
    that cannot be had.
    """
    path = Path("script.json")
    script = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if name in script.get("absent", ()):
        raise ModelError(f"{name}: there is no such model")

    def before(questions: Sequence[Question]) -> None:
        keys = [key_of(name, str(question)) for question in questions]  # short, so that a line is written as a whole
        with Path("asked.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"process": os.getpid(), "questions": keys}) + "\n")
        if next(_BATCHES) == script.get("kill_at"):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(script.get("seconds", 0))

    def fails(question: Question) -> Failure | None:
        part = script.get("fails")
        return Failure("timeout", "it took too long") if part and part in str(question.messages) else None

    def says(ask: Ask, seed: int) -> Sample:
        text = script.get("says")
        return words_of(ask, seed) if text is None else Sample(text, "stop", -1.0, 3, 7)

    return Scripted(name, says, fails, before)


def give_script() -> None:
    """Have this process load every model from the script."""
    _give(load_from_script, setattr)


_PRELUDE = """import sys
sys.modules["torch"] = sys.modules["sklearn"] = None  # as in the base install
from tests.models.scripted import give_script
give_script()
"""
MAIN = [sys.executable, "-c", f"{_PRELUDE}from mascot_data.cli import main\nmain()"]


class ScriptedShell(Shell):
    """Runs many commands, each in a process of its own, with models from the script and without other extras."""

    def __init__(self, folder: Path) -> None:
        self._out, self._err = folder / "out", folder / "err"
        command = [sys.executable, "-c", _PRELUDE + _FORKING]
        self._process = start(cwd=folder, command=command, stdin=subprocess.PIPE)

    def begin_asking(self, *arguments: str | Path, cwd: Path) -> int:
        """Start a command, wait for its first question or its end, and return its process id."""
        log = cwd / "asked.jsonl"
        before = log.stat().st_size if log.exists() else 0
        process = self.begin(*arguments, cwd=cwd)
        with suppress(ProcessLookupError):
            while not (log.exists() and log.stat().st_size > before):
                os.kill(process, 0)
                time.sleep(0.001)
        return process


def script(folder: Path, **does: Any) -> None:
    """Write what models do that are loaded in this folder from now on."""
    (folder / "script.json").write_text(json.dumps(does), encoding="utf-8")


def asked(folder: Path) -> list[tuple[int, list[str]]]:
    """Return the batches that were asked in a folder, in their order: process, and keys of the questions."""
    lines = [json.loads(line) for line in (folder / "asked.jsonl").read_text("utf-8").splitlines()]
    return [(line["process"], line["questions"]) for line in lines]


def check_asked_once(folder: Path) -> None:
    """No question of a batch that was finished was asked again: only the last batch of a process can be unfinished."""
    batches = asked(folder)
    done: set[str] = set()
    for (process, keys), (follower, _) in zip(batches, [*batches[1:], (0, [])], strict=True):
        assert not done & set(keys)
        if follower == process:
            done |= set(keys)
