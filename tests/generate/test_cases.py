from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.generate.cases import Case, CaseBook, cases_in, no_cases
from mascot_data.records import Dialogue

said = st.text("abc ", max_size=12)
books = st.lists(st.builds(Case, st.sampled_from("xyz"), said, st.just("act"), st.just("answer")), max_size=12)


@given(books, said, st.sampled_from("xyz"), st.integers(1, 5))
def test_what_is_found(cases: list[Case], query: str, own: str, most: int) -> None:
    found = CaseBook(cases).without(own)(query, most)
    assert len(found) <= most
    assert not any(case.dialogue_id == own for case in found)
    assert all(case in cases and set(case.said.split()) & set(query.split()) for case in found)
    sharing = [case for case in cases if case.dialogue_id != own and set(case.said.split()) & set(query.split())]
    assert len(found) == min(most, len(sharing))


@given(books, said.filter(str.strip))
def test_the_same_words_are_found_first(cases: list[Case], query: str) -> None:
    same = Case("same", query, "act", "answer")
    found = CaseBook([*cases, same]).without("none")(query, 1)
    assert set(found[0].said.split()) == set(query.split())


def test_rare_words_count_more_than_common_ones() -> None:
    texts = ["I am sad about it", "I am sad", "I am about to move", "the landlord is mean", "I am here"]
    search = CaseBook([Case(str(n), text, "act", "answer") for n, text in enumerate(texts)]).without("")
    assert search("I am cross with the landlord", 2)[0].dialogue_id == "3"
    assert search("zebra", 3) == []


def test_equals_come_in_order() -> None:
    cases = [Case(str(n), "so sad", "act", "answer") for n in range(5)]
    assert CaseBook(cases).without("1")("sad", 3) == [cases[0], cases[2], cases[3]]


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert no_cases("anything", 10) == CaseBook([]).without("")("anything", 10) == []


def test_cases_of_the_sample(sample_build: Path) -> None:
    found: dict[str, list[Case]] = {}
    for corpus in ("esconv", "empathetic-dialogues", "qmsum"):
        files = sorted((sample_build / f"{corpus}-multiagent/data/dialogues").glob("train-*.parquet"))
        rows = [row for path in files for row in pq.read_table(path).to_pylist()]
        found[corpus] = [case for row in rows for case in cases_in(Dialogue.model_validate(row))]
    assert len(found["esconv"]) > 20
    assert found["qmsum"] == []
    acts = {case.act for case in found["esconv"]}
    assert "Providing Suggestions" in acts
    assert not acts & {"Others", "Other", "Questions", "Direct Guidance"}
    assert "neutral" not in {case.act for case in found["empathetic-dialogues"]}
    assert all(case.said and case.answer for cases in found.values() for case in cases)
