import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.report import voices
from mascot_data.report.figures import Head, bars, boxes, heat_map, histogram, named, percent
from mascot_data.report.lengths import bins, lengths

COLUMNS = {"train": ("train", "s0"), "test": ("test", "s2")}
TABLES = st.dictionaries(
    st.text(min_size=1), st.fixed_dictionaries({}, optional=dict.fromkeys(COLUMNS, st.integers(0, 10**6))), min_size=1
)


@given(TABLES, st.integers(1, 5))
def test_bars_show_the_largest_rows_and_the_table_all(table: dict[str, dict[str, int]], most: int) -> None:
    figure = bars(Head("x", "Title"), table, COLUMNS, of="row", most=most)
    assert [row[0] for row in figure.rows] == list(table)
    assert [bar.label for bar in figure.drawing["rows"]] == list(table)[:most]
    assert ("more" in figure.head.note) == (len(table) > most)
    assert all(len(row) == len(figure.columns) for row in figure.rows)


@given(TABLES)
def test_marks_of_a_bar_are_in_proportion_and_do_not_overlap(table: dict[str, dict[str, int]]) -> None:
    figure = bars(Head("x", "Title"), table, COLUMNS, of="row")
    widest = max(sum(cells.values()) for cells in table.values())
    for bar in figure.drawing["rows"]:
        end = 0.0
        for mark in bar.marks:
            assert mark.left == pytest.approx(end)
            end = mark.left + mark.width
        assert end <= 101
        assert abs(end - 100 * sum(table[bar.label].values()) / max(widest, 1)) <= 1


def test_a_bar_without_legend_has_one_colour() -> None:
    figure = bars(Head("x", "Title"), {"a": {"n": 3}}, {"n": ("number", "s0")}, of="row", whole=6, notes={"a": "why"})
    assert figure.drawing["legend"] == []
    assert figure.rows == [["a", "3", "50%"]]
    assert figure.drawing["rows"][0].note == "why"
    assert figure.spoken == "Title: a 3 (50%)."


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 900), min_size=1), min_size=1))
def test_boxes_lie_on_their_axis(found: dict[str, list[int]]) -> None:
    counts = {name: lengths({number: numbers.count(number) for number in numbers}) for name, numbers in found.items()}
    figure = boxes(Head("x", "Title"), counts, dict.fromkeys(counts, "s0"), "who")
    end = float(figure.drawing["ticks"][-1].replace(",", ""))
    for box, row in zip(figure.drawing["rows"], counts.values(), strict=True):
        assert 0 <= box.low <= box.q1 <= box.median <= box.q3 <= box.high <= 100
        assert box.median == pytest.approx(100 * row.median / end)


@given(st.dictionaries(st.integers(1, 2000), st.integers(1, 100), min_size=1))
def test_columns_of_a_histogram_fill_the_width(counts: dict[int, int]) -> None:
    found = bins(counts)
    drawn = histogram(Head("x", "Title"), found, "turns").drawing["columns"]
    assert drawn[-1][0] + drawn[-1][1] == pytest.approx(100)
    assert max(height for _, _, height, _ in drawn) == 100
    assert [height == 0 for _, _, height, _ in drawn] == [one.number == 0 for one in found]


def test_a_heat_map_has_shares_of_its_rows() -> None:
    table = {"start": {"user": 3, "anchor": 1}, "user": {"end": 5}}
    figure = heat_map(Head("x", "Title"), table, ["user", "anchor", "end"], "after")
    shares = [[cell.share for cell in cells] for _, cells in figure.drawing["rows"]]
    assert shares == [[0.75, 0.25, 0], [0, 0, 1]]
    assert figure.rows == [["(start)", "3", "1", "0"], ["User", "0", "0", "5"]]


def test_percent_does_not_round_to_nothing() -> None:
    assert [percent(part, 1000) for part in (0, 1, 10, 1000)] == ["0%", "<1%", "1%", "100%"]
    assert percent(0, 0) == "0%"


def test_personas_keep_their_colour_and_own_ones_get_another() -> None:
    alone = voices.css_classes(["guide"])
    together = voices.css_classes(["user", "guide", "zen", "anchor"])
    assert together["guide"] == alone["guide"]
    assert len(set(together.values())) == 4
    assert list(together) == ["user", "anchor", "guide", "zen"]


def test_names_that_would_be_shared_stay_ids() -> None:
    assert named({"anchor": 1, "Anchor": 2, "guide": 3}) == {"anchor": 1, "Anchor": 2, "Guide": 3}
