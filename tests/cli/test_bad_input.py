"""Bad input through the real command line: one sentence with file and place, status 2, and nothing half written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.bad_inputs import CASES, CSV_HEADER, ED, ESCONV, FOLDERS, QMSUM, member, tarred
from tests.cli.commands import CORPORA, Ended, Maker, Shell, check_refused, left_in, mascot, measured
from tests.conftest import SAMPLE


class Tried(NamedTuple):
    """A case that was tried over an old dataset: how it ended, and what lay in the folder before and after."""

    ended: Ended
    before: dict[str, bytes]
    after: dict[str, bytes]


def tried(case: str, run: Callable[..., Ended], work: Path, old: Path | None) -> Tried:
    source, make, _ = CASES[case]
    (work / "input").mkdir()
    given = make(work / "input")
    (work / "cwd").mkdir()
    if old:
        shutil.copytree(old / f"{source}-multiagent", work / "cwd" / "mascot" / f"{source}-multiagent")
    before = left_in(work / "cwd")
    ended = run("build", "--source", source, "--input", given, "--allow-partial", cwd=work / "cwd")
    return Tried(ended, before, left_in(work / "cwd"))


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_and_an_old_dataset_stays(
    case: str, shell: Shell, sample_build: Path, tmp_path: Path
) -> None:
    outcome = tried(case, shell, tmp_path, sample_build)
    check_refused(outcome.ended, *CASES[case][2])
    assert outcome.before == outcome.after != {}


@pytest.mark.parametrize("bad", ["half of ESConv", "a conversation in two files", "a meeting twice", "a missing path"])
def test_without_an_old_dataset_nothing_is_left_behind(bad: str, tmp_path: Path) -> None:
    outcome = tried(bad, mascot, tmp_path, old=None)
    check_refused(outcome.ended, *CASES[bad][2])
    assert outcome.after in ({}, {"mascot": b"folder"})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--source", "nosuch"], "there is no such corpus; choose one of esconv, empathetic-dialogues, qmsum or all"),
        (["--sample", "--input", "x"], "--sample and --input exclude each other"),
        (["--input", "nowhere"], "nowhere: there is no such file or folder"),
        (["--source", "qmsum", "--sample", "--intents", "x"], "--intents belongs to Empathetic Dialogues"),
        (["--source", "empathetic-dialogues", "--sample", "--intents", "x"], "x: there is no such file or folder"),
        (["--sample", "--limit", "0"], "--limit must be 1 or more"),
        (["--input", str(SAMPLE / "esconv")], "has no folder for esconv: with --source all it needs one named esconv"),
    ],
)
def test_a_wrong_call_is_refused(arguments: list[str], says: str, shell: Shell, tmp_path: Path) -> None:
    check_refused(shell("build", *arguments, cwd=tmp_path), says)
    assert left_in(tmp_path) == {}


@pytest.mark.parametrize("source", CORPORA)
def test_a_part_of_a_corpus_needs_allow_partial(source: str, shell: Shell, sample_build: Path, tmp_path: Path) -> None:
    call = ["build", "--source", source, "--input", str(FOLDERS[source])]
    refused = shell(*call, cwd=tmp_path)
    check_refused(refused, r"this is not the published .*: .* instead of .* --allow-partial to build what is there")
    assert left_in(tmp_path) in ({}, {"mascot": b"folder"})
    accepted = shell(*call, "--allow-partial", cwd=tmp_path)
    assert (accepted.status, accepted.err) == (0, "")
    assert "partial   conversations" in accepted.out
    check_same_rows(source, tmp_path / "mascot", sample_build)


def check_same_rows(source: str, one: Path, other: Path) -> None:
    """The Parquet files of two builds are the same to the byte."""
    found = [left_in(folder / f"{source}-multiagent" / "data") for folder in (one, other)]
    assert found[0] == found[1] != {}


@pytest.mark.parametrize("source", CORPORA)
def test_a_byte_order_mark_changes_nothing(source: str, shell: Shell, sample_build: Path, tmp_path: Path) -> None:
    shutil.copytree(FOLDERS[source], tmp_path / "input")
    for path in (tmp_path / "input").rglob("*.*"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    ended = shell("build", "--source", source, "--input", "input", "--allow-partial", cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    check_same_rows(source, tmp_path / "mascot", sample_build)


def test_quotes_that_swallow_lines_and_spans_that_point_nowhere_are_no_error(tmp_path: Path) -> None:
    assert mascot("build", "--sample", cwd=tmp_path).status == 0
    facts = {s: json.loads((tmp_path / "mascot" / f"{s}-multiagent" / "provenance.json").read_text()) for s in CORPORA}
    assert facts[ED]["account"]["utterances"] == 123
    flagged = facts[QMSUM]["account"]["flagged"]
    assert {"span-lost", "span-repaired", "unordered-spans", "overlapping-segment"} <= flagged.keys()


def test_a_link_beside_the_corpus_in_a_tar_is_left_alone(sample_build: Path, tmp_path: Path) -> None:
    archive = tarred(member("empatheticdialogues/extra.csv", link=Path("/etc/passwd")))(tmp_path)
    ended = mascot("build", "--source", ED, "--input", archive, "--allow-partial", cwd=tmp_path)
    assert ended.status == 0, ended.err
    check_same_rows(ED, tmp_path / "mascot", sample_build)


def long_line(name: str, before: bytes) -> Maker:
    def make(folder: Path) -> Path:
        with (folder / name).open("wb") as stream:
            stream.write(before)
            for _ in range(200):
                stream.write(b"x" * 10**6)
        return folder / name

    return make


@pytest.fixture(scope="module")
def usual_peak(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Memory of a command that reads nothing, in MiB."""
    return measured("build", "--source", "nosuch", cwd=tmp_path_factory.mktemp("usual"))[1]


@pytest.mark.parametrize(
    ("source", "make", "says"),
    [
        (ESCONV, long_line("ESConv.json", b'[{"situation": "'), "conversation 0: is broken or longer than 16 MiB"),
        (ESCONV, long_line("train.txt", b'{"situation": "'), r"train\.txt line 1: is longer than 16 MiB"),
        (ED, long_line("train.csv", CSV_HEADER), r"train\.csv line 2: is longer than 16 MiB"),
        (QMSUM, long_line("x.json", b'{"topic_list": "'), r"x\.json: is longer than 16 MiB"),
        (QMSUM, long_line("train.jsonl", b'{"topic_list": "'), r"train\.jsonl line 1: is longer than 16 MiB"),
    ],
)
def test_a_line_of_200_megabytes_is_refused_in_little_memory(
    source: str, make: Maker, says: str, usual_peak: float, tmp_path: Path
) -> None:
    given = make(tmp_path)
    ended, peak = measured("build", "--source", source, "--input", given, "--allow-partial", cwd=tmp_path)
    given.unlink()
    check_refused(ended, says)
    assert peak < usual_peak + 120


def test_a_traceback_comes_only_when_asked_for(tmp_path: Path) -> None:
    ended = mascot("build", "--source", "nosuch", "--debug", cwd=tmp_path)
    assert "Traceback" in ended.err
    assert "UsageError" in ended.err
