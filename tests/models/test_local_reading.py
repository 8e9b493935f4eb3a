"""Reading prompts together, in groups and from shared beginnings gives what reading each by itself gives."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra for local models is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.models.reading import Readings

pytestmark = pytest.mark.usefixtures("one_thread")

TOKENS = st.integers(3, 300)
BEGINNINGS = [[], list(range(10, 50)), list(range(10, 90)), list(range(200, 235))]


@pytest.fixture(scope="module")
def model(tiny: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(tiny).eval()


def logits_of(model: Any, prompt: list[int]) -> Any:
    """What follows a prompt, from one pass without a cache."""
    return model(torch.tensor([prompt])).logits[0, -1]


prompts = st.lists(
    st.tuples(st.sampled_from(BEGINNINGS), st.lists(TOKENS, min_size=1, max_size=40)).map(
        lambda parts: [*parts[0], *parts[1]]
    ),
    min_size=1,
    max_size=7,
)


@settings(max_examples=30)
@given(prompts=prompts, chunk=st.sampled_from([1, 30, 100, 200, 1000]), data=st.data())
def test_prompts_are_read_as_each_would_be_alone(
    model: Any, prompts: list[list[int]], chunk: int, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, len(prompts) - 1), min_size=1, max_size=8))
    kept = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=4, unique=True))
    following = data.draw(st.lists(TOKENS, min_size=len(rows), max_size=len(rows)))
    with torch.inference_mode():
        readings = Readings(model, prompts, chunk)
        for prompt, logits in zip(prompts, readings.logits, strict=True):
            assert torch.allclose(logits, logits_of(model, prompt), atol=2e-3)
        reading = readings.joined(rows)
        reading.step(torch.tensor(following))
        reading.take(kept)
        reading.step(torch.tensor([following[place] for place in kept]))
        for place, logits in zip(kept, reading.logits, strict=True):
            wanted = logits_of(model, [*prompts[rows[place]], following[place], following[place]])
            assert torch.allclose(logits, wanted, atol=2e-3)


@pytest.mark.parametrize("chunk", [60, 1000])
def test_what_begins_alike_is_read_once(model: Any, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    forward = model.forward

    def counting(**inputs: Any) -> Any:
        read.append(inputs["input_ids"].numel())
        return forward(**inputs)

    monkeypatch.setattr(model, "forward", counting)
    conversation = list(range(10, 110))
    with torch.inference_mode():
        Readings(model, [[*conversation, last] for last in range(200, 208)], chunk)
    assert sum(read) == 100 + 8
