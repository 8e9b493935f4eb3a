"""The raw corpus can be rebuilt from the built rows, to the letter: nothing is lost, nothing is there twice."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.build.corpora import CORPORA as CORPUS_FACTS
from mascot_data.build.meetings import recast_meetings
from mascot_data.build.pipeline import recast_all, select
from mascot_data.build.recast import recast
from mascot_data.build.run import build
from mascot_data.build.turns import Dropped
from mascot_data.build.voices import CorpusRules, rules_for
from mascot_data.personas import Card, load_personas
from mascot_data.records import Dialogue, Speaker, Turn
from mascot_data.sources.conversation import Conversation, Meeting, Query, Topic, Utterance
from mascot_data.sources.locate import located
from tests.conftest import SAMPLE

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
Said = tuple[str, str]
Raw = dict[str, list[Said]]


def plain(source: str, folder: Path, with_failed: bool = False) -> Raw:
    """Read a corpus with nothing but ``json`` and ``split``: conversation to who says what."""
    if source == "esconv":
        names = {"ESConv.json": "", **({"FailedESConv.json": "failed-"} if with_failed else {})}
        return {
            f"{prefix}{number}": [(turn["speaker"], turn["content"]) for turn in row["dialog"]]
            for name, prefix in names.items()
            for number, row in enumerate(json.loads((folder / "esconv" / name).read_text("utf-8")))
        }
    if source == "qmsum":
        return {
            path.stem: [(turn["speaker"], turn["content"]) for turn in json.loads(path.read_text("utf-8"))[TRANSCRIPT]]
            for path in folder.glob("qmsum/data/ALL/*/*.json")
        }
    found: Raw = defaultdict(list)
    for name in ("train", "valid", "test"):
        text = (folder / "empathetic_dialogues" / f"{name}.csv").read_bytes().decode("utf-8")
        for row in (line.split(",") for line in text.split("\n")[1:-1]):
            found[row[0]].append((row[4], row[5].replace("_comma_", ",")))
    return found


TRANSCRIPT = "meeting_transcripts"


COLUMNS = ["id", "source", "source_id", "speakers", "turns"]
NEEDED = COLUMNS[:3]
NEEDED += [f"speakers.list.element.{name}" for name in ("id", "name")]
NEEDED += [f"turns.list.element.{name}" for name in ("speaker", "text")]
NEEDED += [f"turns.list.element.source_{name}" for name in ("turns", "texts", "speakers")]


def rows_of(directory: Path) -> Iterator[Dialogue]:
    """Yield the rows with the columns that a rebuilding needs; the rest is left out, which saves half the time."""
    for path in sorted((directory / "data" / "dialogues").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(500, columns=NEEDED):
            yield from constructed(batch.to_pylist())


def constructed(rows: Iterable[dict[str, Any]]) -> Iterator[Dialogue]:
    for row in rows:
        row["speakers"] = [Speaker.model_construct(**speaker) for speaker in row["speakers"]]
        row["turns"] = [Turn.model_construct(**turn) for turn in row["turns"]]
        yield Dialogue.model_construct(**row)


def dropped_of(directory: Path) -> Iterator[tuple[str, int, Said]]:
    for line in (directory / "dropped.jsonl").read_text("utf-8").split("\n")[:-1]:
        entry = json.loads(line)
        yield entry["source_id"], entry["source_turn"], (entry["speaker"], entry["text"])


def check_rebuilt(raw: Raw, rows: Iterable[Dialogue], dropped: Iterable[tuple[str, int, Said]]) -> None:
    """Compare: each utterance is in a turn (in a meeting with overlapping segments in several) or dropped, not both."""
    kept: dict[tuple[str, int], list[Said]] = defaultdict(list)
    for row in rows:
        owner = row.source_id.partition("#")[0]
        numbers = []
        for number, speaker, text in Dialogue.raw_utterances(row):
            kept[owner, number].append((speaker, text))
            numbers.append(number)
        assert numbers == sorted(set(numbers)), row.id
        assert row.source == "qmsum" or all(len(kept[owner, number]) == 1 for number in numbers), row.id
    gone = {(owner, number): said for owner, number, said in dropped}
    assert not kept.keys() & gone.keys()
    rebuilt = {place: set(said) for place, said in kept.items()} | {place: {said} for place, said in gone.items()}
    assert rebuilt == {(owner, number): {said} for owner, turns in raw.items() for number, said in enumerate(turns)}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("source", CORPORA)
def test_the_sample_can_be_rebuilt(source: str, clean: bool, tmp_path: Path) -> None:
    build(source, sample=True, include_failed=True, clean=clean, output=tmp_path)
    directory = tmp_path / f"{source}-multiagent"
    check_rebuilt(plain(source, SAMPLE, with_failed=True), rows_of(directory), dropped_of(directory))


@pytest.mark.parametrize("source", CORPORA)
def test_the_release_can_be_rebuilt(source: str, sources: Path, real_build: Path) -> None:
    directory = real_build / f"{source}-multiagent"
    check_rebuilt(plain(source, sources), rows_of(directory), dropped_of(directory))


@pytest.mark.parametrize("source", CORPORA)
def test_the_release_can_be_rebuilt_from_rows_that_were_not_cleaned(source: str, sources: Path) -> None:
    corpus, with_failed = CORPUS_FACTS[source], source == "esconv"
    rows: list[Any] = []
    dropped: list[Dropped] = []
    with located(corpus.source, corpus.folders, given=sources) as inputs:
        files = select(corpus, inputs, with_failed)
        for item in recast_all(corpus, files, None, load_personas(None), clean=False):
            rows += constructed(item.dialogues.select(COLUMNS).to_pylist())
            dropped += item.dropped
    check_rebuilt(plain(source, sources, with_failed), rows, placed(dropped))


def modelled(table: pa.Table) -> list[Dialogue]:
    table.validate(full=True)
    return [Dialogue.model_validate(row) for row in table.to_pylist()]


def placed(dropped: Iterable[Dropped]) -> list[tuple[str, int, Said]]:
    return [(drop.source_id, drop.source_turn, (drop.speaker, drop.text)) for drop in dropped]


@cache
def rules(source: str) -> CorpusRules:
    return rules_for(source, load_personas(None), labelled=True)  # type: ignore[arg-type]


@cache
def workplace() -> dict[str, Card]:
    cards = load_personas(None)
    return {persona: cards.cards[persona] for persona in cards.roster_for("workplace").personas}


BITS = st.sampled_from(
    ["\n", " ", "\r\n", "\u00a0", "|||| NEW CONVERSATION", "word", "word.", "7", "\x00", "😀", "{pause}"]
)
TEXT = st.lists(BITS | st.text(st.characters(codec="utf-8"), max_size=5), max_size=5).map("".join)
ACT = st.sampled_from([None, "", "Question", "Others", "Information", "neutral", "questioning", "no such act"])


@settings(max_examples=200)
@given(
    st.sampled_from(["esconv", "empathetic-dialogues"]),
    st.lists(st.builds(Utterance, st.sampled_from(["a", "b", "c", "d"]), TEXT, ACT, st.none() | TEXT), max_size=8),
    st.frozensets(st.sampled_from("abcd")),
    TEXT,
    st.booleans(),
)
def test_any_conversation_can_be_rebuilt(
    source: str, utterances: list[Utterance], agents: frozenset[str], situation: str, clean: bool
) -> None:
    conversation = Conversation("here", "7", "train", "main", situation, "sadness", utterances, agents)
    table, dropped, lost = recast([conversation], rules(source), clean=clean)
    check_rebuilt({"7": [(u.speaker, u.text) for u in utterances]}, modelled(table), placed(dropped))
    assert lost.tolist() == [0] * len(dropped)


BOUND = st.integers(-1, 14).map(str) | st.just("x")
SPANS = st.lists(st.tuples(BOUND, BOUND).map(list), max_size=3)
NAMES = st.sampled_from(
    ["The Chair", "the chair", "Mr. Lowe", "Lowe (X, Y)", "user", "scribe", "Scribe", "", " ", "{{ x }}"]
)


@settings(max_examples=200)
@given(
    st.lists(st.builds(Utterance, NAMES, TEXT), max_size=12),
    st.lists(st.builds(Topic, TEXT, SPANS), max_size=3),
    st.lists(st.builds(Query, TEXT, TEXT, st.none() | SPANS), max_size=3),
    st.booleans(),
)
def test_any_meeting_can_be_rebuilt(
    utterances: list[Utterance], topics: list[Topic], queries: list[Query], clean: bool
) -> None:
    meeting = Meeting("here", "m", "train", utterances, topics, queries, general=0)
    table, home, asked_in, dropped, lost = recast_meetings([meeting], workplace(), clean=clean)
    dialogues = modelled(table)
    assert [*home.tolist(), *lost.tolist()] == [0] * (len(dialogues) + len(dropped))
    assert sorted(query for part in asked_in for query in part) == list(range(len(queries)))
    check_rebuilt({"m": [(u.speaker, u.text) for u in utterances]}, dialogues, placed(dropped))
    asked = sorted(turn.source_query or 0 for row in dialogues for turn in row.turns if turn.kind == "user")
    assert asked == list(range(len(queries)))
    for row in dialogues:
        kinds = {speaker.id: speaker.kind for speaker in row.speakers}
        assert len(kinds) == len(row.speakers)
        assert all(kinds[turn.speaker] == turn.kind for turn in row.turns)
