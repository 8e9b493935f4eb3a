"""``mascot-data rollouts`` in a process of its own: what it says, how it ends, and that it can be killed any time."""

import json
import os
import random
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from mascot_data.generate.users import load_profiles
from tests.cli.commands import check_refused, left_in
from tests.cli.conftest import NAME
from tests.models.scripted import ScriptedShell, asked, check_asked_once, script

CALL = ["rollouts", NAME, "--model", "one", "--director-model", "two", "--turns", "4", "--split", "train"]
CALL += ["--mode", "mascot", "--mode", "multi-agent-esc", "--limit", "4"]


def test_it_says_what_it_did(scripted: ScriptedShell, work: Path) -> None:
    ended = scripted(*CALL, cwd=work)
    assert ended.status == 0, ended
    assert ended.err.startswith("rollouts: 8 of 8, ")
    head, *lines = ended.out.splitlines()
    assert head == f"{NAME}: 8 conversations"
    assert [line.split()[0] for line in lines] == ["asked", "tokens", "written"]
    assert lines[-1] == "  written   mascot 4, multi-agent-esc 4"


def test_json_can_be_parsed_and_stands_alone(scripted: ScriptedShell, work: Path) -> None:
    before = left_in(work)
    planned = scripted(*CALL, "--dry-run", "--json", cwd=work)
    assert left_in(work) == before
    ended = scripted(*CALL, "--json", cwd=work)
    assert (planned.status, planned.err, ended.status, ended.err) == (0, "", 0, "")
    plan, report = json.loads(planned.out), json.loads(ended.out)
    assert 0.5 < plan["plan"]["samples"] / report["asked"] < 2
    assert report["rows"] == {"mascot": 4, "multi-agent-esc": 4}
    assert (report["plan"], report["lost"], plan["conversations"]) == (None, [], report["conversations"])


def test_losses_are_listed_and_end_with_1(scripted: ScriptedShell, work: Path) -> None:
    script(work, fails=load_profiles()["intj"].who)
    ended = scripted(*CALL, "--profile", "intj", cwd=work)
    assert (ended.status, "written   nothing" in ended.out) == (1, True)
    lost = [line for line in ended.err.splitlines() if line.startswith("lost: ")]
    assert len(lost) == 8
    assert lost[0].startswith("lost: esconv:0~mascot-intj-0")
    assert lost[0].endswith("-0: timeout: it took too long")
    script(work, absent=["two"])
    check_refused(scripted(*CALL, "--profile", "intj", "--json", cwd=work), "two: there is no such model")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rollouts", "nowhere"], r"nowhere: has no provenance\.json; make the dataset with  mascot-data build"),
        (["rollouts", NAME, "--mode", "solo"], "--mode solo: choose among mascot, mascot-p, mascot-c, zero-shot"),
        (["rollouts", NAME, "--profile", "nobody"], "--profile nobody: choose among enfj, enfp, "),
        (["rollouts", NAME, "--profiles", "nowhere"], "nowhere: no such folder, give one that holds user profiles"),
        (["rollouts", NAME, "--profiles", NAME], "no user profile here, add one or give another folder"),
        (["rollouts", NAME, "--seed", "-1"], "--seed must be 0 or more"),
        (["rollouts", NAME, "--split", "dev"], "--split dev: choose one of train, validation, test"),
        (["rollouts", NAME, "--store", NAME], "the store of answers cannot be used .*give another file with --store"),
    ],
    ids=str,
)
def test_a_wrong_call_is_one_sentence(scripted: ScriptedShell, work: Path, arguments: list[str], says: str) -> None:
    before = left_in(work)
    check_refused(scripted(*arguments, cwd=work), says)
    assert left_in(work) == before


def test_help_has_an_example(scripted: ScriptedShell, tmp_path: Path) -> None:
    ended = scripted("rollouts", "--help", cwd=tmp_path)
    assert "Example: mascot-data rollouts mascot/esconv-multiagent --mode" in " ".join(ended.out.split())


class Undisturbed(NamedTuple):
    """What a run gives that nobody disturbs, how long it takes from its first question on, and its batches."""

    files: dict[str, bytes]
    seconds: float
    batches: int


@pytest.fixture(scope="module")
def undisturbed(small: Path, scripted: ScriptedShell, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    work = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(small, work / NAME)
    script(work, seconds=0.005)
    scripted.begin_asking(*CALL, cwd=work)
    begun = time.monotonic()
    assert scripted.end().status == 0
    return Undisturbed(left_in(work / NAME), time.monotonic() - begun, len(asked(work)))


def check_goes_on(scripted: ScriptedShell, work: Path, undisturbed: Undisturbed) -> None:
    script(work)
    ended = scripted(*CALL, "--json", cwd=work)
    assert (ended.status, ended.err) == (0, "")
    assert left_in(work / NAME) == undisturbed.files
    check_asked_once(work)


@pytest.mark.parametrize("number", range(4))
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


def test_killed_again_and_again_it_comes_to_an_end(
    scripted: ScriptedShell, work: Path, undisturbed: Undisturbed
) -> None:
    script(work, kill_at=undisturbed.batches // 4)
    kills = 0
    while scripted(*CALL, cwd=work).status == -signal.SIGKILL:
        kills += 1
    assert kills >= 4
    check_goes_on(scripted, work, undisturbed)
