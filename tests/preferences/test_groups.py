"""Group rewards and pairs of rollouts: from the judgments that are there, and from nothing else."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.build.projection import from_lines
from mascot_data.build.reading import read_rows
from mascot_data.build.run import build
from mascot_data.errors import DatasetError, UsageError
from mascot_data.generate import rollouts
from mascot_data.judge.run import judge
from mascot_data.preferences.groups import group_reward, groups
from mascot_data.records import GroupReward, Preference
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate import validate
from tests.judge.test_run import judging
from tests.models.scripted import Scripted, installed


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset whose rollouts were judged, several of each opening; not to be changed."""
    (report,) = build("esconv", sample=True, limit=4, output=tmp_path_factory.mktemp("grouped") / "mascot")
    with installed(Scripted()):
        rollouts(report.directory, "scripted", modes=["mascot", "mascot-c"], turns=4)
    with judging(Scripted("one")):
        judge(report.directory, ["one"], subject="rollouts")
    return report.directory


@pytest.fixture
def root(judged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged, tmp_path / "mascot" / judged.name))


def rows(root: Path, config: str, label: str = "") -> list[dict[str, Any]]:
    return [row for split in SPLITS for row in read_rows(root, config, split, label=label)]


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@given(
    st.floats(1, 5),
    st.lists(st.sampled_from(["anchor", "beacon", "guide"]), max_size=12),
    st.integers(3, 8),
    st.floats(0, 4),
)
def test_a_reward_lies_between_its_coherence_and_that_with_the_whole_weight(
    coherence: float, speakers: list[str], roster: int, eta: float
) -> None:
    found = group_reward(coherence, speakers, roster, eta)
    if len(speakers) < 2:
        assert found == (coherence, None, None)
        return
    assert found.reward is not None
    assert coherence - 1e-9 <= found.reward <= coherence + eta + 1e-9
    alone = group_reward(coherence, [speakers[0]] * len(speakers), roster, eta)
    assert alone.reward == coherence, "one voice alone earns nothing for diversity"


def test_every_whole_block_has_a_reward_made_of_its_scores(root: Path) -> None:
    report = groups(root, subject="rollouts", eta=0.5)
    blocks = {row["id"]: row for row in rows(root, "blocks", label="rollouts")}
    scores: dict[str, dict[str, float]] = {}
    for row in rows(root, "judgments", label="blocks"):
        if row["criterion"] != "composite":
            scores.setdefault(row["subject_id"], {})[row["criterion"]] = row["score"]
    found = [GroupReward.model_validate(row) for row in rows(root, "group_rewards")]
    assert {reward.id for reward in found} == scores.keys()
    assert report.rewards.total() == len(found) > 4
    for reward in found:
        assert {one.name: one.score for one in reward.criteria} == pytest.approx(scores[reward.id])
        assert math.isclose(reward.coherence, math.fsum(scores[reward.id].values()) / len(scores[reward.id]))
        assert [said.text for said in from_lines(reward.block)] == [turn["text"] for turn in blocks[reward.id]["turns"]]
        expected = group_reward(reward.coherence, reward.speakers, reward.roster, 0.5)
        assert (reward.diversity, reward.reward) == (expected.diversity, expected.reward)
    assert report.open == sum(reward.reward is None for reward in found)
    assert validate(root).problems == []


def test_pairs_are_of_one_opening_and_lead_by_the_margin(root: Path) -> None:
    report = groups(root, subject="rollouts", margin=0.05)
    rewards = {row["id"]: row for row in rows(root, "group_rewards")}
    found = [Preference.model_validate(row) for row in rows(root, "group_preferences")]
    assert report.pairs.total() == len(found) > 0
    for pair in found:
        chosen, rejected = rewards[pair.chosen_id], rewards[pair.rejected_id]
        assert chosen["prompt_id"] == rejected["prompt_id"]
        assert [one.content for one in (*pair.chosen, *pair.rejected)] == [chosen["block"], rejected["block"]]
        assert math.isclose(pair.score_gap, chosen["coherence"] - rejected["coherence"], abs_tol=1e-9)
        assert pair.score_gap >= 0.05
        assert pair.persona is None
    fewer = groups(root, subject="rollouts", margin=1)
    assert fewer.pairs.total() + fewer.ties == report.pairs.total() + report.ties


def test_a_second_run_gives_the_same_bytes(root: Path) -> None:
    groups(root, subject="rollouts", balance_length=True)
    before = files(root)
    groups(root, subject="rollouts", balance_length=True)
    assert files(root) == before


def test_one_criterion_may_stand_for_coherence(root: Path) -> None:
    groups(root, subject="rollouts", coherence="group-relevance")
    for row in rows(root, "group_rewards"):
        (score,) = [one["score"] for one in row["criteria"] if one["name"] == "group-relevance"]
        assert row["coherence"] == score
    with pytest.raises(UsageError, match="no-such"):
        groups(root, subject="rollouts", coherence="no-such")


def test_without_judgments_of_the_subject_nothing_is_made(root: Path) -> None:
    with pytest.raises(DatasetError, match="judge --subject blocks"):
        groups(root, subject="blocks")
    assert not (root / "data" / "group_rewards").exists()
