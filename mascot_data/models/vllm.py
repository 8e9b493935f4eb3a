"""A model on a vLLM server that is started for a run and stopped after it.

vLLM pins its own torch, so it lives in an environment of its own. Looked for in this order: the command that
``MASCOT_VLLM`` names, ``vllm`` on the PATH, and an environment in the cache, which is made once (with ``uv``, or else
``pip``; several GB).
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mascot_data.errors import ModelError, OutputError
from mascot_data.models.calls import Waits
from mascot_data.models.chat import ModelInfo
from mascot_data.models.faults import NO_KEY
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.places import Place, place_of
from mascot_data.models.process import ServerProcess, free_port
from mascot_data.models.replies import shown
from mascot_data.models.server import ServerModel
from mascot_data.sources.download import default_cache

REQUIREMENT = "vllm==0.33.*"
READY_SECONDS = 3600.0
"""How long a server may take to load a model and compile its kernels."""


def serve(
    parsed: ModelName,
    options: ModelOptions,
    *,
    command: Sequence[str] | None = None,
    cache: Path | None = None,
    ready_within: float = READY_SECONDS,
    waits: Waits | None = None,
) -> "VllmModel":
    """Start a server for a model and connect to it.

    Args:
        parsed: Name and revision on the Hub, or a directory.
        options: See ``ModelOptions``; with several ``devices``, each runs a copy of the model.
        command: What stands for ``vllm``; None: looked for, see above.
        cache: Folder for the environment and the logs; None: the cache.
        ready_within: Seconds until the server must answer.
        waits: How long is waited between attempts of a request.

    Raises:
        ModelError: there is no such model, vLLM cannot be had, or it does not come up.
        OutputError: the cache cannot be written.
    """
    folder = (cache or default_cache()) / "vllm"
    place = place_of(parsed, options.chat_template)
    command = command or vllm_command(folder)
    port = free_port()
    log = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{port}.log"
    arguments = _arguments(place, port, options, log)
    process = ServerProcess([*command, *arguments], port, log, _environment(options))
    try:
        process.wait_until_ready(ready_within)
        info = ModelInfo(place.name, place.revision, "vllm", _dtype(options))
        return VllmModel(process, info, options, waits)
    except BaseException:
        process.stop()
        raise


class VllmModel(ServerModel):
    """A model on a server of our own; leaving it stops the server."""

    def __init__(self, process: ServerProcess, info: ModelInfo, options: ModelOptions, waits: Waits | None) -> None:
        self._process = process
        url = f"http://127.0.0.1:{process.port}/v1"
        super().__init__(info.name, url, NO_KEY, options, info=info, waits=waits, lost=process.lost)

    def close(self) -> None:
        """Stop the server."""
        try:
            super().close()
        finally:
            self._process.stop()


def _arguments(place: Place, port: int, options: ModelOptions, log: Path) -> list[str]:
    found = [
        "serve",
        str(place.directory),
        "--served-model-name",
        place.name,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    found += ["--dtype", _dtype(options), "--enable-prefix-caching"]
    # Else a model's own generation_config.json would change how it is sampled.
    found += ["--generation-config", "vllm"]
    if len(options.devices) > 1:
        found += ["--data-parallel-size", str(len(options.devices))]
    if options.chat_template is not None:
        template = log.with_suffix(".jinja")
        try:
            template.parent.mkdir(parents=True, exist_ok=True)
            template.write_text(options.chat_template, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{template}: cannot be written ({error.strerror or error})") from error
        found += ["--chat-template", str(template)]
    return found


def _dtype(options: ModelOptions) -> str:
    return "bfloat16" if options.dtype == "auto" else options.dtype


def _environment(options: ModelOptions) -> dict[str, str]:
    """Return the server's environment: no key that it does not need, none of our paths, nothing sent out."""
    left_out = ("OPENAI_API_KEY", "PYTHONPATH", "PYTHONHOME")
    found = {name: value for name, value in os.environ.items() if name not in left_out}
    if options.devices:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(device.rpartition(":")[2] for device in options.devices)
    return found | {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}


def vllm_command(folder: Path) -> list[str]:
    """Return the command of vLLM; one that is made below ``folder`` needs a GPU, others are taken as they are.

    Raises:
        ModelError: there is neither a vLLM nor a GPU to install one for, or it cannot be installed.
        OutputError: the folder cannot be written.
    """
    if chosen := os.environ.get("MASCOT_VLLM"):
        return [chosen]
    if found := shutil.which("vllm"):
        return [found]
    if not _has_gpu():
        raise ModelError("vLLM needs an NVIDIA GPU, and there is none: name a server with  server:NAME@URL  instead")
    return [str(_installed(folder))]


def _has_gpu() -> bool:
    tool = shutil.which("nvidia-smi")
    return tool is not None and bool(subprocess.run([tool, "-L"], capture_output=True, check=False).stdout.strip())


def _installed(folder: Path) -> Path:
    """Return the command in an environment that is made once; what a killed run left is made again."""
    import filelock

    place = folder / REQUIREMENT.replace("==", "-").rstrip(".*")
    vllm, made = place / "bin" / "vllm", place / "made"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / ".environment.lock"):
            if not made.exists():
                shutil.rmtree(place, ignore_errors=True)
                for step in _steps(place):
                    _run(step, folder / "install.log")
                made.touch()
    except OSError as error:
        raise OutputError(f"{folder}: vLLM cannot be installed there ({error.strerror or error})") from error
    return vllm


def _steps(place: Path) -> list[list[str]]:
    python = str(place / "bin" / "python")
    if uv := shutil.which("uv"):
        return [
            [uv, "venv", "--quiet", "--python", sys.executable, str(place)],
            [uv, "pip", "install", "--quiet", "--python", python, REQUIREMENT],
        ]
    return [[sys.executable, "-m", "venv", str(place)], [python, "-m", "pip", "install", "--quiet", REQUIREMENT]]


def _run(step: Sequence[str], log: Path) -> None:
    with log.open("wb") as output:
        status = subprocess.run(
            step, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    if status:
        lines = log.read_text(errors="replace").splitlines()
        said = shown(next((line for line in reversed(lines) if line.strip()), "it says nothing"))
        raise ModelError(f"vLLM cannot be installed: see {log} ({said})")
