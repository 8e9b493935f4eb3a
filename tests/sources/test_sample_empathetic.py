"""The sample of Empathetic Dialogues holds every defect that a reader must survive; seen with csv and str only."""

import csv
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ED = Path(__file__).resolve().parents[2] / "mascot_data" / "sources" / "sample" / "empathetic_dialogues"
ED_HEADER = ["conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags"]
INTENTS = (
    "questioning",
    "acknowledging",
    "agreeing",
    "sympathizing",
    "encouraging",
    "consoling",
    "suggesting",
    "wishing",
)


@cache
def ed(split: str) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for line in (ED / f"{split}.csv").read_text(encoding="utf-8").split("\n")[1:-1]:
        found.setdefault(line.split(",")[0], []).append(line.split(","))
    return found


def every_row() -> list[list[str]]:
    return [row for split in ("train", "valid", "test") for rows in ed(split).values() for row in rows]


def ids(split: str) -> set[str]:
    return {conv.split("_")[0] for conv in ed(split)}


@pytest.mark.parametrize(("split", "width", "size"), [("train", 8, 20), ("valid", 9, 6), ("test", 9, 6)])
def test_every_line_splits_into_its_fields(split: str, width: int, size: int) -> None:
    assert (ED / f"{split}.csv").read_text(encoding="utf-8").split("\n")[0].split(",") == ED_HEADER
    assert len(ed(split)) == size
    assert {len(row) for rows in ed(split).values() for row in rows} == {width}
    for rows in ed(split).values():
        assert [row[1] for row in rows] == [str(n + 1) for n in range(len(rows))]
        assert len({row[3] for row in rows}) == len({row[6] for row in rows}) == 1


@pytest.mark.parametrize("split", ["valid", "test"])
def test_candidates_are_three_to_five_replies(split: str) -> None:
    assert {len(row[8].split("|")) for rows in ed(split).values() for row in rows} == {3, 4, 5}


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_a_csv_parser_loses_rows(split: str) -> None:
    path = ED / f"{split}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        parsed = list(csv.reader(file))
    assert len(parsed) < path.read_text(encoding="utf-8").count("\n")
    assert len({row[0] for row in parsed}) - 1 < len(ed(split))


def test_quotes_are_left_open_in_utterances_and_in_a_prompt() -> None:
    opened = {row[0] for row in every_row() if row[5].startswith('"') and row[5].count('"') == 1}
    assert len(opened) == 4
    assert any(row[3].startswith('"') and row[3].count('"') == 1 for row in every_row())


def test_emotions_cover_31_of_the_32() -> None:
    emotions = {row[2] for row in every_row()}
    assert len(emotions) == 31
    assert "faithful" not in emotions


def test_commas_are_escaped_some_without_a_space_after() -> None:
    assert any(re.search(r"_comma_\S", row[5]) for row in every_row())
    assert any("_comma_ " in row[5] for row in every_row())


def test_workers_are_numbered_over_the_whole_corpus() -> None:
    pairs: dict[str, set[str]] = defaultdict(set)
    for split in ("train", "valid", "test"):
        for conv, rows in ed(split).items():
            assert len({row[4] for row in rows}) == min(len(rows), 2)
            pairs[conv.split("_")[0]] |= {row[4] for row in rows}
    assert all(len(workers) == 2 for hit, workers in pairs.items() if hit != "hit:90009")
    assert len(set().union(*pairs.values())) > 5


def test_self_evaluation_packs_scores_and_once_free_text() -> None:
    packed = re.compile(r"\d\|\d\|\d_\d\|\d\|\d")
    odd = {row[6] for row in every_row() if not packed.fullmatch(row[6])}
    assert len(odd) == 1
    assert re.search("[a-z]{4}", odd.pop())
    assert {row[7] for row in every_row()} == {"", "<HI>"}


def test_lengths_are_one_and_two_to_six_odd_and_even() -> None:
    lengths = Counter(len(rows) for split in ("train", "valid", "test") for rows in ed(split).values())
    assert sorted(lengths) == [1, 2, 3, 4, 5, 6]
    assert lengths[1] == 1


def test_numbers_a_leaked_separator_and_a_prompt_said_again() -> None:
    assert any(not re.search("[^\\W\\d]", row[5]) for row in every_row())
    assert len({row[0] for row in every_row() if row[3].isdigit()}) == 1
    assert sum("|||| NEW CONVERSATION" in row[5] for row in every_row()) == 1
    assert {row[0] for row in every_row() if row[1] == "1" and row[5] == row[3]} == {
        "hit:90001_conv:180003",
        "hit:90026_conv:180052",
    }


def test_white_space_at_the_edges_of_valid() -> None:
    rows = [row for rows in ed("valid").values() for row in rows]
    assert any(row[3] != row[3].strip() for row in rows)
    assert any(row[5] != row[5].strip() for row in rows)


def test_a_pair_of_workers_and_a_prompt_are_in_two_splits() -> None:
    assert ids("train") & ids("valid") == {"hit:90010"}
    prompts = {split: {rows[0][3] for rows in ed(split).values()} for split in ("train", "test")}
    assert len(prompts["train"] & prompts["test"]) == 1
    for split in ("train", "valid", "test"):
        for conv in ed(split):
            hit, number = map(int, re.findall(r"\d+", conv))
            assert number // 2 == hit


@cache
def intents() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for path in sorted((ED / "intents").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["Dialog_ID"], []).append(row | {"file": path.stem})
    return found


def test_intents_drop_the_last_conversation_of_each_split_and_double_one() -> None:
    last = {list(ed(split))[-1] for split in ("train", "valid", "test")}
    everything = {conv for split in ("train", "valid", "test") for conv in ed(split)}
    doubled = {conv for conv in intents() if conv.endswith(" (1)")}
    assert len(doubled) == 1
    assert set(intents()) - doubled == everything - last


def test_intents_are_about_the_same_words_with_real_commas() -> None:
    rows_of = {conv: rows for split in ("train", "valid", "test") for conv, rows in ed(split).items()}
    for conv, labelled in intents().items():
        rows = rows_of[conv.removesuffix(" (1)")]
        assert [row["Type"] for row in labelled] == ["situation"] + ["utterance"] * len(rows)
        assert [row["Actor"] for row in labelled] == [
            "none",
            *(("speaker", "listener")[n % 2] for n in range(len(rows))),
        ]
        texts = [rows[0][3], *(row[5] for row in rows)]
        assert [row["Text"] for row in labelled] == [text.replace("_comma_", ",").strip() for text in texts]
        assert {row["file"] for row in labelled} == {rows[0][2]}
    assert any("," in row["Text"] for labelled in intents().values() for row in labelled)


def test_listener_labels_are_the_nine_intents_and_now_and_then_an_emotion() -> None:
    used = Counter(row["Label"] for labelled in intents().values() for row in labelled if row["Actor"] == "listener")
    expected = {*INTENTS, "neutral"}
    assert expected <= set(used)
    assert set(used) - expected
    assert used["questioning"] == max(used.values())
