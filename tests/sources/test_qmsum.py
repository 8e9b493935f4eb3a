"""QMSum's layouts: single meetings, lines, the repository, a zip of it; each meeting once, its spans as they stand."""

import io
import json
import random
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.build.segments import read_spans
from mascot_data.errors import InputError
from mascot_data.sources.conversation import SPLIT_NAMES, Meeting
from mascot_data.sources.files import Inputs, SourceFile
from mascot_data.sources.qmsum import domain_of, known_meetings, read, select, transcript_digest
from tests.conftest import SAMPLE

QMSUM = SAMPLE / "qmsum"
ALL = QMSUM / "data" / "ALL"


def meetings(path: Path) -> list[Meeting]:
    with Inputs(path) as inputs:
        return list(read(select(inputs.files)))


def from_text(text: str, name: str = "meeting.json") -> list[Meeting]:
    return list(read([SourceFile(name, lambda: io.BytesIO(text.encode()))]))


def without_place(found: Iterable[Meeting]) -> dict[str, tuple[object, ...]]:
    rows = {each.name: (each.split, each.utterances, each.topics, each.queries, each.general) for each in found}
    return dict(sorted(rows.items()))


def plain(folder: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    paths = [path for split in ("train", "val", "test") for path in (folder / split).glob("*.json")]
    return {path.stem: (SPLIT_NAMES[path.parent.name], json.loads(path.read_text("utf-8"))) for path in paths}


def as_raw(meeting: Meeting) -> dict[str, Any]:
    """Put a meeting back into the shape of its file."""
    queries = [{"query": q.query, "answer": q.answer, "relevant_text_span": q.spans} for q in meeting.queries]
    general = [{"query": q["query"], "answer": q["answer"]} for q in queries[: meeting.general]]
    return {
        "topic_list": [{"topic": topic.topic, "relevant_text_span": topic.spans} for topic in meeting.topics],
        "general_query_list": general,
        "specific_query_list": queries[meeting.general :],
        "meeting_transcripts": [{"speaker": u.speaker, "content": u.text} for u in meeting.utterances],
    }


def test_the_folder_is_read_word_for_word() -> None:
    found = meetings(QMSUM)
    assert {each.name: (each.split, as_raw(each)) for each in found} == plain(ALL)
    assert len(found) == 5


def test_the_release_is_read_word_for_word(sources: Path) -> None:
    found = meetings(sources / "qmsum")
    assert {each.name: (each.split, as_raw(each)) for each in found} == plain(sources / "qmsum" / "data" / "ALL")
    assert (len(found), sum(len(each.queries) for each in found)) == (232, 1810)
    assert {domain_of(each.name) for each in found} == {"academic", "product", "committee"}
    assert not any(each.general > len(each.queries) for each in found)


def test_a_single_meeting_is_read_wherever_it_lies(tmp_path: Path) -> None:
    path = ALL / "val" / "Bed902.json"
    (found,) = meetings(path)
    assert as_raw(found) == json.loads(path.read_text("utf-8"))
    (tmp_path / "val").mkdir()
    shutil.copy(path, tmp_path / "val")
    (again,) = meetings(tmp_path)
    assert (found.split, again.split) == ("train", "validation")
    assert as_raw(again) == as_raw(found)


def test_lines_give_the_meetings_of_the_folder() -> None:
    by_file = {split: meetings(ALL / "jsonl" / f"{split}.jsonl") for split in ("train", "val", "test")}
    assert {split: [each.name for each in found] for split, found in by_file.items()} == {
        split: [f"{split}-{n + 1}" for n in range(len(found))] for split, found in by_file.items()
    }
    every = [each for found in by_file.values() for each in found]
    folder = meetings(QMSUM)
    assert sorted(json.dumps([each.split, as_raw(each)]) for each in every) == sorted(
        json.dumps([each.split, as_raw(each)]) for each in folder
    )
    assert without_place(meetings(ALL / "jsonl")) == without_place(every)


@pytest.mark.parametrize("split", ["val", "test"])
def test_lines_of_the_release_get_the_names_of_their_meetings(sources: Path, split: str, tmp_path: Path) -> None:
    folder = sources / "qmsum" / "data" / "ALL"
    expected = without_place(each for each in meetings(folder) if each.split == SPLIT_NAMES[split])
    assert without_place(meetings(folder / "jsonl" / f"{split}.jsonl")) == expected
    lines = (folder / "jsonl" / f"{split}.jsonl").read_text("utf-8").split("\n")
    random.Random(1).shuffle(lines)
    (tmp_path / "shuffled.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert without_place(meetings(tmp_path / "shuffled.jsonl")) == expected


def repository(root: Path, parts: Iterable[str]) -> Path:
    """Lay the sample out as the repository does: everything in ALL, and again by domain."""
    for path in (path for path in ALL.rglob("*.json*") if path.is_file()):
        domain = {"academic": "Academic", "product": "Product", "committee": "Committee"}.get(domain_of(path.stem))
        for part in {"ALL", domain} & set(parts):
            where = root / "data" / str(part)
            for folder in [path.parent.name, *(["all"] if path.suffix == ".json" else [])]:
                (where / folder).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, where / folder)
    return root


DOMAINS = ("Academic", "Committee", "Product")


@pytest.mark.parametrize("parts", [("ALL",), ("ALL", *DOMAINS), DOMAINS])
def test_copies_by_domain_beside_the_whole_give_each_meeting_once(parts: tuple[str, ...], tmp_path: Path) -> None:
    found = meetings(repository(tmp_path, parts))
    assert len(found) == 5
    assert without_place(found) == without_place(meetings(QMSUM))
    assert sorted(each.name for each in meetings(tmp_path / "data" / parts[-1])) == sorted(
        path.stem for path in (tmp_path / "data" / parts[-1] / "all").iterdir()
    )


def test_folders_without_splits_give_each_meeting_once(tmp_path: Path) -> None:
    repository(tmp_path, ("ALL", *DOMAINS))
    for folder in [*tmp_path.glob("data/*/*")]:
        if folder.name != "all":
            shutil.rmtree(folder)
    assert {name: row[1:] for name, row in without_place(meetings(tmp_path)).items()} == {
        name: row[1:] for name, row in without_place(meetings(QMSUM)).items()
    }
    assert len(meetings(tmp_path)) == 5


@pytest.mark.parametrize("seed", range(3))
def test_a_zip_of_the_repository_gives_the_same_in_any_order(seed: int, tmp_path: Path) -> None:
    paths = sorted(repository(tmp_path / "tree", ("ALL", *DOMAINS)).rglob("*"))
    random.Random(seed).shuffle(paths)
    with zipfile.ZipFile(tmp_path / "QMSum-main.zip", "w") as archive:
        for path in paths:
            archive.write(path, f"QMSum-main/{path.relative_to(tmp_path / 'tree')}")
    assert without_place(meetings(tmp_path / "QMSum-main.zip")) == without_place(meetings(QMSUM))


def test_lines_stand_in_for_a_split_without_single_meetings(tmp_path: Path) -> None:
    shutil.copytree(ALL, tmp_path / "ALL")
    shutil.rmtree(tmp_path / "ALL" / "test")
    found = without_place(meetings(tmp_path))
    expected = without_place(meetings(QMSUM))
    assert found.pop("test-1") == expected.pop("TS9002b")
    assert found == expected


def test_every_known_meeting_has_its_own_transcript_and_split(sources: Path) -> None:
    by_digest, by_name = known_meetings()
    found = meetings(sources / "qmsum")
    assert {transcript_digest(each.utterances): (each.name, each.split) for each in found} == {
        digest: (known.name, known.split) for digest, known in by_digest.items()
    }
    assert len(by_digest) == len(by_name) == 232


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
WORDS = TEXT.filter(str.strip)
BOUND = st.integers(-2, 40).map(str) | st.integers(0, 9) | st.text(max_size=3) | st.just("9" * 5000) | st.none()
SPANS = st.lists(st.tuples(BOUND, BOUND).map(list), max_size=4)
RAW = st.fixed_dictionaries(
    {
        "topic_list": st.lists(st.fixed_dictionaries({"topic": TEXT, "relevant_text_span": SPANS}), max_size=3),
        "general_query_list": st.lists(st.fixed_dictionaries({"query": WORDS, "answer": WORDS}), max_size=2),
        "specific_query_list": st.lists(
            st.fixed_dictionaries({"query": WORDS, "answer": WORDS, "relevant_text_span": SPANS}), max_size=3
        ),
        "meeting_transcripts": st.lists(st.fixed_dictionaries({"speaker": TEXT, "content": TEXT}), max_size=6),
    }
)


@settings(max_examples=50)
@given(RAW, st.sampled_from([None, 1]), st.booleans())
def test_what_is_written_is_read_back(raw: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    (single,) = from_text(json.dumps(raw, indent=indent, ensure_ascii=ascii_only))
    (line,) = from_text(json.dumps(raw, ensure_ascii=ascii_only) + "\n\n", "meeting.jsonl")
    for part in raw["topic_list"] + raw["specific_query_list"]:
        part["relevant_text_span"] = [[str(bound) for bound in span] for span in part["relevant_text_span"]]
    assert as_raw(single) == as_raw(line) == raw
    assert single.general == len(raw["general_query_list"])


@given(SPANS, st.integers(0, 30))
def test_spans_are_used_repaired_or_told_to_be_lost(raw: list[list[Any]], size: int) -> None:
    spans = [[str(bound) for bound in span] for span in raw]
    numbers = [[int(bound[:9]) for bound in span if bound.strip().isdecimal()] for span in spans]
    usable = [pair for pair in numbers if len(pair) == 2 and min(pair) < size]
    expected = [(min(pair), min(max(pair), size - 1)) for pair in usable]
    found, flags = read_spans(spans, size)
    assert found == expected
    assert ("span-lost" in flags) == (len(usable) < len(spans))
    assert ("span-repaired" in flags) == (expected != [tuple(pair) for pair in usable])
    assert ("unordered-spans" in flags) == any(a[1] >= b[0] for a, b in zip(found, found[1:], strict=False))


GOOD: dict[str, Any] = {
    "topic_list": [{"topic": "t", "relevant_text_span": [["0", "0"]]}],
    "general_query_list": [{"query": "q", "answer": "a"}],
    "specific_query_list": [{"query": "q", "answer": "a", "relevant_text_span": [["0", "0"]]}],
    "meeting_transcripts": [{"speaker": "A", "content": "hello"}],
}


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"topic_list": None}, "", "it needs the lists topic_list"),
        ({"meeting_transcripts": {}}, "", "it needs the lists"),
        ({"meeting_transcripts": ["hello"]}, " turn 0", "has no text 'speaker'"),
        ({"meeting_transcripts": [{"speaker": "A"}]}, " turn 0", "has no text 'content'"),
        ({"meeting_transcripts": [{"speaker": 3, "content": "x"}]}, " turn 0", "has no text 'speaker'"),
        ({"topic_list": [[]]}, " topic 0", "has no text 'topic'"),
        ({"topic_list": [{"topic": "t"}]}, " topic 0", "'relevant_text_span' is not a list"),
        ({"topic_list": [{"topic": "t", "relevant_text_span": [["1"]]}]}, " topic 0", r"of \[first, last\] pairs"),
        ({"general_query_list": [None]}, " general query 0", "has no text 'query'"),
        ({"general_query_list": [{"query": "q", "answer": " "}]}, " general query 0", "is blank"),
        ({"specific_query_list": ["q"]}, " specific query 0", "has no text 'query'"),
        ({"specific_query_list": [{"query": "q", "answer": "a"}]}, " specific query 0", "'relevant_text_span'"),
    ],
)
def test_a_meeting_that_is_none_is_named(change: dict[str, Any], place: str, message: str) -> None:
    text = json.dumps({**GOOD, **change})
    with pytest.raises(InputError, match=rf"^meeting\.json{place}: .*{message}"):
        from_text(text)
    with pytest.raises(InputError, match=rf"^x\.jsonl line 2{place}: .*{message}"):
        from_text(f"{json.dumps(GOOD)}\n{text}\n", "x.jsonl")


@pytest.mark.parametrize("text", ["", "\n", "<html>", '{"topic_list": [', "[]", "3", '{"a": "\\ud800"}'])
def test_a_text_that_is_no_meeting_is_refused(text: str) -> None:
    for name in ("meeting.json", "meeting.jsonl"):
        with pytest.raises(InputError, match=rf"^{name}"):
            from_text(text, name)


def test_a_name_with_a_number_sign_is_told_apart_from_a_segment() -> None:
    (found,) = from_text(json.dumps(GOOD), "odd#1.json")
    assert found.name == "odd-1"
