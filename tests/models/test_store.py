"""Answers are kept whole or not at all, whatever happens to the process, the disk or the file."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.errors import OutputError
from mascot_data.models.store import IN_MEMORY, Store, default_store, key_of
from tests.conftest import ROOT

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(st.text(alphabet="0123456789abcdef", min_size=1), plain, max_size=20))
def test_what_was_put_is_got(answers: dict[str, Any]) -> None:
    with Store(IN_MEMORY) as store:
        store.put(answers)
        assert store.get(list(answers)) == answers
        assert store.get(["none of them"]) == {}


def test_more_keys_than_fit_one_query_are_got(tmp_path: Path) -> None:
    answers = {f"{number:032x}": number for number in range(2345)}
    with Store(tmp_path / "store") as store:
        store.put(answers)
    with Store(tmp_path / "store") as store:
        assert store.get([*answers, "other"]) == answers


def test_what_is_there_stays() -> None:
    with Store(IN_MEMORY) as store:
        store.put({"a": 1})
        store.put({"a": 2, "b": 2})
        assert store.get(["a", "b"]) == {"a": 1, "b": 2}


def test_a_key_tells_what_was_asked_apart() -> None:
    parts = [("a", "b"), ("ab",), ("a,b",), (["a", "b"],), ("a", ["b"]), ("a", "b", ""), ("a", 1), ("a", "1"), ("é",)]
    assert len({key_of(*part) for part in parts}) == len(parts)
    assert key_of("a", ["b", 0.8]) == key_of("a", ["b", 0.8])


@pytest.mark.parametrize("content", [b"no store " * 100, b"SQLite format 3\x00" + b"x" * 4096])
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store").write_bytes(content)
    with pytest.raises(OutputError, match=r"store: the store of answers cannot be used \(.*give another file with"):
        Store(tmp_path / "store")
    assert (tmp_path / "store").read_bytes() == content


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        store.put({f"{number:032x}": "x" * 500 for number in range(500)})
    data = bytearray((tmp_path / "store").read_bytes())
    data[4096:-4096] = bytes(len(data) - 8192)
    (tmp_path / "store").write_bytes(data)
    with Store(tmp_path / "store") as store, pytest.raises(OutputError, match="give another file with --store"):
        store.get([f"{number:032x}" for number in range(500)])


def test_a_base_with_other_tables_is_refused(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "store")
    base.execute("create table answers (question text)")
    base.close()
    with Store(tmp_path / "store") as store, pytest.raises(OutputError, match="no such column"):
        store.get(["a"])


@pytest.mark.parametrize("name", ["folder", "file/store"])
def test_a_place_that_cannot_be_a_store_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="the store of answers cannot be used"):
        Store(tmp_path / name)


def test_a_full_disk_is_told_and_loses_nothing_that_was_stored(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        store.put({"a": "first"})
        store._base.execute("pragma max_page_count=20")
        with pytest.raises(OutputError, match=r"is full.*free some space, and run again to go on"):
            store.put({"b": "second", "c": "x" * 200_000})
        assert store.get(["a", "b", "c"]) == {"a": "first"}
        store._base.execute("pragma max_page_count=100000")
        store.put({"b": "again"})
    with Store(tmp_path / "store") as store:
        assert store.get(["a", "b"]) == {"a": "first", "b": "again"}


def in_process(code: str, *arguments: object) -> "subprocess.Popen[bytes]":
    head = "import os, signal, sys\nfrom pathlib import Path\nfrom mascot_data.models.store import Store\n"
    command = [sys.executable, "-c", head + code, *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_several_processes_write_one_new_store_at_once(tmp_path: Path) -> None:
    code = """
me = sys.argv[2]
with Store(Path(sys.argv[1])) as store:
    for number in range(40):
        store.put({f"{me} {number}": number, f"shared {number}": me})
        assert store.get([f"{me} {number}"]) == {f"{me} {number}": number}
"""
    processes = [in_process(code, tmp_path / "store", name) for name in "abc"]
    assert [process.wait(timeout=120) for process in processes] == [0] * 3
    with Store(tmp_path / "store") as store:
        assert len(store.get([f"{name} {number}" for name in "abc" for number in range(40)])) == 120
        assert set(store.get([f"shared {number}" for number in range(40)]).values()) <= set("abc")


def test_a_process_killed_while_it_writes_leaves_whole_answers(tmp_path: Path) -> None:
    code = """
with Store(Path(sys.argv[1])) as store:
    store.put({"before": 1})
    store._base.execute("begin immediate")
    store._base.execute("insert into answers values ('half', '1')")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert in_process(code, tmp_path / "store").wait(timeout=60) == -signal.SIGKILL
    with Store(tmp_path / "store") as store:
        assert store.get(["before", "half"]) == {"before": 1}
        store.put({"half": 2})


def test_the_store_lies_beside_the_dataset_and_not_in_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    expected = tmp_path / ".data.store" / "answers.sqlite3"
    assert default_store(tmp_path / "data") == default_store(tmp_path / "link") == expected
