"""Samples per second beside a plain ``model.generate`` loop and an OpenAI-compatible server, over the same prompts.

All programs answer the same prompts in turn, round after round, so that a busy machine slows each alike; a ratio is
taken within a round. With ``--shape``, random weights are measured against the bandwidth of the memory instead.

    python benchmarks/generate.py --dataset mascot/esconv-multiagent
    python benchmarks/generate.py --dataset mascot/esconv-multiagent --server --prompts 16 --every 20
    python benchmarks/generate.py --shape 8b --device cuda:0 --bandwidth 4.8e12
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from bandwidth import SHAPES, saturate
from datasets import load_dataset
from spread import Spread, spread

from mascot_data.models import Ask, ChatModel, ModelOptions, Sample, Sampling, load_model
from mascot_data.models.embedded import directory

BAR = 2.0  # how many times the samples per second of the plain loop
BUSY = 0.9  # share of its threads' time that a program gets where nothing else runs


class Did(NamedTuple):
    """One run of a program: wall seconds, CPU seconds of this process, samples, and the tokens they have."""

    seconds: float
    cpu: float
    samples: int
    tokens: int


Program = Callable[[int], tuple[int, int]]
"""Answers all prompts with seeds that depend on the number of the round; returns samples and tokens."""


def prompts(options: argparse.Namespace) -> list[tuple[tuple[str, str], ...]]:
    """Return the prompts of every n-th speaker turn of a split."""
    rows = load_dataset(str(options.dataset), "speaker_turns", split=options.split)
    chosen = rows.select(range(0, min(len(rows), options.prompts * options.every), options.every))
    return [tuple((message["role"], message["content"]) for message in row["prompt"]) for row in chosen]


def asked(model: ChatModel, asks: list[Ask]) -> Program:
    """Return the program that asks a model of ours, as ``candidates`` does."""

    def answer(number: int) -> tuple[int, int]:
        seeded = [ask._replace(seeds=tuple(seed + 1000 * number for seed in ask.seeds)) for ask in asks]
        found = [
            answer for batch in model.batches(seeded) for answer in model.sample([seeded[place] for place in batch])
        ]
        samples: list[Sample] = [sample for each in found if isinstance(each, list) for sample in each]
        if len(samples) != sum(len(ask.seeds) for ask in asks):
            sys.exit(f"{model.info.backend} failed on some of the prompts: {found}")
        return len(samples), sum(sample.tokens for sample in samples)

    return answer


def plain_loop(path: Path, asks: list[Ask]) -> Program:
    """Return the loop that anybody would write first: ``model.generate`` for one prompt after the other."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)

    def answer(number: int) -> tuple[int, int]:
        torch.manual_seed(number)
        samples = tokens = 0
        for ask in asks:
            chat = [{"role": role, "content": content} for role, content in ask.messages]
            inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")
            said = model.generate(
                **inputs,
                do_sample=True,
                temperature=ask.sampling.temperature,
                top_p=ask.sampling.top_p,
                top_k=0,
                num_return_sequences=len(ask.seeds),
                max_new_tokens=ask.sampling.max_tokens,
            )[:, inputs["input_ids"].shape[1] :]
            samples += len(said)
            ended = (said == tokenizer.eos_token_id).int()
            tokens += int((ended.cumsum(1) - ended == 0).sum())
        return samples, tokens

    return answer


@contextmanager
def served(path: Path) -> Iterator[ChatModel]:
    """Serve the model with ``transformers serve`` meanwhile, and connect to it."""
    from mascot_data.models.process import ServerProcess, free_port

    port = free_port()
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(path), "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(command, port, Path(folder) / "log", os.environ | {"HF_HUB_OFFLINE": "1"})
        try:
            server.wait_until_ready(300)
            with load_model(f"server:{path}@http://127.0.0.1:{port}/v1", ModelOptions(timeout=3600)) as model:
                yield model
        finally:
            server.stop()


def rounds(programs: dict[str, Program], count: int) -> dict[str, list[Did]]:
    """Run all programs in turn, ``count`` times over; each round starts with another one."""
    found: dict[str, list[Did]] = {name: [] for name in programs}
    names = list(programs)
    for number in range(count):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before, cpu = time.perf_counter(), time.process_time()
            samples, tokens = programs[name](number)
            found[name].append(Did(time.perf_counter() - before, time.process_time() - cpu, samples, tokens))
            print(f"round {number + 1} of {count}, {name}: {found[name][-1]}", file=sys.stderr, flush=True)
    return found


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all programs on the same prompts, print a table, and return all numbers."""
    sampling = Sampling(options.temperature, options.top_p, options.max_tokens)
    seeds = tuple(range(options.samples))
    asks = [Ask(messages, sampling, seeds) for messages in prompts(options)]
    path = directory()
    with ExitStack() as stack:
        ours = stack.enter_context(load_model("smollm2-135m", ModelOptions(batch_tokens=options.batch_tokens)))
        lengths = [ours.count_tokens(ask.messages) for ask in asks]
        print(f"{len(asks)} prompts of {min(lengths)} to {max(lengths)} tokens, {options.samples} samples each")
        programs = {"ours": asked(ours, asks), "plain": plain_loop(path, asks)}
        if options.server:
            programs["server"] = asked(stack.enter_context(served(path)), asks)
        did = rounds(programs, options.rounds)
    print(f"{'program':10}{'samples/s (min-max)':28}{'tokens/s (min-max)':28}{'tokens a sample':>16}")
    for name, runs in did.items():
        rates = spread(run.samples / run.seconds for run in runs), spread(run.tokens / run.seconds for run in runs)
        each = sum(run.tokens for run in runs) / sum(run.samples for run in runs)
        print(f"{name:10}{rates[0]!s:28}{rates[1]!s:28}{each:>16.1f}")
    ratios = {name: ratio(did["ours"], did[name]) for name in did if name != "ours"}
    for name, times in ratios.items():
        bar = f", bar >= {BAR}: {'reached' if times.median >= BAR else 'NOT REACHED'}" if name == "plain" else ""
        print(f"ours / {name}, samples per second: {times}{bar}")
    if min(run.cpu / run.seconds for run in did["plain"]) < BUSY * torch.get_num_threads():
        by_cpu = ratio(did["ours"], did["plain"], "cpu")
        print(f"The machine was busy with other things; by CPU seconds ours / plain is {by_cpu}")
    numbers = {name: [run._asdict() for run in runs] for name, runs in did.items()}
    return {"lengths": lengths, "runs": numbers, "ratios": {name: times._asdict() for name, times in ratios.items()}}


def ratio(ours: list[Did], theirs: list[Did], clock: str = "seconds") -> Spread:
    """Divide samples per second of a clock, round by round."""
    rates = ([run.samples / getattr(run, clock) for run in runs] for runs in (ours, theirs))
    return spread(mine / other for mine, other in zip(*rates, strict=True))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", type=Path, help="directory of a built dataset")
    parser.add_argument("--split", default="test")
    parser.add_argument("--prompts", type=int, default=24, help="how many prompts (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, help="take every n-th turn: n > 20 shares no dialogue")
    parser.add_argument("--samples", type=int, default=4, help="samples a prompt (default: %(default)s)")
    parser.add_argument("--max-tokens", type=int, default=48, help="most tokens of a sample (default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--batch-tokens", type=int, help="most tokens of a batch (default: by the device)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--server", action="store_true", help="measure `transformers serve` as well")
    parser.add_argument("--shape", choices=SHAPES, help="measure random weights of this shape in bfloat16 instead")
    parser.add_argument("--device", default="cpu", help="with --shape: where (default: %(default)s)")
    parser.add_argument("--longest", type=int, default=1024, help="with --shape: tokens of the longest prompt")
    parser.add_argument("--bandwidth", type=float, default=4.8e12, help="with --shape: of the memory, bytes a second")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    if not options.shape and not options.dataset:
        parser.error("give --dataset, or --shape")
    return options


def main() -> None:
    """Measure, print and, where asked, write JSON."""
    options = arguments()
    found = saturate(options) if options.shape else compare(options)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "threads": torch.get_num_threads()}
    if options.json:
        options.json.write_text(json.dumps({"machine": machine} | found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
