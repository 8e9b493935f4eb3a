"""Questions through the Batch API: asked once, whatever happens to the run."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra for servers is not installed")

from mascot_data.errors import ModelError, OutputError
from mascot_data.models import batch_files
from mascot_data.models.chat import Ask, Chances, Choice, Failure, Sample, Sampling
from tests.models import faulty_server as server
from tests.models.batch_server import Vendor, lines
from tests.models.faulty_server import Faulty
from tests.models.server_questions import KEY, ask, to


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with server.running() as running:
        yield running


@pytest.fixture
def vendor(faulty: Faulty) -> Vendor:
    return Vendor(faulty)


def said(text: str) -> Sample:
    return Sample(text, "stop", None, 3, 10)


def test_all_questions_are_one_batch_and_answered_in_order(faulty: Faulty, vendor: Vendor) -> None:
    asks = [ask("one", 3, 1), ask("two"), ask("three", 5)]
    with to(faulty, batch_api=True, concurrency=1) as model:
        assert model.batches([ask(str(number)) for number in range(100)]) == [list(range(100))]
        found = model.sample(asks)
        usage = model.usage
    assert found == [[said("one 3"), said("one 1")], [said("two 1")], [said("three 5")]]
    ((first, *rest),) = lines(vendor)
    assert len(rest) == 3
    assert (first.method, first.url) == ("POST", "/v1/chat/completions")
    assert first.body["messages"][-1] == {"role": "user", "content": "one"}
    assert len({line.custom_id for line in (first, *rest)}) == 4
    assert (usage.prompt_tokens, usage.completion_tokens) == (50, 15)
    (batch,) = vendor.batches.values()
    assert batch["completion_window"] == "24h"
    assert batch["endpoint"] == "/v1/chat/completions"


def test_what_the_model_refuses_is_found_out_before_the_file_is_written(faulty: Faulty, vendor: Vendor) -> None:
    def refusing(handler: server.Handler, body: server.Body) -> None:
        if "max_tokens" in body:
            return handler.reply(400, {"error": {"message": "no", "param": "max_tokens"}})
        return server.well(handler, body)

    faulty.routes["/v1/chat/completions"] = refusing
    with to(faulty, batch_api=True) as model:
        model.sample([ask("one"), ask("two")])
    assert [line.body["max_completion_tokens"] for line in lines(vendor)[0]] == [8, 8]
    assert len(faulty.asked()) == 2
    assert faulty.asked()[-1].body["max_completion_tokens"] == 1


def test_lines_fail_alone(faulty: Faulty, vendor: Vendor) -> None:
    vendor.outcomes |= {
        "long": (400, {"error": {"message": "x", "code": "context_length_exceeded"}}),
        "slow": (429, {"error": {"message": "x"}}),
        "gone": (404, {"error": {"message": "x"}}),
        "bad": (400, {"error": {"message": "x"}}),
        "null": (200, server.completion(None)),
        "missing": None,
    }
    texts = [*vendor.outcomes, "good"]
    with to(faulty, batch_api=True) as model:
        found = model.sample([*map(ask, texts), ask("begun")._replace(prefix="I ")])
    reasons = [answer.reason if isinstance(answer, Failure) else "" for answer in found]
    assert reasons == [
        "context-too-long",
        "rate-limit",
        "http-error",
        "http-error",
        "empty",
        "http-error",
        "",
        "template",
    ]


@pytest.mark.parametrize(
    ("ends", "reason"), [("expired", "timeout"), ("failed", "http-error"), ("cancelled", "http-error")]
)
def test_what_an_unfinished_batch_has_is_used(
    faulty: Faulty, vendor: Vendor, tmp_path: Path, ends: str, reason: str
) -> None:
    vendor.ends = ends
    vendor.errors = {"data": [{"message": "line 1 \x1b is bad"}]}
    vendor.outcomes["late"] = None
    with to(faulty, batch_api=True, state_folder=tmp_path) as model:
        early, late = model.sample([ask("early"), ask("late")])
    assert isinstance(late, Failure)
    assert late.reason == reason
    assert late.what.isprintable()
    assert isinstance(early, list) == (ends != "failed")
    assert bool(list(tmp_path.iterdir())) == (ends != "failed")


def test_a_batch_that_brought_nothing_is_asked_anew_by_the_next_run(
    faulty: Faulty, vendor: Vendor, tmp_path: Path
) -> None:
    for vendor.ends in ("failed", "completed"):
        with to(faulty, batch_api=True, state_folder=tmp_path) as model:
            (found,) = model.sample([ask("one")])
    assert found == [said("one 1")]
    assert len(vendor.batches) == 2


def test_choices_are_asked_in_a_batch_too(faulty: Faulty, vendor: Vendor) -> None:
    rating = Choice((("user", "rate"),), ("1", "2"))
    who = Choice((("user", "who"),), ("Anchor", "Guide"))
    top = [{"token": "2", "logprob": -0.25}]
    choice = {"message": {"content": "2"}, "finish_reason": "length"}
    told = choice | {"logprobs": {"content": [{"token": "2", "logprob": -0.25, "top_logprobs": top}]}}
    words = "\n\nAnswer with exactly one of these, and nothing else: Anchor | Guide"
    vendor.outcomes |= {
        "rate": (200, server.completion("", choices=[told])),
        f"who{words}": (200, server.completion('{"answer": "Anchor"}')),
    }
    with to(faulty, batch_api=True) as model:
        assert model.choose([rating, who]) == [
            Chances((-math.inf, -0.25), pytest.approx(math.exp(-0.25)), 10),  # type: ignore[arg-type]
            Chances((0.0, -math.inf), None, 10),
        ]
        vendor.outcomes["rate"] = (200, server.completion("", choices=[choice]))
        assert model.choose([rating]) == [Chances((-math.inf, 0.0), None, 10)]


def test_many_questions_are_several_files(faulty: Faulty, vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_files, "MOST_REQUESTS", 3)
    with to(faulty, batch_api=True) as model:
        found = model.sample([ask(str(number)) for number in range(8)])
    assert [answer[0].text for answer in found if isinstance(answer, list)] == [f"{number} 1" for number in range(8)]
    assert [len(part) for part in lines(vendor)] == [3, 3, 2]


def test_only_what_is_affordable_is_sent(faulty: Faulty, vendor: Vendor, tmp_path: Path) -> None:
    options: dict[str, Any] = {"batch_api": True, "prices": (1e6, 1e6), "max_cost": 300.0, "state_folder": tmp_path}
    asks = [ask(str(number)) for number in range(20)]
    with to(faulty, **options) as model:
        found = model.sample(asks)
        assert model.usage.cost <= 300.0
    failed = [answer.reason for answer in found if isinstance(answer, Failure)]
    assert len(lines(vendor)[0]) == 20 - len(failed) > 0
    assert set(failed) == {"max-cost"}
    with to(faulty, **(options | {"max_cost": 10_000.0})) as model:
        assert model.sample(asks) == found
    assert len(vendor.batches) == 1


def test_an_answer_to_the_creation_that_is_lost_creates_nothing_twice(faulty: Faulty, vendor: Vendor) -> None:
    vendor.loses_creation = True
    with to(faulty, batch_api=True) as model:
        assert model.sample([ask("one")]) == [[said("one 1")]]
    assert len(vendor.batches) == 1


def test_without_the_batch_api_all_questions_fail(faulty: Faulty) -> None:
    with to(faulty, batch_api=True) as model, pytest.raises(ModelError, match="404"):
        model.sample([ask("one")])


def test_a_batch_that_is_gone_is_named(faulty: Faulty, vendor: Vendor, tmp_path: Path) -> None:
    for _ in range(2):
        with to(faulty, batch_api=True, state_folder=tmp_path) as model:
            if vendor.batches:
                vendor.batches.clear()
                with pytest.raises(ModelError, match="batch-0"):
                    model.sample([ask("one")])
            else:
                model.sample([ask("one")])


def test_a_broken_note_is_named(faulty: Faulty, vendor: Vendor, tmp_path: Path) -> None:
    with to(faulty, batch_api=True, state_folder=tmp_path) as model:
        model.sample([ask("one")])
        (note,) = tmp_path.iterdir()
        assert KEY not in note.read_text()
        note.write_text("{")
        with pytest.raises(OutputError, match=note.name):
            model.sample([ask("one")])
    assert len(vendor.batches) == 1


KILLED = """
import sys
from pathlib import Path
from mascot_data.models import Ask, ModelOptions, Sampling, load_model

options = ModelOptions(batch_api=True, state_folder=Path(sys.argv[2]), attempts=2)
with load_model(f"server:m@{sys.argv[1]}", options) as model:
    model.sample([Ask((("user", "one"),), Sampling(), (1, 2)), Ask((("user", "two"),), Sampling(), (3,))])
"""


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(lambda faulty, vendor: vendor.files, id="the file is uploaded"),
        pytest.param(lambda faulty, vendor: vendor.batches, id="the batch is created"),
        pytest.param(lambda faulty, vendor: faulty.asked("/v1/batches/batch-0"), id="the batch is waited for"),
    ],
)
def test_a_killed_run_finds_its_batch_again(
    faulty: Faulty, vendor: Vendor, tmp_path: Path, moment: Callable[[Faulty, Vendor], object]
) -> None:
    vendor.looks = 10**9
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", KILLED, faulty.url, str(tmp_path)], env=environment) as process:
        deadline = time.monotonic() + 60
        while not moment(faulty, vendor) and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    vendor.looks = 1
    with to(faulty, batch_api=True, state_folder=tmp_path) as model:
        found = model.sample([Ask((("user", "one"),), Sampling(), (1, 2)), Ask((("user", "two"),), Sampling(), (3,))])
    assert found == [[said("one 1"), said("one 2")], [said("two 3")]]
    assert len(vendor.batches) == 1
