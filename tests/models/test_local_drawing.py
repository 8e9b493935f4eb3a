"""Drawing from logits: exactly the tempered probabilities, and nothing outside the nucleus."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the extra for local models is not installed")
pytest.importorskip("transformers", reason="the extra for local models is not installed")

import torch

from mascot_data.models.chat import Sampling
from mascot_data.models.drawing import draw, noise

GRID = 1000
"""Numbers in [0, 1) at equal distances: each token must come as often as its probability says, give or take one."""


def shares(logits: list[float], sampling: Sampling) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How often each token is drawn over the grid."""
    uniform = (torch.arange(GRID, dtype=torch.double) + 0.5) / GRID
    tokens = draw(torch.tensor([logits] * GRID), [sampling] * GRID, uniform)
    return np.bincount(tokens.numpy(), minlength=len(logits)) / GRID


def probabilities(logits: list[float], temperature: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    scaled = np.array(logits, dtype=np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = weights / weights.sum()
    return found


distinct = st.lists(st.integers(-40, 40), min_size=1, max_size=12, unique=True).map(
    lambda values: [value / 8 for value in values]
)


@given(logits=distinct, temperature=st.sampled_from([0.5, 1.0, 1.7]))
def test_tokens_come_as_often_as_the_temperature_says(logits: list[float], temperature: float) -> None:
    found = shares(logits, Sampling(temperature))
    assert found == pytest.approx(probabilities(logits, temperature), abs=2 / GRID)


@given(logits=distinct, top_p=st.floats(0.05, 0.99))
def test_the_nucleus_is_the_fewest_likeliest_tokens(logits: list[float], top_p: float) -> None:
    wanted = probabilities(logits, 1.0)
    order = np.argsort(-wanted)
    reached = np.cumsum(wanted[order])
    if np.abs(reached - top_p).min() < 1e-5:  # a tie that single precision may break either way
        return
    kept = order[: int(np.searchsorted(reached, top_p)) + 1]
    nucleus = np.zeros_like(wanted)
    nucleus[kept] = wanted[kept] / wanted[kept].sum()
    assert shares(logits, Sampling(1.0, top_p)) == pytest.approx(nucleus, abs=2 / GRID)


def test_a_nucleus_of_very_many_tokens_is_drawn_from_in_whole() -> None:
    uniform = (torch.arange(GRID, dtype=torch.double) + 0.5) / GRID
    tokens = draw(torch.zeros(GRID, 800), [Sampling(1.0, 0.9)] * GRID, uniform)
    assert 715 <= len(set(tokens.tolist())) <= 722


def test_rows_of_a_batch_have_settings_of_their_own() -> None:
    logits = torch.tensor([[0.0, 1.0, 0.5]] * 4)
    settings = [Sampling(0.0), Sampling(1.0), Sampling(1.0, 0.1), Sampling(0.01)]
    low, high = (draw(logits, settings, torch.full((4,), value, dtype=torch.double)) for value in (0.001, 0.999))
    assert low.tolist() == [1, 0, 1, 1]
    assert high.tolist() == [1, 2, 1, 1]


@given(edge=st.sampled_from([0.0, 1 - 2**-53]))
def test_a_token_of_no_probability_is_never_drawn(edge: float) -> None:
    never = float("-inf")
    logits = torch.tensor([[never, 0.3, never, 0.1, never]])
    for sampling in (Sampling(1.0), Sampling(1.0, 0.99)):
        assert draw(logits, [sampling], torch.tensor([edge], dtype=torch.double)).item() in (1, 3)


@given(seed=st.integers(-(2**70), 2**70), steps=st.integers(1, 50))
def test_noise_depends_on_seed_and_step_alone(seed: int, steps: int) -> None:
    found = noise(seed, steps)
    assert found.tolist() == noise(seed, steps + 7)[:steps].tolist()
    assert ((found >= 0) & (found < 1)).all()
    assert found.tolist() != noise(seed + 1, steps).tolist()
