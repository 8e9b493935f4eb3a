"""Read ESConv (Liu et al., ACL 2021): the original JSON, the Hub's text lines, and the failed conversations.

The original JSON has no split. The Hub's one is recoverable: its files hold the conversations in the order of
``random.seed(13); random.shuffle``, first the validation, then the test, then the train split, 15% each for the former
two. So both layouts give the same ids (positions in ESConv.json) and the same splits.
"""

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from mascot_data.errors import InputError
from mascot_data.records.dialogue import Split
from mascot_data.sources.conversation import SPLIT_NAMES, Conversation, Utterance
from mascot_data.sources.files import SourceFile, read_lines
from mascot_data.sources.json_text import parse_json, read_array

RELEASE_SIZE = 1300
SEEKERS = frozenset({"seeker", "usr", "speaker"})
SUPPORTERS = frozenset({"supporter", "sys", "listener"})
_OWN_FIELDS = frozenset({"situation", "emotion_type", "dialog", "survey_score"})


def select(files: list[SourceFile], include_failed: bool) -> list[SourceFile]:
    """Choose the files to read: the original JSON, else the Hub's three; and the failed ones where wanted."""
    failed = [file for file in files if file.base.lower().endswith(".json") and "failed" in file.base.lower()]
    original = [file for file in files if file.base.lower() == "esconv.json"]
    hub = [file for file in files if file.stem in SPLIT_NAMES and file.base.endswith((".txt", ".jsonl"))]
    chosen = original[:1] or _one_per_split(hub)
    if not chosen and len(files) == 1 and not failed:
        chosen = files
    if not chosen and failed and not include_failed:
        raise InputError(failed[0].name, "holds failed conversations only; add --include-failed to take them in")
    return chosen + (failed[:1] if include_failed else [])


def _one_per_split(files: list[SourceFile]) -> list[SourceFile]:
    found: dict[Split, SourceFile] = {}
    for file in files:
        found.setdefault(SPLIT_NAMES[file.stem], file)
    return list(found.values())


def read(files: list[SourceFile]) -> Iterator[Conversation]:
    """Yield the conversations of the selected files in file order.

    Raises:
        InputError: a file or a conversation is not what it should be; names the file, line and conversation.
    """
    lines = {SPLIT_NAMES[file.stem]: file for file in files if file.stem in SPLIT_NAMES}
    positions = _hub_positions(lines)
    for file in files:
        if file.stem in SPLIT_NAMES:
            yield from _read_hub(file, positions[SPLIT_NAMES[file.stem]])
        elif "failed" in file.base.lower():
            for number, (where, raw) in enumerate(read_array(file, "conversation")):
                yield _conversation(where, f"failed-{number}", "train", "failed", raw)
        else:
            splits = hub_splits(_count(file))
            for number, (where, raw) in enumerate(read_array(file, "conversation")):
                yield _conversation(where, str(number), splits[number], "main", raw)


@cache
def hub_order(size: int) -> dict[Split, list[int]]:
    """Give, for a corpus of ``size`` conversations, the original positions in the order of each Hub file."""
    order = list(range(size))
    random.Random(13).shuffle(order)  # noqa: S311
    held_out = int(0.15 * size)
    return {
        "train": order[2 * held_out :],
        "validation": order[:held_out],
        "test": order[held_out : 2 * held_out],
    }


def hub_splits(size: int) -> dict[int, Split]:
    """Give the split of each original position."""
    return {position: split for split, positions in hub_order(size).items() for position in positions}


def _hub_positions(files: dict[Split, SourceFile]) -> dict[Split, list[int]]:
    if not files:
        return {}
    sizes = {split: _hub_size(file) for split, file in files.items()}
    order = hub_order(sum(sizes.values()) if len(files) == len(hub_order(0)) else RELEASE_SIZE)
    for split, size in sizes.items():
        if size != len(order[split]):
            raise InputError(
                files[split].name,
                f"holds {size} conversations where the Hub's {split} split has {len(order[split])}, so their positions "
                "in ESConv.json are unknown; give the folder with all three files, or ESConv.json",
            )
    return order


def _hub_size(file: SourceFile) -> int:
    size = 0
    for number, line in read_lines(file):
        if line.strip():
            if not size:
                where = f"{file.name} line {number}"
                _check_conversation(where, parse_json(where, line))
            size += 1
    if not size:
        raise InputError(file.name, "is empty; fetch the file again")
    return size


def _read_hub(file: SourceFile, positions: list[int]) -> Iterator[Conversation]:
    split = SPLIT_NAMES[file.stem]
    numbers = iter(positions)
    for number, line in read_lines(file):
        if line.strip():
            where = f"{file.name} line {number}"
            yield _conversation(where, str(next(numbers)), split, "main", parse_json(where, line))


def _count(file: SourceFile) -> int:
    count = sum(1 for _ in read_array(file, "conversation"))
    if not count:
        raise InputError(file.name, "holds no conversation; fetch the file again")
    return count


def _check_conversation(where: str, raw: Any) -> None:
    if not isinstance(raw, dict) or not isinstance(raw.get("dialog"), list):
        what = "is not a conversation of ESConv: it has no list 'dialog'; check that the file is ESConv's"
        raise InputError(where, what)


def _conversation(where: str, source_id: str, split: Split, subset: str, raw: Any) -> Conversation:
    _check_conversation(where, raw)
    fields = {name: _as_text(value) for name, value in raw.items() if name not in _OWN_FIELDS}
    survey = _object(where, raw, "survey_score")
    for side in survey:
        scores = _object(where, survey, side)
        fields |= {f"survey_score.{side}.{name}": _as_text(value) for name, value in scores.items()}
    utterances = []
    for number, entry in enumerate(raw["dialog"]):
        utterance, rest = _utterance(f"{where} utterance {number}", entry)
        utterances.append(utterance)
        fields |= {f"dialog.{number}.{name}": _as_text(value) for name, value in rest.items()}
    return Conversation(
        where=where,
        source_id=source_id,
        split=split,
        subset=subset,
        situation=_text_field(where, raw, "situation"),
        emotion=_text_field(where, raw, "emotion_type"),
        utterances=utterances,
        agents=SUPPORTERS,
        fields=fields,
    )


def _utterance(where: str, entry: Any) -> tuple[Utterance, dict[str, Any]]:
    if not isinstance(entry, dict):
        raise InputError(where, "is not an object with a speaker and a text")
    labels = dict(_object(where, entry, "annotation"))
    if "strategy" in entry:
        labels["strategy"] = entry["strategy"]
    speaker, text = entry.get("speaker"), entry.get("content", entry.get("text"))
    if not isinstance(text, str):
        raise InputError(where, "has no text: neither 'content' nor 'text' is there")
    if not isinstance(speaker, str) or (speaker not in SEEKERS and speaker not in SUPPORTERS):
        raise InputError(where, f"speaker {speaker!r} is none of seeker, supporter, usr, sys, speaker, listener")
    feedback = labels.pop("feedback", None)
    strategy = labels.pop("strategy", None)
    if strategy is not None and not isinstance(strategy, str):
        raise InputError(where, f"strategy {strategy!r} is no text; check that the file is ESConv's")
    return Utterance(speaker, text, strategy, None if feedback is None else str(feedback)), labels


def _object(where: str, raw: dict[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name) or {}
    if not isinstance(value, dict):
        raise InputError(where, f"{name!r} is no object; check that the file is ESConv's")
    return value


def _text_field(where: str, raw: dict[str, Any], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str):
        raise InputError(where, f"has no text field {name!r}; check that the file is ESConv's")
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
