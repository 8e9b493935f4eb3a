"""Text that would be a path, a template, a page, a terminal's command or a query elsewhere is text here."""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mascot_data.records import CONFIGS, Dialogue
from tests.cli.commands import CORPORA, Ended, Shell, check_refused, left_in

ESCONV, ED, QMSUM = CORPORA
HOSTILE = [
    "../../../etc/passwd",
    "/etc/passwd",
    "{{ 7 * 7 }}",
    "{% for x in range(9) %}{{{",
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b[2J",
    "nul\x00nul",
    "---\nlicense: mit\n---\n",
    "name: text",
    "name:: text",
    "name:\u00a0text",
    "line\u2028two\x85three\x0bfour",
    "\u202eetirw",
    "\ufeffmark",
    "'); DROP TABLE rows; --",
    "${HOME} %s %(x)s {0} {x}",
    "Director",
    "User",
    "user",
    "scribe",
    "anchor",
    "(go on)",
    "#0",
    "|||| NEW CONVERSATION",
    "<|im_end|>",
    "NaN",
    "\U0001f600" * 3,
    "x" * 5000,
]


def esconv(folder: Path) -> Path:
    def turn(number: int, text: str) -> dict[str, Any]:
        side = ("seeker", "supporter")[number % 2]
        labels = {"feedback": text} if side == "seeker" else {"strategy": text, text: text}
        return {"speaker": side, "content": text, "annotation": labels}

    rows = [
        {
            "situation": text,
            "emotion_type": text,
            "problem_type": text,
            text: text,
            "survey_score": {text: {text: text}, "seeker": {"empathy": text}},
            "dialog": [turn(number, each) for number, each in enumerate([text, *HOSTILE])],
        }
        for text in HOSTILE
    ]
    (folder / "ESConv.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder / "ESConv.json"


def empathetic(folder: Path) -> Path:
    rows = ["conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags"]
    for text in (text.replace("\n", " ").replace(",", "_comma_") for text in HOSTILE):
        rows += [f"{text},{n},{text},{text},{text}{n % 2},{text},{text},{text}" for n in (1, 2, 3)]
    (folder / "train.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder / "train.csv"


def qmsum(folder: Path) -> Path:
    spoken = [{"speaker": text, "content": f"{each} said"} for text in HOSTILE for each in (text, "word")]
    span = [["0", str(len(spoken) // 2)]]
    queries = [{"query": text, "answer": text, "relevant_text_span": [[text, text], *span]} for text in HOSTILE]
    meeting = {
        "topic_list": [{"topic": text, "relevant_text_span": span} for text in HOSTILE],
        "general_query_list": [{"query": text, "answer": text} for text in HOSTILE],
        "specific_query_list": queries,
        "meeting_transcripts": spoken,
    }
    for text in HOSTILE[2:9]:
        name = text.replace("/", "_").replace("\x00", "_")
        (folder / f"{name}.json").write_text(json.dumps(meeting), encoding="utf-8")
    return folder


MAKE: dict[str, Callable[[Path], Path]] = {ESCONV: esconv, ED: empathetic, QMSUM: qmsum}


@pytest.fixture(params=CORPORA)
def built(request: pytest.FixtureRequest, shell: Shell, tmp_path: Path) -> tuple[Ended, Path]:
    source = request.param
    (tmp_path / "input").mkdir()
    given = MAKE[source](tmp_path / "input")
    call = ["build", "--source", source, "--input", str(given), "--allow-partial", "--output", "out/mascot"]
    return shell(*call, cwd=tmp_path), tmp_path / "out" / "mascot" / f"{source}-multiagent"


def test_hostile_text_is_kept_and_does_nothing(built: tuple[Ended, Path], shell: Shell) -> None:
    ended, directory = built
    assert (ended.status, ended.err) == (0, "")
    assert all(sign.isprintable() or sign == "\n" for sign in ended.out)
    inside = [name for name in left_in(directory.parent.parent) if not name.startswith(f"mascot/{directory.name}/")]
    assert inside == []
    checked = shell("validate", directory, cwd=directory)
    assert checked.status == 0, checked.out
    rows = [Dialogue.model_validate(row) for row in pq.read_table(directory / "data" / "dialogues").to_pylist()]
    said = {text for row in rows for _, _, text in row.raw_utterances()}
    expected = HOSTILE if row_source(rows) == ESCONV else [text.replace("\n", " ") for text in HOSTILE]
    if row_source(rows) == QMSUM:
        expected = [f"{text} said" for text in HOSTILE]
    dropped = (directory / "dropped.jsonl").read_text("utf-8").split("\n")[:-1]
    said |= {json.loads(line)["text"] for line in dropped}
    assert set(expected) <= said
    for config in CONFIGS:
        assert pq.read_table(directory / "data" / config).num_rows > 0


def row_source(rows: list[Dialogue]) -> str:
    (source,) = {row.source for row in rows}
    return source


def test_the_card_stays_a_card(built: tuple[Ended, Path]) -> None:
    _, directory = built
    card = (directory / "README.md").read_text("utf-8")
    assert card.startswith("---\npretty_name: ")
    assert card.count("\n---\n") == 1
    assert not any(text in card for text in HOSTILE[:7])


def test_showing_it_does_not_steer_the_terminal(built: tuple[Ended, Path], shell: Shell) -> None:
    _, directory = built
    shown = shell("show", directory, cwd=directory)
    assert (shown.status, shown.err) == (0, "")
    assert "\u202e" not in shown.out
    assert {sign for sign in shown.out if unicodedata.category(sign) == "Cc"} == {"\n"}


def test_half_a_character_is_refused_by_the_name_of_its_conversation(shell: Shell, tmp_path: Path) -> None:
    rows = [
        {"situation": "s", "emotion_type": "e", "dialog": []},
        {"situation": "\udfff", "emotion_type": "e", "dialog": []},
    ]
    (tmp_path / "ESConv.json").write_text(json.dumps(rows), encoding="utf-8")
    ended = shell("build", "--source", ESCONV, "--input", "ESConv.json", "--allow-partial", cwd=tmp_path)
    check_refused(ended, r"ESConv\.json conversation 1: holds \\udfff, half of a surrogate pair")


def test_hostile_names_in_a_message_are_spelled_out(shell: Shell, tmp_path: Path) -> None:
    for text in HOSTILE[2:14]:
        name = text.replace("/", "_").replace("\x00", "_") + ".json"
        (tmp_path / name).write_bytes(b"<html>")
        check_refused(shell("build", "--source", ESCONV, "--input", name, cwd=tmp_path), "is a web page")
        (tmp_path / name).unlink()
    rows = ["conv_id,utterance_idx,context,prompt,speaker_idx,utterance", *["hit\x1b[2J\r,1,e,p,s,u"] * 2]
    (tmp_path / "train.csv").write_text("\n".join(rows), encoding="utf-8")
    check_refused(shell("build", "--source", ED, "--input", "train.csv", cwd=tmp_path), r"hit\\x1b\[2J\\r occurs twice")
