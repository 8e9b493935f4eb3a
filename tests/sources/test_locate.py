"""Where a corpus comes from: what is given, then the environment, then the release; the sample only when asked for."""

from pathlib import Path
from typing import Any

import pytest

from mascot_data.errors import DownloadError, InputError, UsageError
from mascot_data.sources import locate
from mascot_data.sources.locate import located

FOLDERS = ("esconv", "ESConv")


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stand in for the download; the list holds how it was called."""
    calls: list[dict[str, Any]] = []
    folder = make(tmp_path / "release", "ESConv.json")

    def fetch(corpus: str, **options: object) -> Path:
        calls.append({"corpus": corpus, **options})
        return folder

    monkeypatch.setattr(locate, "fetch_release", fetch)
    monkeypatch.delenv("MASCOT_SOURCES", raising=False)
    return calls


def make(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"[]")
    return folder


def found(given: Path | None = None, **options: Any) -> tuple[Path, list[str]]:
    with located("esconv", FOLDERS, given=given, **options) as inputs:
        return inputs.path, [file.name for file in inputs.files]


def test_what_is_given_goes_first(
    tmp_path: Path, release: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASCOT_SOURCES", str(make(tmp_path / "env", "esconv/ESConv.json")))
    given = make(tmp_path / "given", "mine.json")
    assert found(given) == (given, ["mine.json"])
    assert found(given / "mine.json") == (given / "mine.json", ["mine.json"])
    assert release == []


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("many", [False, True])
def test_a_folder_for_all_corpora_is_searched_for_the_one(
    tmp_path: Path, release: list[dict[str, Any]], name: str, many: bool
) -> None:
    given = make(tmp_path / "given", f"{name}/ESConv.json", "qmsum/x.json")
    assert found(given, many=many) == (given / name, ["ESConv.json"])


def test_for_all_corpora_the_folder_must_have_one_for_each(tmp_path: Path, release: list[dict[str, Any]]) -> None:
    given = make(tmp_path / "given", "ESConv.json")
    for path in (given, given / "ESConv.json"):
        with pytest.raises(InputError, match="has no folder for esconv: with --source all it needs one named esconv"):
            found(path, many=True)
    for many in (False, True):
        with pytest.raises(InputError, match="nowhere: there is no such file or folder"):
            found(tmp_path / "nowhere", many=many)
    assert release == []


def test_the_environment_goes_before_the_release(
    tmp_path: Path, release: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make(tmp_path / "env", "ESConv/ESConv.json", "qmsum/x.json")
    monkeypatch.setenv("MASCOT_SOURCES", str(root))
    assert found() == (root / "ESConv", ["ESConv.json"])
    assert release == []


@pytest.mark.parametrize("environment", [None, "", "elsewhere", "only-qmsum"])
def test_the_release_comes_last(
    tmp_path: Path, release: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, environment: str | None
) -> None:
    make(tmp_path / "only-qmsum", "qmsum/x.json")
    if environment is not None:
        monkeypatch.setenv("MASCOT_SOURCES", environment and str(tmp_path / environment))
    assert found(include_failed=True, progress=True) == (tmp_path / "release", ["ESConv.json"])
    assert release == [{"corpus": "esconv", "include_failed": True, "progress": True}]


def test_the_sample_needs_nothing_from_outside(release: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASCOT_SOURCES", "/nowhere")
    for source in ("esconv", "empathetic-dialogues", "qmsum"):
        with located(source, (), given=None, sample=True) as inputs:
            assert len(inputs.files) >= 3
    assert release == []


def test_sample_and_input_exclude_each_other(tmp_path: Path, release: list[dict[str, Any]]) -> None:
    with pytest.raises(UsageError, match="--sample and --input exclude each other"):
        found(tmp_path, sample=True)


def test_a_failed_download_is_told_as_it_is(release: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Path:
        raise DownloadError("no connection")

    monkeypatch.setattr(locate, "fetch_release", fail)
    with pytest.raises(DownloadError, match="no connection"):
        found()
