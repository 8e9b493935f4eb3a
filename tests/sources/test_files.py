"""Files, folders and archives as named byte streams: the same from each, and nothing unsafe or broken gets through."""

import io
import os
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mascot_data.errors import ArchiveError, InputError
from mascot_data.sources import files
from mascot_data.sources.files import Inputs, SourceFile, read_lines, read_text

CONTENT = {"corpus/train.csv": b"a,b\n1,2\n" * 50, "corpus/deep/test.csv": b"c\n", "notes.txt": "é\n".encode()}
TAR_MODES = {".tar": "w", ".tar.gz": "w:gz", ".tgz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}
ZIP_METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


def zip_of(path: Path, content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def tar_of(path: Path, content: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def in_memory(data: bytes, name: str = "file.txt") -> SourceFile:
    return SourceFile(name, lambda: io.BytesIO(data))


def opened(path: Path) -> dict[str, bytes]:
    found = {}
    with Inputs(path) as inputs:
        for file in inputs.files:
            with file.open() as stream:
                found[file.name] = stream.read()
    return found


def folder_of(path: Path, content: dict[str, bytes]) -> Path:
    for name, data in content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def test_a_folder_gives_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder_of(tmp_path, CONTENT)
    with Inputs(tmp_path) as inputs:
        assert [file.name for file in inputs.files] == ["corpus/deep/test.csv", "corpus/train.csv", "notes.txt"]
        first = inputs.files[0]
        assert (first.base, first.stem, first.folder) == ("test.csv", "test", "deep")
        assert inputs.files[2].folder == ""


def test_hidden_files_and_resource_forks_are_no_part_of_a_corpus(tmp_path: Path) -> None:
    hidden = {".git/train.csv": b"x", "a/._train.csv": b"x", "__MACOSX/train.csv": b"x", "kept.csv": b"y"}
    assert opened(folder_of(tmp_path / "folder", hidden)) == {"kept.csv": b"y"}
    assert opened(zip_of(tmp_path / "a.zip", hidden)) == {"kept.csv": b"y"}
    assert opened(tar_of(tmp_path / "a.tar.gz", hidden)) == {"kept.csv": b"y"}


@pytest.mark.parametrize("suffix", TAR_MODES)
def test_a_tar_archive_holds_what_the_folder_holds(tmp_path: Path, suffix: str) -> None:
    archive = tar_of(tmp_path / f"corpus{suffix}", CONTENT, TAR_MODES[suffix])
    assert opened(archive) == opened(folder_of(tmp_path / "folder", CONTENT))


@pytest.mark.parametrize("method", ZIP_METHODS)
def test_a_zip_archive_holds_what_the_folder_holds(tmp_path: Path, method: str) -> None:
    archive = zip_of(tmp_path / "Corpus.ZIP", CONTENT, ZIP_METHODS[method])
    assert opened(archive) == opened(folder_of(tmp_path / "folder", CONTENT))


def test_names_of_a_zip_made_on_windows_are_posix(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "a.zip", {"QMSum\\data\\train\\x.json": b"{}"})
    with Inputs(archive) as inputs:
        assert [(file.name, file.folder) for file in inputs.files] == [("QMSum/data/train/x.json", "train")]


def test_a_name_that_is_no_utf8_is_shown_as_text_and_can_be_read(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    (tmp_path / name).write_bytes(b"x")
    assert opened(tmp_path) == {"caf�.csv": b"x"}
    assert opened(tmp_path / name) == {"caf�.csv": b"x"}
    archive = tar_of(tmp_path / "a.tar.gz", {name: b"x"})
    assert opened(archive) == {"caf�.csv": b"x"}


@pytest.mark.parametrize(
    "name", ["../train.csv", "a/../../train.csv", "/etc/train.csv", "\\train.csv", "..\\x", "C:\\x"]
)
@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_a_member_that_points_outside_is_refused(tmp_path: Path, name: str, make: Callable[..., Path]) -> None:
    archive = make(tmp_path / ("a.zip" if make is zip_of else "a.tar.gz"), {"fine.csv": b"x", name: b"x"})
    with pytest.raises(ArchiveError, match="points outside the archive"):
        Inputs(archive)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_tar_are_never_read(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    path = tar_of(tmp_path / "a.tar", CONTENT, "w")
    with tarfile.open(path, "a") as archive:
        member = tarfile.TarInfo("train.csv")
        member.type, member.linkname = kind, str(tmp_path / "secret")
        archive.addfile(member)
    assert opened(path) == CONTENT


def test_an_archive_that_claims_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "bomb.zip", {"train.csv": b"x"})
    data = bytearray(path.read_bytes())
    size = data.index(b"PK\x01\x02") + 24
    data[size : size + 4] = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=r"unpacks to more than 4,294,967,294 bytes"):
        Inputs(path)
    member = tarfile.TarInfo("train.csv")
    member.size = 2**40
    (tmp_path / "bomb.tar").write_bytes(member.tobuf() + bytes(1024))
    with pytest.raises(ArchiveError, match="unpacks to more than"):
        Inputs(tmp_path / "bomb.tar")


def test_a_small_archive_that_unpacks_to_much_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_RATIO", 2)
    with pytest.raises(ArchiveError, match="unpacks to more than 4,194,304 bytes"):
        Inputs(zip_of(tmp_path / "a.zip", {"a": bytes(2**20), "b": bytes(3 * 2**20)}))


def test_too_many_members_or_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_MEMBERS", 3)
    many = {f"{number}.csv": b"" for number in range(4)}
    for path in (zip_of(tmp_path / "a.zip", many), tar_of(tmp_path / "a.tar.gz", many)):
        with pytest.raises(ArchiveError, match="more than 3 members"):
            Inputs(path)
    with pytest.raises(InputError, match="more than 3 files"):
        Inputs(folder_of(tmp_path / "folder", many))


def damaged(data: bytes, number: int) -> bytes:
    chance = random.Random(number)
    broken = bytearray(data[: chance.randrange(len(data))] if number % 3 == 0 else data)
    for _ in range(chance.choice([1, 1, 2, 8]) if broken else 0):
        broken[chance.randrange(len(broken))] = chance.randrange(256)
    return bytes(broken)


@pytest.mark.parametrize("kind", [*TAR_MODES, *ZIP_METHODS])
def test_a_damaged_archive_is_an_error_of_ours_or_none(tmp_path: Path, kind: str) -> None:
    if kind in TAR_MODES:
        path = tar_of(tmp_path / f"a{kind}", CONTENT, TAR_MODES[kind])
    else:
        path = zip_of(tmp_path / "a.zip", CONTENT, ZIP_METHODS[kind])
    whole = path.read_bytes()
    refused = 0
    for number in range(300):
        path.write_bytes(damaged(whole, number))
        try:
            with Inputs(path) as inputs:
                for file in inputs.files:
                    list(read_lines(file))
                    file.sha256()
        except InputError:
            refused += 1
    assert refused > 50


def test_a_member_that_lies_about_its_size_or_content_is_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"train.csv": b"x" * 1000}, zipfile.ZIP_STORED)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"x" * 1000, b"x" * 999 + b"y"))
    with Inputs(path) as inputs:
        for use in (lambda file: list(read_lines(file)), read_text, SourceFile.sha256):
            with pytest.raises(InputError, match=r"^train\.csv: cannot be read to its end .*CRC"):
                use(inputs.files[0])


def test_an_encrypted_member_says_what_to_do(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"train.csv": b"x"})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with Inputs(path) as inputs, pytest.raises(ArchiveError, match=r"encrypted.*give the folder"):
        read_text(inputs.files[0])


def test_a_missing_path_and_a_pipe_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: there is no such file or folder"):
        Inputs(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        Inputs(tmp_path / "pipe")
    with pytest.raises(InputError, match="cannot be read"):
        Inputs(tmp_path / ("x" * 5000))


LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=20), max_size=8)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
@example(["a\x85b\u2028c\x0bd", "", "e"], "\n", True, False)
def test_lines_end_at_line_feeds_only(lines: list[str], end: str, marked: bool, closed: bool) -> None:
    text = end.join(lines) + (end if closed and lines else "")
    data = (b"\xef\xbb\xbf" if marked else b"") + text.encode()
    expected = text.split(end)[: -1 if text.endswith(end) or not text else None]
    found = list(read_lines(in_memory(data)))
    if not (marked and not text):  # a mark alone is one empty line
        assert found == list(enumerate(expected, start=1))
    assert read_text(in_memory(data)) == text


@pytest.mark.parametrize(("data", "line"), [(b"\xe9\n", 1), (b"a\nb\xe9\n", 2), (b"a\n\n\nc\nd \xff", 5)])
def test_a_byte_that_is_no_utf8_is_told_with_its_line(data: bytes, line: int) -> None:
    for read in (lambda file: list(read_lines(file)), read_text):
        with pytest.raises(InputError, match=rf"^file\.txt line {line}: byte 0x(e9|ff) is not UTF-8.*save"):
            read(in_memory(data))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named(encoding: str) -> None:
    data = "\ufeffconv_id,\n".encode(encoding)
    for read in (lambda file: list(read_lines(file)), read_text):
        with pytest.raises(InputError, match=r"^file\.txt: is UTF-16 text; save it as UTF-8"):
            read(in_memory(data))


def test_a_line_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 10)
    stream = io.BytesIO(b"short\n" + b"x" * 1000)
    with pytest.raises(InputError, match=r"^f line 2: is longer than"):
        list(read_lines(SourceFile("f", lambda: Unclosed(stream))))
    assert stream.tell() <= 6 + 11
    stream = io.BytesIO(b"x" * 1000)
    with pytest.raises(InputError, match=r"^f: is longer than"):
        read_text(SourceFile("f", lambda: Unclosed(stream)))
    assert stream.tell() <= 11


class Unclosed(io.BufferedReader):
    """Reads through without buffering, and leaves the stream open to be asked where it stands."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(io.BytesIO())
        self._source = stream

    def read(self, size: int | None = -1, /) -> bytes:
        return self._source.read(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._source.readline(size)


def test_a_digest_is_that_of_the_bytes() -> None:
    assert in_memory(b"").sha256() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
