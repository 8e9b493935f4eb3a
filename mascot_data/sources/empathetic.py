"""Read Empathetic Dialogues (Rashkin et al., ACL 2019), with or without the EmpatheticIntents labels.

The release is no CSV in the usual sense: no field is quoted, commas inside a field are written ``_comma_``, and double
quotes are ordinary characters. A CSV parser therefore swallows lines at an unbalanced quote; splitting each line at its
commas does not. The release's valid and test files have a ninth column with 100 retrieval candidates a row, which is no
part of the conversation and is left out.
"""

import csv
from collections.abc import Iterator
from itertools import repeat
from pathlib import PurePosixPath

from mascot_data.errors import InputError
from mascot_data.records.dialogue import Split
from mascot_data.sources.conversation import SPLIT_NAMES, Conversation, Utterance, natural
from mascot_data.sources.files import SourceFile, looks_like_html, read_lines

COLUMNS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")
_REQUIRED = COLUMNS[:6]

Row = list[str]
Intents = dict[str, list[tuple[str, str]]]
"""Conversation id to the label and the text of each utterance."""


def select(files: list[SourceFile]) -> list[SourceFile]:
    """Choose the split files; folders of intents beside them are not the corpus."""
    named = [file for file in files if file.stem in SPLIT_NAMES and file.base.endswith(".csv")]
    found: dict[Split, SourceFile] = {}
    for file in sorted(named, key=lambda file: len(PurePosixPath(file.name).parts)):
        found.setdefault(SPLIT_NAMES[file.stem], file)
    return list(found.values()) or (files if len(files) == 1 else [])


def read(files: list[SourceFile], intents: Intents | None = None) -> Iterator[Conversation]:
    """Yield the conversations of the selected files in file order, whatever the order of their rows.

    Raises:
        InputError: a header, row or label that cannot be right; names the file and line.
    """
    for file in files:
        split = SPLIT_NAMES.get(file.stem, "train")
        rows = _rows(file)
        if not _in_order(file):
            rows = iter(_sorted(file, rows))
        group: list[tuple[int, Row]] = []
        for group in _groups(rows):
            yield _conversation(file, split, group, intents)
        if not group:
            raise InputError(file.name, "holds no conversation, only a header; fetch the file again")


def _rows(file: SourceFile) -> Iterator[tuple[int, Row]]:
    lines = read_lines(file)
    width = len(_header(file, next(lines, None)))
    widths: tuple[int, ...] = (width, width + 1)  # the first row tells whether there are candidates
    for number, line in lines:
        row = line.split(",")
        if len(row) in widths:
            widths = (len(row),)
            yield number, row
        elif line:
            expected = f"the header has {width}" if len(widths) > 1 else f"the rows before have {widths[0]}"
            raise InputError(
                f"{file.name} line {number}",
                f"has {len(row)} fields where {expected}; in this corpus commas inside a field are written "
                "_comma_ and nothing is quoted, so take the file of the original release",
            )


def _header(file: SourceFile, first: tuple[int, str] | None) -> Row:
    if first is None:
        raise InputError(file.name, "is empty; fetch the file again")
    header = first[1].split(",")
    if tuple(header[:6]) == _REQUIRED:
        return header[:8]
    if looks_like_html(first[1]):
        raise InputError(f"{file.name} line 1", "is a web page, not CSV; fetch the file itself, not its page")
    missing = [name for name in _REQUIRED if name not in header]
    wrong = f"column {missing[0]!r} is missing" if missing else "the columns are in another order"
    raise InputError(f"{file.name} line 1", f"{wrong}; the header must begin with {','.join(_REQUIRED)}")


def _in_order(file: SourceFile) -> bool:
    """Tell whether each conversation's rows stand together and count upwards, so that the file can be streamed."""
    previous, index, seen = "", 0, set()
    lines = read_lines(file)
    _header(file, next(lines, None))
    for number, line in lines:
        conv_id, _, rest = line.partition(",")
        position = _position(file, number, rest.partition(",")[0]) if line else 0
        if conv_id != previous:
            if hash(conv_id) in seen:
                return False
            seen.add(hash(conv_id))
            previous, index = conv_id, 0
        if line and position <= index:
            return False
        index = position
    return True


def _position(file: SourceFile, number: int, text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{file.name} line {number}", f"utterance_idx {text[:40]!r} is not a number")
    return int(text)


def _sorted(file: SourceFile, rows: Iterator[tuple[int, Row]]) -> list[tuple[int, Row]]:
    def place(item: tuple[int, Row]) -> tuple[str, str, int]:
        number, row = item
        return natural(row[0]), row[0], _position(file, number, row[1])

    return sorted(rows, key=place)


def _groups(rows: Iterator[tuple[int, Row]]) -> Iterator[list[tuple[int, Row]]]:
    group: list[tuple[int, Row]] = []
    for item in rows:
        if group and group[-1][1][0] != item[1][0]:
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _conversation(
    file: SourceFile, split: Split, group: list[tuple[int, Row]], intents: Intents | None
) -> Conversation:
    number, first = group[0]
    where = f"{file.name} line {number}"
    conv_id = first[0]
    rows = [row for _, row in group]
    numbers = [int(row[1]) for row in rows]
    if len(set(numbers)) < len(numbers):
        raise InputError(where, f"conversation {conv_id} occurs twice in the file, or one of its utterances does")
    labels = _labels(where, conv_id, group, intents) if intents is not None else None
    speakers = [row[4] for row in rows]
    # Without the speaker's first utterance, it is the listener who comes first.
    listener_first = numbers[0] > 1 and numbers[0] % 2 == 0
    flags = [] if numbers == list(range(1, len(numbers) + 1)) else ["missing-utterance"]
    if intents is not None and labels is None:
        flags.append("acts-missing")
    return Conversation(
        where=where,
        source_id=conv_id,
        split=split,
        subset="",
        situation=decode(first[3]),
        emotion=first[2],
        utterances=list(map(Utterance, speakers, [decode(row[5]) for row in rows], labels or repeat(None))),
        agents=frozenset([speaker for speaker in speakers if (speaker == speakers[0]) == listener_first]),
        fields={"workers": " ".join(dict.fromkeys(speakers))} | _other_fields(rows),
        flags=flags,
        links=[("pair", conv_id.partition("_")[0])],
    )


def _other_fields(rows: list[Row]) -> dict[str, str]:
    fields = {}
    for column, name in enumerate(COLUMNS[6 : len(rows[0])], start=6):
        if values := dict.fromkeys([row[column] for row in rows if row[column]]):
            fields[name] = " ".join(map(decode, values))
    return fields


def decode(field: str) -> str:
    """Undo the file's escape of commas."""
    return field.replace("_comma_", ",") if "_comma_" in field else field


def _labels(where: str, conv_id: str, group: list[tuple[int, Row]], intents: Intents) -> list[str] | None:
    labelled = intents.get(conv_id)
    if labelled is None:
        return None
    same = len(labelled) == len(group) and all(
        _words(text) == _words(decode(row[5])) for (_, text), (_, row) in zip(labelled, group, strict=True)
    )
    if not same:
        raise InputError(where, f"the intents of {conv_id} are about other words; --intents is not of this corpus")
    return [label for label, _ in labelled]


def _words(text: str) -> str:
    return "".join(text.split())


def read_intents(files: list[SourceFile]) -> Intents:
    """Read the EmpatheticIntents files: ordinary CSV, one an emotion; the nine doubles, marked `` (1)``, are left out.

    Raises:
        InputError: no file, a missing column, or a row without its fields; names the file and line.
    """
    found: Intents = {}
    for file in files:
        if not file.base.endswith(".csv"):
            continue
        for number, row in _intent_rows(file):
            if len(row) != 5:
                raise InputError(f"{file.name} line {number}", f"has {len(row)} fields instead of 5")
            if row[1] == "utterance" and not row[0].endswith(" (1)"):
                found.setdefault(row[0], []).append((row[4], row[3]))
    if not found:
        raise InputError("--intents", "holds no CSV file of EmpatheticIntents")
    return found


def _intent_rows(file: SourceFile) -> Iterator[tuple[int, Row]]:
    reader = csv.reader(line + "\n" for _, line in read_lines(file))
    try:
        if next(reader, None) != ["Dialog_ID", "Type", "Actor", "Text", "Label"]:
            raise InputError(f"{file.name} line 1", "the header must be Dialog_ID,Type,Actor,Text,Label")
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{file.name} line {reader.line_num}", f"is no CSV ({error}); fetch the file again") from error
