"""Judgments per second on one core: packed trees beside one prompt at a time and distilabel, over the same replies.

A judgment is one score for one reply under one criterion. All programs run the same weights (smollm2-135m, float32) on
one thread and take turns, round after round, so that a busy machine slows each alike; a ratio is taken within a round.
Slow programs get fewer of the contexts, spread evenly over their sizes.

    packed      ours: ``RatingJudge``, a context's replies and criteria as one tree
    unpacked    ours: the same choices one by one; nothing shared or packed
    plain       a forward pass of transformers for each whole prompt, softmax over the five labels
    distilabel  its UltraFeedback task over ``TransformersLLM``: one call rates all replies under one aspect

distilabel has an environment of its own. Version 1.5.3 ran with the transformers of this project (5.24) and torch 2.14;
it needs ``requests`` besides:

    python -m venv .venv-distilabel
    .venv-distilabel/bin/pip install torch transformers==5.24.0 'distilabel[hf-transformers]==1.5.3' requests
    python benchmarks/judge.py --dataset mascot/esconv-multiagent --distilabel-python .venv-distilabel/bin/python

What was open was decided in the peers' favour: loading is not counted; plain computes logits only where they are read;
distilabel has its shortest aspect, the trunk of our prompt without our rubric as instruction, and all ratings that it
was asked for count as judgments, parsed or not. A small model ends early there: one that writes what was asked for
takes longer. The exit status is 1 only when scores of ours are missing or differ.
"""

import argparse
import inspect
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from spread import Spread, spread

from mascot_data.judge.asking import Tree, tree
from mascot_data.judge.rating import RatingJudge, rated
from mascot_data.judge.rubric import Rubric, load_rubrics
from mascot_data.judge.subject import Context, candidate_contexts
from mascot_data.models import Chances, ModelOptions, load_model
from mascot_data.models.checkpoints import quiet
from mascot_data.models.embedded import directory
from mascot_data.models.local import LocalModel
from mascot_data.models.prompting import Parts
from mascot_data.personas import load_personas

BARS = {"distilabel": 10.0, "plain": 3.5}  # how many times their judgments per second
CLOSE = 2e-5  # of the probabilities of the labels
BUSY = 0.9  # share of its thread's time that a program gets where nothing else runs

Shares = dict[tuple[str, str], tuple[float, ...]]
"""Probabilities of the labels 1 to 5 by reply and criterion."""


class Did(NamedTuple):
    """One run of a program: wall and CPU seconds, judgments asked for, and what came of them."""

    seconds: float
    cpu: float
    judgments: int
    missing: int
    shares: Shares
    tokens: int = 0  # written


Program = Callable[[int], Did]
"""Judges its contexts; takes the number of the round."""


def some(contexts: Sequence[Context], count: int) -> list[Context]:
    """Return so many of the contexts, spread evenly over their sizes."""
    count = min(count, len(contexts))
    by_size = sorted(contexts, key=lambda one: len(str((one.heard, one.replies))))
    return [by_size[(2 * number + 1) * len(by_size) // (2 * count)] for number in range(count)]


def pairs(contexts: Sequence[Context], rubric: Rubric) -> Iterator[tuple[tuple[str, str], Tree, int, int]]:
    """Yield the key of every judgment with its tree, branch and leaf."""
    for context in contexts:
        shown = tree(context, rubric)
        for branch, reply in enumerate(context.replies):
            for leaf, criterion in enumerate(rubric.criteria):
                yield (reply.id, criterion.id), shown, branch, leaf


def timed(work: Callable[[], Shares], judgments: int) -> Program:
    """Return the program that does a work in this process."""

    def run(_: int) -> Did:
        before, cpu = time.perf_counter(), time.process_time()
        shares = work()
        wall, cpu = time.perf_counter() - before, time.process_time() - cpu
        return Did(wall, cpu, judgments, judgments - len(shares), shares)

    return run


def packed(model: LocalModel, rubric: Rubric, contexts: Sequence[Context]) -> Shares:
    """Judge as ``mascot-data judge`` does."""
    _forget(model)
    judge, found = RatingJudge(model, rubric), Shares()
    for batch in judge.batches(contexts):
        own = [contexts[place] for place in batch]
        for context, replies in zip(own, judge.judge(own), strict=True):
            for reply, verdicts in zip(context.replies, replies, strict=True):
                if isinstance(verdicts, list):
                    found |= {(reply.id, each.criterion): each.distribution or () for each in verdicts}
    return found


def unpacked(model: LocalModel, rubric: Rubric, contexts: Sequence[Context]) -> Shares:
    """Ask the same model for the same choices, one after the other."""
    _forget(model)
    found = Shares()
    for key, shown, branch, leaf in pairs(contexts, rubric):
        parts = model._prepared(shown.choice(branch, leaf))
        answer = model._engine._choose([parts])[0] if isinstance(parts, Parts) else parts
        if isinstance(answer, Chances):
            found[key] = rated(key[1], answer, "").distribution or ()
    return found


def plain_prefill(path: Path, rubric: Rubric, contexts: Sequence[Context]) -> Callable[[], Shares]:
    """Return what anybody would write first: a forward pass for each prompt, with a tokenizer and model of its own."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(path)
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()

    def work() -> Shares:
        found = Shares()
        for key, shown, branch, leaf in pairs(contexts, rubric):
            asked = shown.choice(branch, leaf)
            chat = [{"role": role, "content": content} for role, content in asked.messages]
            text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False) + asked.prefix
            ids = tokenizer.encode(text + asked.answers[0], add_special_tokens=False)[:-1]
            labels = [tokenizer.encode(label, add_special_tokens=False)[-1] for label in asked.answers]
            with torch.inference_mode():
                logits = model(torch.tensor([ids]), use_cache=False, logits_to_keep=1).logits[0, -1, labels]
            shares = tuple(logits.double().softmax(-1).tolist())
            if not any(map(math.isnan, shares)):
                found[key] = shares
        return found

    return work


def _forget(model: LocalModel) -> None:
    """Let every round render and tokenize anew."""
    model._prompts._rendered.cache_clear()
    model._prompts.inside.cache_clear()


def child() -> None:
    """Run in distilabel's python, without this project: read items, a line of JSON a round; write what was found."""
    import json
    import os
    import sys
    import time
    import warnings

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    warnings.simplefilter("ignore")
    import torch
    from distilabel.models import TransformersLLM  # type: ignore[import-not-found,unused-ignore]
    from distilabel.steps.tasks import UltraFeedback  # type: ignore[import-not-found,unused-ignore]

    torch.set_num_threads(1)
    path, aspect, most = sys.argv[1:]
    llm = TransformersLLM(
        model=path, torch_dtype="float32", device="cpu", generation_kwargs={"max_new_tokens": int(most)}
    )
    task = UltraFeedback(llm=llm, aspect=aspect, use_default_structured_output=False)
    task.load()
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        torch.manual_seed(asked["seed"])
        before, cpu = time.perf_counter(), time.process_time()
        rows = next(task.process(asked["items"]))
        seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
        told = {"seconds": seconds, "cpu": cpu, "ratings": [row.get("ratings") for row in rows]}
        statistics = [row["distilabel_metadata"]["statistics_ultra_feedback_0"] for row in rows]
        told["tokens"] = sum(each["output_tokens"] for each in statistics)
        print(json.dumps(told), file=out, flush=True)


@contextmanager
def distilabel(path: Path, rubric: Rubric, contexts: Sequence[Context], options: argparse.Namespace) -> Iterator[Any]:
    """Yield the program that asks UltraFeedback in a process of its own, loaded once."""
    items = [
        {"instruction": tree(one, rubric).trunk, "generations": [reply.text for reply in one.replies]}
        for one in contexts
    ]
    source = f"{inspect.getsource(child)}\n\nchild()\n"
    command = [str(options.distilabel_python), "-c", source, str(path), options.aspect, str(options.max_tokens)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
        ends = process.stdin, process.stdout

        def told(asked: str) -> str:
            if ends[0] is not None and asked:
                ends[0].write(asked + "\n")
                ends[0].flush()
            if ends[1] is not None and (line := ends[1].readline()):
                return line
            log.seek(0)
            sys.exit(f"distilabel ended: {log.read()[-2000:]}")

        def run(number: int) -> Did:
            found = json.loads(told(json.dumps({"seed": number, "items": items})))
            judgments = sum(len(item["generations"]) for item in items)
            parsed = sum(
                min(len(item["generations"]), sum(isinstance(rating, int) and 1 <= rating <= 5 for rating in ratings))
                for item, ratings in zip(items, (each or [] for each in found["ratings"]), strict=True)
            )
            return Did(found["seconds"], found["cpu"], judgments, judgments - parsed, {}, found["tokens"])

        try:
            told("")
            yield run
        finally:
            process.kill()
            process.communicate()


def rounds(programs: dict[str, Program], count: int) -> dict[str, list[Did]]:
    """Run all programs in turn, ``count`` times over; each round starts with another one."""
    found: dict[str, list[Did]] = {name: [] for name in programs}
    names = list(programs)
    for number in range(count):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            found[name].append(did := programs[name](number))
            what = f"{did.judgments} judgments, {did.seconds:.1f} s, {did.cpu:.1f} s of CPU"
            print(f"round {number + 1} of {count}, {name}: {what}", file=sys.stderr, flush=True)
    return found


def ratio(ours: list[Did], theirs: list[Did], clock: str) -> Spread:
    """Divide judgments per second of a clock, round by round."""
    rates = ([run.judgments / getattr(run, clock) for run in runs] for runs in (ours, theirs))
    return spread(mine / other for mine, other in zip(*rates, strict=True))


def differences(one: Shares, other: Shares) -> dict[str, float]:
    """Return how many judgments both have, and the largest differences of their probabilities and scores."""
    both = [(one[key], other[key]) for key in sorted(one.keys() & other.keys())]
    labels = max((abs(a - b) for pair in both for a, b in zip(*pair, strict=True)), default=math.inf)
    scores = max((abs(_score(mine) - _score(theirs)) for mine, theirs in both), default=math.inf)
    return {"judgments": len(both), "probabilities": labels, "scores": scores}


def _score(shares: Sequence[float]) -> float:
    return math.fsum(level * share for level, share in enumerate(shares, start=1))


def chosen(options: argparse.Namespace) -> list[Context]:
    """Return every n-th context of a split."""
    limit = options.contexts * options.every
    found = list(candidate_contexts(options.dataset, options.split, load_personas(), limit))[:: options.every]
    return found or sys.exit(f"{options.dataset}: no candidates in the split {options.split}")


def compare(options: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """Measure all programs, print a table, and return all numbers and whether our scores are sound."""
    rubric, contexts, path = load_rubrics(None)["agent"], chosen(options), directory()
    fewer = {name: some(contexts, getattr(options, name)) for name in ("unpacked", "plain", "distilabel")}
    with ExitStack() as stack:
        model = load_model("smollm2-135m", ModelOptions(dtype="float32", devices=("cpu",)))
        ours = cast(LocalModel, stack.enter_context(model))
        if not ours._engine.packs:
            sys.exit("the model does not take packed trees here")
        lengths = {
            name: spread(ours.count_tokens(shown.choice(*at).messages) for _, shown, *at in pairs(own, rubric))
            for name, own in {"packed": contexts, **fewer}.items()
        }
        plain = plain_prefill(path, rubric, fewer["plain"])
        works = {
            "packed": (lambda: packed(ours, rubric, contexts), contexts),
            "unpacked": (lambda: unpacked(ours, rubric, fewer["unpacked"]), fewer["unpacked"]),
            "plain": (plain, fewer["plain"]),
        }
        programs = {name: timed(work, len(list(pairs(own, rubric)))) for name, (work, own) in works.items() if own}
        if options.distilabel_python:
            programs["distilabel"] = stack.enter_context(distilabel(path, rubric, fewer["distilabel"], options))
        did = rounds(programs, options.rounds)
    return told(did, lengths)


def told(did: dict[str, list[Did]], lengths: dict[str, Spread]) -> tuple[dict[str, Any], bool]:
    """Print what was found; return it, and whether our scores are sound."""
    print(f"{'program':12}{'judgments':>9}  {'tokens of our prompts':23}{'judgments/s a core':22}", end="")
    print(f"{'packed / it, CPU':22}{'packed / it, wall':22}missing or not parsed")
    ratios: dict[str, dict[str, Spread]] = {}
    for name, runs in did.items():
        ratios[name] = {clock: ratio(did["packed"], runs, clock) for clock in ("cpu", "seconds")}
        rate, missing = spread(run.judgments / run.cpu for run in runs), sum(run.missing for run in runs)
        asked = sum(run.judgments for run in runs)
        middle, low, high = lengths[name]
        print(f"{name:12}{runs[0].judgments:>9}  {f'{middle:.0f} ({low:.0f}-{high:.0f})':23}{rate!s:22}", end="")
        print(f"{ratios[name]['cpu']!s:22}{ratios[name]['seconds']!s:22}{missing} of {asked}")
    for name, bar in BARS.items():
        if name in did:
            reached = "reached" if ratios[name]["cpu"].median >= bar else "NOT REACHED"
            print(f"packed / {name}, judgments per CPU second: {ratios[name]['cpu']}, bar >= {bar}: {reached}")
    if runs := did.get("distilabel", []):
        each = sum(run.tokens for run in runs) / sum(run.judgments for run in runs)
        print(f"distilabel wrote {each:.0f} tokens a judgment")
    apart = {name: differences(did["packed"][0].shares, did[name][0].shares) for name in ("unpacked", "plain")}
    for name, most in apart.items():
        near = "reached" if most["probabilities"] <= CLOSE else "NOT REACHED"
        what = f"probabilities {most['probabilities']:.2g} (bar <= {CLOSE:g}: {near}), scores {most['scores']:.2g}"
        print(f"packed and {name}, largest difference over {most['judgments']:.0f} judgments: {what}")
    if any(run.cpu < BUSY * run.seconds for runs in did.values() for run in runs):
        print("The machine was busy with other things: the wall clock says little, and CPU seconds less than usual")
    missing = sum(run.missing for name in ("packed", "unpacked") for run in did[name])
    sound = missing == 0 and all(most["probabilities"] <= CLOSE for most in apart.values())
    found = {
        "tokens": {name: each._asdict() for name, each in lengths.items()},
        "runs": {name: [{**run._asdict(), "shares": None} for run in runs] for name, runs in did.items()},
        "ratios": {name: {clock: each._asdict() for clock, each in both.items()} for name, both in ratios.items()},
        "differences": apart,
    }
    return found, sound


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", type=Path, required=True, help="directory of a dataset with candidates")
    parser.add_argument("--split", default="test")
    parser.add_argument("--contexts", type=int, default=8, help="contexts for packed (default: %(default)s)")
    parser.add_argument("--every", type=int, default=7, help="take every n-th context (default: %(default)s)")
    parser.add_argument("--unpacked", type=int, default=1, help="contexts for unpacked (default: %(default)s)")
    parser.add_argument("--plain", type=int, default=1, help="contexts for plain (default: %(default)s)")
    parser.add_argument("--distilabel", type=int, default=3, help="contexts for distilabel (default: %(default)s)")
    parser.add_argument("--distilabel-python", type=Path, help="python of an environment with distilabel")
    parser.add_argument("--aspect", default="overall-rating", help="of UltraFeedback (default: %(default)s)")
    parser.add_argument("--max-tokens", type=int, default=512, help="of a call of distilabel (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    if min(options.contexts, options.every, options.unpacked, options.plain, options.distilabel, options.rounds) < 1:
        parser.error("all numbers must be at least 1")
    return options


def main() -> None:
    """Measure, print and, where asked, write JSON."""
    options = arguments()
    torch.set_num_threads(1)
    found, sound = compare(options)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "torch": torch.__version__}
    if options.json:
        options.json.write_text(json.dumps({"machine": machine} | found, indent=1) + "\n", "utf-8")
    if not sound:
        sys.exit("scores of ours are missing or differ")


if __name__ == "__main__":
    main()
