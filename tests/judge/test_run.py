"""Judging a dataset and pairing what was judged: every score is kept, none is invented, the same bytes come again."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mascot_data.build.reading import read_rows
from mascot_data.build.run import build
from mascot_data.errors import DatasetError, UsageError
from mascot_data.generate import candidates, rollouts
from mascot_data.judge import judges
from mascot_data.judge.run import JudgeReport, judge
from mascot_data.models import Choice, Failure, ModelOptions
from mascot_data.models.asking import Question
from mascot_data.preferences.run import pairs
from mascot_data.records import Judgment, Preference
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate import validate
from tests.models.scripted import Scripted, installed

CRITERIA = ("emotion", "empathy", "consistency", "relevance", "contribution")


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with candidates and rollouts of a scripted model; not to be changed."""
    (report,) = build("esconv", sample=True, limit=6, output=tmp_path_factory.mktemp("judged") / "mascot")
    with installed(Scripted()):
        candidates(report.directory, ["scripted"], k=2)
        rollouts(report.directory, "scripted", modes=["mascot", "zero-shot"], turns=2)
    return report.directory


@pytest.fixture
def root(spoken: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(spoken, tmp_path / "mascot" / spoken.name))


@contextmanager
def judging(*models: Scripted) -> Iterator[None]:
    known = {model.info.name: model for model in models}

    def load(name: str, options: ModelOptions | None) -> Scripted:
        return known[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judges, "load_model", load)
        yield


def rows(root: Path, config: str, label: str = "") -> list[dict[str, Any]]:
    return [row for split in SPLITS for row in read_rows(root, config, split, label=label)]


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_every_candidate_has_a_score_for_each_criterion_and_their_mean(root: Path) -> None:
    with judging(Scripted("one"), Scripted("two")):
        report = judge(root, ["one", "two"])
    found = rows(root, "judgments")
    subjects = [row["id"] for row in rows(root, "candidates")]
    assert report.replies == len(subjects)
    assert report.lost == []
    assert [row["id"] for row in found] == [
        f"{subject}!{criterion}!{name}"
        for subject in subjects
        for name in ("one", "two")
        for criterion in (*CRITERIA, "composite")
    ]
    for row in found:
        judgment = Judgment.model_validate(row)
        if judgment.distribution is not None:
            assert sum(judgment.distribution) == pytest.approx(1)
            assert judgment.score == pytest.approx(sum(n * p for n, p in enumerate(judgment.distribution, start=1)))
    of_first = [row["score"] for row in found[:5]]
    assert found[5]["score"] == pytest.approx(sum(of_first) / 5)
    assert validate(root).problems == []


def test_what_was_judged_is_not_asked_again_and_the_bytes_are_the_same(root: Path) -> None:
    model = Scripted("one")
    with judging(model):
        first = judge(root, ["one"])
        before, asked = files(root), len(model.asked)
        again = judge(root, ["one"])
    assert files(root) == before
    assert len(model.asked) == asked > 0
    assert (again.judged, again.stored) == (0, first.judged)


def test_new_candidates_alone_are_judged(root: Path) -> None:
    model = Scripted("one")
    with judging(model):
        judge(root, ["one"])
        asked = len(model.asked)
        with installed(Scripted()):
            candidates(root, ["scripted"], k=3, replace=True)
        new = {row["id"] for row in rows(root, "candidates")} - {row["subject_id"] for row in rows(root, "judgments")}
        report = judge(root, ["one"])
    assert report.judged == len(new) > 0
    assert len(model.asked) - asked == len(new) * len(CRITERIA)


def test_methods_are_judges_of_their_own_and_their_disagreement_is_told(root: Path) -> None:
    with judging(Scripted("one")):
        report = judge(root, ["one"], methods=["rating", "pairwise"])
    found = rows(root, "judgments")
    assert {(row["judge_name"], row["method"]) for row in found if row["criterion"] != "composite"} == {
        ("one", "rating"),
        ("one+pairwise", "pairwise"),
    }
    gaps = [row["order_gap"] for row in found if row["method"] == "pairwise"]
    assert all(0 <= gap <= 1 for gap in gaps)
    assert report.order_gaps == {"one+pairwise": pytest.approx(sum(gaps) / len(gaps), abs=1e-6)}
    assert all(row["order_gap"] is None for row in found if row["method"] != "pairwise")
    of = {(row["subject_id"], row["criterion"], row["judge_name"]): row["score"] for row in found}
    apart = [
        abs(score - of[subject, criterion, "one+pairwise"])
        for (subject, criterion, name), score in of.items()
        if name == "one" and criterion == "emotion" and (subject, criterion, "one+pairwise") in of
    ]
    assert report.disagreements["emotion"] == pytest.approx(sum(apart) / len(apart), abs=1e-6)


def test_a_new_reply_is_compared_with_all_others(root: Path) -> None:
    model = Scripted("one")
    with judging(model):
        first = judge(root, ["one"], methods=["pairwise"])
        before, asked = files(root), len(model.asked)
        judge(root, ["one"], methods=["pairwise"])
        assert files(root) == before
        assert len(model.asked) == asked
        with installed(Scripted()):
            candidates(root, ["scripted"], k=3, replace=True)
        report = judge(root, ["one"], methods=["pairwise"])
    assert report.judged > len({row["id"] for row in rows(root, "candidates")}) - first.judged
    of_prompt: dict[str, list[float]] = {}
    for row in rows(root, "judgments"):
        if row["criterion"] == "emotion":
            of_prompt.setdefault(row["prompt_id"], []).append(row["value"])
    assert all(sum(values) / len(values) == pytest.approx(0.5) for values in of_prompt.values())


def test_a_score_that_cannot_be_had_is_missing_and_makes_no_pair(root: Path) -> None:
    lost_text = rows(root, "candidates")[1]["text"]

    def fails(question: Question) -> Failure | None:
        assert isinstance(question, Choice)
        text = question.messages[1][1]
        return (
            Failure("timeout", "too long")
            if f"<<<\n{lost_text}\n" in text and "\nResponse relevance:" in text
            else None
        )

    with judging(Scripted("one", fails=fails)):
        report = judge(root, ["one"])
    found = rows(root, "judgments")
    first = rows(root, "candidates")[1]["id"]
    assert {lost.where for lost in report.lost} >= {first}
    mine = [row["criterion"] for row in found if row["subject_id"] == first]
    assert mine == [name for name in CRITERIA if name != "relevance"]
    made = pairs(root, margin=0)
    assert made.refused["missing-scores"] > 0
    assert not any(first in (row["chosen_id"], row["rejected_id"]) for row in rows(root, "preferences"))
    with judging(Scripted("one")):
        again = judge(root, ["one"])
    assert again.judged == len(report.lost)
    assert again.lost == []


def judged(root: Path) -> JudgeReport:
    with judging(Scripted("one")):
        return judge(root, ["one"])


def test_pairs_lead_by_the_margin_and_ties_do_not(root: Path) -> None:
    judged(root)
    report = pairs(root, margin=0.3)
    mean = {row["subject_id"]: row["score"] for row in rows(root, "judgments") if row["criterion"] == "composite"}
    texts = {row["id"]: row["text"] for row in rows(root, "candidates")}
    prompts = {row["id"]: row for row in rows(root, "speaker_turns")}
    found, ties = rows(root, "preferences"), rows(root, "ties")
    assert report.pairs.total() == len(found) > 0
    assert report.ties.total() == len(ties) > 0
    for row in [*found, *ties]:
        pair = Preference.model_validate(row)
        assert pair.score_gap == pytest.approx(mean[pair.chosen_id] - mean[pair.rejected_id])
        assert pair.chosen[0].content == texts[pair.chosen_id] != pair.rejected[0].content == texts[pair.rejected_id]
        assert row["prompt"] == prompts[pair.chosen_id.partition("#")[0]]["prompt"]
        assert [one.name for one in pair.criteria] == list(CRITERIA)
    assert min(row["score_gap"] for row in found) >= 0.3 > max(row["score_gap"] for row in ties)
    per_prompt = len(rows(root, "candidates")) / report.prompts
    assert len(found) + len(ties) + report.refused.total() >= report.prompts * (per_prompt - 1)
    assert validate(root).problems == []


def test_best_and_worst_and_balance_leave_out_what_they_say(root: Path) -> None:
    judged(root)
    every = pairs(root, margin=0.1).pairs.total()
    one = pairs(root, margin=0.1, strategy="best-worst")
    assert one.pairs.total() + one.ties.total() <= one.prompts
    even = pairs(root, margin=0.1, balance_length=True)
    assert even.pairs.total() == every - even.refused["balance"]
    lengths = [
        (len(row["chosen"][0]["content"]), len(row["rejected"][0]["content"])) for row in rows(root, "preferences")
    ]
    assert sum(mine > theirs for mine, theirs in lengths) == sum(mine < theirs for mine, theirs in lengths)


def test_rollouts_are_judged_as_blocks_beside_the_candidates(root: Path) -> None:
    judged(root)
    with judging(Scripted("one")):
        report = judge(root, ["one"], subject="rollouts")
    blocks = rows(root, "blocks", "rollouts")
    found = rows(root, "judgments", "blocks")
    assert report.replies == len(blocks) > 0
    assert {row["subject_id"] for row in found} == {row["id"] for row in blocks}
    assert {row["criterion"] for row in found} == {
        "group-fidelity",
        "group-originality",
        "group-relevance",
        "group-engagement",
        "composite",
    }
    assert rows(root, "judgments"), "the judgments of the candidates are gone"
    assert validate(root).problems == []


def test_wrong_use_is_one_sentence(root: Path) -> None:
    with pytest.raises(DatasetError, match="mascot-data judge"):
        pairs(root)
    with judging(Scripted("one"), Scripted("two")):
        judge(root, ["one"], limit=1)
        with pytest.raises(UsageError, match="--replace"):
            judge(root, ["two"], limit=1)
        with pytest.raises(UsageError, match="--rubric"):
            judge(root, ["one"], rubric="collective")
        with pytest.raises(UsageError, match="--rubric nothing"):
            judge(root, ["one"], rubric="nothing")
        with pytest.raises(UsageError, match="none of them twice"):
            judge(root, ["one", "one"])
    with pytest.raises(UsageError, match="--margin"):
        pairs(root, margin=5)
    with pytest.raises(DatasetError, match="no judgments of these judges"):
        pairs(root, judges=["nobody"])


def test_preferences_have_the_columns_that_a_reward_trainer_reads(root: Path) -> None:
    judged(root)
    pairs(root, margin=0.1)
    (path, *_) = sorted((root / "data" / "preferences").glob("*.parquet"))
    names = pq.read_schema(path).names
    assert {"prompt", "chosen", "rejected"} <= set(names)
    assert "margin" not in names
