"""What a build costs beside ConvoKit, ``datasets`` and a bare pyarrow loop: CPU seconds and peak memory, as ratios.

Every program converts the same dialogues of the real corpora in a process and a folder of its own; all of them run in
turn, round after round, so that a busy machine slows each alike, and a ratio is taken within a round.

    python benchmarks/build.py --input SOURCES --convokit-python .venv-convokit/bin/python
    python benchmarks/build.py --input SOURCES --scale 20
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from spread import Spread, spread

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
OURS = [sys.executable, "-c", "from mascot_data.cli import main; main()", "build"]
OURS += ["--source", "{source}", "--input", "{input}", "--output", "{output}"]
# Peer, most that our CPU time may be of the peer's, whether just as much still reaches the bar.
BARS = (("convokit", 0.20, True), ("from_generator", 1.0, False), ("floor", 3.0, True))
PEAK_BAR = 500.0  # MB of 10**6 bytes, the largest of all rounds


class Sample(NamedTuple):
    """One run: CPU seconds (user and system, children too), peak memory in MB of 10**6 bytes, wall seconds."""

    cpu: float
    peak: float
    wall: float


Commands = dict[str, list[str]]
Samples = dict[str, list[Sample]]


def run(command: list[str], temporary: Path, check: Callable[[Path, str], None] | None = None) -> Sample:
    """Run a command whose ``{output}`` is a fresh folder, deleted afterwards; a failed command ends the benchmark.

    Args:
        command: Program and arguments.
        temporary: Where the fresh folder is made.
        check: Called with the folder and what the command printed, after the clock has stopped.
    """
    with tempfile.TemporaryDirectory(dir=temporary) as fresh:
        output = Path(fresh) / "out"
        sample, said = _measured([word.replace("{output}", str(output)) for word in command], Path(fresh))
        if check:
            check(output, said)
    return sample


def _measured(command: list[str], fresh: Path) -> tuple[Sample, str]:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(fresh / "cache")}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        before = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=errors
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - before
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if child.returncode:
            sys.exit(f"{shlex.join(command)} ended with {child.returncode}:\n{errors.read()[-2000:]}")
        unit = 1 if sys.platform == "darwin" else 1024
        return Sample(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6, wall), out.read()


def rounds(commands: Commands, count: int, temporary: Path) -> Samples:
    """Run all commands in turn, ``count`` times over; each round starts with another one."""
    samples: Samples = {name: [] for name in commands}
    names = list(commands)
    for number in range(count):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            samples[name].append(run(commands[name], temporary))
    return samples


def ratio(ours: list[Sample], theirs: list[Sample]) -> Spread:
    """Divide CPU seconds round by round."""
    return spread(a.cpu / b.cpu for a, b in zip(ours, theirs, strict=True))


def commands_for(corpus: str, options: argparse.Namespace) -> Commands:
    """Return the command of every program for one corpus or ``all``."""
    found = {"ours": options.ours} if options.ours else {}
    words = ["--corpus", "{source}", "--input", "{input}", "--output", "{output}"]
    pythons = {"convokit_corpus": options.convokit_python, "from_generator": sys.executable, "floor": sys.executable}
    for name, python in pythons.items():
        if python:
            found[name.removesuffix("_corpus")] = [str(python), str(PEERS / f"{name}.py"), *words]
    return {name: _filled(command, corpus, options.input) for name, command in found.items()}


def _filled(command: list[str], corpus: str, sources: Path) -> list[str]:
    return [word.replace("{source}", corpus).replace("{input}", str(sources)) for word in command]


def warm_up(commands: Commands, temporary: Path) -> dict[str, Any]:
    """Run everything once, uncounted, and return how many dialogues and utterances each program wrote."""
    did: dict[str, Any] = {}
    for name, command in commands.items():
        run(command, temporary, partial(_note, did, name))
    peers = {(seen["dialogues"], seen["utterances"]) for name, seen in did.items() if name != "ours"}
    if len(peers) > 1 or not all(seen["dialogues"] for seen in did.values()):
        sys.exit(f"the peers did not convert the same dialogues, or a program wrote none: {did}")
    return did


def _note(did: dict[str, Any], name: str, output: Path, said: str) -> None:
    if name == "ours":
        said = subprocess.check_output([sys.executable, PEERS / "count.py", output], text=True)
    did[name] = json.loads(said.splitlines()[-1])


def compare(corpus: str, options: argparse.Namespace, temporary: Path) -> dict[str, Any]:
    """Measure every program on one corpus, print the table and return all there is to know."""
    commands = commands_for(corpus, options)
    did = warm_up(commands, temporary)
    samples = rounds(commands, options.rounds, temporary)
    for name, runs in samples.items():
        cpu, peak = spread(sample.cpu for sample in runs), spread(sample.peak for sample in runs)
        print(f"{corpus:22}{name:16}{cpu!s:22}{peak!s:22}{did[name]['dialogues']:>9}{did[name]['utterances']:>12}")
    verdicts = bars(corpus, samples) if "ours" in samples else []
    print(*(verdict["text"] for verdict in verdicts), "", sep="\n", flush=True)
    numbers = {name: [sample._asdict() for sample in runs] for name, runs in samples.items()}
    return {"did": did, "samples": numbers, "bars": verdicts}


def bars(corpus: str, samples: Samples) -> list[dict[str, Any]]:
    """Hold the measured ratios against the bars."""
    found = []
    for peer, most, inclusive in BARS:
        if peer in samples:
            ratios = ratio(samples["ours"], samples[peer])
            reached = ratios.median <= most if inclusive else ratios.median < most
            what = f"ours / {peer}, CPU: {ratios}, bar {'<=' if inclusive else '<'} {most}"
            found.append(_verdict(reached, corpus, what, ratios))
    peaks = spread(sample.peak for sample in samples["ours"])
    what = f"largest peak of ours: {peaks.high:.0f} MB, bar < {PEAK_BAR:.0f} MB"
    return [*found, _verdict(peaks.high < PEAK_BAR, corpus, what, peaks)]


def _verdict(reached: bool, corpus: str, what: str, measured: Spread) -> dict[str, Any]:
    text = f"  {'reached' if reached else 'NOT REACHED':13}{corpus}: {what}"
    return {"reached": reached, "text": text} | measured._asdict()


def scale(corpus: str, options: argparse.Namespace, temporary: Path) -> dict[str, Any]:
    """Measure ours on one, half and all of ``--scale`` copies of a corpus and print how the cost grows."""
    sizes = (1, options.scale // 2, options.scale)
    with tempfile.TemporaryDirectory(dir=temporary) as copies:
        for size in sizes:
            words = ["--corpus", corpus, "--input", options.input, "--output", f"{copies}/{size}", "--times", str(size)]
            subprocess.run([sys.executable, PEERS / "copies.py", *words], check=True)
        commands = {str(size): _filled(options.ours, corpus, Path(copies) / str(size)) for size in sizes}
        run(commands["1"], temporary)
        one, half, full = rounds(commands, options.rounds, temporary).values()
    growth = _growth(sizes, one, half, full)
    print(f"{corpus:22}" + "".join(f"{growth[name]!s:22}" for name in growth), flush=True)
    return {name: spread._asdict() for name, spread in growth.items()}


def _growth(sizes: tuple[int, int, int], *runs: list[Sample]) -> dict[str, Spread]:
    """Start-up cost makes few copies dear, so the slope is compared as well: second half over first half."""
    found = {f"CPU s, x{size}": spread(sample.cpu for sample in runs[i]) for i, size in enumerate(sizes)}
    triples = list(zip(*runs, strict=True))
    slopes = [
        (full.cpu - half.cpu) / (sizes[2] - sizes[1]) / ((half.cpu - one.cpu) / (sizes[1] - sizes[0]))
        for one, half, full in triples
    ]
    found["CPU ratio / N"] = spread(full.cpu / one.cpu / sizes[2] for one, _, full in triples)
    found["slope 2nd / 1st half"] = spread(slopes)
    found["peak MB, x1"] = spread(sample.peak for sample in runs[0])
    found["peak ratio"] = spread(full.peak / one.peak for one, _, full in triples)
    return found


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--input", type=Path, required=True, metavar="SOURCES", help="folder with one sub-folder a corpus")
    add("--corpora", nargs="+", choices=[*CORPORA, "all"], help="what to convert (default: each alone, then all)")
    add("--rounds", type=int, default=5, help="measured rounds after the warm-up (default 5)")
    add("--ours", metavar="COMMAND", help="in place of our build; may hold {source}, {input}, {output}; '' for none")
    add("--convokit-python", type=Path, metavar="PATH", help="Python that has ConvoKit (see README.md)")
    add("--scale", type=int, metavar="N", help="measure only ours, on 1, N/2 and N copies of each corpus (N >= 4)")
    add("--temporary", type=Path, help="where copies and results are made and deleted (default: the system's)")
    add("--json", type=Path, metavar="FILE", help="write every sample and ratio there")
    options = parser.parse_args()
    if (
        options.rounds < 1
        or (options.scale is not None and options.scale < 4)
        or (options.scale and options.ours == "")
    ):
        parser.error("--rounds is at least 1, and --scale at least 4 and with a command of ours")
    partial = ["--allow-partial"] if options.scale else []
    options.ours = OURS + partial if options.ours is None else shlex.split(options.ours)
    options.input = options.input.resolve()
    options.convokit_python = options.convokit_python and options.convokit_python.absolute()
    options.corpora = options.corpora or [*CORPORA, *(() if options.scale else ("all",))]
    return options


def main() -> None:
    """Measure, print and, where asked, write JSON."""
    options = arguments()
    measure, titles = (scale, _scale_titles(options)) if options.scale else (compare, TITLES)
    print(titles)
    with tempfile.TemporaryDirectory(dir=options.temporary) as temporary:
        found = {corpus: measure(corpus, options, Path(temporary)) for corpus in options.corpora}
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    if options.json:
        report = {"rounds": options.rounds, "scale": options.scale, "machine": machine, "corpora": found}
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


TITLES = f"{'corpus':22}{'program':16}{'CPU s (min-max)':22}{'peak MB (min-max)':22}{'dialogues':>9}{'utterances':>12}"


def _scale_titles(options: argparse.Namespace) -> str:
    sizes = (1, options.scale // 2, options.scale)
    names = [f"CPU s, x{size}" for size in sizes] + [
        "CPU ratio / N",
        "slope 2nd / 1st half",
        "peak MB, x1",
        "peak ratio",
    ]
    return f"{'corpus':22}" + "".join(f"{name:22}" for name in names)


if __name__ == "__main__":
    main()
