"""ESConv's three layouts: the same conversations under the same ids and splits from each, nothing of them lost."""

import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.errors import InputError
from mascot_data.sources.conversation import Conversation
from mascot_data.sources.esconv import hub_order, hub_splits, read, select
from mascot_data.sources.files import Inputs, SourceFile
from tests.conftest import SAMPLE

ESCONV = SAMPLE / "esconv"
HUB_SIDES = {"usr": "seeker", "sys": "supporter"}


def conversations(path: Path, include_failed: bool = False) -> list[Conversation]:
    with Inputs(path) as inputs:
        return list(read(select(inputs.files, include_failed)))


def from_text(text: str, name: str = "ESConv.json") -> list[Conversation]:
    return list(read([in_memory(name, text)]))


def in_memory(name: str, text: str) -> SourceFile:
    return SourceFile(name, lambda: io.BytesIO(text.encode()))


def essence(found: list[Conversation]) -> dict[str, Any]:
    """What both layouts hold: the Hub's files have lost runs of white space, and the sample's the feedback."""
    return {
        each.source_id: (
            each.split,
            each.situation.split(),
            each.emotion,
            [(HUB_SIDES.get(u.speaker, u.speaker), u.text.split(), u.act) for u in each.utterances],
            {name: value for name, value in each.fields.items() if name.startswith(("survey", "problem", "exp"))},
        )
        for each in found
    }


def plain(path: Path) -> dict[str, list[tuple[str, str]]]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {str(n): [(turn["speaker"], turn["content"]) for turn in row["dialog"]] for n, row in enumerate(rows)}


def said(found: list[Conversation]) -> dict[str, list[tuple[str, str]]]:
    return {each.source_id: [(u.speaker, u.text) for u in each.utterances] for each in found}


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    folder = tmp_path / "hub"
    folder.mkdir()
    for path in (ESCONV / "hf").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_the_original_is_read_word_for_word() -> None:
    assert said(conversations(ESCONV / "ESConv.json")) == plain(ESCONV / "ESConv.json")


def test_the_original_goes_before_the_hub_files_beside_it() -> None:
    assert conversations(ESCONV) == conversations(ESCONV / "ESConv.json")


def test_both_layouts_give_the_same_ids_splits_and_texts(hub: Path) -> None:
    assert essence(conversations(hub)) == essence(conversations(ESCONV / "ESConv.json"))


@pytest.mark.parametrize("layout", ["original", "hub"])
def test_the_real_corpus_is_the_same_in_both_layouts(sources: Path, layout: str) -> None:
    original, hub = conversations(sources / "esconv" / "ESConv.json"), conversations(sources / "esconv" / "hf")
    assert len(original) == len(hub) == 1300
    if layout == "original":
        assert said(original) == plain(sources / "esconv" / "ESConv.json")
    else:
        assert essence(hub) == essence(original)


def test_one_hub_file_of_the_release_keeps_its_places(sources: Path) -> None:
    alone = conversations(sources / "esconv" / "hf" / "valid.txt")
    together = [each for each in conversations(sources / "esconv" / "hf") if each.split == "validation"]
    assert alone == together


@pytest.mark.parametrize("names", [["train.txt"], ["valid.txt"], ["train.txt", "test.txt"]])
def test_hub_files_that_are_not_complete_are_refused(hub: Path, names: list[str]) -> None:
    for path in hub.iterdir():
        if path.name not in names:
            path.unlink()
    for path in [hub, *([hub / names[0]] if len(names) == 1 else [])]:
        with pytest.raises(InputError, match=r"positions in ESConv\.json are unknown; give the folder with all three"):
            conversations(path)


def archived_as_zip(folder: Path, path: Path) -> Path:
    paths = sorted(folder.rglob("*"))
    random.Random(3).shuffle(paths)
    with zipfile.ZipFile(path.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for each in paths:
            archive.write(each, f"Emotional-Support-Conversation-main/{each.relative_to(folder)}")
    return path.with_suffix(".zip")


def archived_as_tar(folder: Path, path: Path) -> Path:
    with tarfile.open(path.with_suffix(".tar.gz"), "w:gz") as archive:
        archive.add(folder, "esconv")
    return path.with_suffix(".tar.gz")


@pytest.mark.parametrize("archived", [archived_as_zip, archived_as_tar])
def test_an_archive_gives_what_the_folder_gives(
    archived: Callable[[Path, Path], Path], hub: Path, tmp_path: Path
) -> None:
    for folder in (ESCONV, hub):
        archive = archived(folder, tmp_path / folder.name)
        assert essence(conversations(archive, True)) == essence(conversations(folder, folder == ESCONV))


def test_any_name_of_a_single_file_will_do(tmp_path: Path) -> None:
    path = tmp_path / "downloaded (1).json"
    path.write_bytes((ESCONV / "ESConv.json").read_bytes())
    assert essence(conversations(path)) == essence(conversations(ESCONV / "ESConv.json"))


def test_failed_conversations_come_only_when_asked_for() -> None:
    main, both = conversations(ESCONV), conversations(ESCONV, include_failed=True)
    failed = both[len(main) :]
    assert both[: len(main)] == main
    expected = plain(ESCONV / "FailedESConv.json")
    assert said(failed) == {f"failed-{number}": turns for number, turns in expected.items()}
    assert {(each.subset, each.split) for each in failed} == {("failed", "train")}
    assert {each.subset for each in main} == {"main"}
    with pytest.raises(InputError, match="failed conversations only; add --include-failed"):
        conversations(ESCONV / "FailedESConv.json")
    assert conversations(ESCONV / "FailedESConv.json", include_failed=True) == failed


def test_failed_conversations_of_the_release(sources: Path) -> None:
    failed = [each for each in conversations(sources / "esconv", include_failed=True) if each.subset == "failed"]
    expected = plain(sources / "esconv" / "FailedESConv.json")
    assert said(failed) == {f"failed-{number}": turns for number, turns in expected.items()}


@given(st.integers(0, 3000))
def test_the_splits_are_a_partition_with_15_percent_held_out_twice(size: int) -> None:
    order = hub_order.__wrapped__(size)
    assert sorted(position for positions in order.values() for position in positions) == list(range(size))
    assert len(order["validation"]) == len(order["test"]) == int(0.15 * size)
    assert hub_splits(size) == {position: split for split, positions in order.items() for position in positions}


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
SCORE = st.sampled_from(["0", "1", "5", "17", ""])
UTTERANCES = st.fixed_dictionaries(
    {"speaker": st.sampled_from(["seeker", "supporter"]), "content": TEXT},
    optional={
        "annotation": st.fixed_dictionaries({}, optional={"strategy": TEXT, "feedback": SCORE, "note": TEXT}),
    },
)
CONVERSATIONS = st.fixed_dictionaries(
    {
        "emotion_type": TEXT,
        "situation": TEXT,
        "dialog": st.lists(UTTERANCES, max_size=5),
    },
    optional={
        "problem_type": TEXT,
        "seeker_question1": TEXT,
        "survey_score": st.fixed_dictionaries(
            {}, optional={"seeker": st.dictionaries(TEXT, SCORE, max_size=3), "supporter": st.just({})}
        ),
    },
)


@given(st.lists(CONVERSATIONS, min_size=1, max_size=12), st.sampled_from([None, 1]), st.booleans())
def test_what_is_written_is_read_back(rows: list[dict[str, Any]], indent: int | None, ascii_only: bool) -> None:
    found = from_text(json.dumps(rows, indent=indent, ensure_ascii=ascii_only))
    assert [each.source_id for each in found] == [str(number) for number in range(len(rows))]
    assert {int(each.source_id): each.split for each in found} == hub_splits(len(rows))
    for row, each in zip(rows, found, strict=True):
        assert (each.situation, each.emotion) == (row["situation"], row["emotion_type"])
        labels = [turn.get("annotation", {}) for turn in row["dialog"]]
        assert [(u.speaker, u.text, u.act, u.feedback) for u in each.utterances] == [
            (turn["speaker"], turn["content"], label.get("strategy"), label.get("feedback"))
            for turn, label in zip(row["dialog"], labels, strict=True)
        ]
        kept: dict[str, Any] = {name: row[name] for name in ("problem_type", "seeker_question1") if name in row}
        for side, scores in row.get("survey_score", {}).items():
            kept |= {f"survey_score.{side}.{name}": value for name, value in scores.items()}
        kept |= {f"dialog.{n}.note": label["note"] for n, label in enumerate(labels) if "note" in label}
        assert each.fields == kept


@settings(max_examples=25)
@given(st.lists(CONVERSATIONS, min_size=7, max_size=20), st.randoms(use_true_random=False))
def test_both_layouts_of_any_corpus_give_the_same(rows: list[dict[str, Any]], chance: random.Random) -> None:
    original = from_text(json.dumps(rows))
    names = {"train": "train.txt", "validation": "valid.txt", "test": "test.txt"}
    lines = {
        names[split]: "".join(json.dumps(hub_row(rows[position])) + "\n" for position in positions)
        for split, positions in hub_order(len(rows)).items()
    }
    shuffled = list(lines)
    chance.shuffle(shuffled)
    found = read([in_memory(name, lines[name]) for name in shuffled])
    assert {each.source_id: content(each) for each in found} == {each.source_id: content(each) for each in original}


def hub_row(row: dict[str, Any]) -> dict[str, Any]:
    sides = {name: side for side, name in HUB_SIDES.items()}
    turns = []
    for turn in row["dialog"]:
        labels = turn.get("annotation", {})
        strategy = {"strategy": labels["strategy"]} if "strategy" in labels else {}
        rest = {name: value for name, value in labels.items() if name != "strategy"}
        turns.append({"text": turn["content"], "speaker": sides[turn["speaker"]], "annotation": rest, **strategy})
    return {**row, "dialog": turns}


def content(each: Conversation) -> tuple[object, ...]:
    turns = [(HUB_SIDES.get(u.speaker, u.speaker), *u[1:]) for u in each.utterances]
    return each.split, each.situation, each.emotion, turns, each.fields


GOOD: dict[str, Any] = {"situation": "s", "emotion_type": "e", "dialog": [{"speaker": "seeker", "content": "hello"}]}


def with_turn(**change: object) -> dict[str, Any]:
    return {**GOOD, "dialog": [GOOD["dialog"][0], {"speaker": "supporter", "content": "hi", **change}]}


@pytest.mark.parametrize(
    ("bad", "place", "message"),
    [
        ("text", "", "is not a conversation of ESConv"),
        ({}, "", "it has no list 'dialog'"),
        ({**GOOD, "dialog": {}}, "", "it has no list 'dialog'"),
        ({**GOOD, "situation": None}, "", "has no text field 'situation'"),
        ({**GOOD, "emotion_type": 3}, "", "has no text field 'emotion_type'"),
        ({**GOOD, "survey_score": [1]}, "", "'survey_score' is no object"),
        ({**GOOD, "survey_score": {"seeker": "5"}}, "", "'seeker' is no object"),
        ({**GOOD, "dialog": ["hello"]}, " utterance 0", "is not an object with a speaker and a text"),
        (with_turn(content=None), " utterance 1", "has no text: neither 'content' nor 'text'"),
        (with_turn(content=["hi"]), " utterance 1", "has no text"),
        (with_turn(speaker="System"), " utterance 1", "speaker 'System' is none of seeker, supporter"),
        (with_turn(speaker=["seeker"]), " utterance 1", r"speaker \['seeker'\] is none of"),
        (with_turn(annotation="Question"), " utterance 1", "'annotation' is no object"),
        (with_turn(annotation={"strategy": ["Question"]}), " utterance 1", r"strategy \['Question'\] is no text"),
    ],
)
def test_a_conversation_that_is_none_is_named(bad: object, place: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^ESConv\.json conversation 1{place}: .*{message}"):
        from_text(json.dumps([GOOD, bad]))
    with pytest.raises(InputError, match=rf"^ESConv\.json conversation 0{place}: .*{message}"):
        from_text(json.dumps([bad]))


def test_a_conversation_without_utterances_is_read() -> None:
    (found,) = from_text(json.dumps([{**GOOD, "dialog": []}]))
    assert found.utterances == []


def test_a_corpus_without_conversations_is_refused(hub: Path) -> None:
    with pytest.raises(InputError, match=r"^ESConv\.json: holds no conversation"):
        from_text("[]")
    (hub / "test.txt").write_bytes(b"\n")
    with pytest.raises(InputError, match=r"^test\.txt: is empty"):
        conversations(hub)


def test_a_key_called_dialog_elsewhere_does_not_change_the_splits() -> None:
    rows: list[dict[str, Any]] = [{**GOOD, "survey_score": {"seeker": {"dialog": "5"}}} for _ in range(10)]
    assert {int(each.source_id): each.split for each in from_text(json.dumps(rows))} == hub_splits(10)


def test_a_broken_line_of_the_hub_is_named(hub: Path) -> None:
    lines = (hub / "train.txt").read_text(encoding="utf-8").splitlines()
    lines[3] = lines[3][:100]
    (hub / "train.txt").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"^train\.txt line 4: is not valid JSON or is cut off"):
        conversations(hub)


def test_lines_of_another_corpus_are_named_as_such(hub: Path) -> None:
    (hub / "test.txt").write_text('{"meeting_transcripts": []}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"^test\.txt line 1: is not a conversation of ESConv"):
        conversations(hub)
