"""Parse the JSON of the corpora: whole texts, and long arrays one element at a time."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from mascot_data.errors import InputError
from mascot_data.sources.files import (
    MAX_LINE_BYTES,
    SourceFile,
    looks_like_html,
    not_utf8,
    reading,
    without_bom,
)

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_CHUNK_BYTES = 2**18
_HALVES = re.compile("[\ud800-\udfff]")


def parse_json(where: str, text: str) -> Any:
    """Parse JSON; an error names ``where``, the line and column, and says when the text is a web page."""
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise InputError(where, "is nested too deeply for a corpus; check the file") from error
    except ValueError as error:
        raise InputError(where, describe_json_error(text[:200], str(error).partition(";")[0])) from error
    _refuse_halves(where, value, text, 0, len(text))
    return value


def describe_json_error(start: str, error: str) -> str:
    """Say in a sentence why a text is not JSON; ``start`` is its beginning."""
    if not start.strip():
        return "is empty; fetch the file again"
    if looks_like_html(start):
        return "is a web page, not JSON; fetch the file itself (the raw link), not its page"
    return f"is not valid JSON or is cut off ({error}); fetch the file again"


def read_array(file: SourceFile, unit: str) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a JSON array with their places, holding no more than 16 MiB of the file at a time.

    Args:
        file: what to read.
        unit: what messages call an element.

    Raises:
        InputError: the file is no such array, is not UTF-8 or is cut off; names the line and the element.
    """
    with reading(file) as stream:
        window = _Window(file, stream)
        if window.next_sign() != "[":
            start = window.text[:200]
            raise InputError(file.name, describe_json_error(start, f"a list of {unit}s begins with '['"))
        window.at += 1
        number, more = 0, window.next_sign() != "]"
        while more:
            where = f"{file.name} {unit} {number}"
            yield where, window.value(where)
            number += 1
            more = window.goes_on(f"{unit} {number}")
        window.at += 1
        if window.next_sign():
            raise window.broken("its end", "something follows the list")


class _Window:
    """The part of a text that is being looked at; ``at`` is the position in it, ``line`` the line it begins in."""

    def __init__(self, file: SourceFile, stream: IO[bytes]) -> None:
        self._file, self._stream = file, stream
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._line = 1
        self.text, self.at = "", 0
        self._add(without_bom(file, stream.read(_CHUNK_BYTES)))

    def _add(self, data: bytes) -> None:
        try:
            added = self._utf8.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self._line + self.text.count("\n") + error.object[: error.start].count(10)
            raise not_utf8(self._file, f" line {line}", error) from error
        if data:
            self._line += self.text.count("\n", 0, self.at)
            self.text, self.at = self.text[self.at :] + added, 0

    def _grow(self, where: str) -> bool:
        """Read on, twice as much each time as nothing could be used of what is there; False at the end of the file."""
        held = len(self.text) - self.at
        if held > MAX_LINE_BYTES:
            raise InputError(where, "is broken or longer than 16 MiB; fetch the file again")
        data = self._stream.read(max(_CHUNK_BYTES, held))
        self._add(data)
        return bool(data)

    def next_sign(self) -> str:
        """Go to the next character that is not white space and return it; empty at the end of the file."""
        while True:
            match = _SPACE.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text) or not self._grow(self._file.name):
                return self.text[self.at : self.at + 1]

    def goes_on(self, element: str) -> bool:
        """Tell whether another element follows, and go behind the comma."""
        sign = self.next_sign()
        if sign not in (",", "]"):
            raise self.broken(element, "a comma or the closing bracket is missing")
        self.at += sign == ","
        return sign == ","

    def value(self, where: str) -> Any:
        """Parse the value at this position and go behind it."""
        self.next_sign()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except RecursionError as error:
                raise InputError(where, "is nested too deeply for a corpus; check the file") from error
            except ValueError as error:
                if self._grow(where):
                    continue
                raise self._invalid(where, error) from error
            if self.text[end : end + 1] in ("", ".", "e", "E") and self._grow(where):
                continue  # a number may go on
            _refuse_halves(where, value, self.text, self.at, end)
            self.at = end
            return value

    def _invalid(self, where: str, error: ValueError) -> InputError:
        if isinstance(error, json.JSONDecodeError):
            self.at = min(error.pos, len(self.text))
            return self.broken(where.removeprefix(f"{self._file.name} "), error.msg)
        return InputError(where, f"is not valid JSON ({str(error).partition(';')[0]}); fetch the file again")

    def broken(self, element: str, reason: str) -> InputError:
        """Make the error of a list that is not JSON at this position."""
        line = self._line + self.text.count("\n", 0, self.at)
        what = f"is not valid JSON or is cut off at {element} ({reason}); fetch the file again"
        return InputError(f"{self._file.name} line {line}", what)


def _refuse_halves(where: str, value: Any, text: str, start: int, end: int) -> None:
    r"""Refuse a value with half of a surrogate pair (``\ud83d`` alone): no character, and no file can hold it."""
    if text.find("\\ud", start, end) < 0 and text.find("\\uD", start, end) < 0:
        return
    found = _HALVES.search(json.dumps(value, ensure_ascii=False))
    if found:
        escape = f"\\u{ord(found[0]):04x}"
        raise InputError(where, f"holds {escape}, half of a surrogate pair and no character; correct or remove it")
