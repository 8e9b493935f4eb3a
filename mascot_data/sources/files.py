"""Open what a user points at (a file, a folder, a zip or tar archive) as a list of named byte streams.

Nothing is unpacked to disk. Archive members are read in place, and an archive with unsafe names or an implausible
unpacked size is refused.
"""

import hashlib
import json
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

from mascot_data.errors import ArchiveError, InputError

MAX_LINE_BYTES = 16 * 2**20
MAX_UNPACKED_BYTES = 4 * 2**30
MAX_MEMBERS = 100_000
MAX_RATIO = 500
ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the input: ``name`` is its POSIX path below the input, ``open`` gives a fresh byte stream."""

    name: str
    open: Callable[[], IO[bytes]]

    @property
    def base(self) -> str:
        """The last part of the name."""
        return PurePosixPath(self.name).name

    @property
    def stem(self) -> str:
        """The last part of the name without its suffix."""
        return PurePosixPath(self.name).stem

    @property
    def folder(self) -> str:
        """Name of the folder the file lies in; empty at the top."""
        return PurePosixPath(self.name).parent.name

    def sha256(self) -> str:
        """Digest of the file's bytes, as hex."""
        with self.open() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


class Inputs:
    """The files a user points at; a context manager, because an archive stays open while it is read."""

    def __init__(self, path: Path) -> None:
        self._stack = ExitStack()
        self.path = path
        if not path.exists():
            raise InputError(str(path), "there is no such file or folder; check --input")
        if path.is_dir():
            self.files = list(_folder_files(path))
        elif path.name.lower().endswith(ARCHIVE_SUFFIXES):
            self.files = list(self._archive_files(path))
        else:
            self.files = [SourceFile(path.name, lambda: path.open("rb"))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _archive_files(self, path: Path) -> Iterator[SourceFile]:
        try:
            if path.name.lower().endswith(".zip"):
                yield from _zip_files(self._stack.enter_context(zipfile.ZipFile(path)), path)
            else:
                yield from _tar_files(self._stack.enter_context(tarfile.open(path)), path)  # noqa: SIM115
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
            raise ArchiveError(str(path), f"the archive cannot be read ({error}); fetch it again") from error


def _folder_files(path: Path) -> Iterator[SourceFile]:
    for entry in sorted(path.rglob("*")):
        relative = entry.relative_to(path)
        if entry.is_file() and not _is_hidden(relative.parts):
            yield SourceFile(relative.as_posix(), _opener(entry))


def _opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def _zip_files(archive: zipfile.ZipFile, path: Path) -> Iterator[SourceFile]:
    total = 0
    for number, member in enumerate(archive.infolist()):
        total += member.file_size
        _check_member(path, number, member.filename, total)
        if not member.is_dir() and not _is_hidden(PurePosixPath(member.filename).parts):
            yield SourceFile(member.filename, _zip_opener(archive, member, path))


def _zip_opener(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> Callable[[], IO[bytes]]:
    def opener() -> IO[bytes]:
        try:
            return archive.open(member)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise ArchiveError(f"{path}:{member.filename}", f"the member cannot be read ({error})") from error

    return opener


def _tar_files(archive: tarfile.TarFile, path: Path) -> Iterator[SourceFile]:
    total = 0
    for number, member in enumerate(archive):
        total += member.size
        _check_member(path, number, member.name, total)
        if member.isfile() and not _is_hidden(PurePosixPath(member.name).parts):
            yield SourceFile(member.name, _tar_opener(archive, member))


def _tar_opener(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Callable[[], IO[bytes]]:
    def opener() -> IO[bytes]:
        stream = archive.extractfile(member)
        if stream is None:
            raise ArchiveError(member.name, "the member is not a regular file")
        return stream

    return opener


def _check_member(path: Path, number: int, name: str, total: int) -> None:
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        raise ArchiveError(str(path), f"member {name!r} points outside the archive; it is not a release of a corpus")
    if total > MAX_UNPACKED_BYTES or total > MAX_RATIO * max(path.stat().st_size, 2**20):
        raise ArchiveError(str(path), f"unpacks to more than {total:,} bytes; no release of a corpus is that large")
    if number >= MAX_MEMBERS:
        raise ArchiveError(str(path), f"holds more than {MAX_MEMBERS:,} members; no release of a corpus does")


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def read_lines(file: SourceFile) -> Iterator[tuple[int, str]]:
    r"""Yield ``(line number from 1, text)``, split at ``\n`` only; a UTF-8 byte-order mark is skipped.

    Raises:
        InputError: the file is not UTF-8 or a line is longer than 16 MiB.
    """
    with reading(file) as stream:
        number = 0
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                where = f"{file.name} line {number}"
                raise InputError(where, "is longer than 16 MiB; no file of the corpus is like that")
            if number == 1:
                line = _without_bom(file, line)
            try:
                yield number, line.rstrip(b"\r\n").decode()
            except UnicodeDecodeError as error:
                raise _not_utf8(file, f" line {number}", error) from error


def read_text(file: SourceFile) -> str:
    """Return a whole file as text, without a byte-order mark.

    Raises:
        InputError: the file is not UTF-8.
    """
    with reading(file) as stream:
        data = _without_bom(file, stream.read())
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(file, f" line {data[: error.start].count(10) + 1}", error) from error


def parse_json(where: str, text: str) -> Any:  # noqa: ANN401
    """Parse JSON; an error names ``where``, the line and column, and says when the text is a web page."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(where, describe_json_error(text[:200], str(error))) from error


def describe_json_error(start: str, error: str) -> str:
    """Say in a sentence why a text is not JSON; ``start`` is its beginning."""
    if not start.strip():
        return "is empty; fetch the file again"
    if looks_like_html(start):
        return "is a web page, not JSON; fetch the file itself (the raw link), not its page"
    return f"is not valid JSON or is cut off ({error}); fetch the file again"


def looks_like_html(text: str) -> bool:
    """Tell whether a text begins as a web page does."""
    return text.lstrip()[:14].lower().startswith(("<!doctype", "<html", "<head"))


def check_encoding(file: SourceFile) -> None:
    """Refuse a file that begins with a UTF-16 byte-order mark."""
    with reading(file) as stream:
        _without_bom(file, stream.read(4))


def _without_bom(file: SourceFile, data: bytes) -> bytes:
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            raise InputError(file.name, f"is {name} text; save it as UTF-8")
    return data.removeprefix(b"\xef\xbb\xbf")


def _not_utf8(file: SourceFile, place: str, error: UnicodeDecodeError) -> InputError:
    what = f"byte 0x{error.object[error.start]:02x} is not UTF-8 (latin-1 perhaps?); save the file as UTF-8"
    return InputError(f"{file.name}{place}", what)


@contextmanager
def reading(file: SourceFile) -> Iterator[IO[bytes]]:
    """Open a source file; errors of the disk or of the archive become ours for as long as it is read."""
    try:
        with file.open() as stream:
            yield stream
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise InputError(file.name, f"cannot be read to its end ({error}); check the file or fetch it again") from error
