"""How often the rule-based labeller agrees with the corpora's own act labels, on their test splits, and how fast it is.

    python benchmarks/acts.py --sources SOURCES
    python benchmarks/acts.py --sources SOURCES --json

``SOURCES`` holds ``empathetic_dialogues`` (the splits, and ``intents`` with the EmpatheticIntents labels),
``esconv/hf`` and ``qmsum/data/ALL``. The cues were fitted on the training splits; here these only say which label is
the most frequent, for the baseline. The intents of EmpatheticIntents are themselves a model's labels, not people's.
"""

import argparse
import csv
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from mascot_data.build.acts import Inventory, label_acts, label_queries, strategy_of
from mascot_data.build.tables import table
from mascot_data.personas import load_personas

NEIGHBOUR = "(neighbour)"  # a neutral act goes with the neighbouring agent turn, so it has no persona of its own
SPLITS = ("train", "valid", "test")
QUERY_SPLITS = ("train", "val", "test")
PASSES = 5  # of the timed labelling: other work on the machine only ever makes one slower


class Labelled(NamedTuple):
    """One utterance of the supporting side with the corpus's label."""

    conversation: str
    text: str
    label: str


class Measure(NamedTuple):
    """One comparison: what the corpus says of an utterance, and what the labeller says, both out of ``classes``."""

    name: str
    classes: tuple[str, ...]
    truth: Callable[[str], str]
    """From the corpus's label to the class."""
    guess: "Guess"
    """From texts to their classes."""


class Scores(NamedTuple):
    """Accuracy and macro F1, 0 to 1; a class that is never right has F1 0."""

    accuracy: float
    macro_f1: float


Guess = Callable[[list[str]], list[str]]
Corpus = Mapping[str, list[Labelled]]
"""The labelled utterances by split."""
Confusion = list[list[int]]
"""Counts; row: the corpus's class, column: the labeller's."""


def read_intents(folder: Path) -> Corpus:
    """Read the listeners' utterances by split; those of a conversation that no split has are under the split ``""``."""
    split_of: dict[str, str] = {}
    for split in SPLITS:
        with (folder / f"{split}.csv").open(encoding="utf-8") as lines:
            split_of.update((line.split(",", 1)[0], split) for line in lines)
    found: dict[str, list[Labelled]] = {split: [] for split in ("", *SPLITS)}
    for path in sorted((folder / "intents").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["Type"] == "utterance" and row["Actor"] == "listener":
                    split = split_of.get(row["Dialog_ID"], "")
                    found[split].append(Labelled(row["Dialog_ID"], row["Text"], row["Label"]))
    return found


def read_strategies(folder: Path) -> Corpus:
    """Read the supporters' utterances by split; a conversation is known by its line."""
    return {split: list(_supporters(folder / f"{split}.txt")) for split in SPLITS}


def _supporters(path: Path) -> Iterator[Labelled]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        for turn in json.loads(line)["dialog"]:
            if turn["speaker"] == "sys":
                yield Labelled(str(number), turn["text"], turn["strategy"])


def read_queries(folder: Path) -> dict[str, list[str]]:
    """Read all queries by split."""
    found: dict[str, list[str]] = {}
    for split in QUERY_SPLITS:
        meetings = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / split).glob("*.json"))]
        lists = (meeting[kind] for meeting in meetings for kind in ("general_query_list", "specific_query_list"))
        found[split] = [entry["query"] for entry in chain.from_iterable(lists)]
    return found


def scores(confusion: Confusion) -> Scores:
    """Sum up a confusion matrix."""
    total = sum(map(sum, confusion))
    right = sum(row[k] for k, row in enumerate(confusion))
    by_class = [f1 for *_, f1 in per_class(confusion)]
    return Scores(right / total if total else 0.0, sum(by_class) / len(by_class))


def per_class(confusion: Confusion) -> list[tuple[float, float, float]]:
    """Return precision, recall and F1 of each class; 0 where they are not defined."""
    found = []
    for k, (row, column) in enumerate(zip(confusion, zip(*confusion, strict=True), strict=True)):
        n, guessed, right = sum(row), sum(column), row[k]
        found.append((_ratio(right, guessed), _ratio(right, n), _ratio(2 * right, n + guessed)))
    return found


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def tally(codes: Iterable[int], classes: int) -> Confusion:
    """Make a confusion matrix of codes, each the true class times the number of classes plus the guessed one."""
    counts = Counter(codes)
    return [[counts[row * classes + column] for column in range(classes)] for row in range(classes)]


def intervals(conversations: list[list[int]], classes: int, draws: int, seed: int) -> tuple[Scores, Scores]:
    """Return the lower and upper ends of the 95 % intervals from drawing whole conversations with replacement."""
    chance = random.Random(seed)
    drawn = [
        scores(tally(chain.from_iterable(chance.choices(conversations, k=len(conversations))), classes))
        for _ in range(draws)
    ]
    low, high = int(0.025 * (draws - 1)), round(0.975 * (draws - 1))
    columns = [sorted(values) for values in zip(*drawn, strict=True)]
    return Scores(*(column[low] for column in columns)), Scores(*(column[high] for column in columns))


def compare(measure: Measure, corpus: Corpus, draws: int, seed: int) -> dict[str, Any]:
    """Measure the test split."""
    size = len(measure.classes)
    codes = _codes(measure, corpus["test"])
    confusion = tally(chain.from_iterable(codes), size)
    low, high = intervals(codes, size, draws, seed)
    most = Counter(measure.truth(item.label) for item in corpus["train"]).most_common(1)[0][0]
    always = [[sum(row) if name == most else 0 for name in measure.classes] for row in confusion]
    ends = zip(Scores._fields, scores(confusion), low, high, scores(always), strict=True)
    return {
        "name": measure.name,
        "n": len(corpus["test"]),
        "conversations": len(codes),
        **{name: dict(zip(("value", "low", "high", "baseline"), values, strict=True)) for name, *values in ends},
        "baseline_label": most,
        "classes": [
            {"name": name, "n": sum(row), "precision": precision, "recall": recall, "f1": f1}
            for name, row, (precision, recall, f1) in zip(measure.classes, confusion, per_class(confusion), strict=True)
        ],
        "confusion": confusion,
    }


def _codes(measure: Measure, items: Iterable[Labelled]) -> list[list[int]]:
    """Return the codes of ``tally``, one list a conversation."""
    position = {name: k for k, name in enumerate(measure.classes)}
    found: dict[str, list[int]] = {}
    listed = list(items)
    for item, guess in zip(listed, measure.guess([item.text for item in listed]), strict=True):
        code = position[measure.truth(item.label)] * len(position) + position[guess]
        found.setdefault(item.conversation, []).append(code)
    return list(found.values())


def measures() -> dict[str, list[Measure]]:
    """Return what is compared, by corpus."""
    intents, strategies = (tuple(table("cues")[corpus]) for corpus in ("empathetic-dialogues", "esconv"))
    personas = load_personas()
    roster = personas.roster_for("psychological-support")
    voices = (*roster.personas, NEIGHBOUR)

    def persona(corpus: str) -> Callable[[str], str]:
        by_act = personas.by_act(corpus, roster)
        return lambda act: by_act.get(act, NEIGHBOUR)

    of_intent, of_strategy = persona("empathetic-dialogues"), persona("esconv")

    def guesses(inventory: Inventory, then: Callable[[str], str] = str) -> Guess:
        return lambda texts: [then(label) for label in label_acts(pa.array(texts), inventory)]

    return {
        "empathetic-dialogues": [
            Measure("intents", intents, str, guesses("empathetic-dialogues")),
            Measure("personas, by intents", voices, of_intent, guesses("empathetic-dialogues", of_intent)),
        ],
        "esconv": [
            Measure("strategies", strategies, str, guesses("esconv")),
            Measure("strategies, by intents", strategies, str, guesses("empathetic-dialogues", strategy_of)),
            Measure("personas, by strategies", voices, of_strategy, guesses("esconv", of_strategy)),
            Measure("personas, by intents", voices, of_strategy, guesses("empathetic-dialogues", of_intent)),
        ],
    }


def speed(corpus: Corpus, inventory: Inventory) -> dict[str, float]:
    """Label every utterance of every split in one thread, ``PASSES`` times; the quickest pass counts."""
    texts = [item.text for items in corpus.values() for item in items]
    seconds = min(_seconds(texts, inventory) for _ in range(PASSES))
    return {"utterances": len(texts), "cpu_seconds": seconds, "utterances_per_cpu_second": len(texts) / seconds}


def _seconds(texts: list[str], inventory: Inventory) -> float:
    before = time.process_time()
    label_acts(pa.array(texts), inventory)
    return time.process_time() - before


def run(sources: Path, draws: int, seed: int) -> dict[str, Any]:
    """Measure everything; the result is what ``--json`` prints."""
    everything = read_intents(sources / "empathetic_dialogues")
    wanted = set(table("cues")["empathetic-dialogues"])
    intents = {split: [item for item in items if item.label in wanted] for split, items in everything.items()}
    corpora: dict[str, Corpus] = {"empathetic-dialogues": intents, "esconv": read_strategies(sources / "esconv" / "hf")}
    queries = read_queries(sources / "qmsum" / "data" / "ALL")
    return {
        "measures": {
            corpus: [compare(measure, corpora[corpus], draws, seed) for measure in found]
            for corpus, found in measures().items()
        },
        "left_out": {
            "emotion_labels": {split: len(everything[split]) - len(intents[split]) for split in SPLITS},
            "conversation_in_no_split": len(everything[""]),
        },
        "queries": {split: dict(Counter(label_queries(found))) for split, found in queries.items()},
        "speed": {
            "empathetic-dialogues": speed(everything, "empathetic-dialogues"),
            "esconv": speed(corpora["esconv"], "esconv"),
        },
        "draws": draws,
        "seed": seed,
    }


def show(result: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the report."""
    for corpus, found in result["measures"].items():
        for measure in found:
            yield from _show_measure(corpus, measure)
    left_out = result["left_out"]
    yield "empathetic-dialogues, listener utterances left out"
    yield "  labelled with an emotion: " + ", ".join(f"{split} {n}" for split, n in left_out["emotion_labels"].items())
    yield f"  in a conversation that no split has: {left_out['conversation_in_no_split']}"
    yield "\nqmsum, personas of the queries (no labels to compare with)"
    personas = tuple(table("cues")["qmsum"])
    rows = [(split, *(str(counts.get(name, 0)) for name in personas)) for split, counts in result["queries"].items()]
    yield from _columns([("", *personas), *rows])
    yield f"\nspeed, one thread, quickest of {PASSES} passes"
    for corpus, row in result["speed"].items():
        yield (
            f"  {corpus}: {row['utterances']} utterances, {row['cpu_seconds']:.3f} CPU s, "
            f"{row['utterances_per_cpu_second']:.0f} a CPU s"
        )


def _show_measure(corpus: str, measure: dict[str, Any]) -> Iterator[str]:
    yield f"{corpus}, test, {measure['name']}: n = {measure['n']} in {measure['conversations']} conversations"
    for name, title in zip(Scores._fields, ("accuracy", "macro F1"), strict=True):
        value = measure[name]
        yield (
            f"  {title} {value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]   "
            f"always {measure['baseline_label']}: {value['baseline']:.3f}"
        )
    rows = [
        (f"{k} {row['name']}", str(row["n"]), *(f"{row[name]:.3f}" for name in ("precision", "recall", "f1")))
        for k, row in enumerate(measure["classes"])
    ]
    counts = [tuple(map(str, row)) for row in measure["confusion"]]
    header = ("corpus's label", "n", "precision", "recall", "F1", *map(str, range(len(rows))))
    yield from _columns([header, *(row + count for row, count in zip(rows, counts, strict=True))])
    yield ""


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        yield f"  {first:<{widths[0]}}" + "".join(
            f"  {cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)
        )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True, metavar="DIR", help="folder of the three corpora")
    parser.add_argument("--draws", type=int, default=1000, help="bootstrap draws for the 95 %% intervals")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()
    result = run(options.sources, options.draws, options.seed)
    print(json.dumps(result, indent=2) if options.json else "\n".join(show(result)))


if __name__ == "__main__":
    main()
