"""Progress of a long command: a bar with counts, rate and time left on a terminal, plain lines in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LOG_SECONDS = 10.0
_EVERY = 64

Report = Callable[[str, int, int | None], None]
"""Called with what is done, how many are done, and how many there are (None when unknown)."""


@contextmanager
def shown_progress(*, quiet: bool = False, every: int = _EVERY) -> Iterator[Report | None]:
    """Yield a function that shows progress on standard error, at every so many calls; None when ``quiet``."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as bar:
            yield _on_bar(bar, every)
    else:
        yield _in_lines(every)


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _on_bar(bar: Progress, every: int) -> Report:
    tasks: dict[str, tuple[TaskID, float]] = {}

    def report(name: str, done: int, total: int | None) -> None:
        if name not in tasks:
            tasks[name] = bar.add_task(name, total=total, rate=""), time.monotonic()
        if done % every == 0 or done == total:
            task, start = tasks[name]
            seconds = time.monotonic() - start
            bar.update(task, completed=done, rate=_rate(done, seconds))

    return report


def _in_lines(every: int) -> Report:
    start = last = time.monotonic()

    def report(name: str, done: int, total: int | None) -> None:
        nonlocal last
        if done % every and done != total:
            return
        now = time.monotonic()
        if now - last >= LOG_SECONDS or done == total:
            last = now
            of = f" of {total:,}" if total else ""
            print(f"{name}: {done:,}{of}, {_rate(done, now - start)}", file=sys.stderr, flush=True)

    return report


def _rate(done: int, seconds: float) -> str:
    """Say how quick it goes: a second, or a minute where that is less than one."""
    rate = done / max(seconds, 1e-6)
    return f"{rate:,.0f}/s" if rate >= 1 else f"{rate * 60:,.1f}/min"
