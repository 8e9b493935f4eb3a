"""A server as a process of our own: started, waited for, and stopped whatever happens."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mascot_data.errors import ModelError, OutputError
from mascot_data.models.replies import shown

_GUARD = Path(__file__).with_name("guard.py")
_LAST_LINES = 3
_LAST_BYTES = 20_000
_LOOK_SECONDS = 0.2


class ServerProcess:
    """A running server. ``stop`` ends it with all processes that it started; so does the end of this process.

    Args:
        command: How it is started.
        port: Where it listens on the loopback interface.
        log: File that its output goes to.
        environment: Environment variables.

    Raises:
        OutputError: the log cannot be written.
        ModelError: the command cannot be run.
    """

    def __init__(self, command: Sequence[str], port: int, log: Path, environment: Mapping[str, str]) -> None:
        self.port, self.log = port, log
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as output:
                self._guard = subprocess.Popen(
                    [sys.executable, "-I", str(_GUARD), *command],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env=dict(environment),
                )
        except OSError as error:
            raise OutputError(f"{log}: the server's log cannot be written ({error.strerror or error})") from error

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until the server answers ``/health``.

        Raises:
            ModelError: it ends before, or is not ready within ``seconds``.
        """
        deadline = time.monotonic() + seconds
        while not self._is_healthy():
            if self._guard.poll() is not None:
                raise ModelError(f"the server ended before it was ready: {self._last_words()}")
            if time.monotonic() > deadline:
                raise ModelError(f"the server was not ready within {seconds:g} s: {self._last_words()}")
            time.sleep(_LOOK_SECONDS)

    def lost(self) -> str | None:
        """Say that the server has ended, if it has."""
        if self._guard.poll() is None:
            return None
        return f"the server ended in the middle: {self._last_words()}; start again to go on"

    def stop(self) -> None:
        """End the server and all that it started."""
        if self._guard.stdin and not self._guard.stdin.closed:
            self._guard.stdin.close()
        try:
            self._guard.wait(15.0)
        except subprocess.TimeoutExpired:
            os.killpg(self._guard.pid, signal.SIGKILL)
            self._guard.wait()

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2.0)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _last_words(self) -> str:
        with self.log.open("rb") as stream:
            stream.seek(max(0, self.log.stat().st_size - _LAST_BYTES))
            lines = [line for line in stream.read().decode(errors="replace").splitlines() if line.strip()]
        said = " | ".join(shown(line) for line in lines[-_LAST_LINES:])
        return f"see {self.log} ({said or 'empty'})"


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
