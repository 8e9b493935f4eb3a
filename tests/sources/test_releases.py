import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mascot_data.sources.releases import ReleaseFile, content_digest, load_releases, matched_digest
from tests.sources.loopback import git_blob

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("MASCOT_TEST_SOURCES", ROOT.parent / "shared" / "sources"))


@given(st.binary(max_size=200))
def test_the_git_digest_is_that_of_the_content(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "content"
    path.write_bytes(content)
    file = ReleaseFile(name="content", url="", git_blob="0" * 40)
    assert content_digest(file, path) == git_blob(content)


def test_the_git_digest_is_the_one_git_gives(tmp_path: Path) -> None:
    (tmp_path / "hello").write_bytes(b"hello\n")
    file = ReleaseFile(name="hello", url="", git_blob="ce013625030ba8dba906f756967f9e9ca394464a")
    assert matched_digest(file, tmp_path / "hello") == "git-blob"


@pytest.mark.parametrize(
    "change",
    [
        {"git_blob": None},
        {"sha256": {"other": "0" * 64}},
        {"git_blob": "0" * 39},
        {"git_blob": None, "sha256": {"other": "x" * 64}},
        {"name": "../main.json"},
        {"size": 3},
    ],
)
def test_an_entry_that_cannot_be_verified_or_kept_is_refused(change: dict[str, object]) -> None:
    entry = {"name": "main.json", "url": "https://example.org/main.json", "git_blob": "0" * 40}
    assert ReleaseFile.model_validate(entry)
    with pytest.raises(ValidationError):
        ReleaseFile.model_validate(entry | change)


def test_the_table_holds_the_three_corpora_over_https() -> None:
    table = load_releases()
    assert {name: release.license for name, release in table.items()} == {
        "esconv": "cc-by-nc-4.0",
        "empathetic-dialogues": "cc-by-nc-4.0",
        "qmsum": "mit",
    }
    files = [file for release in table.values() for file in release.files]
    assert all(file.url.startswith("https://") and file.url.endswith(f"/{file.name}") for file in files)
    assert [file.name for file in files if file.failed] == ["FailedESConv.json"]


@pytest.mark.parametrize(
    ("corpus", "path"),
    [
        ("esconv", "esconv/FailedESConv.json"),
        ("qmsum", "qmsum/data/ALL/jsonl/val.jsonl"),
        ("qmsum", "qmsum/data/ALL/jsonl/test.jsonl"),
    ],
)
def test_the_table_pins_the_real_files(corpus: str, path: str) -> None:
    if not (REAL / path).exists():
        pytest.skip(f"the real {path} is not in {REAL}")
    file = next(file for file in load_releases()[corpus].files if file.name == Path(path).name)
    assert matched_digest(file, REAL / path) == "git-blob"
