import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mascot_data.errors import DatasetError, OutputError
from mascot_data.records import Dialogue, arrow_schema
from mascot_data.report import page as page_module
from mascot_data.report import report
from mascot_data.show.find import find_dialogue
from mascot_data.show.render import visible
from tests.report.markup import Page

CORPORA = ("esconv", "empathetic-dialogues", "qmsum")
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</style></title><iframe src='javascript:alert(1)'></iframe>",
    "{{ 7 * 191 }}{% raw %}",
    "-->\u202e]]>&lt;b&gt;<a href='https://example.org'>x</a>",
)
CLOSED = {"kind", "acts_origin", "origin", "valence", "source", "domain", "license", "schema_version", "id"}
"""Fields with closed values, and the id by which a row is found."""


@pytest.fixture(params=CORPORA)
def root(request: pytest.FixtureRequest, sample_build: Path) -> Path:
    return sample_build / f"{request.param}-multiagent"


def test_the_page_needs_nothing_from_outside(root: Path) -> None:
    html = report(root).html
    page = Page(html)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "base"})
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "url(" not in html
    assert "@import" not in html
    for tag, attributes in page.tags:
        assert attributes.keys().isdisjoint({"src", "srcset", "xlink:href", "poster", "data"})
        assert "href" not in attributes or tag == "a"
    outside = [a["href"] for a in page.all("a") if not str(a["href"]).startswith("#")]
    assert len(outside) == 1
    assert set(re.findall(r"https?://[^\s\"<]+", html)) == set(outside)


def test_inner_links_and_ids_fit(root: Path) -> None:
    page = Page(report(root).html)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {str(a["href"])[1:] for a in page.all("a") if str(a["href"]).startswith("#")} <= set(ids)


def test_every_figure_is_described_and_has_its_table(root: Path) -> None:
    html = report(root).html
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    assert len(figures) >= 10
    for figure in figures:
        page = Page(figure)
        assert page.all("div")[0]["aria-label"]
        assert page.all("h3")
        assert len(page.all("details")) == 1
        assert all(th.get("scope") in {"row", "col"} for th in page.all("th"))
        assert len(page.all("tr")) >= 2


def test_the_same_dataset_gives_the_same_page_wherever_it_lies(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(root, copy)
    assert report(root).html == report(copy).html


def test_the_page_shows_what_was_counted(root: Path) -> None:
    made = report(root)
    text = " ".join(Page(made.html).text)
    facts = json.loads((root / "provenance.json").read_text("utf-8"))
    for shown in (facts["source"]["digest"], facts["rows_digest"], *made.data.licences, *made.data.examples):
        assert shown in text
    for table in (made.data.subsets, made.data.acts, made.data.flags):
        for name, counts in table.items():
            assert name in text
            assert f"{max(counts.values()):,}" in text
    for row in facts["account"]["rows"].values():
        assert f"{sum(row.values()):,}" in text


def test_texts_of_the_rows_are_never_markup(root: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    shutil.copytree(root, hostile)
    poison(hostile)
    clean, page = Page(report(root).html), Page(report(hostile).html)
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in clean.tags}
    known = {name for _, attributes in clean.tags for name in attributes} | {"dir"}
    assert {name for _, attributes in page.tags for name in attributes} <= known
    assert {a["href"] for a in page.all("a")} <= {a["href"] for a in clean.all("a")}
    assert page.style == clean.style
    classes = {name for _, attributes in page.tags for name in (attributes.get("class") or "").split()}
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in classes)
    text = " ".join(page.text)
    for payload in PAYLOADS:
        assert visible(payload) in text
    assert "\u202e" not in report(hostile).html
    assert str(7 * 191) not in text


def poison(root: Path) -> None:
    """Put markup in every open text of a dataset: texts, names, topics, acts, flags, subsets, labels, reasons."""
    count = 0

    def bad(value: Any, key: str = "") -> Any:
        nonlocal count
        if isinstance(value, dict):
            return {name: bad(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [bad(item, key) for item in value]
        if not isinstance(value, str) or key in CLOSED:
            return value
        count += 1
        return PAYLOADS[count % len(PAYLOADS)]

    for path in (root / "data" / "dialogues").glob("*.parquet"):
        rows = [bad(row) for row in pq.read_table(path).to_pylist()]
        for row in rows:
            for speaker, name in zip(row["speakers"], PAYLOADS * len(row["speakers"]), strict=False):
                speaker["id"] = name
            for turn in row["turns"]:
                turn["speaker"] = row["speakers"][0]["id"]
        pq.write_table(pa.Table.from_pylist(rows, arrow_schema(Dialogue)), path)
    facts = json.loads((root / "provenance.json").read_text("utf-8"))
    account = facts["account"]
    account["dropped"] = dict.fromkeys(PAYLOADS, 3)
    for name in account["labels"]:
        account["labels"][name] = {"train": dict.fromkeys(PAYLOADS, 2)}
    facts["tool"] = {"name": PAYLOADS[0], "version": PAYLOADS[1], "pyarrow": PAYLOADS[2]}
    facts["options"] = dict(zip(PAYLOADS, PAYLOADS, strict=True))
    facts["source"] = {"corpus": PAYLOADS[3], "digest": PAYLOADS[4], "files": []}
    facts["rows_digest"] = PAYLOADS[5]
    (root / "provenance.json").write_text(json.dumps(facts), encoding="utf-8")


def test_a_long_dialogue_is_cut_in_the_middle(sample_build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "SHOWN_TURNS", 1)
    made = report(sample_build / "esconv-multiagent")
    (first, *_) = re.findall(r"<details class=\"example\".*?</details>", made.html, re.DOTALL)
    row = find_dialogue(sample_build / "esconv-multiagent", made.data.examples[0])
    assert f"… {len(row.turns) - 2} turns are left out here" in first
    shown = [text.strip() for text in Page(first).text if text.strip()]
    assert row.turns[0].text in shown
    assert row.turns[-1].text in shown
    assert len(re.findall(r'class="turn ', first)) == 2


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no such dataset directory"):
        report(tmp_path / "nowhere")


def test_a_directory_without_provenance_is_told(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"has no provenance\.json"):
        report(tmp_path)


@pytest.mark.parametrize("lost", ["account", "rows_digest"])
def test_an_older_provenance_is_told(sample_build: Path, tmp_path: Path, lost: str) -> None:
    root = tmp_path / "esconv-multiagent"
    shutil.copytree(sample_build / "esconv-multiagent", root)
    facts = json.loads((root / "provenance.json").read_text("utf-8"))
    del facts[lost]
    (root / "provenance.json").write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(DatasetError, match=f"lacks {lost}; build the dataset again"):
        report(root)


def test_an_account_without_labels_is_told(sample_build: Path, tmp_path: Path) -> None:
    root = tmp_path / "esconv-multiagent"
    shutil.copytree(sample_build / "esconv-multiagent", root)
    facts = json.loads((root / "provenance.json").read_text("utf-8"))
    del facts["account"]["labels"]
    (root / "provenance.json").write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(DatasetError, match="lacks labels; build the dataset again"):
        report(root)


def test_a_directory_without_dialogues_is_told(sample_build: Path, tmp_path: Path) -> None:
    root = tmp_path / "esconv-multiagent"
    shutil.copytree(sample_build / "esconv-multiagent", root)
    shutil.rmtree(root / "data")
    with pytest.raises(DatasetError, match="has no dialogues"):
        report(root)


@pytest.mark.parametrize("column", [None, "turns"])
def test_a_file_that_is_no_dialogues_is_told(sample_build: Path, tmp_path: Path, column: str | None) -> None:
    root = tmp_path / "esconv-multiagent"
    shutil.copytree(sample_build / "esconv-multiagent", root)
    path = next((root / "data" / "dialogues").glob("train-*.parquet"))
    if column is None:
        path.write_bytes(path.read_bytes()[:100])
    else:
        pq.write_table(pq.read_table(path).drop_columns([column]), path)
    with pytest.raises(DatasetError, match=re.escape(f"{path}: cannot be read as dialogues")):
        report(root)


def test_what_was_there_stays_when_the_page_cannot_be_written(sample_build: Path, tmp_path: Path) -> None:
    taken = tmp_path / "report.html"
    taken.mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        report(sample_build / "esconv-multiagent", taken)
    assert list(tmp_path.iterdir()) == [taken]
