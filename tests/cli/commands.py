"""Run the real command line in a process of its own, and look at what it said and left behind."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
MAIN = [sys.executable, "-m", "mascot_data"]


class Ended(NamedTuple):
    """How a command ended; ``peak`` is the most memory it held, in MiB."""

    status: int
    out: str
    err: str
    peak: float


def start(*arguments: str | Path, cwd: Path, out: object = None, err: object = None) -> "subprocess.Popen[bytes]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MASCOT_")}
    command = [*MAIN, *map(str, arguments)]
    return subprocess.Popen(command, cwd=cwd, env=environment, stdout=out, stderr=err)  # type: ignore[call-overload, no-any-return]


def mascot(*arguments: str | Path, cwd: Path) -> Ended:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = start(*arguments, cwd=cwd, out=out, err=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Ended(process.returncode, out.read().decode(), err.read().decode(), usage.ru_maxrss / 1024)


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
