"""A vLLM server of our own: started, asked, and gone afterwards whatever happens. A small server stands in for it."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra for servers is not installed")

from mascot_data.errors import ModelError
from mascot_data.models.calls import Waits
from mascot_data.models.chat import Ask, Chances, Choice, Failure, Sampling
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.vllm import VllmModel, serve, vllm_command
from tests.models.stand_in_vllm import chance, tokens_of

STAND_IN = Path(__file__).with_name("stand_in_vllm.py")
QUICK = Waits(first=0.01, most=0.05)
MESSAGES = (("system", "Be brief."), ("user", "Who speaks next?"))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def start(weights: Path, behaviour: object = "well", seconds: float = 60.0, **options: Any) -> VllmModel:
    return serve(
        ModelName("vllm", str(weights)),
        ModelOptions(**({"attempts": 5} | options)),
        command=[sys.executable, str(STAND_IN), str(behaviour)],
        cache=weights.parent / "cache",
        ready_within=seconds,
        waits=QUICK,
    )


def printed(weights: Path, what: str) -> Any:
    """What the stand-in wrote to the log of its server."""
    (log,) = (weights.parent / "cache" / "vllm").glob("*.log")
    (line,) = (line for line in log.read_text().splitlines() if line.startswith(what))
    return json.loads(line.removeprefix(what))


def is_gone(pid: int) -> bool:
    """Whether a process has ended, waiting a little for it; one that nobody has waited for counts as ended."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_server_is_started_asked_and_stopped(weights: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with start(weights, pids) as model:
        assert model.info.backend == "vllm"
        assert model.info.name == "weights"
        assert len(model.info.revision) == 16
        assert model.info.dtype == "bfloat16"
        assert model.context_tokens == 4096
        assert model.count_tokens(MESSAGES, "I ") == len(tokens_of({"messages": chat(MESSAGES)})) + 2
        (found,) = model.sample([Ask(MESSAGES, Sampling(), (1, 2))])
        assert isinstance(found, list)
        assert [sample.logprob for sample in found] == [-1.0, -1.0]
    assert all(is_gone(int(pid)) for pid in pids.read_text().split())


def chat(messages: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in messages]


def test_chances_are_the_sums_over_the_tokens_of_answer_and_suffix(weights: Path) -> None:
    choice = Choice(MESSAGES, ("Anchor", "Anchors", "Guide"), '{"agent": "', '"')
    many = Choice(MESSAGES, tuple(chr(number) + chr(number + 1) for number in range(0x4E00, 0x4E00 + 300, 2)))
    start_at = len(tokens_of({"messages": chat(MESSAGES)}))
    with start(weights) as model:
        found = model.choose([choice, many])
    for chances, asked in zip(found, (choice, many), strict=True):
        before = start_at + len(asked.prefix)
        wholes = [answer + asked.suffix for answer in asked.answers]
        sums = [math.fsum(chance(before + at, ord(sign)) for at, sign in enumerate(whole)) for whole in wholes]
        assert isinstance(chances, Chances)
        assert chances.logprobs == pytest.approx(sums)
        assert chances.mass == pytest.approx(min(1.0, sum(map(math.exp, sums))))
        assert chances.prompt_tokens == before


def test_it_goes_on_from_a_beginning(weights: Path) -> None:
    with start(weights) as model:
        (found,) = model.sample([Ask(MESSAGES, Sampling(), (1,), prefix="It sounds")])
    assert isinstance(found, list)
    assert found[0].text == "well"


def test_it_is_started_as_the_options_say(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-vllm")
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    with start(weights, dtype="float16", devices=("cuda:2", "cuda:3"), chat_template=template) as model:
        assert model.info.dtype == "float16"
        assert "+" in model.info.revision
    arguments, environment = printed(weights, "arguments "), printed(weights, "environment ")
    assert arguments[:2] == ["serve", str(weights)]
    told = dict(zip(arguments[2::1], arguments[3::1], strict=False))
    assert told["--dtype"] == "float16"
    assert told["--host"] == "127.0.0.1"
    assert told["--data-parallel-size"] == "2"
    assert told["--generation-config"] == "vllm"
    assert Path(told["--chat-template"]).read_text() == template
    assert "--enable-prefix-caching" in arguments
    assert "--trust-remote-code" not in arguments
    assert environment["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert environment["VLLM_NO_USAGE_STATS"] == "1"
    assert "sk-not-for-vllm" not in str(environment)


def test_one_that_dies_at_the_start_is_named_with_its_last_words(weights: Path) -> None:
    with pytest.raises(ModelError, match=r"vllm.*\.log.*No available memory") as raised:
        start(weights, "dies")
    assert str(raised.value).isprintable()


def test_one_that_never_answers_is_stopped(weights: Path) -> None:
    with pytest.raises(ModelError, match="not ready within"):
        start(weights, "hangs", seconds=1.0)


def test_a_command_that_is_not_there_is_named(weights: Path) -> None:
    with pytest.raises(ModelError, match="No such file"):
        serve(ModelName("vllm", str(weights)), ModelOptions(), command=["/no/such/vllm"], cache=weights.parent)


def test_one_that_dies_in_the_middle_ends_the_run(weights: Path) -> None:
    with start(weights, concurrency=1) as model, pytest.raises(ModelError, match="ended in the middle"):
        model.sample([Ask((("user", text),), Sampling(), (1,)) for text in ("one", "die", "two")])


def test_a_directory_without_weights_is_not_served(weights: Path) -> None:
    (weights / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no weights"):
        start(weights)
    assert not (weights.parent / "cache").exists()


HOLDING = """
import sys, time
from pathlib import Path
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.vllm import serve

weights, stand_in, pids = sys.argv[1:]
with serve(
    ModelName("vllm", weights), ModelOptions(), command=[sys.executable, stand_in, pids], cache=Path(pids).parent / "c"
):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_with_the_run_however_that_ends(weights: Path, tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HOLDING, str(weights), str(STAND_IN), str(pids)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        process.wait(30)
    assert all(is_gone(int(pid)) for pid in pids.read_text().split())


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("MASCOT_VLLM", raising=False)
    return folder


def script(path: Path, text: str) -> None:
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)


UV = """
import pathlib, sys
place = pathlib.Path(__file__).parent
with (place / "calls").open("a") as calls:
    print(*sys.argv[1:], file=calls)
if sys.argv[1] == "venv":
    pathlib.Path(sys.argv[-1], "bin").mkdir(parents=True)
if sys.argv[1] == "pip" and (place / "broken").exists():
    sys.exit("error: no space left")
"""


def test_a_vllm_that_is_there_is_used(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tools / "vllm", "")
    assert vllm_command(tmp_path) == [str(tools / "vllm")]
    monkeypatch.setenv("MASCOT_VLLM", "/opt/vllm")
    assert vllm_command(tmp_path) == ["/opt/vllm"]


@pytest.mark.parametrize("tool", [None, "raise SystemExit(9)", "print()"])
def test_without_a_gpu_nothing_is_installed(tools: Path, tmp_path: Path, tool: str | None) -> None:
    if tool:
        script(tools / "nvidia-smi", tool)
    script(tools / "uv", UV)
    with pytest.raises(ModelError, match="GPU"):
        vllm_command(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    assert not (tools / "calls").exists()


def test_an_environment_is_made_once(tools: Path, tmp_path: Path) -> None:
    script(tools / "nvidia-smi", "print('GPU 0')")
    script(tools / "uv", UV)
    (tools / "broken").touch()
    with pytest.raises(ModelError, match=r"cannot be installed.*no space left"):
        vllm_command(tmp_path)
    (tools / "broken").unlink()
    first, again = vllm_command(tmp_path), vllm_command(tmp_path)
    assert first == again == [str(tmp_path / "vllm-0.33" / "bin" / "vllm")]
    calls = (tools / "calls").read_text().splitlines()
    assert len(calls) == 4
    assert calls[-1].endswith("vllm==0.33.*")


def test_a_real_vllm_answers(smollm2: Path) -> None:
    """For real where there is a vLLM (``MASCOT_VLLM``, or on the PATH) or a GPU to install it for."""
    if not (os.environ.get("MASCOT_VLLM") or shutil.which("vllm") or shutil.which("nvidia-smi")):
        pytest.skip("there is neither a vLLM (MASCOT_VLLM names its command) nor a GPU")
    choice = Choice(MESSAGES, ("Anchor", "Guide"), '{"agent": "', '"')
    ask = Ask(MESSAGES, Sampling(max_tokens=8), (1, 2))
    with serve(ModelName("vllm", str(smollm2)), ModelOptions(dtype="float32")) as model:
        found = model.sample([ask, ask._replace(prefix="It")])
        assert found == model.sample([ask, ask._replace(prefix="It")])
        (chances,) = model.choose([choice])
    assert not any(isinstance(answer, Failure) for answer in found)
    assert isinstance(chances, Chances)
    assert all(-50 < value < 0 for value in chances.logprobs)
