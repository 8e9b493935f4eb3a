"""Run the real command line in a process of its own, and look at what it said and left behind."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import mascot_data

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
MAIN = [sys.executable, "-m", "mascot_data"]


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


def start(
    *arguments: str | Path, cwd: Path, command: Sequence[str] = MAIN, stdin: int | None = None
) -> "subprocess.Popen[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")}
    environment["PYTHONPATH"] = str(Path(mascot_data.__file__).resolve().parents[1])
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def mascot(*arguments: str | Path, cwd: Path, command: Sequence[str] = MAIN) -> Ended:
    process = start(*arguments, cwd=cwd, command=command)
    out, err = process.communicate()
    return Ended(process.returncode, out, err)


_FORKING = """
import contextlib, gc, io, json, os, sys
from mascot_data.cli import main
for arguments in (["build", "--sample", "--output", "warm"], ["validate", "warm/esconv-multiagent"]):
    sys.argv = ["mascot-data", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
gc.freeze()
for order in map(json.loads, sys.stdin):
    child = os.fork()
    if not child:
        os.chdir(order["cwd"])
        for number, name in ((1, order["out"]), (2, order["err"])):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["mascot-data", *order["arguments"]]
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        sys.stdout.flush()
        os._exit(status)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Shell:
    """Runs many commands, each in a process of its own that is forked from one that has run a few already.

    What a command does is the same as in a fresh process, but for the second that loading modules and tables takes.
    """

    def __init__(self, folder: Path) -> None:
        self._out, self._err = folder / "out", folder / "err"
        self._process = start(cwd=folder, command=[sys.executable, "-c", _FORKING], stdin=subprocess.PIPE)

    def __call__(self, *arguments: str | Path, cwd: Path) -> Ended:
        self.begin(*arguments, cwd=cwd)
        return self.end()

    def begin(self, *arguments: str | Path, cwd: Path) -> int:
        """Start a command and return its process id; ``end`` must be called before the next one."""
        assert self._process.stdin is not None
        order = {"cwd": cwd, "arguments": arguments, "out": self._out, "err": self._err}
        self._process.stdin.write(json.dumps(order, default=str) + "\n")
        self._process.stdin.flush()
        return self._number()

    def end(self) -> Ended:
        """Wait for the command that was begun."""
        return Ended(self._number(), self._out.read_text("utf-8"), self._err.read_text("utf-8"))

    def _number(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


_MEASURED = """
import atexit, pathlib, runpy, sys
def tell(path=sys.argv.pop(1)):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    pathlib.Path(path).write_text(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
atexit.register(tell)
runpy.run_module("mascot_data", run_name="__main__")
"""


def measured(*arguments: str | Path, cwd: Path) -> tuple[Ended, float]:
    """Run a command and return the most memory it held, too, in MiB."""
    ended = mascot(cwd / "peak", *arguments, cwd=cwd, command=[sys.executable, "-c", _MEASURED])
    return ended, int((cwd / "peak").read_text()) / 1024


def check_refused(ended: Ended, *says: str) -> None:
    """The command ended with 2 and one sentence for people, in which every pattern of ``says`` is found."""
    assert ended.status == 2, ended
    assert ended.out == ""
    assert ended.err.endswith("\n")
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("mascot-data: ")
    assert ended.err.rstrip("\n").isprintable()
    assert "unexpected" not in ended.err, ended.err
    for pattern in says:
        assert re.search(pattern, ended.err), f"{pattern} is not in {ended.err}"


def left_in(folder: Path) -> dict[str, bytes]:
    """Every file and empty folder below, except locks; what is half written would be among them."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".lock":
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
        elif path.is_dir() and not any(path.iterdir()):
            found[path.relative_to(folder).as_posix()] = b"folder"
    return found


Maker = Callable[[Path], Path]
"""Makes an input in an empty folder and returns the path to give to --input."""
