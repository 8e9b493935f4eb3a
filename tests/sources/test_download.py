import hashlib
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mascot_data.errors import DownloadError, OutputError, UsageError
from mascot_data.sources.download import (
    Patience,
    Release,
    ReleaseFile,
    cached_release,
    default_cache,
    fetch_release,
    matched_digest,
)
from tests.sources.loopback import (
    FAILED,
    MAIN,
    Answer,
    Handler,
    Origin,
    Seen,
    announcing,
    compressing,
    cut,
    endless,
    git_blob,
    held,
    shifted,
    status,
    whole,
)

ROOT = Path(__file__).resolve().parents[2]
QUICK = Patience(attempts=4, backoff=0.01, longest_wait=0.05, connect=5, read=5)
CHILD = """
import sys
from pathlib import Path
from mascot_data.sources.download import fetch_release, load_releases
sys.stdin.readline()
fetch_release("tales", cache=Path(sys.argv[1]), releases=load_releases(Path(sys.argv[2])), progress=True)
"""


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def origin() -> Iterator[Origin]:
    with Origin() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def releases(origin: Origin) -> dict[str, Release]:
    files = (
        ReleaseFile(name="main.json", url=origin.url("main.json"), git_blob=git_blob(MAIN)),
        ReleaseFile(name="failed.json", url=origin.url("failed.json"), git_blob=git_blob(FAILED), failed=True),
    )
    return {"tales": Release(license="mit", home="https://example.org", max_bytes=1_000_000, files=files)}


@pytest.fixture
def fetch(tmp_path: Path, releases: dict[str, Release]) -> Callable[[], Path]:
    return lambda: fetch_release("tales", cache=tmp_path, releases=releases, patience=QUICK)


@pytest.fixture
def part(tmp_path: Path) -> Path:
    (tmp_path / "sources" / "tales").mkdir(parents=True)
    return tmp_path / "sources" / "tales" / "main.json.part"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def child(tmp_path: Path, releases: dict[str, Release], stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """Start a process that fetches once it is told to."""
    table = tmp_path / "table.yaml"
    table.write_text(yaml.safe_dump({name: release.model_dump(mode="json") for name, release in releases.items()}))
    command = [sys.executable, "-c", CHILD, str(tmp_path), str(table)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stderr, cwd=ROOT)


def go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()


def read_terminal(descriptor: int) -> str:
    shown = b""
    with suppress(OSError):  # Linux reports the closed other end as an error
        while data := os.read(descriptor, 65_536):
            shown += data
    return shown.decode()


def test_a_release_is_downloaded_whole_and_nothing_else_is_left(origin: Origin, fetch: Callable[[], Path]) -> None:
    assert contents(fetch()) == {"main.json": MAIN}
    assert origin.seen == [Seen("main.json", None, None)]


def test_failed_conversations_come_on_request(tmp_path: Path, releases: dict[str, Release]) -> None:
    folder = fetch_release("tales", cache=tmp_path, releases=releases, include_failed=True)
    assert folder == tmp_path / "sources" / "tales"
    assert contents(folder) == {"main.json": MAIN, "failed.json": FAILED}


def test_a_verified_copy_needs_no_request(
    tmp_path: Path, origin: Origin, releases: dict[str, Release], fetch: Callable[[], Path]
) -> None:
    assert cached_release("tales", cache=tmp_path, releases=releases) is None
    folder = fetch()
    assert cached_release("tales", cache=tmp_path, releases=releases) == folder == fetch()
    assert cached_release("tales", cache=tmp_path, releases=releases, include_failed=True) is None
    assert len(origin.seen) == 1


def test_a_damaged_copy_is_fetched_again(
    tmp_path: Path, origin: Origin, releases: dict[str, Release], fetch: Callable[[], Path]
) -> None:
    folder = fetch()
    (folder / "main.json").write_bytes(MAIN[:-1] + b"?")
    assert cached_release("tales", cache=tmp_path, releases=releases) is None
    assert contents(fetch()) == {"main.json": MAIN}
    assert len(origin.seen) == 2


def test_a_cut_connection_is_resumed_where_it_broke(origin: Origin, fetch: Callable[[], Path]) -> None:
    origin.script = [cut(200_000), cut(50_000)]
    assert contents(fetch()) == {"main.json": MAIN}
    etag = f'"{git_blob(MAIN)}"'
    expected = [(None, None), ("bytes=200000-", etag), ("bytes=250000-", etag)]
    assert [(seen.range, seen.if_range) for seen in origin.seen] == expected


def test_a_silent_server_is_left_and_asked_again(origin: Origin, tmp_path: Path, releases: dict[str, Release]) -> None:
    done = threading.Event()
    origin.script = [held(done, 128 * 1024, longest=5)]
    folder = fetch_release("tales", cache=tmp_path, releases=releases, patience=Patience(backoff=0.01, read=0.2))
    done.set()
    assert contents(folder) == {"main.json": MAIN}
    assert [seen.range for seen in origin.seen] == [None, f"bytes={128 * 1024}-"]


def test_a_change_upstream_between_two_attempts_starts_over(origin: Origin, fetch: Callable[[], Path]) -> None:
    def outdated(handler: Handler, content: bytes) -> None:
        cut(200_000)(handler, content[::-1])

    origin.script = [outdated]
    assert contents(fetch()) == {"main.json": MAIN}
    assert len(origin.seen) == 2


def test_a_server_that_likes_to_compress_is_asked_not_to(origin: Origin, fetch: Callable[[], Path]) -> None:
    origin.script = [compressing]
    assert contents(fetch()) == {"main.json": MAIN}


@pytest.mark.parametrize("answer", [whole, shifted, status(416)])
def test_a_server_that_cannot_resume_sends_all_again(origin: Origin, fetch: Callable[[], Path], answer: Answer) -> None:
    origin.script = [cut(100_000), answer]
    assert contents(fetch()) == {"main.json": MAIN}


def test_a_longer_part_is_given_up(origin: Origin, fetch: Callable[[], Path], part: Path) -> None:
    part.write_bytes(MAIN + b"more")
    assert contents(fetch()) == {"main.json": MAIN}
    assert [seen.range for seen in origin.seen] == [f"bytes={len(MAIN) + 4}-", None]


def test_a_finished_part_needs_no_request(origin: Origin, fetch: Callable[[], Path], part: Path) -> None:
    part.write_bytes(MAIN)
    assert contents(fetch()) == {"main.json": MAIN}
    assert origin.seen == []


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kept=st.integers(0, len(MAIN)), junk=st.binary(max_size=9), cuts=st.lists(st.integers(0, 300_000), max_size=3))
def test_whatever_the_part_holds_the_file_is_right(
    origin: Origin, fetch: Callable[[], Path], tmp_path: Path, kept: int, junk: bytes, cuts: list[int]
) -> None:
    folder = tmp_path / "sources" / "tales"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.json").unlink(missing_ok=True)
    (folder / "main.json.part").write_bytes(MAIN[:kept] + junk)
    origin.script = [cut(size) for size in cuts[:2]]
    assert contents(fetch()) == {"main.json": MAIN}


def test_another_content_is_refused_and_removed(origin: Origin, fetch: Callable[[], Path], tmp_path: Path) -> None:
    origin.contents["main.json"] = b"<html>Sign in</html>"
    with pytest.raises(DownloadError) as caught:
        fetch()
    message = str(caught.value)
    assert "main.json" in message
    assert "--input" in message
    assert f"expected {git_blob(MAIN)} (git-blob), got {git_blob(b'<html>Sign in</html>')}" in message
    assert contents(tmp_path / "sources" / "tales") == {}
    assert len(origin.seen) == 1


def test_a_missing_file_is_not_asked_for_twice(origin: Origin, fetch: Callable[[], Path]) -> None:
    origin.script = [status(404)]
    with pytest.raises(DownloadError, match=r"main\.json answers 404 Not Found\): give the files with --input DIR"):
        fetch()
    assert len(origin.seen) == 1


@pytest.mark.parametrize("headers", [{}, {"Retry_After": 3600}, {"Retry_After": "soon"}])
def test_a_busy_server_is_asked_again(origin: Origin, fetch: Callable[[], Path], headers: dict[str, object]) -> None:
    origin.script = [status(503, **headers), status(429, **headers)]
    started = time.monotonic()
    assert contents(fetch()) == {"main.json": MAIN}
    assert time.monotonic() - started < 5
    assert len(origin.seen) == 3


def test_retry_after_is_obeyed_instead_of_the_backoff(
    origin: Origin, tmp_path: Path, releases: dict[str, Release]
) -> None:
    origin.script = [status(503, Retry_After=1)]
    started = time.monotonic()
    fetch_release("tales", cache=tmp_path, releases=releases, patience=Patience(backoff=30))
    assert 1 <= time.monotonic() - started < 10


def test_a_server_that_keeps_failing_is_given_up(origin: Origin, fetch: Callable[[], Path]) -> None:
    origin.script = [status(500, Retry_After="soon")] * 9
    with pytest.raises(DownloadError, match="500 Internal Server Error"):
        fetch()
    assert len(origin.seen) == QUICK.attempts


def test_a_connection_that_keeps_breaking_leaves_the_part(
    origin: Origin, fetch: Callable[[], Path], part: Path
) -> None:
    origin.script = [cut(70_000), *[cut(0)] * 3]
    with pytest.raises(DownloadError, match="run again to continue"):
        fetch()
    assert part.read_bytes() == MAIN[:70_000]
    assert contents(fetch()) == {"main.json": MAIN}
    assert origin.seen[-1].range == "bytes=70000-"


def test_without_a_connection_one_sentence_says_what_to_do(tmp_path: Path, releases: dict[str, Release]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{probe.getsockname()[1]}/main.json"
    file = releases["tales"].files[0].model_copy(update={"url": closed})
    offline = {"tales": releases["tales"].model_copy(update={"files": (file,)})}
    started = time.monotonic()
    with pytest.raises(DownloadError) as caught:
        fetch_release("tales", cache=tmp_path, releases=offline)
    way_out = "give the files with --input DIR, or try --sample"
    assert str(caught.value) == f"could not download main.json (no connection): {way_out}"
    assert time.monotonic() - started < 1, "it waited and tried again"


@pytest.mark.parametrize("answer", [announcing, endless])
def test_a_download_that_is_too_long_is_stopped(
    origin: Origin, fetch: Callable[[], Path], tmp_path: Path, answer: Answer
) -> None:
    origin.contents["main.json"] = bytes(1_100_000)
    origin.script = [answer] * 9
    with pytest.raises(DownloadError, match="more than 1,000,000 bytes"):
        fetch()
    assert contents(tmp_path / "sources" / "tales") == {}
    assert len(origin.seen) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to stand for a full disk")
def test_a_full_disk_is_an_output_error(fetch: Callable[[], Path], part: Path) -> None:
    part.symlink_to("/dev/full")
    with pytest.raises(OutputError, match="No space left on device"):
        fetch()


def test_a_cache_that_cannot_be_a_folder_is_an_output_error(tmp_path: Path, fetch: Callable[[], Path]) -> None:
    (tmp_path / "sources").write_text("in the way")
    with pytest.raises(OutputError, match="set MASCOT_CACHE"):
        fetch()


def test_an_unknown_corpus_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="esconv, empathetic-dialogues, qmsum"):
        fetch_release("moviedialogues")


def test_two_threads_download_once(origin: Origin, fetch: Callable[[], Path]) -> None:
    origin.script = [held(threading.Event(), 100_000, longest=0.3)]
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(fetch) for _ in range(2))
    assert contents(first.result()) == contents(second.result()) == {"main.json": MAIN}
    assert len(origin.seen) == 1


def test_two_processes_download_once(origin: Origin, tmp_path: Path, releases: dict[str, Release]) -> None:
    origin.script = [held(threading.Event(), 100_000, longest=0.5)]
    processes = [child(tmp_path, releases) for _ in range(2)]
    for process in processes:
        go(process)
    outputs = [process.communicate(timeout=30)[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert contents(tmp_path / "sources" / "tales") == {"main.json": MAIN}
    assert len(origin.seen) == 1


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_download_is_resumed(
    origin: Origin, tmp_path: Path, releases: dict[str, Release], fetch: Callable[[], Path], part: Path, blow: int
) -> None:
    dead = threading.Event()
    origin.script = [held(dead, 128 * 1024, longest=20)]
    with child(tmp_path, releases) as process:
        go(process)
        while not part.exists() or part.stat().st_size < 128 * 1024:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(blow)
        process.communicate(timeout=20)
    dead.set()
    assert process.returncode != 0
    assert contents(part.parent) == {"main.json.part": MAIN[: 128 * 1024]}
    assert contents(fetch()) == {"main.json": MAIN}
    assert [seen.range for seen in origin.seen] == [None, f"bytes={128 * 1024}-"]


def test_lines_are_written_where_there_is_no_terminal(tmp_path: Path, releases: dict[str, Release]) -> None:
    with child(tmp_path, releases) as process:
        shown = process.communicate(b"\n", timeout=30)[1].decode()
    url = releases["tales"].files[0].url
    assert shown.splitlines() == [f"downloading main.json from {url}", "main.json: 0.3 MB, verified (git-blob)"]


def test_nothing_is_written_unless_asked(fetch: Callable[[], Path], capfd: pytest.CaptureFixture[str]) -> None:
    fetch()
    assert capfd.readouterr() == ("", "")


def test_a_terminal_shows_bytes_and_rate(tmp_path: Path, releases: dict[str, Release]) -> None:
    mine, theirs = pty.openpty()
    with child(tmp_path, releases, stderr=theirs) as process:
        os.close(theirs)
        go(process)
        shown = read_terminal(mine)
        assert process.wait(timeout=30) == 0
    os.close(mine)
    assert "300.0/300.0 kB" in shown
    assert "B/s" in shown


def test_every_known_digest_is_accepted_and_named(origin: Origin, tmp_path: Path) -> None:
    recorded = {"first": "0" * 64, "second": hashlib.sha256(MAIN).hexdigest()}
    file = ReleaseFile(name="main.json", url=origin.url("main.json"), sha256=recorded)
    table = {"tales": Release(license="mit", home="https://example.org", max_bytes=1_000_000, files=(file,))}
    folder = fetch_release("tales", cache=tmp_path, releases=table)
    assert matched_digest(file, folder / "main.json") == "second"
    assert matched_digest(file, folder / "other.json") is None


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MASCOT_CACHE", str(tmp_path / "mine"))
    assert default_cache() == tmp_path / "mine"
    monkeypatch.setenv("MASCOT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert "mascot-data" in default_cache().parts


def test_the_import_brings_no_http() -> None:
    heavy = "{'pooch', 'requests', 'urllib3'}"
    code = f"import sys, mascot_data.sources.download; assert not {heavy} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
