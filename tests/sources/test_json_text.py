"""JSON of the corpora: long arrays come element by element and equal to what ``json`` reads at once."""

import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.errors import InputError
from mascot_data.sources import json_text
from mascot_data.sources.files import SourceFile
from mascot_data.sources.json_text import parse_json, read_array

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), SCALARS, max_size=3), max_size=4)


def elements(data: bytes) -> list[Any]:
    return [value for _, value in read_array(SourceFile("file.json", lambda: io.BytesIO(data)), "conversation")]


@pytest.fixture(params=[200, 2**18])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_CHUNK_BYTES", request.param)


@given(
    st.lists(VALUES, max_size=5), st.sampled_from([None, 0, 1]), st.booleans(), st.sampled_from([3, 4, 7, 50, 2**18])
)
def test_an_array_is_what_json_reads(values: list[Any], indent: int | None, ascii_only: bool, size: int) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "_CHUNK_BYTES", size)
        assert elements(data) == values
        assert elements(b"\xef\xbb\xbf \n" + data + b" \n") == values


@given(OBJECTS, st.data())
def test_an_array_that_is_cut_off_anywhere_is_refused(values: list[Any], data: st.DataObject) -> None:
    text = json.dumps(values, ensure_ascii=False)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(InputError, match=r"(?s)^file\.json.*(cut off|is empty).*fetch the file again"):
        elements(cut.encode())


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1},\n{"b": }]', r"file\.json line 2: is not valid JSON or is cut off at conversation 1 \(Expecting"),
        ("[1\n2]", r"line 2: .* at conversation 1 \(a comma or the closing bracket is missing\)"),
        ("[1,]", r"line 1: .* at conversation 1 \(Expecting value\)"),
        ("[1]\n[2]", r"line 2: .* at its end \(something follows the list\)"),
        ("[1}", r"line 1: .* at conversation 1 "),
        ('["a\tb"]', r"line 1: .*control character"),
        ("", r"file\.json: is empty; fetch"),
        (" \n ", r"file\.json: is empty; fetch"),
        ('{"a": 1}', r"a list of conversations begins with '\['"),
        ("<!DOCTYPE html><p>", r"file\.json: is a web page, not JSON"),
        ("\n\n<html>", r"is a web page"),
        (f"[{'9' * 5000}]", r"conversation 0: is not valid JSON \(Exceeds the limit"),
        (f"[{{}}, {'[' * 100_000}", r"conversation 1: is nested too deeply"),
    ],
)
def test_a_broken_array_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"(?i){message}") as found:
        elements(text.encode())
    assert "\n" not in str(found.value)
    assert "sys." not in str(found.value)


@pytest.mark.usefixtures("chunk")
def test_bytes_that_are_no_utf8_are_told_with_their_line() -> None:
    with pytest.raises(InputError, match=r"^file\.json line 3: byte 0xe9 is not UTF-8"):
        elements('[\n"ok é",\n"caf'.encode() + b'\xe9"]')
    with pytest.raises(InputError, match="is UTF-16 text"):
        elements("[1]".encode("utf-16"))


HALF = re.escape(r"\ud83d")


@pytest.mark.parametrize("escape", [r"\ud83d", r"\uD83D", r"\ud83d x", r"\ud83d\ud83d", r"\\\ud83d"])
def test_half_of_a_surrogate_pair_is_refused(escape: str) -> None:
    text = f'{{"content": "{escape}"}}'
    with pytest.raises(InputError, match=rf"^here: holds {HALF}, half of a surrogate pair"):
        parse_json("here", text)
    with pytest.raises(InputError, match=rf"^file\.json conversation 1: holds {HALF}"):
        elements(f"[1, {text}]".encode())
    with pytest.raises(InputError, match="holds"):
        parse_json("here", f'{{"{escape}": 1}}')


def test_whole_pairs_and_written_backslashes_are_text() -> None:
    assert parse_json("here", r'"\ud83d\ude00 \\ud83d"') == "😀 \\ud83d"
    assert elements(rb'["\ud83d\ude00", "\\ud83d", "\ud83d\ude00"]') == ["😀", "\\ud83d", "😀"]


def test_an_element_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(json_text, "_CHUNK_BYTES", 100)
    read = 0

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal read
            data = super().read(size)
            read += len(data)
            return data

    data = b'[{}, "' + b"x" * 100_000 + b'"]'
    found = read_array(SourceFile("file.json", lambda: Counting(data)), "conversation")
    assert next(found) == ("file.json conversation 0", {})
    with pytest.raises(InputError, match=r"^file\.json conversation 1: is broken or longer than 16 MiB"):
        next(found)
    assert read < 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("<html>", "is a web page"),
        ('{"a"', r"is not valid JSON or is cut off \(Expecting ':' delimiter: line 1 column 5"),
        ("9" * 5000, "is not valid JSON"),
        ("[" * 100_000, "is nested too deeply"),
    ],
)
def test_a_broken_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^here: {message}"):
        parse_json("here", text)
