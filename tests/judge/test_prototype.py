import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [judge] is not installed")

from mascot_data.judge.embedded import prototype


def kinds(*directions: list[float]) -> list[np.ndarray]:
    return [prototype.prototypes(np.array([one, one], np.float32)) for one in directions]


def test_the_kind_whose_examples_are_nearest_is_the_likeliest() -> None:
    found = prototype.chances(np.array([[1, 0.1], [0.1, 3]], np.float32), kinds([1, 0], [0, 1]))
    assert found.argmax(1).tolist() == [0, 1]
    assert np.allclose(found.sum(1), 1)


def test_between_two_kinds_none_is_preferred() -> None:
    found = prototype.chances(np.array([[1, 1]], np.float32), kinds([1, 0], [0, 1]))
    assert found[0].tolist() == pytest.approx([0.5, 0.5])


def test_a_long_example_weighs_no_more_than_a_short_one() -> None:
    mixed = prototype.prototypes(np.array([[100, 0], [0, 1]], np.float32))
    assert mixed.tolist() == pytest.approx([0.5**0.5, 0.5**0.5])


def test_a_state_of_nothing_is_no_error() -> None:
    assert np.isfinite(prototype.chances(np.zeros((1, 2), np.float32), kinds([1, 0], [0, 1]))).all()
