"""Plain readers of the three corpora that every peer shares: ``json`` and a comma split, no checks, no labels made up.

One row a dialogue, the same for all peers: ``id``, ``source``, ``split``, ``situation``, ``emotion``, ``problem``,
``topic``, ``scores`` (five survey answers or nulls) and ``turns`` of ``speaker``, ``text`` and ``label``.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

Turn = dict[str, str | None]
Row = dict[str, Any]

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
SCORES = ("initial_intensity", "final_intensity", "empathy", "relevance", "supporter_relevance")
# How many of the 1,300 conversations a split has; which ones does not matter to a measurement of cost.
ESCONV_SPLITS = (("train", 910), ("validation", 1105), ("test", 1300))
SPLITS = (("train", "train"), ("validation", "valid"), ("test", "test"))


def rows(corpus: str, sources: Path) -> Iterator[Row]:
    """Yield the dialogues of one corpus.

    Args:
        corpus: One of ``CORPORA``.
        sources: Folder with one sub-folder a corpus, its name with hyphens or underscores.
    """
    readers = {"esconv": _esconv, "empathetic-dialogues": _empathetic, "qmsum": _qmsum}
    yield from readers[corpus](folder(corpus, sources))


def folder(corpus: str, sources: Path) -> Path:
    """Return the folder of a corpus; the program ends with a message when there is none."""
    for name in (corpus, corpus.replace("-", "_")):
        if (sources / name).is_dir():
            return sources / name
    sys.exit(f"{sources}: no folder {corpus}; give --input a folder with one sub-folder a corpus")


def arguments() -> tuple[list[str], Path, Path]:
    """Read ``--corpus``, ``--input`` and ``--output`` of a peer: its corpora, the sources, a folder that exists."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", choices=[*CORPORA, "all"], required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    return list(CORPORA) if options.corpus == "all" else [options.corpus], options.input, options.output


def summary(package: str, dialogues: int, utterances: int) -> None:
    """Print what a peer did as one line of JSON, which the harness reads."""
    print(json.dumps({"package": f"{package} {version(package)}", "dialogues": dialogues, "utterances": utterances}))


def _row(source: str, number: str, split: str, turns: list[Turn], **labels: object) -> Row:
    row: Row = {"id": f"{source}:{number}", "source": source, "split": split, "situation": None, "emotion": None}
    return row | {"problem": None, "topic": None, "scores": dict.fromkeys(SCORES), "turns": turns} | labels


def _esconv(home: Path) -> Iterator[Row]:
    conversations = json.loads((home / "ESConv.json").read_text("utf-8"))
    for number, raw in enumerate(conversations):
        split = next((name for name, end in ESCONV_SPLITS if number < end), "train")
        turns = [_turn(said["speaker"], said["content"], said["annotation"].get("strategy")) for said in raw["dialog"]]
        labels = {"emotion": raw["emotion_type"], "problem": raw["problem_type"], "situation": raw["situation"]}
        yield _row("esconv", str(number), split, turns, scores=_scores(raw["survey_score"]), **labels)


def _scores(survey: dict[str, dict[str, str]]) -> dict[str, int | None]:
    seeker, supporter = survey["seeker"], survey["supporter"]
    names = ("initial_emotion_intensity", "final_emotion_intensity", "empathy", "relevance")
    found = [*(seeker.get(name) for name in names), supporter.get("relevance")]
    return {name: int(score) if score else None for name, score in zip(SCORES, found, strict=True)}


def _turn(speaker: str, text: str, label: str | None = None) -> Turn:
    return {"speaker": speaker, "text": text, "label": label}


def _empathetic(home: Path) -> Iterator[Row]:
    for split, name in SPLITS:
        with (home / f"{name}.csv").open(encoding="utf-8", newline="\n") as lines:
            next(lines)
            for number, group in groupby(map(_fields, lines), key=lambda fields: fields[0]):
                said = list(group)
                turns = [_turn(fields[4], _commas(fields[5])) for fields in said]
                situation = _commas(said[0][3])
                yield _row("empathetic-dialogues", number, split, turns, emotion=said[0][2], situation=situation)


def _fields(line: str) -> list[str]:
    # Not the csv module: the double quotes are unbalanced and would swallow rows; commas in the text are `_comma_`.
    fields = line.rstrip("\n").split(",")
    if len(fields) not in (8, 9):
        sys.exit(f"a line of Empathetic Dialogues has {len(fields)} fields, not 8 or 9: {fields[0]}")
    return fields


def _commas(text: str) -> str:
    return text.replace("_comma_", ",")


def _qmsum(home: Path) -> Iterator[Row]:
    for split, name in (("train", "train"), ("validation", "val"), ("test", "test")):
        for path in sorted((home / "data" / "ALL" / name).glob("*.json")):
            yield from _meeting(path.stem, split, json.loads(path.read_text("utf-8")))


def _meeting(name: str, split: str, raw: dict[str, Any]) -> Iterator[Row]:
    """Yield one dialogue a topic segment, one a run of turns outside them, and one of the general queries."""
    said = [_turn(turn["speaker"], turn["content"]) for turn in raw["meeting_transcripts"]]
    segments = [_numbers(topic["relevant_text_span"]) for topic in raw["topic_list"]]
    asked: list[list[Turn]] = [[] for _ in segments]
    general = [turn for query in raw["general_query_list"] for turn in _query(query)]
    for query in raw["specific_query_list"]:
        first = int(query["relevant_text_span"][0][0])
        home = next((asked[i] for i, numbers in enumerate(segments) if first in numbers), general)
        home.extend(_query(query))
    for i, numbers in enumerate(segments):
        turns = [said[number] for number in sorted(numbers) if number < len(said)]
        yield _row("qmsum", f"{name}#{i}", split, turns + asked[i], topic=raw["topic_list"][i]["topic"])
    for i, run in enumerate(_outside(segments, len(said))):
        yield _row("qmsum", f"{name}#outside-{i}", split, [said[number] for number in run])
    if general:
        yield _row("qmsum", f"{name}#all", split, general)


def _numbers(spans: list[list[str]]) -> set[int]:
    return {number for first, last in spans for number in range(int(first), int(last) + 1)}


def _query(query: dict[str, str]) -> list[Turn]:
    return [_turn("user", query["query"], "query"), _turn("agent", query["answer"], "answer")]


def _outside(segments: list[set[int]], count: int) -> list[list[int]]:
    inside = set().union(*segments)
    runs = groupby(range(count), key=lambda number: number in inside)
    return [list(run) for covered, run in runs if not covered]
