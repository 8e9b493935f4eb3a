"""One model on several devices: the same answers, no process left over, and nothing that hangs."""

import os
import signal
import threading
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra for local models is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

from mascot_data.errors import ModelError
from mascot_data.models import Ask, Chances, ChatModel, Choice, ModelOptions, Sampling, load_model

pytestmark = pytest.mark.usefixtures("one_thread")

TWO = ModelOptions(devices=("cpu", "cpu"), batch_tokens=150)
ASKS = [
    Ask((("user", f"Sam: {'I lie awake. ' * (number % 5)}Hi"),), Sampling(max_tokens=6), (number, 1))
    for number in range(24)
]
CHOICES = [Choice(ask.messages, ("Anchor", "Guide"), '"', '"') for ask in ASKS]


@pytest.fixture(scope="module")
def pair(tiny: Path) -> Iterator[ChatModel]:
    with load_model(str(tiny), TWO) as model:
        yield model


def test_two_devices_answer_as_one_does(tiny: Path, pair: ChatModel) -> None:
    with load_model(str(tiny), ModelOptions(batch_tokens=150)) as one:
        assert pair.info == one.info
        assert pair.context_tokens == one.context_tokens
        assert pair.count_tokens(ASKS[0].messages) == one.count_tokens(ASKS[0].messages)
        for answer, wanted in zip(pair.sample(ASKS), one.sample(ASKS), strict=True):
            assert isinstance(answer, list)
            assert isinstance(wanted, list)
            assert [sample.text for sample in answer] == [sample.text for sample in wanted]
        for chances, other in zip(pair.choose(CHOICES), one.choose(CHOICES), strict=True):
            assert isinstance(chances, Chances)
            assert isinstance(other, Chances)
            assert chances.logprobs == pytest.approx(other.logprobs, abs=1e-3)
        assert pair.usage == one.usage


def test_batches_have_something_for_every_device(tiny: Path, pair: ChatModel) -> None:
    questions: list[Ask | Choice] = [*ASKS, *CHOICES]
    with load_model(str(tiny), ModelOptions(batch_tokens=150)) as one:
        assert len(pair.batches(questions)) < len(one.batches(questions))
    batches = pair.batches(questions)
    assert sorted(place for batch in batches for place in batch) == list(range(len(questions)))
    assert all(len({type(questions[place]) for place in batch}) == 1 for batch in batches)
    assert pair.sample([]) == []


def test_processes_end_with_the_model_and_their_death_is_an_error_that_names_the_device(tiny: Path) -> None:
    before = active_children()
    with load_model(str(tiny), TWO) as model:
        (worker,) = set(active_children()) - set(before)
        assert worker.pid
        long = [ask._replace(sampling=Sampling(max_tokens=100), seeds=tuple(range(8))) for ask in ASKS]
        threading.Timer(0.3, os.kill, (worker.pid, signal.SIGKILL)).start()
        for asks in (long, ASKS):  # killed at work, and gone already
            with pytest.raises(ModelError, match=r"on cpu ended .*-9"):
                model.sample(asks)
    with load_model(str(tiny), TWO):
        assert len(active_children()) == len(before) + 1
    assert active_children() == before


def test_a_model_that_cannot_be_used_leaves_no_process(tiny: Path) -> None:
    before = active_children()
    with pytest.raises(ModelError, match="template"):
        load_model(str(tiny), ModelOptions(devices=("cpu", "cpu"), chat_template="{% for"))
    assert active_children() == before
