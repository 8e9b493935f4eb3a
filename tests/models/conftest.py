"""Local models for the tests: the embedded one, and tiny ones made from code."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.tiny import make_directory


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """Directory of the embedded model in the user's cache; converting it, the first time, takes a minute."""
    pytest.importorskip("gguf", reason="the extra for local models is not installed")
    from mascot_data.models.embedded import directory

    return directory()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a tiny model with random weights; not to be changed."""
    pytest.importorskip("transformers", reason="the extra for local models is not installed")
    return make_directory(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Compute in one thread: for so small a model, sharing the work out costs more than the work."""
    torch = pytest.importorskip("torch", reason="the extra for local models is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which a library looks for a host, even if the library would go on without it."""
    asked: list[object] = []

    def refuse(host: object, *_: object, **__: object) -> None:
        asked.append(host)
        raise socket.gaierror(f"{host!r}: these tests are without network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield
    assert asked == []
