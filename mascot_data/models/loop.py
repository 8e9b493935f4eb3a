"""An event loop in a thread of its own, so that asynchronous work can be used from anywhere, a notebook included."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


class Loop:
    """An event loop that runs until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-server", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do a piece of work and wait for it; when the wait is interrupted (Ctrl-C), the work is cancelled."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self, last: Coroutine[Any, Any, object]) -> None:
        """Cancel what still runs, do one last piece of work, and end the thread; once closed it stays so."""
        if self._loop.is_closed():
            last.close()
        else:
            self.run(_cancel_others())
            self.run(last)
            self.run(self._loop.shutdown_default_executor())  # names are looked up in threads of their own
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def gather(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Do works together, in their order; the first one that raises ends the others, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
