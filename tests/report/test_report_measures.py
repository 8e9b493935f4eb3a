import math
import re
import shutil
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mascot_data.errors import DatasetError
from mascot_data.records import Block, arrow_schema
from mascot_data.records.dialogue import SPLITS
from mascot_data.report import measuring, report
from mascot_data.report.measures import COLLAPSE, SYCOPHANCY
from mascot_data.report.measuring import measure
from mascot_data.stats import about_measures
from mascot_data.stats.embedding import load_embedder
from tests.report.markup import Page

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
Row = dict[str, Any]


@pytest.fixture(params=CORPORA)
def root(request: pytest.FixtureRequest, sample_build: Path) -> Path:
    return sample_build / f"{request.param}-multiagent"


def rows(root: Path) -> list[Row]:
    paths = [path for split in SPLITS for path in (root / "data" / "blocks").glob(f"{split}-*.parquet")]
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def speakers(row: Row) -> list[str]:
    return [turn["persona"] for turn in row["turns"] if turn["persona"]]


def tokens(text: str) -> list[str]:
    return re.sub(r"[^a-z0-9 ]", " ", text.lower().replace("'", "").replace("’", "")).split()


def pairs(text: str) -> list[tuple[str, str]]:
    found = tokens(text)
    return list(zip(found, found[1:], strict=False))


def test_sizes_and_words_equal_a_plain_recount(root: Path) -> None:
    (system,) = measure(root)
    found = rows(root)
    texts = [turn["text"] for row in found for turn in row["turns"] if turn["kind"] == "agent"]
    assert system["system"] == {"origin": "corpus", "mode": None, "subset": None}
    assert system["dialogues"] == len({row["dialogue_id"] for row in found})
    assert (system["blocks"], system["agent_turns"]) == (len(found), len(texts))
    said = [word for text in texts for word in tokens(text)]
    together = [pair for text in texts for pair in pairs(text)]
    values = {name: one["value"] for name, one in system["measures"].items()}
    assert values["distinct_1_all"] == pytest.approx(len(set(said)) / len(said), abs=1e-4)
    assert values["distinct_2_all"] == pytest.approx(len(set(together)) / len(together), abs=1e-4)
    assert values["other_angle"] >= sum("?" in text for text in texts) / len(texts) - 1e-4


def test_turn_taking_equals_a_plain_recount(root: Path) -> None:
    (system,) = measure(root)
    blocks = [speakers(row) for row in rows(root)]
    values = {name: one["value"] for name, one in system["measures"].items()}
    longest = [max(len(list(run)) for _, run in groupby(block)) for block in blocks]
    assert values["longest_run"] == pytest.approx(fmean(longest), abs=1e-4)
    shares = [len(set(block)) / min(4, len(block)) for block in blocks]
    assert values["roster_share"] == pytest.approx(fmean(shares), abs=1e-4)
    assert values["speaker_entropy"] == pytest.approx(
        fmean(evenness(block) for block in blocks if len(block) > 1), abs=1e-4
    )


def evenness(block: list[str]) -> float:
    def entropy(counts: list[int]) -> float:
        return math.log(sum(counts)) - sum(n * math.log(n) for n in counts if n) / sum(counts)

    return entropy(list(Counter(block).values())) / entropy([len(block[start::4]) for start in range(4)])


def test_echoes_equal_a_plain_recount(root: Path) -> None:
    (system,) = measure(root)
    before, others = [], []
    for row in rows(root):
        for index, turn in enumerate(row["turns"]):
            own = pairs(turn["text"])
            if turn["kind"] != "agent" or not own:
                continue
            if index:
                known = pairs(row["turns"][index - 1]["text"])
                before.append(sum(pair in known for pair in own) / len(own))
            earlier = [t for t in row["turns"][:index] if t["kind"] == "agent" and t["persona"] != turn["persona"]]
            if earlier:
                known = [pair for one in earlier for pair in pairs(one["text"])]
                others.append(sum(pair in known for pair in own) / len(own))
    for name, expected in (("echo_of_before", before), ("echo_of_agents", others)):
        found = system["measures"][name]
        assert found["n"] == len(expected)
        assert found["value"] == pytest.approx(fmean(expected), abs=1e-4)
        assert found["low"] <= found["value"] <= found["high"]


def test_batches_do_not_matter(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = measure(root)
    monkeypatch.setattr(measuring, "BATCH_ROWS", 2)
    assert measure(root) == whole


def test_every_measure_is_in_one_table() -> None:
    shown = [name for table in (*COLLAPSE, *SYCOPHANCY) for name in table.names]
    assert sorted(shown) == sorted(about_measures())


def test_the_page_shows_every_measure_with_its_meaning(root: Path) -> None:
    made = report(root)
    html = "".join(section(made.html, name) for name in ("collapse", "sycophancy"))
    text = " ".join(Page(html).text)
    for name, about in about_measures().items():
        found = made.data.systems[0]["measures"][name]
        assert about.title in text
        assert about.says in text
        assert found["why"] in text
        if found["value"] is not None:
            assert f"{found['value']:.3f}" in text


def section(html: str, name: str) -> str:
    (found,) = re.findall(rf'<section id="{name}">.*?</section>', html, re.DOTALL)
    return str(found)


def with_rollouts(root: Path, to: Path, modes: list[str], persona: str | None = None) -> Path:
    """Copy a dataset and add rollouts: its blocks again, said to be of each mode."""
    shutil.copytree(root, to)
    fields = {field.name for field in arrow_schema(Block).field("rollout").type}
    again = []
    for mode in modes:
        for row in rows(root):
            turns = [turn | ({"persona": persona} if persona and turn["persona"] else {}) for turn in row["turns"]]
            rollout = dict.fromkeys(fields) | {"mode": mode}
            again.append(row | {"turns": turns, "origin": "rollout", "rollout": rollout})
    path = to / "data" / "blocks" / "train-rollouts-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(again, arrow_schema(Block)), path)
    return to


@pytest.mark.parametrize("modes", [["mascot"], ["mascot", "zero-shot"]])
def test_every_mode_of_rollouts_is_a_system(sample_build: Path, tmp_path: Path, modes: list[str]) -> None:
    made = report(with_rollouts(sample_build / "esconv-multiagent", tmp_path / "d", modes[::-1]))
    assert [one["system"]["mode"] for one in made.data.systems] == [None, *modes]
    first, *others = made.data.systems
    assert all(one | {"system": None} == first | {"system": None} for one in others)
    (table,) = re.findall(r'-collapse-words">.*?<table class="values">(.*?)</table>', made.html, re.DOTALL)
    columns = re.findall(r'<th scope="col"[^>]*>([^<]+)<', table)
    rows_ = re.findall(r'<th scope="row"[^>]*>([^<]+)<', table)
    names, measures = ["corpus", *modes], [about_measures()[name].title for name in COLLAPSE[0].names]
    assert (columns, rows_) == ((["measure", *names], measures) if len(modes) == 1 else (["system", *measures], names))
    assert re.findall(r"<small>([^<]+) turns", table) == ["96"] * len(names)


def test_names_of_modes_and_personas_are_never_markup(sample_build: Path, tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>{{ 7 * 191 }}"
    made = report(with_rollouts(sample_build / "esconv-multiagent", tmp_path / "d", [bad], persona=bad))
    page = Page(made.html)
    assert not page.all("img")
    assert bad in " ".join(page.text)
    assert str(7 * 191) not in " ".join(page.text)


def test_without_the_extra_the_page_says_how_to_get_it(sample_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mascot_data.stats import blocks, separability

    for name in ("torch", "sklearn.feature_extraction.text"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(blocks, "separability", separability)
    load_embedder.cache_clear()
    made = report(sample_build / "esconv-multiagent")
    load_embedder.cache_clear()
    text = " ".join(Page(section(made.html, "collapse")).text)
    assert "– sentence embeddings needs the extra [judge]: run  pip install 'mascot-data[judge]'" in text
    assert "– persona separability needs the extra [judge]" in text
    assert "figure-collapse-persona" not in re.findall(r'id="([^"]+)"', made.html)


def test_a_dataset_without_blocks_has_nothing_to_measure(sample_build: Path, tmp_path: Path) -> None:
    root = tmp_path / "d"
    shutil.copytree(sample_build / "qmsum-multiagent", root)
    shutil.rmtree(root / "data" / "blocks")
    made = report(root)
    assert made.data.systems == []
    assert "no blocks to measure" in section(made.html, "collapse")
    assert "no blocks to measure" in section(made.html, "sycophancy")


@pytest.mark.parametrize("broken", ["bytes", "column"])
def test_a_file_that_is_no_blocks_is_told(sample_build: Path, tmp_path: Path, broken: str) -> None:
    root = tmp_path / "d"
    shutil.copytree(sample_build / "esconv-multiagent", root)
    path = next((root / "data" / "blocks").glob("train-*.parquet"))
    if broken == "bytes":
        path.write_bytes(path.read_bytes()[:100])
    else:
        pq.write_table(pq.read_table(path).drop_columns(["turns"]), path)
    with pytest.raises(DatasetError, match=re.escape(f"{path}: cannot be read as blocks")):
        report(root)
