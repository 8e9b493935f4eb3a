"""A server that fails in every way: the right outcome, the other questions unharmed, each request counted."""

import math
import time
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra for servers is not installed")

from mascot_data.errors import ModelError
from mascot_data.models.chat import Choice, Failure, Sample
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.server import connect
from tests.models import faulty_server as server
from tests.models.faulty_server import Act, Faulty
from tests.models.server_questions import INTRODUCTIONS, KEY, QUICK, ask, to


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def faulty() -> Any:
    with server.running() as running:
        yield running


ATTEMPTS = 3
PASSING = [
    pytest.param([server.status(429)], id="429"),
    pytest.param([server.status(429, Retry_After="0.01")], id="429 with Retry-After"),
    pytest.param([server.status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")], id="429 with a date"),
    pytest.param([server.status(429, Retry_After="nonsense")], id="429 with a strange Retry-After"),
    pytest.param([server.status(408)], id="408"),
    pytest.param([server.status(500), server.status(503)], id="500 and 503"),
    pytest.param([server.status(502, b"<html>Bad gateway</html>")], id="502 in HTML"),
    pytest.param([server.cut], id="cut in the body"),
    pytest.param([server.hang_up], id="closed without an answer"),
]


@pytest.mark.parametrize("acts", PASSING)
def test_what_can_pass_is_asked_again(faulty: Faulty, acts: list[Act]) -> None:
    faulty.scripts["bad"] = list(acts)
    with to(faulty) as model:
        answers = model.sample([ask("one"), ask("bad"), ask("two")])
        assert [answer[0].text for answer in answers if not isinstance(answer, Failure)] == ["one 1", "bad 1", "two 1"]
        assert len(faulty.asked()) == 3 + len(acts)
        assert model.usage.requests == len(faulty.seen) == INTRODUCTIONS + 3 + len(acts)


FAILING = [
    pytest.param(server.status(429), "rate-limit", ATTEMPTS, id="429 forever"),
    pytest.param(server.status(500), "http-error", ATTEMPTS, id="500 forever"),
    pytest.param(server.status(503, Retry_After="1000000"), "http-error", ATTEMPTS, id="503, come back in days"),
    pytest.param(server.status(501), "http-error", 1, id="501"),
    pytest.param(server.status(409), "http-error", 1, id="409"),
    pytest.param(server.cut, "connection", ATTEMPTS, id="always cut"),
    pytest.param(server.hang_up, "connection", ATTEMPTS, id="always closed"),
    pytest.param(server.flood, "garbage", 1, id="endless body"),
    pytest.param(server.raw(b"<html>Hello</html>"), "garbage", 1, id="HTML"),
    pytest.param(server.raw(b'{"choices": [{"mess'), "garbage", 1, id="cut JSON"),
    pytest.param(server.raw(b""), "garbage", 1, id="nothing"),
    pytest.param(server.raw(b"\xff\xfe\x00"), "garbage", 1, id="no text"),
    pytest.param(server.raw(b"[" * 100_000), "garbage", 1, id="deeply nested"),
    pytest.param(server.raw(b"[1]"), "garbage", 1, id="a list"),
    pytest.param(server.raw(b"9" * 5000), "garbage", 1, id="a huge number"),
    pytest.param(server.raw(b"{}"), "garbage", 1, id="an empty object"),
    pytest.param(server.raw(b'{"choices": 3}'), "garbage", 1, id="choices of another type"),
    pytest.param(server.raw(b'{"choices": [3]}'), "garbage", 1, id="a choice of another type"),
    pytest.param(server.says(["a", "list"]), "garbage", 1, id="content of another type"),
    pytest.param(server.says("x", choices=[]), "empty", 1, id="no choice"),
    pytest.param(server.says(None), "empty", 1, id="null content"),
    pytest.param(
        server.status(400, {"error": {"message": "too many", "code": "context_length_exceeded"}}),
        "context-too-long",
        1,
        id="context by code",
    ),
    pytest.param(
        server.status(400, {"error": {"message": "This model's maximum context length is 10 tokens."}}),
        "context-too-long",
        1,
        id="context by words",
    ),
    pytest.param(server.status(400, {"detail": "no such thing"}), "http-error", 1, id="400"),
    pytest.param(server.status(422, {"detail": [{"loc": ["body"], "msg": "no"}]}), "http-error", 1, id="422"),
]


@pytest.mark.parametrize(("act", "reason", "requests"), FAILING)
def test_what_fails_is_one_failure_among_good_answers(faulty: Faulty, act: Act, reason: str, requests: int) -> None:
    faulty.always["bad"] = act
    with to(faulty) as model:
        one, bad, two = model.sample([ask("one"), ask("bad"), ask("two")])
        assert isinstance(bad, Failure)
        assert bad.reason == reason
        assert bad.what.isprintable()
        assert len(bad.what) < 400
        assert isinstance(one, list)
        assert isinstance(two, list)
        assert model.usage.requests == len(faulty.seen) == INTRODUCTIONS + 2 + requests


@pytest.mark.parametrize("act", [server.never, server.drip])
def test_an_answer_that_never_comes_is_not_waited_for(faulty: Faulty, act: Act) -> None:
    faulty.always["bad"] = act
    begun = time.monotonic()
    with to(faulty, timeout=0.3, attempts=2) as model:
        one, bad, two = model.sample([ask("one"), ask("bad"), ask("two")])
        assert model.usage.requests == INTRODUCTIONS + 2 + 2
    assert isinstance(bad, Failure)
    assert bad.reason == "timeout"
    assert isinstance(one, list)
    assert isinstance(two, list)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (server.status(401), "OPENAI_API_KEY"),
        (server.status(403), "OPENAI_API_KEY"),
        (server.status(404), "name of a model"),
        (server.status(402), "402"),
        (server.status(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), "no credit"),
    ],
)
def test_what_concerns_all_questions_ends_the_run(faulty: Faulty, act: Act, said: str) -> None:
    faulty.always["bad"] = act
    with to(faulty, concurrency=1) as model:
        with pytest.raises(ModelError, match=said):
            model.sample([ask("bad"), *(ask(str(number)) for number in range(50))])
        assert len(faulty.asked()) == 1


def test_a_redirect_is_not_followed_and_ends_the_run(faulty: Faulty) -> None:
    with server.running() as elsewhere:
        faulty.always["bad"] = server.status(307, Location=f"{elsewhere.url}/chat/completions")
        with to(faulty) as model, pytest.raises(ModelError, match="redirects to http://127"):
            model.sample([ask("bad")])
        assert elsewhere.seen == []


def test_a_redirect_of_the_introduction_is_not_followed(faulty: Faulty) -> None:
    with server.running() as elsewhere:
        faulty.routes["/v1/models"] = server.status(302, Location=f"{elsewhere.url}/models")
        with pytest.raises(ModelError, match="redirects"):
            to(faulty)
        assert elsewhere.seen == []


def test_no_server_is_named_at_once() -> None:
    with server.running() as gone:
        url = gone.url
    with pytest.raises(ModelError, match=r"cannot be reached.*127\.0\.0\.1"):
        connect(ModelName("server", "m", url=url), ModelOptions(), QUICK)


@pytest.mark.parametrize("code", [400, 401, 404, 409, 429, 500])
def test_the_key_is_in_no_error_even_if_the_server_says_it(faulty: Faulty, code: int) -> None:
    told = f"\x1b[31mInvalid key Bearer {KEY}\x00 " + KEY * 100
    faulty.always["bad"] = server.status(code, {"error": {"message": told}})
    faulty.always["worse"] = server.status(code, told.encode())
    for text in ("bad", "worse"):
        with to(faulty) as model:
            try:
                (found,) = model.sample([ask(text)])
                said = str(found)
            except ModelError as error:
                said = f"{error} {error!r} {error.__cause__} {error.__context__ and error.__suppress_context__}"
            assert KEY not in said
            assert said.isprintable()
            assert "***" in said
            assert KEY not in repr(model) + str(vars(model))


@pytest.mark.parametrize("body", [server.completion(f"key {KEY}"), {"choices": KEY}, server.completion(None, id=KEY)])
def test_the_key_is_in_no_answer_either(faulty: Faulty, body: server.Body) -> None:
    faulty.routes["/v1/chat/completions"] = lambda handler, _: handler.reply(200, body)
    with to(faulty) as model:
        assert KEY not in str(model.sample([ask("one")]))
        assert KEY not in str(model.choose([Choice((("user", "x"),), ("yes", "no"))]))


def test_a_key_that_cannot_be_sent_is_not_shown(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\u2603secret\n2")
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as raised:
        to(faulty)
    assert "secret" not in str(raised.value)
    assert faulty.seen == []


def test_a_failed_sample_fails_its_question(faulty: Faulty) -> None:
    faulty.scripts["bad"] = [server.says("fine"), server.says(None)]
    with to(faulty, concurrency=1) as model:
        (bad,) = model.sample([ask("bad", 1, 2, 3)])
    assert isinstance(bad, Failure)
    assert bad.reason == "empty"


def test_choices_fail_alone_too(faulty: Faulty) -> None:
    words = "Answer with exactly one of these, and nothing else: Anchor | Guide"
    faulty.always[f"bad\n\n{words}"] = server.status(500)
    faulty.always[f"good\n\n{words}"] = server.says('{"answer": "Guide"}')
    with to(faulty) as model:
        bad, good = model.choose([Choice((("user", text),), ("Anchor", "Guide")) for text in ("bad", "good")])
    assert isinstance(bad, Failure)
    assert not isinstance(good, Failure)
    assert good.logprobs == (-math.inf, 0.0)


def test_text_that_utf8_cannot_hold_is_mended(faulty: Faulty) -> None:
    faulty.always["odd"] = server.raw(
        b'{"choices": [{"message": {"content": "a\\ud800b\\u0000"}, "finish_reason": "stop"}]}'
    )
    with to(faulty) as model:
        ((sample,),) = model.sample([ask("odd")])  # type: ignore[misc]
    assert isinstance(sample, Sample)
    assert sample.text.encode().decode() == "a\ufffdb\x00"
