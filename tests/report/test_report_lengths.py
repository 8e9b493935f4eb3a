from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mascot_data.report.lengths import bins, lengths, quantile, round_up

NUMBERS = st.lists(st.integers(1, 5000), min_size=1, max_size=200)


@given(NUMBERS, st.integers(1, 100))
def test_a_quantile_is_a_length_that_enough_do_not_exceed(numbers: list[int], percent: int) -> None:
    found = quantile(Counter(numbers), percent)
    assert found in numbers
    assert sum(number <= found for number in numbers) * 100 >= percent * len(numbers)
    assert sum(number < found for number in numbers) * 100 < percent * len(numbers)


@given(NUMBERS)
def test_lengths_sum_up(numbers: list[int]) -> None:
    found = lengths(Counter(numbers))
    assert (found.number, found.total, found.longest) == (len(numbers), sum(numbers), max(numbers))
    assert found.p5 <= found.p25 <= found.median <= found.p75 <= found.p95 <= found.longest


@given(NUMBERS)
def test_bins_hold_every_length_once(numbers: list[int]) -> None:
    found = bins(Counter(numbers))
    assert len(found) <= 32
    assert [after.low for after in found[1:]] == [(before.high or 0) + 1 for before in found[:-1]]
    for one in found:
        assert one.number == sum(one.low <= number <= (one.high or number) for number in numbers)


@given(st.floats(0, 1e9))
def test_a_round_number_is_above_and_near(value: float) -> None:
    found = round_up(value)
    assert found >= value
    assert found == 1 or found <= 2.5 * value
    assert str(found).rstrip("0") in {"1", "2", "5"}
