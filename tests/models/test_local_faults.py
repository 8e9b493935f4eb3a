"""What goes wrong with one question of a local model: it is named, and harms no other one."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra for local models is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

import torch

from mascot_data.models import Answer, Ask, Chances, Choice, Failure, ModelInfo, ModelOptions, Sampling, load_model
from mascot_data.models import checkpoints as cp
from mascot_data.models.decoding import Engine
from mascot_data.models.local import LocalModel
from mascot_data.models.prompting import Prompts
from tests.models.tiny import CONTEXT, STRICT, make_directory, make_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")

SAMPLING = Sampling(max_tokens=6)
ASKS = [Ask((("user", f"Sam: {word}"),), SAMPLING, (1, 2)) for word in ("I cannot sleep.", "Hi", "It is.", "Yes, yes")]
CHOICES = [Choice(ask.messages, ("Anchor", "Guide"), "I, ") for ask in ASKS]
EXHAUSTED = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried"),
    MemoryError(),
]
Forward = Callable[..., Any]


class Watched:
    """A tiny model whose every pass is first shown to ``watch``, which may raise."""

    def __init__(self, directory: Path, watch: Callable[[Any], None]) -> None:
        model, tokenizer = cp.open_checkpoint(directory, "tiny", ModelOptions(), "cpu")
        forward = model.forward
        self.passes = 0

        def watched(**inputs: Any) -> Any:
            self.passes += 1
            watch(inputs["attention_mask"])
            return forward(**inputs)

        model.forward = watched
        prompts = Prompts(tokenizer, "tiny")
        engine = Engine(model, prompts, cp.end_tokens(model, tokenizer), 64)
        self.model = LocalModel(ModelInfo("tiny", "", "transformers", "float32"), engine, prompts, CONTEXT, 4000)


@pytest.fixture(scope="module")
def wanted(tiny: Path) -> Iterator[list[Answer]]:
    """What the asks get when nothing goes wrong."""
    with load_model(str(tiny)) as model:
        yield model.sample(ASKS)


def assert_like(found: Sequence[Answer], wanted: Sequence[Answer]) -> None:
    for answer, other in zip(found, wanted, strict=True):
        assert isinstance(answer, list)
        assert isinstance(other, list)
        assert [sample.text for sample in answer] == [sample.text for sample in other]
        assert [sample.logprob for sample in answer] == pytest.approx([sample.logprob for sample in other], abs=1e-3)


@pytest.mark.parametrize("error", EXHAUSTED, ids=lambda error: type(error).__name__)
def test_a_batch_that_does_not_fit_is_halved_and_the_size_remembered(
    tiny: Path, wanted: list[Answer], error: Exception
) -> None:
    refused = []

    def watch(mask: Any) -> None:
        if len(mask) > 3:
            refused.append(len(mask))
            raise error

    model = Watched(tiny, watch).model
    assert_like(model.sample(ASKS), wanted)
    assert refused == [8, 4]
    assert_like(model.sample(ASKS), wanted)
    assert refused == [8, 4]


def test_the_batches_of_a_run_stay_the_same_when_memory_is_short(tiny: Path) -> None:
    def watch(mask: Any) -> None:
        if len(mask) > 3:
            raise MemoryError

    model = Watched(tiny, watch).model
    before = model.batches(ASKS)
    model.sample(ASKS)
    assert model.batches(ASKS) == before


def test_choices_that_do_not_fit_are_asked_fewer_at_a_time(tiny: Path) -> None:
    def watch(mask: Any) -> None:
        if len(mask) > 2:
            raise MemoryError

    found = Watched(tiny, watch).model.choose(CHOICES)
    for chances, other in zip(found, Watched(tiny, lambda _: None).model.choose(CHOICES), strict=True):
        assert isinstance(chances, Chances)
        assert isinstance(other, Chances)
        assert chances.logprobs == pytest.approx(other.logprobs, abs=1e-3)


def test_a_question_with_too_many_samples_gets_them_a_few_at_a_time(tiny: Path) -> None:
    def watch(mask: Any) -> None:
        if len(mask) > 2:
            raise MemoryError

    many = ASKS[0]._replace(seeds=tuple(range(9)))
    short, free = Watched(tiny, watch), Watched(tiny, lambda _: None)
    assert_like(short.model.sample([many]), free.model.sample([many]))


def test_a_question_that_does_not_fit_alone_fails_alone(tiny: Path, wanted: list[Answer]) -> None:
    def watch(mask: Any) -> None:
        if mask.shape[-1] > 100:
            raise MemoryError

    long = Ask((("user", "word " * 30),), SAMPLING, (1, 2))
    model = Watched(tiny, watch).model
    first, failed, *others = model.sample([ASKS[0], long, *ASKS[1:]])
    assert isinstance(failed, Failure)
    assert failed.reason == "out-of-memory"
    assert_like([first, *others], wanted)
    (chances,) = model.choose([Choice(long.messages, ("a", "b"))])
    assert isinstance(chances, Failure)
    assert chances.reason == "out-of-memory"


def test_other_errors_are_not_taken_for_a_lack_of_memory(tiny: Path) -> None:
    def watch(_: Any) -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes"):
        Watched(tiny, watch).model.sample(ASKS)


def test_numbers_that_are_none_fail_only_their_own_question(tiny: Path, wanted: list[Answer]) -> None:
    watched = Watched(tiny, lambda _: None)
    engine: Any = watched.model._engine
    (poison,) = make_tokenizer().encode("~", add_special_tokens=False)
    with torch.no_grad():
        engine._model.get_input_embeddings().weight[poison] = float("nan")
    hurt = Ask((("user", "Sam: ~"),), SAMPLING, (1, 2))
    first, failed, *others = watched.model.sample([ASKS[0], hurt, *ASKS[1:]])
    assert isinstance(failed, Failure)
    assert failed.reason == "nan-logits"
    assert_like([first, *others], wanted)
    fine, broken = watched.model.choose([CHOICES[0], Choice(hurt.messages, ("a", "ab cd"))])
    assert isinstance(fine, Chances)
    assert isinstance(broken, Failure)
    assert broken.reason == "nan-logits"


def test_what_is_longer_than_the_context_fails_before_any_work(tiny: Path) -> None:
    watched = Watched(tiny, lambda _: None)
    model = watched.model
    tokens = model.count_tokens(ASKS[0].messages)
    fits = ASKS[0]._replace(sampling=Sampling(max_tokens=CONTEXT - tokens))
    over = ASKS[0]._replace(sampling=Sampling(max_tokens=CONTEXT - tokens + 1))
    choice = Choice(ASKS[0].messages, ("a", "word " * CONTEXT))
    for found in (*model.sample([over]), *model.choose([choice])):
        assert isinstance(found, Failure)
        assert found.reason == "context-too-long"
        assert str(CONTEXT) in found.what
    assert watched.passes == 0
    assert model.count_tokens((("user", "word " * CONTEXT),)) > CONTEXT
    answer, failed = model.sample([fits, over])
    assert isinstance(answer, list)
    assert isinstance(failed, Failure)


def test_messages_that_the_template_refuses_fail_alone(tmp_path: Path) -> None:
    directory = make_directory(tmp_path / "strict", template=STRICT)
    with load_model(str(directory)) as model:
        refused = Ask((("assistant", "I begin."), ("user", "Hi")), SAMPLING, (1,))
        batches = model.batches([refused, ASKS[0]])
        assert sorted(place for batch in batches for place in batch) == [0, 1]
        failed, answer = model.sample([refused, ASKS[0]])
        assert isinstance(failed, Failure)
        assert failed.reason == "template"
        assert "alternate" in failed.what
        assert isinstance(answer, list)
        assert model.count_tokens(refused.messages) == 0
