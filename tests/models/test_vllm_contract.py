"""What is sent to vLLM and what it answers, as recorded from a real one: ``contract/`` has a file for each exchange."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from mascot_data.models import bodies, exact, replies
from mascot_data.models.chat import Ask, Chances, Failure, Sample, Sampling
from mascot_data.models.faults import Answered, fault

CONTRACT = Path(__file__).with_name("contract")
MODEL = "smollm2"
MESSAGES = (
    ("system", "You are Anchor. Name the feeling you hear, in one sentence."),
    ("user", "My sister moved away last week and the flat is so quiet."),
)
SAMPLING = Sampling(0.8, 0.95, 24, ("\nUser:",))


def recorded(name: str) -> Any:
    return json.loads((CONTRACT / f"{name}.json").read_text())


def request(name: str) -> Any:
    return recorded(name)["request"]


def response(name: str) -> Any:
    return recorded(name)["response"]


def spelled(name: str) -> tuple[int, ...]:
    """The tokens of a text, without those of its anchor."""
    return tuple(response(name)["tokens"][len(response("tokenize_anchor")["tokens"]) :])


def forks() -> exact.Forks:
    prompt = tuple(response("tokenize_chat")["tokens"]) + spelled("tokenize_prefix")
    return exact.forks(prompt, [spelled("tokenize_first"), spelled("tokenize_second")])


def test_requests_are_those_that_were_recorded() -> None:
    ask = Ask(MESSAGES, SAMPLING, (7,))
    assert bodies.chat_body(MODEL, ask, 7, "vllm") == request("chat")
    assert bodies.tokenize_chat_body(MODEL, MESSAGES) == request("tokenize_chat")
    for name, text in (("anchor", ""), ("prefix", '{"agent": "'), ("first", 'Anchor"'), ("second", 'Guide"')):
        assert bodies.tokenize_text_body(MODEL, f"\n{text}") == request(f"tokenize_{name}")
    assert bodies.next_tokens_body(MODEL, forks().prompts, forks().labels) == request("next_tokens")
    assert bodies.continue_body(MODEL, forks().prompt, Sampling(0.8, 0.95, 8), 3) == request("continue")


@pytest.mark.parametrize(
    ("name", "stop", "finish", "tokens"),
    [
        ("chat", ("\nUser:",), "length", 24),
        ("chat_ended", (), "stop", 25),
        ("chat_stopped", (" that",), "stop", None),
        ("continue", (), "length", 8),
    ],
)
def test_samples_are_read(name: str, stop: tuple[str, ...], finish: str, tokens: int | None) -> None:
    sample = replies.read_sample(response(name), stop)
    assert isinstance(sample, Sample)
    assert sample.finish_reason == finish
    assert sample.tokens == (tokens or response(name)["usage"]["completion_tokens"])
    assert sample.prompt_tokens == response(name)["usage"]["prompt_tokens"]
    assert sample.text
    assert not any(text in sample.text for text in stop)
    choice = response(name)["choices"][0]["logprobs"]
    told = choice.get("token_logprobs") or [item["logprob"] for item in choice["content"]]
    assert sample.logprob == pytest.approx(sum(told))
    assert len(told) == sample.tokens


def test_the_end_of_turn_is_part_of_the_log_probability() -> None:
    (choice,) = response("chat_ended")["choices"]
    assert choice["logprobs"]["content"][-1]["token"] == "<|im_end|>"
    assert "<|im_end|>" not in choice["message"]["content"]


def test_chances_are_read() -> None:
    asked = forks()
    found = exact.read_forks([response("next_tokens")], asked)
    assert isinstance(found, Chances)
    rows = [choice["logprobs"]["top_logprobs"][0] for choice in response("next_tokens")["choices"]]
    place = dict(zip(asked.begun, rows, strict=True))
    for answer, chance in zip(asked.answers, found.logprobs, strict=True):
        assert chance == pytest.approx(
            sum(place[answer[:end]][f"token_id:{answer[end]}"] for end in range(len(answer)))
        )
    assert found.mass == pytest.approx(sum(map(math.exp, found.logprobs)))
    assert found.prompt_tokens == len(asked.prompt)


def test_a_server_that_leaves_tokens_out_is_no_exact_one() -> None:
    value = response("next_tokens")
    value["choices"][0]["logprobs"]["top_logprobs"][0].popitem()
    found = exact.read_forks([value], forks())
    assert isinstance(found, Failure)
    assert found.reason == "no-logprobs"
    for choices in (None, [], [1], value["choices"][1:]):
        found = exact.read_forks([{"choices": choices}], forks())
        assert isinstance(found, Failure)
        assert found.reason == "garbage"


def test_errors_are_understood() -> None:
    long = recorded("too_long")
    answer = Answered(long["status"], {}, json.dumps(long["response"]).encode())
    found = fault("http://127.0.0.1/v1", "-", answer, optional=False)
    assert isinstance(found, Failure)
    assert found.reason == "context-too-long"
    assert recorded("unknown_model")["status"] == 404
