"""The sample of QMSum holds every defect that a reader must survive; seen with nothing but json and str."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

QMSUM = Path(__file__).resolve().parents[2] / "mascot_data" / "sources" / "sample" / "qmsum"
NOISE = ("{disfmarker}", "{vocalsound}", "{pause}", "{gap}", "{comment}", "{nonvocalsound}")


@cache
def meetings() -> dict[str, dict[str, Any]]:
    paths = sorted((QMSUM / "data" / "ALL").glob("*/*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def contents(name: str) -> list[str]:
    return [turn["content"] for turn in meetings()[name]["meeting_transcripts"]]


def spans(part: dict[str, Any]) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in part["relevant_text_span"] if a.isdigit() and b.isdigit()]


def covered(name: str) -> Counter[int]:
    topics = meetings()[name]["topic_list"]
    return Counter(n for topic in topics for first, last in spans(topic) for n in range(first, last + 1))


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_json_lines_hold_the_meetings_of_the_folder(split: str) -> None:
    folder = QMSUM / "data" / "ALL"
    lines = (folder / "jsonl" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    singles = [path.read_text(encoding="utf-8") for path in (folder / split).glob("*.json")]
    assert sorted(json.dumps(json.loads(x)) for x in lines) == sorted(json.dumps(json.loads(x)) for x in singles)


def test_domain_list_names_each_meeting_in_all_and_in_its_split() -> None:
    listed = (QMSUM / "domain_file_list.txt").read_text(encoding="utf-8").splitlines()
    splits = {path.stem: path.parent.name for path in (QMSUM / "data" / "ALL").glob("*/*.json")}
    assert len(listed) == 2 * len(splits)
    for line in listed:
        _, _, part, name = line.split("/")
        assert part in ("all", splits[name.removesuffix(".json")])


def test_keys_and_lengths_are_those_of_the_release() -> None:
    assert len(meetings()) == 5
    for meeting in meetings().values():
        assert list(meeting) == ["topic_list", "general_query_list", "specific_query_list", "meeting_transcripts"]
        assert 40 <= len(meeting["meeting_transcripts"]) <= 90
        for part in meeting["topic_list"] + meeting["specific_query_list"]:
            assert all(isinstance(bound, str) for span in part["relevant_text_span"] for bound in span)


def test_spans_overlap_are_unordered_run_past_the_end_or_hold_words() -> None:
    assert {name for name in meetings() if max(covered(name).values()) > 1} == {"ES9001a", "covid_90"}
    assert {name for name in meetings() if max(covered(name)) >= len(contents(name))} == {"TS9002b"}
    queries = [(name, query) for name, meeting in meetings().items() for query in meeting["specific_query_list"]]
    assert {name for name, query in queries if spans(query) != sorted(spans(query))} == {"Bmr901", "covid_90"}
    assert {name for name, query in queries if len(spans(query)) < len(query["relevant_text_span"])} == {"ES9001a"}
    assert {name for name, query in queries if any(last >= len(contents(name)) for _, last in spans(query))} == {
        "TS9002b"
    }
    assert any(len(topic["relevant_text_span"]) == 2 for topic in meetings()["Bmr901"]["topic_list"])


@pytest.mark.parametrize("name", ["ES9001a", "TS9002b", "Bmr901", "Bed902", "covid_90"])
def test_turns_outside_every_segment_and_short_turns(name: str) -> None:
    assert set(range(len(contents(name)))) - set(covered(name))
    assert sum(0 < len(re.findall(r"\w+", text)) <= 2 for text in contents(name)) >= 5


@pytest.mark.parametrize("name", ["ES9001a", "Bmr901", "Bed902", "covid_90"])
def test_a_query_is_over_no_segment(name: str) -> None:
    outside = set(range(len(contents(name)))) - set(covered(name))
    queries = [query for query in meetings()[name]["specific_query_list"] if spans(query)]
    assert any(set(range(first, last + 1)) <= outside for query in queries for first, last in spans(query))


@pytest.mark.parametrize(
    ("name", "absent"), [("TS9002b", "Industrial Designer"), ("Bmr901", "Grad E"), ("Bed902", "Grad E")]
)
def test_a_query_names_somebody_who_does_not_speak(name: str, absent: str) -> None:
    assert absent not in {turn["speaker"] for turn in meetings()[name]["meeting_transcripts"]}
    assert any(absent in query["query"] for query in meetings()[name]["specific_query_list"])


def test_two_meetings_share_queries_and_answers_but_no_transcript() -> None:
    one, two = meetings()["Bmr901"], meetings()["Bed902"]
    for part in ("general_query_list", "specific_query_list"):
        said = [[(query["query"], query["answer"]) for query in meeting[part]] for meeting in (one, two)]
        assert said[0] == said[1]
    assert contents("Bmr901") != contents("Bed902")


def test_blank_turns_and_turns_of_noise_only() -> None:
    texts = [text for name in meetings() for text in contents(name)]
    assert "" in texts
    assert " " in texts
    assert sum(re.fullmatch(r"(\{\w+\} ?)+", text) is not None for text in texts) >= 8
    assert "[Inaudible.]" in texts


def test_speech_is_written_as_in_the_release() -> None:
    product, academic = (
        " ".join(" ".join(contents(n)) for n in names) for names in (("ES9001a", "TS9002b"), ("Bmr901", "Bed902"))
    )
    for token in NOISE:
        assert token in product + academic
    assert "we 're on ." in academic
    assert "Do n't" in academic
    assert "it 's" in academic
    assert "@ @" in academic
    assert "D_V_D" in product
    assert "[Laughter.]" in " ".join(contents("covid_90"))


def test_a_person_has_several_names_in_the_committee() -> None:
    names = {turn["speaker"] for turn in meetings()["covid_90"]["meeting_transcripts"]}
    bare = {name for name in names if any(other.startswith(f"{name} (") for other in names)}
    assert {"The Chair", "Ms. Rosa Lind", "Mr. Tomas Hale", "Hon. Peter Voss"} <= bare
    assert "The Acting Chair (Mrs. Edith Crane)" in names


@pytest.mark.parametrize("name", ["ES9001a", "TS9002b", "Bmr901", "Bed902", "covid_90"])
def test_a_speaker_goes_on_in_the_next_turn(name: str) -> None:
    speakers = [turn["speaker"] for turn in meetings()[name]["meeting_transcripts"]]
    assert any(speakers[n] == speakers[n - 1] for n in range(1, len(speakers)))
