"""A model on a server that behaves: what is sent, how fast, what it costs, and what comes of it."""

import asyncio
import math
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra for servers is not installed")

from mascot_data.models import load_model
from mascot_data.models.chat import Ask, Chances, ChatModel, Choice, Failure, ModelInfo, Sample
from mascot_data.models.options import ModelOptions
from tests.models import faulty_server as server
from tests.models.faulty_server import Body, Faulty, Handler
from tests.models.server_questions import INTRODUCTIONS, KEY, ask, to

PRICES = (1_000_000.0, 2_000_000.0)
"""One unit of money a prompt token, two a token of an answer."""


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with server.running() as running:
        yield running


def test_a_name_leads_to_a_server(faulty: Faulty) -> None:
    with load_model(f"server:m@{faulty.url}", ModelOptions(attempts=1)) as found:
        model: ChatModel = found
        assert model.info == ModelInfo("m", "created 1700000000", "openai", "")
        assert model.context_tokens is None
        assert model.sample([ask("hello", 3, 1)]) == [
            [Sample("hello 3", "stop", None, 3, 10), Sample("hello 1", "stop", None, 3, 10)]
        ]
    assert all(seen.headers["authorization"] == f"Bearer {KEY}" for seen in faulty.seen)


def test_an_address_without_a_path_gets_the_usual_one(faulty: Faulty) -> None:
    with load_model(f"server:m@{faulty.url.removesuffix('/v1')}") as model:
        assert model.sample([ask("hello")])
    assert {seen.path for seen in faulty.seen} == {"/v1/models", "/openapi.json", "/v1/chat/completions"}


def test_without_a_key_none_is_made_up(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with to(faulty) as model:
        model.sample([ask("hello")])
    assert {seen.headers["authorization"] for seen in faulty.seen} == {"Bearer -"}


def test_what_is_asked_for_is_sent(faulty: Faulty) -> None:
    with to(faulty) as model:
        model.sample([ask("hello", 7, temperature=0.5, top_p=0.9, max_tokens=5, stop=("\n", "User:"))])
    (seen,) = faulty.asked()
    assert seen.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 5,
        "seed": 7,
        "stop": ["\n", "User:"],
        "logprobs": True,
    }


@pytest.mark.parametrize(
    "route", [server.status(403), server.status(302, Location="http://127.0.0.1:1/"), server.raw(b"x")]
)
def test_a_vendor_that_describes_nothing_is_asked_all_the_same(faulty: Faulty, route: server.Act) -> None:
    faulty.routes["/openapi.json"] = route
    with to(faulty) as model:
        assert isinstance(model.sample([ask("hello")])[0], list)


@pytest.mark.parametrize(
    "models", [server.status(404), server.raw(b"[]"), server.raw(b'{"data": [1, {"id": "other"}]}')]
)
def test_a_server_that_lists_nothing_is_asked_all_the_same(faulty: Faulty, models: server.Act) -> None:
    faulty.routes["/v1/models"] = models
    with to(faulty) as model:
        assert model.info.revision == ""
        assert isinstance(model.sample([ask("hello")])[0], list)


def test_the_present_moment_is_no_revision(faulty: Faulty) -> None:
    faulty.routes["/v1/models"] = lambda handler, _: handler.reply(
        200, {"data": [{"id": "m", "created": int(time.time())}]}
    )
    with to(faulty) as model:
        assert model.info.revision == ""


def refusing(*fields: str) -> server.Act:
    """A server that names one field at a time that it does not take."""

    def act(handler: Handler, body: Body) -> None:
        for field in fields:
            if field in body:
                error = {"message": f"Unsupported parameter: '{field}' is not supported.", "param": field}
                return handler.reply(400, {"error": error})
        return server.says(f"left: {' '.join(sorted(body))}")(handler, body)

    return act


def test_fields_that_a_server_refuses_are_left_out_from_then_on(faulty: Faulty) -> None:
    faulty.routes["/v1/chat/completions"] = refusing("max_tokens", "seed", "logprobs")
    with to(faulty, concurrency=8) as model:
        answers = model.sample([ask(str(number)) for number in range(10)])
        requests = model.usage.requests
    texts = {answer[0].text for answer in answers if isinstance(answer, list)}
    assert texts == {"left: max_completion_tokens messages model temperature top_p"}
    assert requests == INTRODUCTIONS + 3 + 10


def test_a_field_that_a_question_cannot_do_without_is_a_failure(faulty: Faulty) -> None:
    faulty.routes["/v1/chat/completions"] = refusing("temperature")
    with to(faulty) as model:
        (found,) = model.sample([ask("hello", temperature=0.7)])
    assert isinstance(found, Failure)
    assert found.reason == "http-error"
    assert "temperature" in found.what


def test_a_beginning_cannot_be_given_to_any_server(faulty: Faulty) -> None:
    with to(faulty) as model:
        begun, free = model.sample([ask("hello")._replace(prefix="I "), ask("hello")])
    assert isinstance(begun, Failure)
    assert begun.reason == "template"
    assert isinstance(free, list)


def test_a_sample_ends_before_the_first_stop_string(faulty: Faulty) -> None:
    faulty.always["hello"] = server.says("Well.\nUser: no\nAnchor: yes")
    with to(faulty) as model:
        ((sample,),) = model.sample([ask("hello", stop=("\nAnchor:", "\nUser:"))])  # type: ignore[misc]
    assert sample == Sample("Well.", "stop", None, 3, 10)


def test_saying_nothing_is_an_answer_but_running_out_of_tokens_is_none(faulty: Faulty) -> None:
    cut = [{"message": {"content": ""}, "finish_reason": "length"}]
    faulty.always |= {"nothing": server.says(""), "thinking": server.says("", choices=cut)}
    with to(faulty) as model:
        nothing, thinking = model.sample([ask("nothing"), ask("thinking")])
    assert nothing == [Sample("", "stop", None, 3, 10)]
    assert isinstance(thinking, Failure)
    assert thinking.reason == "empty"


def test_log_probabilities_are_added_up(faulty: Faulty) -> None:
    def choice(*values: object) -> server.Act:
        content = [{"token": "x", "logprob": value} for value in values]
        told = {"message": {"content": "x"}, "finish_reason": "length", "logprobs": {"content": content}}
        return server.says("", choices=[told])

    faulty.always |= {"told": choice(-1, -0.5), "odd": choice(-1, "x"), "none": choice(), "infinite": choice(-math.inf)}
    with to(faulty) as model:
        found = model.sample([ask(text) for text in ("told", "odd", "none", "infinite")])
    assert [answer[0].logprob for answer in found if isinstance(answer, list)] == [-1.5, None, None, None]


def first_tokens(**chances: float) -> server.Act:
    top = [{"token": token, "logprob": chance} for token, chance in chances.items()]
    logprobs = {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": top}]}
    choice = {"message": {"content": "x"}, "finish_reason": "length", "logprobs": logprobs}
    return server.says("", choices=[choice])


RATING = Choice((("user", "rate"),), ("1", "2", "3"))
WHO = Choice((("user", "who"),), ("Anchor", "Guide"), '{"agent": "', '"')


def test_answers_of_one_character_are_told_by_the_first_tokens(faulty: Faulty) -> None:
    faulty.always["rate"] = first_tokens(**{"3": math.log(0.5), "1": math.log(0.25), " 2": -1.0})
    with to(faulty) as model:
        (found,) = model.choose([RATING])
    assert isinstance(found, Chances)
    assert found.logprobs == (math.log(0.25), -math.inf, math.log(0.5))
    assert found.mass == pytest.approx(0.75)
    (seen,) = faulty.asked()
    assert (seen.body["max_tokens"], seen.body["logprobs"], seen.body["top_logprobs"]) == (1, True, 20)


def test_none_of_the_answers_among_the_first_tokens_is_a_failure(faulty: Faulty) -> None:
    faulty.always["rate"] = first_tokens(Score=-0.1)
    with to(faulty) as model:
        (found,) = model.choose([RATING])
    assert isinstance(found, Failure)


@pytest.mark.parametrize("text", ['{"answer": "Guide"}', "Guide", '"Guide"', "guide.", "I would have Guide speak."])
def test_of_longer_answers_the_likeliest_is_certain(faulty: Faulty, text: str) -> None:
    faulty.routes["/v1/chat/completions"] = server.says(text)
    with to(faulty) as model:
        assert model.choose([WHO]) == [Chances((-math.inf, 0.0), None, 10)]
    (seen,) = faulty.asked()
    schema = seen.body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"]["enum"] == ["Anchor", "Guide"]
    assert '{"agent": "' in seen.body["messages"][-1]["content"]


@pytest.mark.parametrize("text", ["", "Neither.", "Anchor or Guide", '{"answer": "Beacon"}', "Guidelines"])
def test_no_answer_of_the_list_is_a_failure(faulty: Faulty, text: str) -> None:
    faulty.routes["/v1/chat/completions"] = server.says(text)
    with to(faulty) as model:
        (found,) = model.choose([WHO])
    assert isinstance(found, Failure)
    assert found.reason == "garbage"


def test_a_server_without_log_probabilities_is_asked_for_them_once(faulty: Faulty) -> None:
    faulty.routes["/v1/chat/completions"] = server.says("2")
    with to(faulty) as model:
        assert model.choose([RATING, RATING]) == [Chances((-math.inf, 0.0, -math.inf), None, 10)] * 2
        assert model.choose([RATING]) == [Chances((-math.inf, 0.0, -math.inf), None, 10)]
    assert sum("top_logprobs" in seen.body for seen in faulty.asked()[-1:]) == 0


def test_no_more_is_under_way_at_once_than_allowed(faulty: Faulty) -> None:
    def slow(handler: Handler, body: Body) -> None:
        time.sleep(0.05)
        server.well(handler, body)

    faulty.routes["/v1/chat/completions"] = slow
    with to(faulty, concurrency=3) as model:
        model.sample([ask(str(number)) for number in range(12)])
    assert faulty.most_under_way == 3


def test_requests_begin_no_faster_than_allowed(faulty: Faulty) -> None:
    begun: list[float] = []

    def noted(handler: Handler, body: Body) -> None:
        begun.append(time.monotonic())
        server.well(handler, body)

    faulty.routes["/v1/chat/completions"] = noted
    with to(faulty, requests_per_minute=1200) as model:
        start = time.monotonic()
        model.sample([ask(str(number)) for number in range(9)])
    assert begun[-1] - start >= 8 * 0.05


def test_tokens_and_money_are_counted(faulty: Faulty) -> None:
    faulty.scripts["two"] = [server.status(500)]
    with to(faulty, prices=PRICES) as model:
        model.sample([ask("one", 1, 2), ask("two")])
        assert model.usage == (INTRODUCTIONS + 4, 30, 9, 30 * 1.0 + 9 * 2.0)


def test_an_answer_that_did_not_come_may_have_cost_the_most(faulty: Faulty) -> None:
    faulty.always["bad"] = server.never
    with to(faulty, prices=PRICES, timeout=0.2, attempts=1) as model:
        model.sample([ask("bad", max_tokens=50)])
        assert model.usage.cost >= 50 * 2.0


@pytest.mark.parametrize("concurrency", [1, 8])
def test_never_more_is_spent_than_allowed(faulty: Faulty, concurrency: int) -> None:
    with to(faulty, prices=PRICES, max_cost=200.0, concurrency=concurrency) as model:
        answers = model.sample([ask(str(number)) for number in range(40)])
        spent, asked = model.usage.cost, len(faulty.asked())
        again = model.sample([ask("more")])
    good = [answer for answer in answers if isinstance(answer, list)]
    bad = [answer for answer in answers if isinstance(answer, Failure)]
    assert spent <= 200.0
    assert len(good) == asked == spent / 16.0 >= 7
    assert {failure.reason for failure in bad} == {"max-cost"}
    assert len(good) + len(bad) == 40
    assert isinstance(again[0], Failure)
    assert len(faulty.asked()) == asked


def test_batches_hold_each_question_once_and_like_prompts_together(faulty: Faulty) -> None:
    questions: list[Ask | Choice] = [ask(str(number % 7), number) for number in range(40)]
    questions[5] = questions[25] = RATING
    with to(faulty, concurrency=2) as model:
        parted = model.batches(questions)
        assert parted == model.batches(list(questions))
        assert model.batches([]) == []
    assert sorted(index for batch in parted for index in batch) == list(range(40))
    assert all(len({isinstance(questions[index], Ask) for index in batch}) == 1 for batch in parted)
    assert max(map(len, parted)) == 8
    order = [questions[index].messages for batch in parted for index in batch]
    assert sum(one != two for one, two in zip(order, order[1:], strict=False)) == len(set(order)) - 1


def test_a_prompt_is_counted_at_four_characters_a_token(faulty: Faulty) -> None:
    with to(faulty) as model:
        short, long = model.count_tokens([("user", "a" * 40)]), model.count_tokens([("user", "a" * 4000)])
        assert 10 <= short <= 20
        assert 1000 <= long <= 1020
        assert model.count_tokens([("user", "a" * 40)], "b" * 40) > short
    assert len(faulty.seen) == INTRODUCTIONS


def test_it_works_where_an_event_loop_runs_already(faulty: Faulty) -> None:
    async def notebook() -> object:
        with to(faulty) as model:
            return model.sample([ask("hello")])

    assert asyncio.run(notebook()) == [[Sample("hello 1", "stop", None, 3, 10)]]


def test_nothing_is_left_after_closing_twice(faulty: Faulty) -> None:
    before = set(threading.enumerate())
    model = to(faulty)
    assert ours(before)
    model.close()
    model.close()
    assert not ours(before)


def ours(before: set[threading.Thread]) -> list[str]:
    """Names of the threads that have come since, but the server's own, which end when their connections have."""
    return [
        thread.name
        for thread in threading.enumerate()
        if thread not in before and "process_request_thread" not in thread.name
    ]


INTERRUPTED = """
import sys
from mascot_data.models import Ask, ModelOptions, Sampling, load_model

with load_model(f"server:m@{sys.argv[1]}", ModelOptions(timeout=60)) as model:
    print("asking", flush=True)
    model.sample([Ask((("user", "bad"),), Sampling(), (1, 2, 3))])
"""


def test_ctrl_c_stops_at_once(faulty: Faulty) -> None:
    faulty.always["bad"] = server.never
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, faulty.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "asking\n"
        while not faulty.asked():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        _, errors = process.communicate(timeout=20)
    assert time.monotonic() - begun < 10
    assert errors.strip().endswith("KeyboardInterrupt")
    assert KEY not in errors


def test_the_missing_package_is_named() -> None:
    script = """
import sys
sys.modules["openai"] = None
from mascot_data.errors import PrerequisiteError
from mascot_data.models import load_model
try:
    load_model("server:m@http://127.0.0.1:1/v1")
except PrerequisiteError as error:
    print(error)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert found.stdout == "a model on a server needs the extra [openai]: run  pip install 'mascot-data[openai]'\n"
