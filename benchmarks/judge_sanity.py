"""What the scores of the embedded judge are worth: things of which one is known to be better, and how often it says so.

    python benchmarks/judge_sanity.py --dataset mascot/esconv-multiagent --turns 600

The judge learns from the training split, its constants were chosen on the validation split, and everything here is
measured on the test split (failed conversations are in the training split, and the judge learns nothing from them). All
intervals are 95%, by bootstrap over conversations. Beside the judge stand two answers that need none: the longer text
wins, and regular expressions. Both were written before the test split was looked at, like everything else.
"""

import argparse
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from mascot_data.build.directives import verbs_and_focuses
from mascot_data.judge.embedded import embedded_judge
from mascot_data.judge.embedded.judge import EmbeddedJudge, of_reply
from mascot_data.judge.embedded.labels import FAILED, Said, Talk, forms, read_talks
from mascot_data.judge.embedded.measures import Item, Measured
from mascot_data.judge.rubric import load_rubrics
from mascot_data.judge.subject import Context, Directive, Reply, Spoken, candidate_contexts
from mascot_data.personas import Personas, load_personas
from mascot_data.records.dialogue import Split

RESAMPLES = 1000
BARS = {"persona": 0.82, "directive": 0.82, "relevance": 0.88, "warmth": 0.88, "copy": 0.97}
NEUTRAL = "keep in touch over"

DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


class Trial(NamedTuple):
    """One choice between a better and a worse thing: the conversation, and what each way of choosing says of both."""

    dialogue: str
    judge: tuple[float, float]
    longer: tuple[float, float]
    words: tuple[float, float] | None = None


class Turn(NamedTuple):
    """An agent turn of the test split with what was heard before it."""

    talk: Talk
    place: int

    @property
    def said(self) -> Said:
        """The turn itself."""
        return self.talk.turns[self.place]


class Bench:
    """The judge, the turns it is tried on, and what it measures of them."""

    def __init__(self, judge: EmbeddedJudge, cards: Personas, talks: Sequence[Talk], most: int, seed: int) -> None:
        self.judge, self.cards, self.random = judge, cards, random.Random(seed)
        self.roster = tuple(cards.cards[one] for one in cards.roster_for("psychological-support").personas)
        every = [
            Turn(talk, place) for talk in talks for place, turn in enumerate(talk.turns) if turn.persona and place > 1
        ]
        self.turns = sorted(self.random.sample(every, min(most, len(every))), key=lambda one: (one.talk.id, one.place))
        self.verbs = [verb for verb in verbs_and_focuses("esconv")[0] if verb != NEUTRAL]

    def item(self, turn: Turn, text: str | None = None, card: str | None = None, verb: str | None = None) -> Item:
        """Return a turn as the judge sees it, with another text, card or directive if given."""
        persona = card or str(turn.said.persona)
        verb = verb or turn.said.verb
        return Item(
            "esconv",
            self.cards.cards[persona],
            self.roster,
            Directive(persona, f"{verb} the situation", "") if verb else None,
            tuple(self.spoken(one) for one in turn.talk.turns[: turn.place]),
            turn.said.text if text is None else text,
        )

    def context(self, turn: Turn, texts: Sequence[str]) -> Context:
        """Return a turn with several replies, as ``mascot-data judge`` reads it."""
        item, card = self.item(turn), self.cards.cards[str(turn.said.persona)]
        name = f"{turn.talk.id}/{turn.place}"
        said = tuple(Reply(f"{name}#{k}", k, (Spoken(card.name, card.id, text),)) for k, text in enumerate(texts))
        place = (name, turn.talk.id, turn.talk.source)
        return Context(*place, "candidate", turn.talk.subset, "", card, item.roster, item.directive, item.heard, said)

    def spoken(self, said: Said) -> Spoken:
        """Return a turn as it was heard."""
        name = self.cards.cards[said.persona].name if said.persona else "user"
        return Spoken(name, said.persona, said.text)

    def measured(self, items: Sequence[Item]) -> list[Measured]:
        """Measure, in pieces that do not fill the memory."""
        return [one for start in range(0, len(items), 512) for one in self.judge.measures(items[start : start + 512])]

    def trials(
        self, pairs: Sequence[tuple[Turn, Item, Item]], criterion: str, words: Callable[[Item], float] | None = None
    ) -> list[Trial]:
        """Score both sides of every pair under a criterion."""
        found = iter(self.measured([item for _, better, worse in pairs for item in (better, worse)]))
        trials = []
        for turn, better, worse in pairs:
            values = (score(next(found), criterion), score(next(found), criterion))
            longer = (float(len(better.text)), float(len(worse.text)))
            trials.append(Trial(turn.talk.id, values, longer, (words(better), words(worse)) if words else None))
        return trials


def score(measured: Measured, criterion: str) -> float:
    """Return a score of a reply, ``composite`` being the mean of all."""
    found = {one.criterion: one.score for one in of_reply(measured)}
    return float(np.mean(list(found.values()))) if criterion == "composite" else found[criterion]


def accuracy(trials: Sequence[Trial], which: str, seed: int = 0) -> tuple[float, float, float]:
    """Return how often the better thing wins (a tie counts half), with its interval by bootstrap over conversations."""
    wins: dict[str, list[float]] = {}
    for trial in trials:
        better, worse = getattr(trial, which)
        wins.setdefault(trial.dialogue, []).append(float(better > worse) + 0.5 * (better == worse))
    sums = np.array([[sum(own), len(own)] for own in wins.values()])
    drawn = np.random.default_rng(seed).integers(len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(1)
    low, high = np.percentile(means[:, 0] / means[:, 1], [2.5, 97.5])
    return float(sums[:, 0].sum() / sums[:, 1].sum()), float(low), float(high)


def comparisons(bench: Bench) -> dict[str, list[Trial]]:
    """Make all comparisons of single turns."""
    turns, drawn = bench.turns, bench.random
    labelled = [turn for turn in turns if turn.said.by_persona]
    directed = [turn for turn in turns if turn.said.verb in bench.verbs]
    personas = [card.id for card in bench.roster]

    def other(items: Sequence[Any], *but: Any) -> Any:
        return drawn.choice([item for item in items if item not in but])

    def elsewhere(turn: Turn) -> str:
        return str(other([one for one in turns if one.talk.id != turn.talk.id]).said.text)

    def alike(turn: Turn) -> str:
        same = [one for one in turns if one.talk.id != turn.talk.id and one.said.verb == turn.said.verb]
        return str(drawn.choice(same).said.text)

    def here(turn: Turn) -> str | None:
        own = [one.text for one in turn.talk.turns if one.persona and one.text != turn.said.text]
        return drawn.choice(own) if own else None

    def before(turn: Turn, *, agents: bool) -> list[str]:
        return [one.text for one in turn.talk.turns[: turn.place] if bool(one.persona) == agents]

    def against(texts: Sequence[tuple[Turn, str | None]]) -> list[tuple[Turn, Item, Item]]:
        return [
            (turn, bench.item(turn), bench.item(turn, text)) for turn, text in texts if text and text != turn.said.text
        ]

    parrots = [(turn, before(turn, agents=False)[-1]) for turn in turns if before(turn, agents=False)]
    copies = [(turn, drawn.choice(before(turn, agents=True))) for turn in turns if before(turn, agents=True)]
    wrong_cards = [(t, bench.item(t), bench.item(t, card=other(personas, t.said.persona))) for t in labelled]
    wrong_verbs = [(t, bench.item(t), bench.item(t, verb=other(bench.verbs, t.said.verb))) for t in directed]
    warm = [turn for turn in directed if turn.said.verb in forms().warm]
    factual = [turn for turn in directed if turn.said.verb in ("inform about", "suggest something for")]
    asked = [turn for turn in directed if turn.said.verb == "ask about"]
    return {
        "persona: right card, another card": bench.trials(wrong_cards, "consistency", persona_words),
        "directive: right verb, another verb": bench.trials(wrong_verbs, "empathy", verb_words),
        "relevance: true turn, random turn": bench.trials(
            against([(turn, elsewhere(turn)) for turn in turns]), "relevance", shared_words
        ),
        "relevance: true turn, one of the same verb": bench.trials(
            against([(turn, alike(turn)) for turn in directed]), "relevance", shared_words
        ),
        "relevance: true turn, one of the same conversation": bench.trials(
            against([(turn, here(turn)) for turn in turns]), "relevance", shared_words
        ),
        "warmth: warm act, information or suggestion": bench.trials(
            [(turn, bench.item(turn), bench.item(drawn.choice(factual))) for turn in warm], "emotion", feeling_words
        ),
        "warmth: warm act, question": bench.trials(
            [(turn, bench.item(turn), bench.item(drawn.choice(asked))) for turn in warm], "emotion", feeling_words
        ),
        "copy: true turn, copy of an agent's (contribution)": bench.trials(against(copies), "contribution"),
        "parrot: true turn, the person's last (contribution)": bench.trials(against(parrots), "contribution"),
        "parrot: true turn, the person's last (relevance)": bench.trials(against(parrots), "relevance", shared_words),
    }


def persona_words(item: Item) -> float:
    """Count the cues of the item's persona."""
    cues = DATA["words"]["persona"][item.card.id] if item.card else "(?!)"
    return float(len(re.findall(cues, item.text.lower())))


def verb_words(item: Item) -> float:
    """Count the cues of the directive's verb."""
    cues = DATA["words"]["verb"]
    verb = next((verb for verb in cues if item.directive and item.directive.action.startswith(verb)), None)
    return float(len(re.findall(cues[verb], item.text.lower()))) if verb else 0.0


def feeling_words(item: Item) -> float:
    """Count words of feeling."""
    return float(len(re.findall(DATA["words"]["feeling"], item.text.lower())))


def shared_words(item: Item) -> float:
    """Return the share of the long words that were heard in the last turns."""
    own = set(re.findall(r"[a-z]{5,}", item.text.lower()))
    heard = set(re.findall(r"[a-z]{5,}", " ".join(one.text for one in item.heard[-5:]).lower()))
    return len(own & heard) / max(1, len(own))


def failed_conversations(bench: Bench, failed: Sequence[Talk], each: int = 4) -> dict[str, list[Trial]]:
    """Compare conversations that helped with those that failed, by the mean composite of some of their agent turns."""
    good = {turn.talk.id: turn.talk for turn in bench.turns}

    def means(talks: Sequence[Talk]) -> list[tuple[str, float, float]]:
        chosen = []
        for talk in talks:
            own = [Turn(talk, place) for place, turn in enumerate(talk.turns) if turn.persona and place > 1]
            chosen += bench.random.sample(own, min(each, len(own)))
        scores = [score(one, "composite") for one in bench.measured([bench.item(turn) for turn in chosen])]
        rows: dict[str, list[tuple[float, float]]] = {}
        for turn, value in zip(chosen, scores, strict=True):
            rows.setdefault(turn.talk.id, []).append((value, len(turn.said.text)))
        return [(name, *np.mean(own, axis=0).tolist()) for name, own in rows.items()]

    kept = list(failed)[: len(good)] if len(failed) > len(good) else list(failed)
    worse = means(kept)
    trials = []
    for name, value, length in means(list(good.values())):
        for _ in range(3):
            _, low, short = bench.random.choice(worse)
            trials.append(Trial(name, (value, low), (length, short)))
    return {"overall: ESConv, FailedESConv (mean of 4 turns)": trials}


def of_candidates(bench: Bench, root: Path, split: Split, limit: int) -> dict[str, list[Trial]]:
    """Compare what models said at a turn: under its own card and another, and beside what the human said."""
    own_card, beside = [], []
    for context in candidate_contexts(root, split, bench.cards, limit):
        card = context.card
        if card is None:
            continue
        wrong = bench.random.choice([one for one in context.roster if one != card])
        base = Item(context.source, card, context.roster, context.directive, context.heard, "")
        human = next((reply for reply in context.replies if reply.k == 0), None)
        for reply in context.replies:
            item = base._replace(text=reply.text)
            if reply.k and reply.text.strip():
                own_card.append((context.dialogue_id, item, item._replace(card=wrong)))
                if human:
                    beside.append((context.dialogue_id, base._replace(text=human.text), item))
    found: dict[str, list[Trial]] = {}
    for name, pairs, criterion in (
        ("generated: under its own card, another card", own_card, "consistency"),
        ("generated: the human reply, a sampled one (composite)", beside, "composite"),
        ("generated: the human reply, a sampled one (relevance)", beside, "relevance"),
    ):
        measured = iter(bench.measured([item for _, better, worse in pairs for item in (better, worse)]))
        found[name] = [
            Trial(
                dialogue,
                (score(next(measured), criterion), score(next(measured), criterion)),
                (len(better.text), len(worse.text)),
            )
            for dialogue, better, worse in pairs
        ]
    return found


def attacks(bench: Bench, most: int = 150) -> dict[str, dict[str, float]]:
    """Return, for true turns and for replies meant to fool the judge, the mean of every score."""
    turns = [turn for turn in bench.turns if turn.said.by_persona and turn.said.verb][:most]
    drawn = bench.random

    def last(turn: Turn) -> str:
        return next((one.text for one in turn.talk.turns[turn.place - 1 :: -1] if not one.persona), "")

    made: dict[str, Callable[[Turn], str]] = {
        "the true turn": lambda turn: turn.said.text,
        "a hostile line in the right form": lambda turn: drawn.choice(DATA["hostile"][turn.said.persona]),
        "the true turn and a hostile line": lambda turn: (
            f"{turn.said.text} {drawn.choice(DATA['hostile'][turn.said.persona])}"
        ),
        "the true turn and a question": lambda turn: turn.said.text + " " + drawn.choice(DATA["questions"]),
        "the person's last turn": last,
        "I hear you: the person's last turn": lambda turn: f"I hear you. {last(turn)}",
        "a stock phrase": lambda turn: drawn.choice(DATA["stock"]),
        "a turn of the same verb from elsewhere": lambda turn: str(
            drawn.choice([one for one in bench.turns if one.said.verb == turn.said.verb]).said.text
        ),
    }
    table: dict[str, dict[str, float]] = {}
    true: list[float] = []
    for name, make in made.items():
        verdicts = [
            {one.criterion: one.score for one in of_reply(measured)}
            for measured in bench.measured([bench.item(turn, make(turn)) for turn in turns])
        ]
        composite = [float(np.mean(list(one.values()))) for one in verdicts]
        true = true or composite
        means = {criterion: float(np.mean([one[criterion] for one in verdicts])) for criterion in verdicts[0]}
        above = float(np.mean([a > b for a, b in zip(composite, true, strict=True)]))
        table[name] = {**means, "composite": float(np.mean(composite)), "above the true turn": above}
    return table


def speed(bench: Bench, contexts: int, each: int = 5) -> dict[str, float]:
    """Judge contexts with candidates as ``mascot-data judge`` does, and tell how long it takes."""
    texts = [turn.said.text for turn in bench.turns]
    asked = [
        bench.context(turn, [turn.said.text, *bench.random.sample(texts, each - 1)]) for turn in bench.turns[:contexts]
    ]
    wall, cpu = time.perf_counter(), time.process_time()
    for batch in bench.judge.batches(asked):
        bench.judge.judge([asked[place] for place in batch])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    judgments = len(asked) * each * len(bench.judge.criteria)
    return {
        "contexts": len(asked),
        "judgments": judgments,
        "seconds": wall,
        "cpu seconds": cpu,
        "a second": judgments / wall,
    }


def table(found: dict[str, list[Trial]]) -> list[str]:
    """Write the comparisons as a table."""
    lines = ["| comparison | n | judge | bar | longer wins | words |", "| --- | ---: | --- | ---: | --- | --- |"]
    for name, trials in found.items():
        if not trials:
            continue
        bar = next(
            (f"{value:.2f}" for start, value in BARS.items() if name.startswith(start) and "one of" not in name), ""
        )
        words = figure(trials, "words") if trials[0].words else ""
        lines.append(
            f"| {name} | {len(trials)} | {figure(trials, 'judge')} | {bar} | {figure(trials, 'longer')} | {words} |"
        )
    return lines


def figure(trials: Sequence[Trial], which: str) -> str:
    """Write an accuracy with its interval."""
    value, low, high = accuracy(trials, which)
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Run all of it and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True, help="directory of ESConv, built with --include-failed")
    parser.add_argument("--split", default="test", choices=["validation", "test"])
    parser.add_argument("--turns", type=int, default=600, help="agent turns that are tried")
    parser.add_argument(
        "--candidates", type=int, default=100, help="contexts with candidates that are tried, if there are"
    )
    parser.add_argument("--contexts", type=int, default=200, help="contexts whose judging is timed; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    options = parser.parse_args()
    cards = load_personas()
    judge = embedded_judge(options.dataset, cards, load_rubrics()["agent"])
    talks = [talk for talk in read_talks(options.dataset, options.split) if talk.subset != FAILED]
    failed = [talk for talk in read_talks(options.dataset, "train") if talk.subset == FAILED]
    bench = Bench(judge, cards, talks, options.turns, options.seed)
    found = comparisons(bench)
    if failed:
        found |= failed_conversations(bench, failed)
    if (options.dataset / "data" / "candidates").is_dir():
        found |= of_candidates(bench, options.dataset, options.split, options.candidates)
    fooled = attacks(bench)
    timed = speed(bench, options.contexts) if options.contexts else {}
    print("\n".join(table(found)), end="\n\n")
    print("| reply | " + " | ".join(next(iter(fooled.values()))) + " |")
    print("| --- |" + " ---: |" * len(next(iter(fooled.values()))))
    for name, row in fooled.items():
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row.values()) + " |")
    print("\n" + json.dumps(timed))
    if options.json:
        figures = {
            name: {"n": len(trials), "judge": accuracy(trials, "judge")} for name, trials in found.items() if trials
        }
        options.json.write_text(
            json.dumps({"comparisons": figures, "attacks": fooled, "speed": timed}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
