"""A real server for tests: ``transformers serve`` on the loopback interface with the embedded model."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mascot_data.models.process import free_port


@contextmanager
def transformers_serve(model: Path, log: Path) -> Iterator[str]:
    """Serve a model directory meanwhile; gives the base URL of the protocol's routes."""
    port = free_port()
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(model), "--host", "127.0.0.1"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen([*command, "--port", str(port)], stdout=output, stderr=output, env=environment)
    try:
        _wait(process, port, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    plain = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"transformers serve ended: {log.read_text(errors='replace')[-2000:]}")
        try:
            with plain.open(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.3)
    pytest.fail("transformers serve does not come up")
