"""Pairs among the replies to a prompt."""

from hypothesis import given
from hypothesis import strategies as st

from mascot_data.preferences.pairing import Judged, Pair, Refused, balanced, pairs_of
from mascot_data.preferences.scores import Scored

REPLIES = st.lists(st.tuples(st.text("abc ", min_size=1, max_size=6), st.floats(1, 5)), min_size=0, max_size=6)


def judged(replies: list[tuple[str, float]], prompt: str = "p") -> list[Judged]:
    return [
        Judged(f"{prompt}#{k}", k, text, (Scored("one", "emotion", score),)) for k, (text, score) in enumerate(replies)
    ]


def made(replies: list[tuple[str, float]], prompt: str = "p") -> list[Pair]:
    return [pair for pair in pairs_of(prompt, judged(replies, prompt), "all") if isinstance(pair, Pair)]


@given(REPLIES)
def test_every_two_replies_are_one_pair_or_one_refusal_and_the_better_one_is_chosen(
    replies: list[tuple[str, float]],
) -> None:
    found = list(pairs_of("p", judged(replies), "all"))
    assert len(found) == len(replies) * (len(replies) - 1) // 2
    for pair in found:
        if isinstance(pair, Refused):
            assert pair.reason == "equal-texts"
            continue
        assert pair.chosen.scores[0].score >= pair.rejected.scores[0].score
        assert pair.compared.gap >= 0
        assert " ".join(pair.chosen.text.split()) != " ".join(pair.rejected.text.split())
        if pair.compared.gap == 0:
            assert pair.chosen.k < pair.rejected.k


@given(REPLIES)
def test_best_and_worst_have_the_widest_gap_of_all(replies: list[tuple[str, float]]) -> None:
    every = [pair for pair in pairs_of("p", judged(replies), "all") if isinstance(pair, Pair)]
    one = [pair for pair in pairs_of("p", judged(replies), "best-worst") if isinstance(pair, Pair)]
    assert len(one) == min(1, len(every))
    assert all(one[0].compared.gap >= pair.compared.gap for pair in every)


def test_a_missing_score_is_no_pair() -> None:
    first, second = judged([("a", 1), ("b", 5)])
    assert list(pairs_of("p", [first, second._replace(scores=())], "all")) == [Refused("missing-scores")]


@given(st.lists(REPLIES, min_size=1, max_size=4), st.integers(0, 5))
def test_balanced_pairs_have_no_liking_for_length_and_do_not_depend_on_the_order(
    prompts: list[list[tuple[str, float]]], seed: int
) -> None:
    every = [pair for number, replies in enumerate(prompts) for pair in made(replies, f"p{number}")]
    kept = balanced(every, seed)
    longer = sum(pair.longer_wins is True for pair in kept)
    shorter = sum(pair.longer_wins is False for pair in kept)
    assert longer == shorter == min(sum(p.longer_wins is side for p in every) for side in (True, False))
    assert sum(p.longer_wins is None for p in kept) == sum(p.longer_wins is None for p in every)
    again = balanced(every[::-1], seed)
    assert {(p.chosen.id, p.rejected.id) for p in again} == {(p.chosen.id, p.rejected.id) for p in kept}
