"""Empathetic Dialogues: every row of the release is read, whatever its quotes, columns, order and wrapping."""

import csv
import io
import random
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.errors import InputError
from mascot_data.sources.conversation import Conversation
from mascot_data.sources.empathetic import COLUMNS, read, read_intents, select
from mascot_data.sources.files import Inputs, SourceFile
from tests.conftest import SAMPLE

ED = SAMPLE / "empathetic_dialogues"
HEADER = ",".join(COLUMNS)
SPLITS = {"train": "train", "valid": "validation", "test": "test"}


def conversations(path: Path, intents: Path | None = None) -> list[Conversation]:
    with Inputs(path) as inputs:
        if intents is None:
            return list(read(select(inputs.files)))
        with Inputs(intents) as labels:
            return list(read(select(inputs.files), read_intents(labels.files)))


def from_text(text: str, name: str = "train.csv") -> list[Conversation]:
    return list(read([SourceFile(name, lambda: io.BytesIO(text.encode()))]))


def from_rows(*rows: str) -> list[Conversation]:
    return from_text("\n".join([HEADER, *rows]) + "\n")


def plain(folder: Path) -> dict[str, tuple[str, str, str, list[tuple[str, str]]]]:
    """Read the files with nothing but ``split``: conversation to split, prompt, emotion, and who says what."""
    found = {}
    for name, split in SPLITS.items():
        rows = defaultdict(list)
        for line in (folder / f"{name}.csv").read_bytes().decode("utf-8").split("\n")[1:-1]:
            fields = line.split(",")
            rows[fields[0]].append(fields)
        for conv, group in rows.items():
            turns = [(row[4], row[5].replace("_comma_", ",")) for row in group]
            found[conv] = (split, group[0][3].replace("_comma_", ","), group[0][2], turns)
    return found


def essence(found: list[Conversation]) -> dict[str, tuple[str, str, str, list[tuple[str, str]]]]:
    return {
        each.source_id: (each.split, each.situation, each.emotion, [(u.speaker, u.text) for u in each.utterances])
        for each in found
    }


def without_place(found: list[Conversation]) -> list[tuple[object, ...]]:
    return sorted(
        (each.source_id, each.split, each.situation, each.emotion, each.utterances, sorted(each.fields.items()))
        for each in found
    )


def test_the_sample_is_read_row_by_row_with_eight_and_nine_columns() -> None:
    assert essence(conversations(ED)) == plain(ED)


def test_the_release_is_read_row_by_row(sources: Path) -> None:
    found = conversations(sources / "empathetic_dialogues")
    assert essence(found) == plain(sources / "empathetic_dialogues")
    assert len(found) == 24850
    assert sum(len(each.utterances) for each in found) == 107_220
    assert not any(each.flags for each in found)


def test_candidates_of_the_ninth_column_are_left_out(tmp_path: Path) -> None:
    for name in ("valid.csv", "test.csv"):
        lines = (ED / name).read_text(encoding="utf-8").split("\n")[:-1]
        assert {line.count(",") for line in lines[1:]} == {8}
        cut = [lines[0], *(line.rpartition(",")[0] for line in lines[1:])]
        (tmp_path / name).write_text("\n".join(cut) + "\n", encoding="utf-8")
    (tmp_path / "train.csv").write_bytes((ED / "train.csv").read_bytes())
    assert conversations(tmp_path) == conversations(ED)


def test_the_tar_of_the_release_gives_what_its_folder_gives(tmp_path: Path) -> None:
    archive = tmp_path / "empatheticdialogues.tar.gz"
    with tarfile.open(archive, "w:gz") as members:
        for name in ("valid", "train", "test"):
            members.add(ED / f"{name}.csv", f"empatheticdialogues/{name}.csv")
            members.addfile(tarfile.TarInfo(f"empatheticdialogues/._{name}.csv"))
    assert without_place(conversations(archive)) == without_place(conversations(ED))


def test_a_single_file_is_read_under_any_name(tmp_path: Path) -> None:
    valid = conversations(ED / "valid.csv")
    assert {each.split for each in valid} == {"validation"}
    (tmp_path / "mine.csv").write_bytes((ED / "valid.csv").read_bytes())
    mine = conversations(tmp_path / "mine.csv")
    assert {each.split for each in mine} == {"train"}
    assert [each.utterances for each in mine] == [each.utterances for each in valid]


def test_only_the_files_nearest_to_the_top_are_the_corpus(tmp_path: Path) -> None:
    for name in SPLITS:
        (tmp_path / f"{name}.csv").write_bytes((ED / f"{name}.csv").read_bytes())
        (tmp_path / "a_copy").mkdir(exist_ok=True)
        (tmp_path / "a_copy" / f"{name}.csv").write_bytes(b"broken")
    assert without_place(conversations(tmp_path)) == without_place(conversations(ED))


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_any_order_give_the_same_conversations(seed: int, tmp_path: Path) -> None:
    for name in SPLITS:
        header, *rows = (ED / f"{name}.csv").read_text(encoding="utf-8").split("\n")[:-1]
        random.Random(seed).shuffle(rows)
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    assert without_place(conversations(tmp_path)) == without_place(conversations(ED))


def test_blank_lines_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    for name in SPLITS:
        text = (ED / f"{name}.csv").read_bytes().replace(b"\n", b"\r\n")
        (tmp_path / f"{name}.csv").write_bytes(
            b"\xef\xbb\xbf" + text.replace(b"\r\nhit:9000", b"\r\n\r\nhit:9000") + b"\r\n"
        )
    assert without_place(conversations(tmp_path)) == without_place(conversations(ED))


def test_a_quote_that_a_csv_parser_would_never_see_closed_is_a_character() -> None:
    rows = [f"hit:1_conv:{n},{i},sad,a prompt,{i},he said {i},5|5|5_5|5|5," for n in range(3) for i in (1, 2)]
    rows[0] = rows[0].replace("he said 1", '"never closed_comma_ he said')
    assert len(list(csv.reader([HEADER + "\n", *(row + "\n" for row in rows)]))) == 2
    found = from_rows(*rows)
    assert [[u.text for u in each.utterances] for each in found] == [
        ['"never closed, he said', "he said 2"],
        ["he said 1", "he said 2"],
        ["he said 1", "he said 2"],
    ]


FIELD = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=15).filter(
    lambda text: "_comma_" not in text
)
TALKS = st.lists(st.tuples(FIELD, FIELD, st.lists(FIELD, min_size=1, max_size=5)), min_size=1, max_size=6)


def escaped(text: str) -> str:
    return text.replace(",", "_comma_")


@given(TALKS, st.booleans(), st.randoms(use_true_random=False) | st.none())
def test_what_is_written_is_read_back(
    talks: list[tuple[str, str, list[str]]], candidates: bool, chance: random.Random | None
) -> None:
    rows = [
        f"hit:{n}_conv:{n},{i},{escaped(emotion)},{escaped(prompt)},{n + i % 2},{escaped(text)},5|5|5_4|4|4,"
        + (f",{escaped(text)}|other" if candidates else "")
        for n, (emotion, prompt, texts) in enumerate(talks)
        for i, text in enumerate(texts, start=1)
    ]
    if chance:
        chance.shuffle(rows)
    found = sorted(from_rows(*rows), key=lambda each: int(each.source_id.rpartition(":")[2]))
    assert [(each.source_id, each.situation, [u.text for u in each.utterances]) for each in found] == [
        (f"hit:{n}_conv:{n}", prompt, texts) for n, (_, prompt, texts) in enumerate(talks)
    ]
    assert [each.emotion for each in found] == [escaped(emotion) for emotion, _, _ in talks]
    for n, each in enumerate(found):
        assert each.agents <= {str(n)}
        assert [u.speaker for u in each.utterances] == [str(n + i % 2) for i in range(1, len(each.utterances) + 1)]
        assert each.fields["selfeval"] == "5|5|5_4|4|4"
        assert each.flags == []


@settings(max_examples=30)
@given(st.sets(st.integers(1, 6), min_size=1, max_size=6))
def test_a_missing_utterance_is_flagged_and_swaps_nobody(numbers: set[int]) -> None:
    rows = [
        f"hit:1_conv:2,{i},sad,prompt,{'listener' if i % 2 == 0 else 'speaker'},text {i},," for i in sorted(numbers)
    ]
    (found,) = from_rows(*rows)
    whole = numbers == set(range(1, len(numbers) + 1))
    assert found.flags == ([] if whole else ["missing-utterance"])
    assert found.agents <= {"listener"}
    assert ("listener" in found.agents) == any(number % 2 == 0 for number in numbers)


GOOD = "hit:0_conv:1,{},sad,a prompt,{},hello,5|5|5_5|5|5,"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^train\.csv: is empty; fetch"),
        (HEADER + "\n", r"^train\.csv: holds no conversation, only a header"),
        (HEADER + "\n\n\n", r"^train\.csv: holds no conversation, only a header"),
        ("<!DOCTYPE html>\n<html>\n", r"^train\.csv line 1: is a web page, not CSV"),
        ('[\n {\n  "dialog": [', r"^train\.csv line 1: column 'conv_id' is missing"),
        (f"{HEADER}\n{GOOD.format(1, 7)}\nhit:0\n", r"^train\.csv line 3: utterance_idx '' is not a number"),
        (f"{HEADER}\nhit:0_conv:1,1,sad\n", r"^train\.csv line 2: has 3 fields where the header has 8"),
        (HEADER.replace("prompt,", "") + "\n", r"^train\.csv line 1: column 'prompt' is missing"),
        (HEADER.replace("context,prompt", "prompt,context") + "\n", r"line 1: the columns are in another order"),
        (f"{HEADER}\n{GOOD.format('x', 7)}\n", r"^train\.csv line 2: utterance_idx 'x' is not a number"),
        (f"{HEADER}\n{GOOD.format('-1', 7)}\n", r"utterance_idx '-1' is not a number"),
        (f"{HEADER}\n{GOOD.format('²', 7)}\n", r"utterance_idx '²' is not a number"),
        (f"{HEADER}\n{GOOD.format('9' * 5000, 7)}\n", r"utterance_idx '9{40}' is not a number"),
        (
            f"{HEADER}\n{GOOD.format(2, 7)}\n{GOOD.format(1, 7)}\n{GOOD.format('x', 7)}\n",
            r"line 4: utterance_idx 'x' is",
        ),
        (f"{HEADER}\n{GOOD.format(1, 7)}\n{GOOD.format(1, 7)}\n", r"line 2: conversation hit:0_conv:1 occurs twice"),
        (
            "\n".join([HEADER, *(GOOD.format(i, i) for i in (1, 2)), *(GOOD.format(i, i) for i in (1, 2)), ""]),
            r"line 2: conversation hit:0_conv:1 occurs twice",
        ),
    ],
)
def test_a_file_that_is_no_corpus_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_text(text)


@pytest.mark.parametrize("row", [GOOD.format(2, 8).replace("hello", "oh, no"), GOOD.format(2, 8) + "," * 4, "a,2"])
def test_a_row_with_other_columns_than_the_rows_before_is_refused(row: str) -> None:
    with pytest.raises(
        InputError, match=r"^train\.csv line 3: has \d+ fields where the rows before have 8; .* _comma_"
    ):
        from_rows(GOOD.format(1, 7), row)


def test_intents_come_to_the_utterances_they_are_about() -> None:
    without, labelled = conversations(ED), conversations(ED, ED / "intents")
    assert essence(without) == essence(labelled)
    assert all(u.act is None for each in without for u in each.utterances)
    expected: dict[str, list[str]] = defaultdict(list)
    for path in (ED / "intents").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["Type"] == "utterance":
                    expected[row["Dialog_ID"]].append(row["Label"])
    for each in labelled:
        acts = [u.act for u in each.utterances]
        assert acts == expected.get(each.source_id, [None] * len(acts))
        assert ("acts-missing" in each.flags) == (each.source_id not in expected)
    assert sum("acts-missing" in each.flags for each in labelled) == 3


def test_intents_of_the_release_fit(sources: Path) -> None:
    folder = sources / "empathetic_dialogues"
    labelled = conversations(folder, folder / "intents")
    assert essence(labelled) == plain(folder)
    assert sum(u.act is not None for each in labelled for u in each.utterances) > 107_000


def test_intents_about_other_words_are_refused(tmp_path: Path) -> None:
    text = (ED / "train.csv").read_text(encoding="utf-8")
    fields = text.split("\n")[1].split(",")
    changed = text.replace(f",{fields[5]},", ",Something else entirely.,", 1)
    (tmp_path / "train.csv").write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match=rf"^train\.csv line 2: the intents of {fields[0]} are about other words"):
        conversations(tmp_path, ED / "intents")


def intents_of(text: bytes) -> None:
    read_intents([SourceFile("sad.csv", lambda: io.BytesIO(text))])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", r"^sad\.csv line 1: the header must be"),
        (b"a,b\n", r"^sad\.csv line 1: the header must be"),
        (b"Dialog_ID,Type,Actor,Text,Label\nhit:1,utterance\n", r"^sad\.csv line 2: has 2 fields instead of 5"),
        (b'Dialog_ID,Type,Actor,Text,Label\nhit:1,utterance,speaker,"' + b"x" * 200_000, r"sad\.csv line 2: is no CSV"),
        (b"Dialog_ID,Type,Actor,Text,Label\n", r"^--intents: holds no CSV file of EmpatheticIntents"),
    ],
)
def test_broken_intents_are_refused(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        intents_of(text)
