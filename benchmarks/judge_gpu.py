"""Judgments per second on one GPU: an 8B-shaped model with random bfloat16 weights, over random trees of a judge.

A tree has one rubric for all, a context, K replies and C criteria: prompts of about 1,000 tokens. A judgment is one
prompt with the probabilities of its five labels. The programs take turns; a ratio is taken within a round.

    packed      ours: trees in one sequence (``Engine.choose``)
    one by one  ours: the same choices one after the other; nothing shared or packed
    batched     plain forward passes over batches of whole prompts, logits only where they are read
    vllm        where it can be imported: dummy weights, prefix caching, one token with its log-probabilities

``share of matrix rate`` is what the linear layers had to compute, beside what large bfloat16 products reach in the same
run; attention is not counted. Nothing is downloaded. The defaults are meant to take less than six minutes: after
``--seconds`` no new round begins, and vLLM, which runs last, is left out if it would not be done by then. What does not
fit in memory is tried again in smaller pieces, or else reported.

    python benchmarks/judge_gpu.py --json judge_gpu.json
    python benchmarks/judge_gpu.py --shape tiny --device cpu --contexts 2 --whole 1

It was written without a GPU: only the second command has been run, on a CPU. 8b, CUDA and vLLM have not been tried.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from bandwidth import SHAPES, WORDS, _NoText, _random_model

from mascot_data.models import Chances, Failure
from mascot_data.models.decoding import Engine, free_memory, is_out_of_memory
from mascot_data.models.devices import chunk_tokens
from mascot_data.models.prompting import Parts

LABELS = 5
VLLM_SECONDS = 120.0
"""What vLLM may need to start and to answer."""

Found = list[list[float]]
"""Log-probabilities of the labels of every prompt."""


class Lengths(NamedTuple):
    """Tokens of the parts of a prompt; contexts and replies differ by up to half of theirs."""

    rubric: int = 680
    context: int = 200
    reply: int = 80
    criterion: int = 40


class Did(NamedTuple):
    """A program's rounds: seconds of each, and what one of them takes."""

    seconds: list[float]
    judgments: int
    prompt_tokens: int
    computed_tokens: int
    size: int
    memory: int


class Program(NamedTuple):
    """Answers choices in pieces of a size that can be halved until they fit in memory."""

    work: Callable[[Sequence[Parts], int], Found]
    choices: Sequence[Parts]
    size: int


def random_choices(options: argparse.Namespace) -> list[list[Parts]]:
    """Return the choices of every context: K replies by C criteria that share what a judge's prompts share."""
    generator, words, lengths = torch.Generator().manual_seed(1), WORDS[options.shape], Lengths()

    def tokens(count: int, *, vary: bool = False) -> tuple[int, ...]:
        if vary:
            count = int(torch.randint(count // 2, count + count // 2 + 1, (1,), generator=generator))
        return tuple(torch.randint(LABELS + 1, words, (count,), generator=generator).tolist())

    rubric = tokens(lengths.rubric)
    leaves = [tokens(lengths.criterion) for _ in range(options.criteria)]
    answers = tuple((0, label) for label in range(1, LABELS + 1))  # a space and a digit
    found = []
    for _ in range(options.contexts):
        trunk = rubric + tokens(lengths.context, vary=True)
        branches = [trunk + tokens(lengths.reply, vary=True) for _ in range(options.replies)]
        found.append([Parts(branch + leaf, answers) for branch in branches for leaf in leaves])
    return found


def whole(parts: Parts) -> list[int]:
    """Return the tokens after which the labels differ."""
    return [*parts.common, *parts.answers[0][:-1]]


def batched(model: Any, choices: Sequence[Parts], rows: int) -> Found:
    """Return the labels' log-probabilities among each other, so many whole prompts at a time.

    Prompts are padded on the right, where no token of theirs can see it, so that no mask slows attention down.
    """
    labels = [answer[-1] for answer in choices[0].answers]
    order = sorted(range(len(choices)), key=lambda place: len(choices[place].common))
    found: dict[int, list[float]] = {}
    with torch.inference_mode():
        for start in range(0, len(order), rows):
            own = order[start : start + rows]
            prompts = [whole(choices[place]) for place in own]
            width = max(map(len, prompts))
            ids = torch.tensor([prompt + [0] * (width - len(prompt)) for prompt in prompts], device=model.device)
            hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
            last = hidden[torch.arange(len(own)), torch.tensor([len(prompt) - 1 for prompt in prompts])]
            logits = model.lm_head(last).float()[:, labels]
            found |= zip(own, logits.log_softmax(-1).tolist(), strict=True)
    return [found[place] for place in range(len(choices))]


def ours(engine: Engine, choices: Sequence[Parts], *, packs: bool) -> Found:
    """Return the labels' log-probabilities among each other as a judge of ours computes them."""
    if packs and not engine.packs:
        raise ValueError("packed trees are refused for this model: they do not give what single prompts give")
    answers = engine.choose(choices) if packs else [engine._choose([parts])[0] for parts in choices]
    return [_among(answer) for answer in answers]


def _among(answer: Chances | Failure) -> Any:
    if isinstance(answer, Failure):
        raise TypeError(f"an answer is missing: {answer}")
    return torch.tensor(answer.logprobs).log_softmax(-1).tolist()


def matrix_rate(device: str, size: int) -> float:
    """Return the operations a second of large bfloat16 products: the median of a few, after a warm-up."""
    left, right = (torch.randn((size, size), dtype=torch.bfloat16, device=device) for _ in range(2))
    repeats = 20 if device != "cpu" else 2
    times = [_seconds(lambda: [left @ right for _ in range(repeats)], device) for _ in range(6)]
    return float(2 * size**3 * repeats / median(times[1:]))


def _seconds(work: Callable[[], object], device: str) -> float:
    _wait(device)
    before = time.perf_counter()
    work()
    _wait(device)
    return time.perf_counter() - before


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


class Counted:
    """Counts the tokens that a model reads meanwhile."""

    def __init__(self, model: Any) -> None:
        self.tokens, self._model = 0, model

    def __enter__(self) -> "Counted":
        self._hook = self._model.model.register_forward_pre_hook(self._add, with_kwargs=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()

    def _add(self, _: Any, __: Any, named: dict[str, Any]) -> None:
        self.tokens += named["input_ids"].numel()


def fitted(program: Program, model: Any, device: str) -> tuple[Did, Found] | str:
    """Run a program once, in smaller pieces until it fits; return what it takes and found, or why it cannot run."""
    size = program.size
    while True:
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats(device)
        try:
            program.work(program.choices[:1], size)  # what is made once, and the trial of packed trees
            with Counted(model) as counted:
                found = program.work(program.choices, size)
        except Exception as error:  # what a device raises is of many types
            if not is_out_of_memory(error):
                return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        else:
            memory = 0 if device == "cpu" else int(torch.cuda.max_memory_allocated(device))
            prompts = sum(len(whole(parts)) for parts in program.choices)
            return Did([], len(program.choices), prompts, counted.tokens, size, memory), found
        free_memory()
        if size == 1:
            return "out of memory"
        size = min(size, 2048) // 2  # of packed trees nothing larger than that makes a difference


def measure(model: Any, options: argparse.Namespace, contexts: list[list[Parts]]) -> dict[str, Any]:
    """Fit all programs into memory, then let them take turns."""
    every = [parts for context in contexts for parts in context]
    fewer = [parts for context in contexts[: options.whole] for parts in context]
    chunk = chunk_tokens(options.device)

    @cache
    def engine(size: int) -> Engine:
        return Engine(model, _NoText(), frozenset(), size)  # type: ignore[arg-type]

    programs = {
        "packed": Program(lambda choices, size: ours(engine(size), choices, packs=True), every, chunk),
        "one by one": Program(lambda choices, size: ours(engine(size), choices, packs=False), fewer, chunk),
        "batched": Program(lambda choices, size: batched(model, choices, size), fewer, options.rows),
    }
    did: dict[str, Any] = {}
    found: dict[str, Found] = {}
    for name, program in programs.items():
        fits = fitted(program, model, options.device)
        did[name], found[name] = (fits, []) if isinstance(fits, str) else fits
        print(f"{name}: {did[name]}", file=sys.stderr, flush=True)
    going = [name for name in programs if isinstance(did[name], Did)]
    for number in range(options.rounds):
        if number and time.perf_counter() > options.until:
            break
        for name in going[number % len(going) :] + going[: number % len(going)] if going else []:
            work, choices, _ = programs[name]
            again = partial(work, choices, did[name].size)
            did[name].seconds.append(_seconds(again, options.device))
    return {"did": did, "differences": differences(found)}


def differences(found: dict[str, Found]) -> dict[str, float]:
    """Return the largest difference between a label's probability and that of a packed tree."""
    most = {}
    for name, rows in found.items():
        if name != "packed" and rows and found["packed"]:
            one, other = (torch.tensor(part[: len(rows)]).exp() for part in (found["packed"], rows))
            most[name] = float((one - other).abs().max())
    return most


def with_vllm(config: Any, options: argparse.Namespace, choices: Sequence[Parts]) -> Did | str:
    """Let vLLM answer the same prompts with dummy weights of the same shape."""
    try:
        from vllm import LLM, SamplingParams  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return "cannot be imported here"
    if time.perf_counter() + VLLM_SECONDS > options.until:
        return "left out: no time"
    prompts = [{"prompt_token_ids": whole(parts)} for parts in choices]
    config.architectures = ["LlamaForCausalLM"]
    seconds = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            model = LLM(
                model=folder,
                load_format="dummy",
                skip_tokenizer_init=True,
                dtype="bfloat16",
                enable_prefix_caching=True,
                enforce_eager=True,
                max_model_len=4096,
                gpu_memory_utilization=0.8,
            )
            once = SamplingParams(max_tokens=1, logprobs=20, detokenize=False)
            model.generate(prompts[:1], once, use_tqdm=False)
            for _ in range(options.rounds):
                model.reset_prefix_cache()
                before = time.perf_counter()
                model.generate(prompts, once, use_tqdm=False)
                seconds.append(time.perf_counter() - before)
    except Exception as error:  # another program's
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return Did(seconds, len(choices), sum(len(whole(parts)) for parts in choices), 0, 0, 0)


def table(found: dict[str, Any]) -> dict[str, Any]:
    """Print a row a program, and return the numbers."""
    print(
        f"{'program':12}{'judgments/s':24}{'prompt tokens/s':>16}{'computed/s':>12}{'of matrix rate':>16}  packed / it"
    )
    rows: dict[str, Any] = {}
    best = found["did"]["packed"]
    for name, did in found["did"].items():
        if isinstance(did, str) or not did.seconds:
            print(f"{name:12}{did}")
            rows[name] = {"failed": str(did)}
            continue
        seconds = median(did.seconds)
        rates = [did.judgments / each for each in did.seconds]
        share = (found["flops"] * did.computed_tokens + found["head_flops"] * did.judgments) / seconds / found["rate"]
        times = None
        if isinstance(best, Did) and best.seconds:
            ones = (best.judgments / one / rate for one, rate in zip(best.seconds, rates, strict=False))
            times = _spread(ones)
        rows[name] = did._asdict() | {
            "judgments_per_second": _spread(rates),
            "prompt_tokens_per_second": did.prompt_tokens / seconds,
            "computed_tokens_per_second": did.computed_tokens / seconds or None,
            "share_of_matrix_rate": share if did.computed_tokens else None,
            "packed_is_so_many_times": times,
        }
        computed, part = (f"{did.computed_tokens / seconds:.3g}", f"{share:.1%}") if did.computed_tokens else "??"
        print(f"{name:12}{_shown(rows[name]['judgments_per_second']):24}", end="")
        print(f"{did.prompt_tokens / seconds:>16.3g}{computed:>12}{part:>16}  {_shown(times) if times else '?'}")
    print(f"matrix rate: {found['rate'] / 1e12:.3g} TFLOP/s in bfloat16")
    for name, most in found["differences"].items():
        print(f"packed and {name}: largest difference of a label's probability {most:.2g}")
    return rows


def _spread(values: Iterable[float]) -> list[float]:
    every = list(values)
    return [median(every), min(every), max(every)]


def _shown(spread: Sequence[float]) -> str:
    return "{:.3g} ({:.3g}-{:.3g})".format(*spread)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="8b")
    parser.add_argument("--device", default="cuda:0", help="where (default: %(default)s)")
    parser.add_argument("--contexts", type=int, default=32, help="contexts for packed and vLLM (default: %(default)s)")
    parser.add_argument("--whole", type=int, default=8, help="contexts for the others (default: %(default)s)")
    parser.add_argument("--replies", type=int, default=4, help="K, replies a context (default: %(default)s)")
    parser.add_argument("--criteria", type=int, default=5, help="C, criteria a reply (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=16, help="prompts in a batch of batched (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=300, help="start nothing new then (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    if options.device != "cpu" and not torch.cuda.is_available():
        parser.error("there is no GPU here: give --device cpu --shape tiny")
    options.until = time.perf_counter() + options.seconds
    return options


def main() -> None:
    """Measure, print and, where asked, write JSON: before vLLM begins, and after it."""
    options = arguments()
    contexts = random_choices(options)
    every = [parts for context in contexts for parts in context]
    rate = matrix_rate(options.device, 8192 if options.device != "cpu" else 512)
    model = _random_model(options.shape, options.device)
    layers = sum(each.numel() for each in model.model.layers.parameters())
    sizes = {"rate": rate, "flops": 2 * layers, "head_flops": 2 * model.lm_head.weight.numel()}
    found = measure(model, options, contexts) | sizes
    config = model.config
    gpu = torch.cuda.get_device_name(options.device) if options.device != "cpu" else platform.machine()
    about = {"device": gpu, "torch": torch.__version__, "shape": options.shape, "matrix_rate": rate}

    def write() -> None:
        rows = table(found)
        if options.json:
            told = about | {"programs": rows, "differences": found["differences"]}
            options.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")

    if find_spec("vllm"):
        write()
    del model
    free_memory()
    found["did"]["vllm"] = with_vllm(config, options, every)
    write()


if __name__ == "__main__":
    main()
