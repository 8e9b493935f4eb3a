"""Inputs that are no corpus, or a broken one, and what is to be said of each."""

import gzip
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.commands import CORPORA, Maker
from tests.conftest import SAMPLE

FOLDERS = {name: SAMPLE / name.replace("-", "_") for name in CORPORA}
PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\n<body>Not found</body></html>\n"
ESCONV, ED, QMSUM = "esconv", "empathetic-dialogues", "qmsum"
MEETING = FOLDERS[QMSUM] / "data" / "ALL" / "train" / "ES9001a.json"

Cases = dict[str, tuple[str, Maker, tuple[str, ...]]]


def file(name: str, data: bytes | Callable[[], bytes]) -> Maker:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(data if isinstance(data, bytes) else data())
        return folder / name

    return make


def folder(*makers: Maker) -> Maker:
    def make(path: Path) -> Path:
        for maker in makers:
            maker(path)
        return path

    return make


def esconv(change: Callable[[list[Any]], None]) -> Callable[[], bytes]:
    def data() -> bytes:
        rows = json.loads((FOLDERS[ESCONV] / "ESConv.json").read_bytes())
        change(rows)
        return json.dumps(rows, indent=1).encode()

    return data


def meeting(change: Callable[[dict[str, Any]], None]) -> Callable[[], bytes]:
    def data() -> bytes:
        raw = json.loads(MEETING.read_bytes())
        change(raw)
        return json.dumps(raw).encode()

    return data


def ed(change: Callable[[bytes], bytes], name: str = "train.csv") -> Callable[[], bytes]:
    return lambda: change((FOLDERS[ED] / name).read_bytes())


def zipped(name: str, *members: tuple[str, bytes]) -> Maker:
    def make(folder: Path) -> Path:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members:
                archive.writestr(member, data)
        return folder / name

    return make


def bomb(folder: Path) -> Path:
    path = zipped("QMSum-main.zip", ("data/train/x.json", b"{}"))(folder)
    data = bytearray(path.read_bytes())
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(data)
    return path


def corrupt(folder: Path) -> Path:
    words = random.Random(1).randbytes(20_000)
    path = zipped("QMSum-main.zip", ("QMSum-main/data/ALL/train/x.json", MEETING.read_bytes() + words))(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    return path


def tarred(*members: tarfile.TarInfo, cut: float = 1.0) -> Maker:
    def make(folder: Path) -> Path:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name in ("train", "valid", "test"):
                archive.add(FOLDERS[ED] / f"{name}.csv", f"empatheticdialogues/{name}.csv")
            for member in members:
                archive.addfile(member, io.BytesIO(bytes(member.size)))
        data = gzip.compress(buffer.getvalue())
        path = folder / "empatheticdialogues.tar.gz"
        path.write_bytes(data[: int(len(data) * cut)])
        return path

    return make


def member(name: str, size: int = 0, link: Path | None = None) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    if link is not None:
        info.type, info.linkname = tarfile.SYMTYPE, str(link)
    return info


def only_a_link(folder: Path) -> Path:
    (folder / "secret.csv").write_bytes((FOLDERS[ED] / "train.csv").read_bytes())
    path = folder / "linked.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member("train.csv", link=folder / "secret.csv"))
    return path


def set_speaker(rows: list[Any]) -> None:
    rows[3]["dialog"][2]["speaker"] = "moderator"


def set_half(rows: list[Any]) -> None:
    rows[2]["dialog"][0]["content"] += "\ud83d"


def set_turn_half(raw: dict[str, Any]) -> None:
    raw["meeting_transcripts"][0]["content"] = "\udc00"


def set_spans(raw: dict[str, Any]) -> None:
    raw["topic_list"][1]["relevant_text_span"] = ["0", "5"]


def twice(data: bytes) -> bytes:
    _, _, rows = data.partition(b"\n")
    first = rows.split(b",")[0]
    return data + b"".join(row + b"\n" for row in rows.split(b"\n") if row.startswith(first + b","))


def same_conversation_in_valid(data: bytes) -> bytes:
    header, _, rows = data.partition(b"\n")
    return header + b"\n" + rows.split(b"\n")[0] + b"\n"


CSV_HEADER = (FOLDERS[ED] / "train.csv").read_bytes().partition(b"\n")[0] + b"\n"
WHOLE = {name: (FOLDERS[ESCONV] / name).read_bytes() for name in ("ESConv.json", "hf/train.txt")}

CASES: Cases = {
    "a web page as JSON": (ESCONV, file("ESConv.json", PAGE), (r"ESConv\.json: is a web page, not JSON; fetch",)),
    "a web page as meeting": (QMSUM, file("x.json", PAGE), (r"x\.json: is a web page, not JSON; fetch",)),
    "a web page as lines": (QMSUM, file("train.jsonl", PAGE), (r"train\.jsonl line 1: is a web page",)),
    "a web page as CSV": (ED, file("train.csv", PAGE), (r"train\.csv line 1: is a web page, not CSV; fetch",)),
    "half of ESConv": (
        ESCONV,
        file("ESConv.json", WHOLE["ESConv.json"][: len(WHOLE["ESConv.json"]) // 2]),
        (r"ESConv\.json line \d{2,}: is not valid JSON or is cut off at conversation \d+ .*; fetch the file again",),
    ),
    "half of a Hub line": (
        ESCONV,
        folder(
            *(file(f"{name}.txt", (FOLDERS[ESCONV] / "hf" / f"{name}.txt").read_bytes()) for name in ("valid", "test")),
            file("train.txt", WHOLE["hf/train.txt"].rstrip()[:-100]),
        ),
        (r"train\.txt line 10: is not valid JSON or is cut off",),
    ),
    "half of a meeting": (
        QMSUM,
        file("x.json", MEETING.read_bytes()[:3000]),
        (r"x\.json: is not valid JSON or is cut off \(.* line \d+ column \d+ .*; fetch",),
    ),
    "UTF-16 JSON": (ESCONV, file("ESConv.json", "[]".encode("utf-16")), (r"is UTF-16 text; save it as UTF-8",)),
    "UTF-16 meeting": (QMSUM, file("x.json", "{}".encode("utf-16")), (r"x\.json: is UTF-16 text; save it as UTF-8",)),
    "UTF-16 CSV": (ED, file("train.csv", CSV_HEADER.decode().encode("utf-16")), (r"train\.csv: is UTF-16 text",)),
    "a latin-1 byte in JSON": (
        ESCONV,
        file("ESConv.json", WHOLE["ESConv.json"].replace(b"My whole team", b"My whole \xe9quipe")),
        (r"ESConv\.json line 6: byte 0xe9 is not UTF-8 .*; save the file as UTF-8",),
    ),
    "a latin-1 byte in a meeting": (
        QMSUM,
        file("x.json", b'{\n"caf\xe9": 1}'),
        (r"x\.json line 2: byte 0xe9 is not UTF-8",),
    ),
    "a latin-1 byte in CSV": (
        ED,
        file("train.csv", ed(lambda data: data[:5000] + b"\xe9" + data[5000:])),
        (r"train\.csv line \d+: byte 0xe9 is not UTF-8",),
    ),
    "a zip that points outside": (
        QMSUM,
        zipped("q.zip", ("QMSum-main/../../train/x.json", b"{}")),
        (r"q\.zip: member 'QMSum-main/\.\./\.\./train/x\.json' points outside the archive",),
    ),
    "a zip bomb": (QMSUM, bomb, (r"QMSum-main\.zip: unpacks to more than 4,294,967,294 bytes",)),
    "a corrupt zip": (
        QMSUM,
        corrupt,
        (r"x\.json: cannot be read to its end \(.*\); check the file or fetch it again",),
    ),
    "no zip at all": (QMSUM, file("q.zip", PAGE), (r"q\.zip: cannot be read \(.*\); check it or fetch it again",)),
    "half of a zip": (
        QMSUM,
        lambda path: file("q.zip", zipped("w.zip", ("x.json", MEETING.read_bytes()))(path).read_bytes()[:2000])(path),
        (r"q\.zip: cannot be read",),
    ),
    "a tar with an absolute name": (
        ED,
        tarred(member("/etc/train.csv")),
        (r"member '/etc/train\.csv' points outside",),
    ),
    "a tar bomb": (
        ED,
        file("e.tar.gz", gzip.compress(member("train.csv", 2**40).tobuf() + bytes(1024))),
        (r"e\.tar\.gz: unpacks to more than [\d,]+ bytes; no release of a corpus is that large",),
    ),
    "a tar with nothing but a link": (ED, only_a_link, (r"linked\.tar\.gz: holds no file of Empathetic Dialogues",)),
    "half of a tar.gz": (ED, tarred(cut=0.5), (r"empatheticdialogues\.tar\.gz: cannot be read .*fetch it again",)),
    "no tar at all": (ED, file("e.tar.gz", PAGE), (r"e\.tar\.gz: cannot be read",)),
    "empty JSON": (ESCONV, file("ESConv.json", b""), (r"ESConv\.json: is empty; fetch the file again",)),
    "empty lines": (ESCONV, file("train.txt", b""), (r"train\.txt: is empty; fetch the file again",)),
    "empty CSV": (ED, file("train.csv", b""), (r"train\.csv: is empty; fetch the file again",)),
    "empty meeting": (QMSUM, file("x.json", b""), (r"x\.json: is empty; fetch the file again",)),
    "empty meetings": (QMSUM, file("train.jsonl", b""), (r"train\.jsonl: is empty; fetch the file again",)),
    "no conversation": (ESCONV, file("ESConv.json", b"[]"), (r"ESConv\.json: holds no conversation; fetch",)),
    "only a header": (ED, file("train.csv", CSV_HEADER), (r"train\.csv: holds no conversation, only a header",)),
    "an empty folder for ESConv": (ESCONV, folder(), (r"holds no file of ESConv; expected ESConv\.json",)),
    "an empty folder for ED": (ED, folder(), (r"holds no file of Empathetic Dialogues; expected train\.csv",)),
    "an empty folder for QMSum": (QMSUM, folder(), (r"holds no file of QMSum; expected meetings",)),
    "a missing path": (ESCONV, lambda path: path / "nowhere", (r"nowhere: there is no such file or folder; check",)),
    "a missing column": (
        ED,
        file("train.csv", ed(lambda data: data.replace(b"prompt,", b"", 1))),
        (r"train\.csv line 1: column 'prompt' is missing; the header must begin with conv_id",),
    ),
    "a comma that is not escaped": (
        ED,
        file("train.csv", ed(lambda data: b",".join(data.rpartition(b"_comma_")[::2]))),
        (r"train\.csv line \d+: has 9 fields where the rows before have 8; .* written _comma_",),
    ),
    "a speaker nobody knows": (
        ESCONV,
        file("ESConv.json", esconv(set_speaker)),
        (r"ESConv\.json conversation 3 utterance 2: speaker 'moderator' is none of seeker, supporter",),
    ),
    "half a character in ESConv": (
        ESCONV,
        file("ESConv.json", esconv(set_half)),
        (r"ESConv\.json conversation 2: holds \\ud83d, half of a surrogate pair",),
    ),
    "half a character in a meeting": (QMSUM, file("x.json", meeting(set_turn_half)), (r"x\.json: holds \\udc00",)),
    "spans that are none": (
        QMSUM,
        file("x.json", meeting(set_spans)),
        (r"x\.json topic 1: 'relevant_text_span' is not a list of \[first, last\] pairs",),
    ),
    "one Hub file of three": (
        ESCONV,
        file("train.txt", WHOLE["hf/train.txt"]),
        (r"train\.txt: holds 10 conversations .* give the folder with all three files, or ESConv\.json",),
    ),
    "failed conversations only": (
        ESCONV,
        lambda path: FOLDERS[ESCONV] / "FailedESConv.json",
        (r"FailedESConv\.json: holds failed conversations only; add --include-failed",),
    ),
    "a conversation twice in a file": (
        ED,
        file("train.csv", ed(twice)),
        (r"train\.csv line \d+: conversation hit:\d+_conv:\d+ occurs twice in the file",),
    ),
    "a conversation in two files": (
        ED,
        folder(file("train.csv", ed(lambda data: data)), file("valid.csv", ed(same_conversation_in_valid))),
        (r"train\.csv line 2 and valid\.csv line 2: hold the same conversation; .* remove one copy",),
    ),
    "a meeting twice": (
        QMSUM,
        folder(*(lambda path, n=n: file(f"{n}/x.json", MEETING.read_bytes())(made(path, n)) for n in ("a", "b"))),
        (r"a/x\.json and b/x\.json: hold the same conversation; .* remove one copy",),
    ),
    "a meeting for ESConv": (
        ESCONV,
        lambda path: MEETING,
        (r"ES9001a\.json: .*a list of conversations begins with '\['",),
    ),
    "QMSum for ESConv": (
        ESCONV,
        lambda path: FOLDERS[QMSUM],
        (r"data/ALL/jsonl/\w+\.jsonl line 1: is not a conversation of ESConv: it has no list 'dialog'",),
    ),
    "ED for ESConv": (ESCONV, lambda path: FOLDERS[ED], (r"empathetic_dialogues: holds no file of ESConv",)),
    "ESConv for ED": (ED, lambda path: FOLDERS[ESCONV] / "ESConv.json", (r"ESConv\.json line 1: column 'conv_id' is",)),
    "QMSum for ED": (ED, lambda path: FOLDERS[QMSUM], (r"qmsum: holds no file of Empathetic Dialogues",)),
    "ESConv for QMSum": (QMSUM, lambda path: FOLDERS[ESCONV], (r"ESConv\.json: is not a meeting of QMSum",)),
    "ED for QMSum": (QMSUM, lambda path: FOLDERS[ED] / "train.csv", (r"train\.csv line 1: is not valid JSON",)),
    "a device": (ED, lambda path: Path("/dev/zero"), (r"/dev/zero: is neither a file nor a folder",)),
    "a name that steers the terminal": (
        ESCONV,
        file("ES\x1b[31m\nConv\u202e.json", PAGE),
        (r"ES\\x1b\[31m\\nConv\\u202e\.json: is a web page",),
    ),
}


def made(path: Path, name: str) -> Path:
    (path / name).mkdir()
    return path
