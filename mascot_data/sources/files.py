"""Open what a user points at (a file, a folder, a zip or tar archive) as a list of named byte streams.

Nothing is unpacked to disk. Archive members are read in place, and an archive with unsafe names or an implausible
unpacked size is refused.
"""

import hashlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Self

from mascot_data.errors import ArchiveError, InputError

MAX_LINE_BYTES = 16 * 2**20
MAX_UNPACKED_BYTES = 4 * 2**30
MAX_MEMBERS = 100_000
MAX_RATIO = 500
ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
    UnicodeDecodeError,
)
"""What reading a damaged file or archive can raise."""


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
        with reading(self) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


class Inputs:
    """The files a user points at; a context manager, because an archive stays open while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with ExitStack() as opened:
            try:
                self.files = list(_files_of(path, opened))
            except _BROKEN as error:
                kind = ArchiveError if path.name.lower().endswith(ARCHIVE_SUFFIXES) else InputError
                raise kind(str(path), f"cannot be read ({error}); check it or fetch it again") from error
            self._stack = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _files_of(path: Path, stack: ExitStack) -> Iterator[SourceFile]:
    name = path.name.lower()
    if path.is_dir():
        return _folder_files(path)
    if not path.exists():
        raise InputError(str(path), "there is no such file or folder; check the path")
    if not path.is_file():
        raise InputError(str(path), "is neither a file nor a folder; save what it gives to a file first")
    if name.endswith(".zip"):
        return _zip_files(stack.enter_context(zipfile.ZipFile(path)), path)
    if name.endswith(ARCHIVE_SUFFIXES):
        return _tar_files(stack.enter_context(tarfile.open(path)), path)
    return iter([SourceFile(_shown(path.name), _opener(path))])


def _folder_files(path: Path) -> Iterator[SourceFile]:
    entries = list(islice(path.rglob("*"), MAX_MEMBERS + 1))
    if len(entries) > MAX_MEMBERS:
        raise InputError(str(path), f"holds more than {MAX_MEMBERS:,} files; point to the folder of the corpus itself")
    for entry in sorted(entries):
        relative = entry.relative_to(path)
        if entry.is_file() and not _is_hidden(relative.parts):
            yield SourceFile(_shown(relative.as_posix()), _opener(entry))


def _shown(name: str) -> str:
    """Return a file's name as text that can be written anywhere, should its bytes be no UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def _zip_files(archive: zipfile.ZipFile, path: Path) -> Iterator[SourceFile]:
    total = 0
    for number, member in enumerate(archive.infolist()):
        total += member.file_size
        _check_member(path, number, member.filename, total)
        if not member.is_dir() and not _is_hidden(PurePosixPath(member.filename).parts):
            yield SourceFile(member.filename.replace("\\", "/"), _zip_opener(archive, member, path))


def _zip_opener(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> Callable[[], IO[bytes]]:
    def opener() -> IO[bytes]:
        try:
            return archive.open(member)
        except (zipfile.BadZipFile, RuntimeError, UnicodeDecodeError) as error:  # encrypted, unknown compression
            what = f"the member cannot be read ({error}); unpack the archive and give the folder"
            raise ArchiveError(f"{path}:{member.filename}", what) from error

    return opener


def _tar_files(archive: tarfile.TarFile, path: Path) -> Iterator[SourceFile]:
    total = 0
    for number, member in enumerate(archive):
        total += member.size
        _check_member(path, number, member.name, total)
        if member.isfile() and not _is_hidden(PurePosixPath(member.name).parts):
            yield SourceFile(_shown(member.name), _tar_opener(archive, member))


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
                line = without_bom(file, line)
            try:
                yield number, line.rstrip(b"\r\n").decode()
            except UnicodeDecodeError as error:
                raise not_utf8(file, f" line {number}", error) from error


def read_text(file: SourceFile) -> str:
    """Return a whole file as text, without a byte-order mark.

    Raises:
        InputError: the file is not UTF-8 or longer than 16 MiB.
    """
    with reading(file) as stream:
        data = stream.read(MAX_LINE_BYTES + 1)
    if len(data) > MAX_LINE_BYTES:
        raise InputError(file.name, "is longer than 16 MiB; no file of the corpus is like that")
    data = without_bom(file, data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(file, f" line {data[: error.start].count(10) + 1}", error) from error


def looks_like_html(text: str) -> bool:
    """Tell whether a text begins as a web page does."""
    return text.lstrip()[:14].lower().startswith(("<!doctype", "<html", "<head"))


def without_bom(file: SourceFile, data: bytes) -> bytes:
    """Return the beginning of a UTF-8 file without its byte-order mark; refuse UTF-16."""
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            raise InputError(file.name, f"is {name} text; save it as UTF-8")
    return data.removeprefix(b"\xef\xbb\xbf")


def not_utf8(file: SourceFile, place: str, error: UnicodeDecodeError) -> InputError:
    """Make the error of a byte that is not UTF-8; ``place`` follows the file name."""
    what = f"byte 0x{error.object[error.start]:02x} is not UTF-8 (latin-1 perhaps?); save the file as UTF-8"
    return InputError(f"{file.name}{place}", what)


@contextmanager
def reading(file: SourceFile) -> Iterator[IO[bytes]]:
    """Open a source file; errors of the disk or of the archive become ours for as long as it is read."""
    try:
        with file.open() as stream:
            yield stream
    except _BROKEN as error:
        raise InputError(file.name, f"cannot be read to its end ({error}); check the file or fetch it again") from error
