"""What the embedded judge has learnt from a dataset, and its files: safetensors and JSON, nothing that can run."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mascot_data.errors import ModelError, OutputError
from mascot_data.judge.embedded.matching import Matching
from mascot_data.judge.embedded.probe import Head, Linear, Probe, Scale
from mascot_data.judge.embedded.states import Array
from mascot_data.judge.embedded.wording import Wording

_NUMBERS, _FACTS = "learnt.safetensors", "learnt.json"


class Learnt(NamedTuple):
    """All that was learnt.

    ``scale`` is that of hidden states, ``probe`` is None where there are too few labels. ``facts`` is plain data: how
    much was learnt from, and the scores on the validation split.
    """

    scale: Scale
    probe: Probe | None
    matching: Matching
    hostility: Linear
    facts: dict[str, Any]


def load_or_learn(cache: Path, key: str, learn: Callable[[], Learnt]) -> Learnt:
    """Return what is in the cache under a key, or learn it and put it there; one process at a time.

    Raises:
        ModelError: the files in the cache are damaged.
        OutputError: the cache cannot be written.
    """
    folder = cache / "judges" / key
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder.parent / f".{key}.lock"):
            if not folder.is_dir():
                _write(learn(), folder, key)
            return read(folder, key)
    except OSError as error:
        what = f"the cache cannot be used ({error.strerror or error})"
        raise OutputError(f"{folder.parent}: {what}; make room or set MASCOT_CACHE to another folder") from error


def _write(learnt: Learnt, folder: Path, key: str) -> None:
    """Write the files; the folder gets its name only when they are whole."""
    part = folder.with_name(f".{key}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
    part.mkdir()
    numbers = save({name: np.ascontiguousarray(array, np.float32) for name, array in _arrays(learnt).items()})
    (part / _NUMBERS).write_bytes(numbers)
    heads = learnt.probe.heads if learnt.probe else {}
    facts = {
        "key": key,
        "line": [learnt.matching.slope, learnt.matching.offset],
        "labels": {kind: head.labels for kind, head in heads.items()},
        "facts": learnt.facts,
        "terms": learnt.probe.wording.terms if learnt.probe else [],
    }
    facts = {"sha256": _digest(numbers, facts), **facts}
    (part / _FACTS).write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    part.replace(folder)


def _arrays(learnt: Learnt) -> dict[str, Array]:
    arrays = {
        "scale.means": learnt.scale.means,
        "scale.deviations": learnt.scale.deviations,
        "matching.ahead": learnt.matching.ahead,
        "matching.back": learnt.matching.back,
        "hostility.weights": learnt.hostility.weights,
        "hostility.biases": learnt.hostility.biases,
    }
    if learnt.probe:
        arrays["idf"] = learnt.probe.wording.idf
        for kind, head in learnt.probe.heads.items():
            for name, linear in (("words", head.by_words), ("states", head.by_states)):
                arrays |= {f"{kind}.{name}.weights": linear.weights, f"{kind}.{name}.biases": linear.biases}
    return arrays


def read(folder: Path, key: str) -> Learnt:
    """Read the files of a folder, and see to it that they are those that were written under this key.

    Raises:
        ModelError: they are not.
    """
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        numbers = (folder / _NUMBERS).read_bytes()
        whole = facts.pop("sha256") == _digest(numbers, facts) and facts["key"] == key
        found = _learnt(load(numbers), facts) if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise _damaged(folder, " ".join(str(error).split())[:200]) from error
    if found is None:
        raise _damaged(folder, "the digests differ")
    return found


def _digest(numbers: bytes, facts: dict[str, Any]) -> str:
    """Return a digest of the numbers, and of all else that is in the JSON."""
    return hashlib.sha256(numbers + json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _damaged(folder: Path, what: str) -> ModelError:
    return ModelError(f"{folder}: what the judge has learnt is damaged ({what}); delete this folder")


def _learnt(arrays: dict[str, Array], facts: dict[str, Any]) -> Learnt:
    def linear(name: str) -> Linear:
        return Linear(arrays[f"{name}.weights"], arrays[f"{name}.biases"])

    heads = {
        kind: Head(tuple(labels), linear(f"{kind}.words"), linear(f"{kind}.states"))
        for kind, labels in facts["labels"].items()
    }
    scale = Scale(arrays["scale.means"], arrays["scale.deviations"])
    return Learnt(
        scale,
        Probe(Wording(facts["terms"], arrays["idf"]), scale, heads) if heads else None,
        Matching(arrays["matching.ahead"], arrays["matching.back"], *facts["line"]),
        linear("hostility"),
        facts["facts"],
    )
