"""``mascot-data candidates`` in a process of its own: what it says, how it ends, and that it can be killed any time."""

import json
import os
import random
import shutil
import signal
import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from mascot_data.build.run import build
from mascot_data.cli.progress import LOG_SECONDS
from mascot_data.models.store import Store, default_store
from mascot_data.validate import validate
from tests.cli.commands import Ended, check_refused, left_in, start
from tests.cli.conftest import NAME
from tests.cli.test_bad_output import disk, leave_free  # noqa: F401  # a fixture
from tests.models.scripted import MAIN, ScriptedShell, asked, check_asked_once, script

CALL = ["candidates", NAME, "--model", "one", "--model", "two", "--k", "2", "--split", "train"]


def test_it_says_what_it_did(scripted: ScriptedShell, work: Path) -> None:
    ended = scripted(*CALL, cwd=work)
    assert (ended.status, ended.err.count("one: "), ended.err.count("two: ")) == (0, 1, 1), ended
    head, *lines = ended.out.splitlines()
    assert head.startswith(f"{NAME}: ")
    assert [line.split()[0] for line in lines] == ["asked", "tokens", "written", "dropped"]
    assert LOG_SECONDS > 1
    again = scripted(*CALL, cwd=work)
    assert "  asked     0 answers, " in again.out


def test_json_can_be_parsed_and_stands_alone(scripted: ScriptedShell, work: Path) -> None:
    planned = scripted(*CALL, "--dry-run", "--json", cwd=work)
    ended = scripted(*CALL, "--json", cwd=work)
    assert (planned.status, planned.err, ended.status, ended.err) == (0, "", 0, "")
    plan, report = json.loads(planned.out), json.loads(ended.out)
    assert plan["plan"]["samples"] == report["asked"] == 4 * report["prompts"]
    assert (report["plan"], report["lost"], plan["rows"]) == (None, [], {})
    assert report["rows"]["human"] == report["prompts"]


def test_a_dry_run_says_what_it_would_cost(scripted: ScriptedShell, work: Path) -> None:
    before = left_in(work)
    ended = scripted(*CALL, "--dry-run", "--prices", "1000", "2000", "--max-tokens", "10", cwd=work)
    assert (ended.status, ended.err) == (0, "")
    assert [line.split()[0] for line in ended.out.splitlines()[1:]] == ["would", "tokens", "cost"]
    assert left_in(work) == before


def test_losses_are_listed_and_end_with_1(scripted: ScriptedShell, work: Path) -> None:
    script(work, fails="Director", absent=["two"])
    ended = scripted(*CALL, "--limit", "15", cwd=work)
    assert ended.status == 1
    lost = [line for line in ended.err.splitlines() if line.startswith("lost: ")]
    assert lost[0].startswith("lost: esconv:0/")
    assert lost[0].endswith(": timeout: it took too long")
    assert len(lost) == 11
    assert lost[-1] == "lost: and 6 more; --json lists all"
    told = scripted(*CALL, "--limit", "15", "--json", cwd=work)
    report = json.loads(told.out)
    assert (told.status, len(report["lost"])) == (1, 16)
    assert report["lost"][-1]["reason"] == "model"
    assert report["rows"] == {"human": 15}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["candidates", "nowhere"], r"nowhere: has no provenance\.json; make the dataset with  mascot-data build"),
        (["candidates", NAME, "--split", "dev"], "--split dev: choose one of train, validation, test"),
        (["candidates", NAME, "--model", "no model"], "'no model' is no model: give smollm2-135m, org/name@revision"),
        (["candidates", NAME, "--top-p", "0"], "--top-p above 0 and up to 1"),
        (["candidates", NAME, "--max-cost", "1"], "--max-cost needs --prices"),
        (["candidates", NAME, "--dtype", "int3"], "--dtype int3: choose auto"),
        (["candidates", NAME, "--chat-template", "nowhere"], "nowhere: cannot be read as a chat template"),
        (["candidates", NAME, "--personas", "nowhere"], "nowhere: no such folder"),
        (["candidates", NAME, "--store", NAME], "the store of answers cannot be used .*give another file with --store"),
        (["candidates", NAME, "--store", "torn"], "the store of answers cannot be used .*give another file with --st"),
    ],
    ids=str,
)
def test_a_wrong_call_is_one_sentence(scripted: ScriptedShell, work: Path, arguments: list[str], says: str) -> None:
    (work / "torn").write_bytes(b"no store" * 99)
    before = left_in(work)
    check_refused(scripted(*arguments, cwd=work), says)
    assert left_in(work) == before


def test_help_has_an_example(scripted: ScriptedShell, tmp_path: Path) -> None:
    ended = scripted("candidates", "--help", cwd=tmp_path)
    assert "Example: mascot-data candidates mascot/esconv-multiagent --model" in " ".join(ended.out.split())


HOSTILE = "<script>alert(1)</script> \x1b[31mred\x1b[2J <|im_end|> nul\x00 half \udc80 \u202e{{ 7 * 7 }}"


def test_hostile_words_do_nothing(scripted: ScriptedShell, work: Path) -> None:
    script(work, says=HOSTILE + " x" * 500_000, fails="Director: ask")
    ended = scripted("candidates", NAME, "--model", "one", "--k", "1", "--split", "test", cwd=work)
    assert (ended.status, "Traceback" in ended.err) == (1, False)
    rollouts = ["rollouts", NAME, "--model", "one", "--mode", "zero-shot", "--split", "test", "--turns", "2"]
    script(work, says=HOSTILE)
    assert scripted(*rollouts, cwd=work).status == 0
    assert validate(work / NAME).problems == []
    for command in (["validate", NAME], ["show", NAME], ["report", NAME, "--output", "page.html"]):
        shown = scripted(*command, cwd=work)
        assert (shown.status, shown.err) == (0, "")
        assert {sign for sign in shown.out if unicodedata.category(sign) in ("Cc", "Cf")} <= {"\n"}
    assert "alert(1)" not in (work / "page.html").read_text("utf-8")
    assert "alert(1)" not in (work / NAME / "README.md").read_text("utf-8")


def test_a_hostile_id_does_not_steer_the_terminal(scripted: ScriptedShell, tmp_path: Path) -> None:
    lines = ["conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags"]
    lines += [f"hit\x1b[2J\x07,{n},sad,alone,{n % 2},so it is {n},," for n in (1, 2, 3, 4)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "train.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    build("empathetic-dialogues", input=tmp_path / "in", allow_partial=True, output=tmp_path)
    script(tmp_path, fails="")
    script(tmp_path, fails="Director")
    ended = scripted("candidates", "empathetic-dialogues-multiagent", "--model", "one", cwd=tmp_path)
    assert (ended.status, "lost: " in ended.err) == (1, True)
    assert {sign for sign in ended.out + ended.err if unicodedata.category(sign) == "Cc"} == {"\n"}


class Undisturbed(NamedTuple):
    """What a run gives that nobody disturbs, and how long it takes from its first question on, in seconds."""

    files: dict[str, bytes]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(small: Path, scripted: ScriptedShell, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    work = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(small, work / NAME)
    script(work, seconds=0.005)
    scripted.begin_asking(*CALL, cwd=work)
    begun = time.monotonic()
    assert scripted.end().status == 0
    return Undisturbed(left_in(work / NAME), time.monotonic() - begun)


def check_goes_on(scripted: ScriptedShell, work: Path, undisturbed: Undisturbed) -> None:
    script(work)
    ended = scripted(*CALL, cwd=work)
    assert (ended.status, ended.err.count("Traceback")) == (0, 0)
    assert left_in(work / NAME) == undisturbed.files
    check_asked_once(work)


@pytest.mark.parametrize("number", range(10))
def test_killed_at_any_moment_it_goes_on_and_ends_with_the_same_bytes(
    number: int, scripted: ScriptedShell, work: Path, undisturbed: Undisturbed
) -> None:
    script(work, seconds=0.005)
    draw = random.Random(number)
    for _ in range(2):
        process = scripted.begin_asking(*CALL, cwd=work)
        time.sleep(draw.uniform(0, undisturbed.seconds * 0.7))
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        if scripted.end().status == 0:
            break
    check_goes_on(scripted, work, undisturbed)


@pytest.mark.parametrize("batch", [1, 2, 7, 12])
def test_killed_at_a_batch_everything_before_it_is_kept(
    batch: int, scripted: ScriptedShell, work: Path, undisturbed: Undisturbed
) -> None:
    before = left_in(work / NAME)
    script(work, kill_at=batch)
    assert scripted(*CALL, cwd=work).status == -signal.SIGKILL
    assert left_in(work / NAME) == before
    finished = sum(len(keys) for _, keys in asked(work)[:-1])
    script(work)
    report = json.loads(scripted(*CALL, "--json", cwd=work).out)
    assert report["stored"] == 2 * finished
    check_goes_on(scripted, work, undisturbed)


def test_stopped_with_ctrl_c_it_says_so_and_goes_on(
    scripted: ScriptedShell, work: Path, undisturbed: Undisturbed
) -> None:
    script(work, seconds=0.02)
    process = scripted.begin_asking(*CALL, cwd=work)
    os.kill(process, signal.SIGINT)
    ended = scripted.end()
    assert ended == Ended(130, "", "mascot-data: stopped; nothing is half written, run it again to go on\n")
    check_goes_on(scripted, work, undisturbed)


def test_two_at_once_on_one_store_give_the_same_bytes(work: Path, undisturbed: Undisturbed) -> None:
    script(work, seconds=0.005)
    both = [start(*CALL, cwd=work, command=MAIN) for _ in range(2)]
    for process in both:
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert left_in(work / NAME) == undisturbed.files


def test_a_full_disk_is_one_sentence_and_the_run_goes_on_when_there_is_room(
    scripted: ScriptedShell,
    small: Path,
    tmp_path: Path,
    disk: Callable[[str], Path],  # noqa: F811
    undisturbed: Undisturbed,
) -> None:
    place = disk("size=8m")
    call = ["candidates", str(place / NAME), *CALL[2:]]
    shutil.copytree(small, place / NAME)
    before = left_in(place / NAME)
    for free in (24, 60):
        leave_free(place, free)
        check_refused(scripted(*call, "--json", cwd=tmp_path), "free some space")
        assert left_in(place / NAME) == before
    (place / "filling").unlink()
    assert scripted(*call, cwd=tmp_path).status == 0
    assert left_in(place / NAME) == undisturbed.files


def test_a_store_that_is_damaged_between_two_runs_is_one_sentence(
    scripted: ScriptedShell, work: Path, undisturbed: Undisturbed
) -> None:
    assert scripted(*CALL, cwd=work).status == 0
    path = default_store(work / NAME)
    with Store(path) as store:
        store._base.execute("pragma wal_checkpoint(truncate)")
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    path.write_bytes(data)
    check_refused(
        scripted(*CALL, "--json", cwd=work), "the store of answers cannot be used .*give another file with --st"
    )
    assert left_in(work / NAME) == undisturbed.files
    assert scripted(*CALL, "--store", "other", cwd=work).status == 0
    assert left_in(work / NAME) == undisturbed.files
