"""Against a real server, ``transformers serve`` with the embedded model: what is sampled and chosen through it."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openai", reason="the extra for servers is not installed")
pytest.importorskip("fastapi", reason="transformers serve needs fastapi, which is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

from mascot_data.models.chat import Ask, Chances, Choice, Failure, Sampling
from mascot_data.models.names import ModelName
from mascot_data.models.options import ModelOptions
from mascot_data.models.server import ServerModel, connect
from tests.models.serving import transformers_serve

MOTHER = (
    ("system", "You are Anchor, who names feelings and never gives advice. Answer in one or two sentences."),
    ("user", "Sam: My mother is ill again and I cannot sleep. I lie awake and count the hours."),
)
EXAM = (
    ("system", "You are Guide, who suggests one next step. Answer in one or two sentences."),
    ("user", "Kim: I failed the exam for the second time. I do not know how to tell my parents."),
    ("assistant", "That is a hard thing to carry home."),
    ("user", "Kim: Yes. What would you do first?"),
)
SAMPLING = Sampling(temperature=0.9, top_p=0.95, max_tokens=8)


@pytest.fixture(scope="module")
def model(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerModel]:
    with (
        transformers_serve(smollm2, tmp_path_factory.mktemp("serve") / "log") as url,
        connect(ModelName("server", str(smollm2), url=url), ModelOptions(concurrency=4)) as connected,
    ):
        yield connected


def test_samples_differ_by_seed_and_come_again_with_it(model: ServerModel) -> None:
    asks = [Ask(MOTHER, SAMPLING, (1, 2)), Ask(EXAM, SAMPLING, (1,))]
    found = model.sample(asks)
    assert found == model.sample(asks)
    for answer, ask in zip(found, asks, strict=True):
        assert isinstance(answer, list)
        assert len({sample.text for sample in answer}) == len(ask.seeds)
        assert len({sample.prompt_tokens for sample in answer}) == 1
        for sample in answer:
            assert sample.finish_reason == "stop" or sample.tokens == 8
            assert sample.logprob is None
            assert sample.text


def test_without_temperature_the_seed_makes_no_difference(model: ServerModel) -> None:
    (found,) = model.sample([Ask(MOTHER, Sampling(temperature=0.0, max_tokens=6), (1, 2))])
    assert isinstance(found, list)
    assert found[0] == found[1]


def test_a_stop_string_is_not_part_of_a_sample(model: ServerModel) -> None:
    (whole,) = model.sample([Ask(MOTHER, SAMPLING, (1,))])
    assert isinstance(whole, list)
    stop = whole[0].text.split()[3]
    (cut,) = model.sample([Ask(MOTHER, Sampling(0.9, 0.95, 8, (stop,)), (1,))])
    assert isinstance(cut, list)
    assert cut[0].text == whole[0].text[: whole[0].text.index(stop)]
    assert cut[0].finish_reason == "stop"


def test_answers_have_chances(model: ServerModel) -> None:
    who = Choice(MOTHER, ("Anchor", "Catalyst", "Beacon", "Guide"), '{"agent": "', '"')
    rating = Choice(EXAM, ("1", "2", "3", "4", "5"))
    found = model.choose([who, rating])
    assert found == model.choose([who, rating])
    for chances, choice in zip(found, (who, rating), strict=True):
        assert isinstance(chances, Chances)
        assert len(chances.logprobs) == len(choice.answers)
        assert math.fsum(map(math.exp, chances.logprobs)) == pytest.approx(1.0, abs=1e-3)
        assert chances.mass is None
        assert chances.prompt_tokens > 20


def test_more_answers_than_letters_are_matched_or_fail(model: ServerModel) -> None:
    names = tuple(f"Name{number}" for number in range(30))
    (found,) = model.choose([Choice((("user", "Say exactly: Name7"),), names)])
    assert isinstance(found, Failure) or sorted(found.logprobs)[-2:] == [-math.inf, 0.0]


def test_a_beginning_cannot_be_given(model: ServerModel) -> None:
    (found,) = model.sample([Ask(MOTHER, SAMPLING, (1,), prefix="It sounds")])
    assert isinstance(found, Failure)
    assert found.reason == "template"


def test_requests_and_tokens_are_counted(model: ServerModel) -> None:
    before = model.usage
    model.sample([Ask(MOTHER, SAMPLING, (5, 6))])
    after = model.usage
    assert after.requests == before.requests + 2
    assert after.prompt_tokens > before.prompt_tokens
    assert 2 <= after.completion_tokens - before.completion_tokens <= 16


def test_another_model_than_the_one_served_is_refused(model: ServerModel) -> None:
    with connect(ModelName("server", "other/model", url=model.url), ModelOptions(attempts=1)) as other:
        (found,) = other.sample([Ask(MOTHER, SAMPLING, (1,))])
    assert isinstance(found, Failure)
    assert "other/model" in found.what
