"""Loading local models: what they are known by, and one sentence for everything that cannot be loaded."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra for local models is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

from mascot_data.errors import ModelError, PrerequisiteError
from mascot_data.models import Ask, ModelOptions, Sampling, load_model
from tests.models.tiny import CHATML, make_directory

pytestmark = pytest.mark.usefixtures("one_thread", "no_network")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HI = Ask((("user", "Hi"),), Sampling(max_tokens=4), (1,))


@pytest.fixture
def copied(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may spoil."""
    return Path(shutil.copytree(tiny, tmp_path / "copied"))


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the Hub, and no way to the Hub."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def assert_refused(name: str, *words: str, options: ModelOptions | None = None) -> None:
    with pytest.raises(ModelError) as refused:
        load_model(name, options)
    message = str(refused.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert_refused(str(tmp_path / "absent"), "absent", "no such directory")


def test_a_directory_without_a_model(tmp_path: Path) -> None:
    assert_refused(str(tmp_path), "config.json")


def test_no_weights_and_only_pickles(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    assert_refused(str(copied), "no weights", "safetensors")
    (copied / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert_refused(str(copied), "pickled", "safetensors")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _without_a_tensor(path: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    del tensors["model.norm.weight"]
    save_file(tensors, path, metadata={"format": "pt"})


def _narrower(path: Path) -> None:
    path.write_text(path.read_text().replace('"hidden_size": 32', '"hidden_size": 48'))


@pytest.mark.parametrize(
    ("file", "spoil", "words"),
    [
        ("config.json", lambda path: path.write_text("{"), ()),
        ("config.json", lambda path: path.write_text("{}"), ()),
        ("config.json", _narrower, ()),
        ("config.json", lambda path: path.write_text('{"model_type": "no-such-type"}'), ("no-such-type",)),
        ("model.safetensors", _cut, ()),
        ("model.safetensors", _without_a_tensor, ("lack 1", "model.norm.weight")),
        ("tokenizer.json", lambda path: path.write_text("{"), ()),
    ],
)
def test_broken_files(copied: Path, file: str, spoil: Callable[[Path], Any], words: tuple[str, ...]) -> None:
    spoil(copied / file)
    assert_refused(str(copied), "copied", *words)


def test_a_model_that_needs_code_of_its_own_is_refused_and_its_code_is_not_run(copied: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (copied / "modeling_own.py").write_text(f"open({str(ran)!r}, 'w')\nclass Own: ...\nclass OwnConfig: ...\n")
    names = {"AutoModelForCausalLM": "modeling_own.Own", "AutoConfig": "modeling_own.OwnConfig"}
    config = json.loads((copied / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": names}
    (copied / "config.json").write_text(json.dumps(config))
    assert_refused(str(copied), "code of its own", "never run")
    assert not ran.exists()


def test_a_model_without_a_chat_template_gets_one(tmp_path: Path) -> None:
    directory = make_directory(tmp_path / "base", template=None)
    assert_refused(str(directory), "chat template", "--chat-template FILE")
    with load_model(str(directory), ModelOptions(chat_template=CHATML)) as model:
        assert isinstance(model.sample([HI])[0], list)


@pytest.mark.parametrize("template", ["{% for", "{{ messages[0].content.absent() }}", "always the same"])
def test_a_chat_template_that_cannot_be_used(tiny: Path, template: str) -> None:
    assert_refused(str(tiny), "template", options=ModelOptions(chat_template=template))


def test_the_revision_tells_models_and_templates_apart(tiny: Path, copied: Path) -> None:
    def revision(directory: Path, template: str | None = None) -> str:
        with load_model(str(directory), ModelOptions(chat_template=template)) as model:
            return model.info.revision

    first = revision(tiny)
    assert revision(copied) == first
    assert len({first, revision(tiny, CHATML), revision(tiny, CHATML + " ")}) == 3
    (copied / "README.md").write_text("not part of the model")
    assert revision(copied) == first
    for name in ("tokenizer_config.json", "generation_config.json"):
        before = revision(copied)
        config = json.loads((copied / name).read_text())
        (copied / name).write_text(json.dumps(config | {"note": 1}))
        assert revision(copied) != before


def test_an_unknown_device(tiny: Path) -> None:
    assert_refused(str(tiny), "cuda:7", options=ModelOptions(devices=("cuda:7",)))


def _cached(hub_cache: Path, tiny: Path) -> Path:
    repository = hub_cache / "models--org--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    return Path(shutil.copytree(tiny, repository / "snapshots" / COMMIT))


@pytest.mark.parametrize("name", ["org/tiny", "org/tiny@main", f"org/tiny@{COMMIT}"])
def test_a_model_of_the_hub_is_known_by_its_commit(hub_cache: Path, tiny: Path, name: str) -> None:
    _cached(hub_cache, tiny)
    with load_model(name) as model:
        assert model.info.name == "org/tiny"
        assert model.info.revision == COMMIT
        assert isinstance(model.sample([HI])[0], list)


def test_a_model_that_is_not_in_the_cache_of_the_hub(hub_cache: Path, tiny: Path) -> None:
    assert_refused("org/other", "org/other", "cannot be reached")
    _cached(hub_cache, tiny)
    assert_refused("org/tiny@v2", "org/tiny@v2", "cannot be reached")


def test_weights_that_are_not_in_the_cache(hub_cache: Path, tiny: Path) -> None:
    (_cached(hub_cache, tiny) / "model.safetensors").unlink()
    assert_refused("org/tiny", "org/tiny", "no weights")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("GatedRepoError", "grant access"),
        ("RevisionNotFoundError", "no such revision"),
        ("RepositoryNotFoundError", "no such model"),
        ("HfHubHTTPError", "cannot be reached"),
    ],
)
def test_what_the_hub_refuses(monkeypatch: pytest.MonkeyPatch, kind: str, words: str) -> None:
    from huggingface_hub import errors

    def refuse(*_: object, **__: object) -> None:
        raised = getattr(errors, kind)
        raise raised.__new__(raised, "refused")

    monkeypatch.setattr("mascot_data.models.places.snapshot_download", refuse)
    assert_refused("org/tiny@v1", "org/tiny@v1", words)


def test_missing_packages_are_named(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(PrerequisiteError, match=r"mascot-data\[judge\]"):
        load_model(str(tiny))


def test_loading_writes_nothing_to_the_terminal(tiny: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with load_model(str(tiny)) as model:
        model.sample([HI])
    assert capfd.readouterr() == ("", "")
