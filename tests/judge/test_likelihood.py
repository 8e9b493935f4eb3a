import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [judge] is not installed")
pytest.importorskip("sklearn", reason="the extra [judge] is not installed")

from mascot_data.judge.embedded.matching import HEARD, Matching, context_vector, fitted, taught, untaught
from mascot_data.judge.embedded.states import Array

WIDTH = 16


def unit(rows: Array) -> Array:
    found: Array = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return found.astype(np.float32)


def noisy(number: int, seed: int) -> tuple[Array, Array, list[str]]:
    """Make turns that go with their context in two dimensions; what is in the others, only larger, says nothing."""
    drawn = np.random.default_rng(seed)
    common, noise = drawn.normal(size=(number, 2)), drawn.normal(size=(2, number, WIDTH - 2))
    heard = unit(np.concatenate([common, noise[0]], axis=1))
    replies = unit(np.concatenate([common + 0.1 * drawn.normal(size=common.shape), noise[1]], axis=1))
    contexts = np.stack([context_vector(one[None], [True]) for one in heard])
    return contexts, replies, [f"dialogue {place // 4}" for place in range(number)]


def true_over_random(matching: Matching, contexts: Array, replies: Array) -> float:
    return float((matching.cosines(contexts, replies) > matching.cosines(contexts, np.roll(replies, 7, axis=0))).mean())


def test_untaught_it_is_the_cosine_with_what_was_heard() -> None:
    heard, reply = (
        unit(np.eye(WIDTH, dtype=np.float32)[:1] + np.float32(0.3)),
        unit(np.eye(WIDTH, dtype=np.float32)[1:2]),
    )
    context = context_vector(heard, [True])
    assert untaught(WIDTH).cosines(context[None], reply)[0] == pytest.approx(float((heard @ reply.T).item()), abs=1e-5)


def test_it_learns_what_follows_what() -> None:
    contexts, replies, dialogues = noisy(8000, 0)
    new_contexts, new_replies, _ = noisy(300, 1)
    before = true_over_random(untaught(WIDTH), new_contexts, new_replies)
    after = true_over_random(taught(contexts, replies, dialogues, 0), new_contexts, new_replies)
    assert after > before + 0.005


def test_the_same_seed_learns_the_same() -> None:
    pairs = noisy(1000, 0)
    first, second = taught(*pairs, 5), taught(*pairs, 5)
    assert np.array_equal(first.ahead, second.ahead)
    assert (first.slope, first.offset) == (second.slope, second.offset)


def test_chances_rise_with_the_cosine_and_tell_how_likely_the_true_turn_is() -> None:
    contexts, replies, _ = noisy(600, 2)
    shifted = contexts + 0.8 * np.tile(replies, 3)
    matching = fitted(untaught(WIDTH), shifted, replies, 0)
    assert matching.slope > 0
    wrong = np.roll(replies, 3, axis=0)
    chances = np.concatenate([matching.chances(shifted, replies), matching.chances(shifted, wrong)])
    assert chances.mean() == pytest.approx(0.5, abs=0.05), "true and wrong turns were equally many"
    order = np.argsort(matching.cosines(shifted, replies))
    assert (np.diff(matching.chances(shifted, replies)[order]) >= 0).all()


def test_of_what_was_heard_the_later_counts_more_and_the_old_nothing() -> None:
    rows = np.eye(WIDTH, dtype=np.float32)[: HEARD + 2]
    mean = context_vector(rows, [True] * len(rows))[:WIDTH]
    assert mean[:2].tolist() == [0, 0]
    assert (np.diff(mean[2 : HEARD + 2]) > 0).all()
    assert mean.sum() == pytest.approx(1)


def test_the_last_turn_of_a_person_is_there_beside_the_last_turn() -> None:
    rows = np.eye(WIDTH, dtype=np.float32)[:3]
    found = context_vector(rows, [False, True, False]).reshape(3, WIDTH)
    assert found[1].argmax() == 1
    assert found[2].argmax() == 2
    assert context_vector(rows, [False] * 3).reshape(3, WIDTH)[1].argmax() == 2, "without a person it is the last turn"


def test_a_vector_of_nothing_is_no_error() -> None:
    assert np.isfinite(
        untaught(WIDTH).chances(np.zeros((1, 3 * WIDTH), np.float32), np.zeros((1, WIDTH), np.float32))
    ).all()
