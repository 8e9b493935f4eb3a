"""Pure functions over what servers say: no input breaks them, and no answer comes from outside a list."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.errors import ModelError
from mascot_data.models import bodies, exact, replies
from mascot_data.models.chat import Chances, Choice, Failure, Sample
from mascot_data.models.faults import Answered, Passing, Refusal, fault
from mascot_data.models.spending import Ledger, Tokens

KNOWN = (
    "choices message content text finish_reason logprobs top_logprobs token logprob usage prompt_tokens answers answer"
)
MORE = "probabilities token_logprobs index completion_tokens error code param detail A B"
NAMES = st.sampled_from([*KNOWN.split(), *MORE.split()]) | st.text(max_size=4)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
CHOICE = Choice((("user", "x"),), ("A", "B"))


@given(st.dictionaries(NAMES, JSON, max_size=5))
def test_any_object_is_read_or_refused(value: dict[str, Any]) -> None:
    assert isinstance(replies.read_sample(value, ("stop",)), Sample | Failure)
    assert isinstance(replies.read_first_token(value, CHOICE), Chances | Failure)
    assert isinstance(replies.read_one_of(value, CHOICE), Chances | Failure)
    assert isinstance(replies.read_systemone(value, CHOICE), Chances | None)
    assert isinstance(exact.read_forks([value], exact.forks((1,), [(2,), (3, 4)])), Failure)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()), st.integers(400, 599))
def test_any_error_is_understood(content: bytes, status: int) -> None:
    answer = Answered(status, {}, content)
    if status in (401, 402, 403):
        with pytest.raises(ModelError) as raised:
            fault("http://127.0.0.1/v1", "key", answer, optional=True)
        assert str(raised.value).isprintable()
    else:
        found = fault("http://127.0.0.1/v1", "key", answer, optional=True)
        assert isinstance(found, Failure | Refusal | Passing)
        assert found.what.isprintable()
        assert len(found.what) <= replies.SHOWN + 40


@given(st.text(), st.text(min_size=8, max_size=12))
def test_words_of_a_server_are_one_short_line_without_the_key(text: str, key: str) -> None:
    line = replies.shown(f"{key}{text}{key}", key)
    assert line.isprintable()
    assert len(line) <= replies.SHOWN + 1
    if key.isprintable() and "*" not in key and "\\" not in key and " " not in key:
        assert key not in line or key in text


@given(st.text(max_size=40), st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5, unique=True))
def test_what_is_matched_is_an_answer(text: str, answers: list[str]) -> None:
    assert replies.matched(text, answers) in (*answers, None)


@given(
    st.lists(st.sampled_from(["Anchor", "Catalyst", "Beacon", "Guide", "1", "10"]), min_size=1, unique=True), st.data()
)
def test_an_answer_itself_is_always_matched(answers: list[str], data: st.DataObject) -> None:
    answer = data.draw(st.sampled_from(answers))
    for text in (answer, f'"{answer}"', f" {answer}.\n", json.dumps({"answer": answer}), answer.lower()):
        assert replies.matched(text, answers) == answer


def test_a_number_is_not_found_in_another_one() -> None:
    assert replies.matched("I say 10 of 10", ("1", "10")) == "10"
    assert replies.matched("I say 10", ("1", "0")) is None
    assert replies.matched("1 or 2", ("1", "2")) is None


TOKENS = st.lists(st.integers(0, 5), min_size=1, max_size=5).map(tuple)


@given(TOKENS, st.lists(TOKENS, min_size=1, max_size=6))
def test_forks_tell_each_answer_whole(prompt: tuple[int, ...], answers: list[tuple[int, ...]]) -> None:
    asked = exact.forks(prompt, answers)
    assert len(set(asked.prompts)) == len(asked.prompts)

    def chance(before: tuple[int, ...], token: int) -> float:
        return -1.0 - (hash((before, token)) % 1000) / 1000

    values = [
        {
            "choices": [
                {"logprobs": {"top_logprobs": [{f"token_id:{label}": chance(begun, label) for label in labels}]}}
                for begun in asked.prompts
            ]
        }
        for labels in asked.label_parts()
    ]
    found = exact.read_forks(values, asked)
    assert isinstance(found, Chances)
    for answer, total in zip(answers, found.logprobs, strict=True):
        assert total == pytest.approx(sum(chance(prompt + answer[:end], token) for end, token in enumerate(answer)))


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=20), st.floats(0, 500))
def test_what_is_affordable_costs_no_more_than_allowed(requests: list[tuple[int, int]], most: float) -> None:
    ledger = Ledger((1e6, 2e6), most)
    tokens = [Tokens(*pair) for pair in requests]
    count = ledger.affordable(tokens)
    assert sum(map(ledger.price, tokens[:count])) <= most + 1e-6
    assert count == len(tokens) or sum(map(ledger.price, tokens[: count + 1])) > most


def test_a_body_is_fitted_only_where_the_question_stays_the_same() -> None:
    body = bodies.first_token_body("m", CHOICE)
    assert bodies.refused_field(body, "", "top_logprobs must be at most 5") == "top_logprobs"
    assert bodies.refused_field(body, "messages", "unknown role in messages") is None
    assert bodies.refused_field(body, "temperature", "only 1 is supported") is None
    fitted = bodies.fitted(body, {"max_tokens", "logprobs"})
    assert fitted["max_completion_tokens"] == 1
    assert "logprobs" not in fitted
    assert "max_tokens" not in fitted


def test_chances_of_letters_are_logarithms() -> None:
    value = {"answers": {"answer": {"probabilities": {"A": 0.25, "B": 0}}}, "usage": {"input_tokens": 7}}
    assert replies.read_systemone(value, CHOICE) == Chances((math.log(0.25), -math.inf), None, 7)
