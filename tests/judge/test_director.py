"""Directives that a model reads off turns: legal, whole, from stored answers the second time, the same bytes again."""

import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mascot_data.build.reading import read_rows
from mascot_data.build.run import build
from mascot_data.errors import DatasetError, UsageError
from mascot_data.judge import director
from mascot_data.judge.director import DirectorReport, label_director
from mascot_data.models import Choice, Failure, ModelOptions
from mascot_data.models.asking import Question
from mascot_data.personas import load_personas
from mascot_data.records import DirectorLabel
from mascot_data.records.dialogue import SPLITS
from mascot_data.validate import validate
from tests.conftest import Command
from tests.models.scripted import Scripted, no_failure

Fails = Callable[[Question], Failure | None]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Datasets of two corpora, one with human acts and one without; not to be changed."""
    output = tmp_path_factory.mktemp("directed") / "mascot"
    return {
        corpus: build(corpus, sample=True, limit=4, output=output)[0].directory
        for corpus in ("esconv", "empathetic-dialogues")
    }


@pytest.fixture(params=["esconv", "empathetic-dialogues"])
def root(built: dict[str, Path], request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built[request.param], tmp_path / "mascot" / built[request.param].name))


@contextmanager
def answering(fails: Fails = no_failure) -> Iterator[Scripted]:
    model = Scripted("one", fails=fails)

    def load(name: str, options: ModelOptions | None) -> Scripted:
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(director, "load_model", load)
        yield model


def label(root: Path, **options: Any) -> tuple[DirectorReport, Scripted]:
    with answering() as model:
        return label_director(root, "one", every=True, **options), model


def rows(root: Path, config: str) -> list[dict[str, Any]]:
    return [row for split in SPLITS for row in read_rows(root, config, split)]


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_every_label_is_legal_and_the_likeliest_of_its_options(root: Path) -> None:
    report, _ = label(root)
    turns = {row["id"]: row for row in rows(root, "director_turns")}
    found = rows(root, "director_labels")
    assert [row["id"] for row in found] == list(turns)
    assert report.turns == len(turns) == report.rows.total()
    cards = load_personas()
    for data in found:
        row, turn = DirectorLabel.model_validate(data), turns[data["id"]]
        assert [option.name for option in row.agent_options] == turn["candidates_agents"]
        actions, tones = director.legal(cards, director.source_of(row.id), row.agent)
        assert [option.name for option in row.action_options] == list(actions)
        assert [option.name for option in row.tone_options] == list(tones)
        for chosen, options in (
            (row.agent, row.agent_options),
            (row.action, row.action_options),
            (row.tone, row.tone_options),
        ):
            assert math.isclose(math.fsum(option.probability for option in options), 1)
            assert chosen == max(options, key=lambda option: option.probability).name
        assert (row.corpus.agent, row.corpus.action, row.corpus.tone) == (turn["agent"], turn["action"], turn["tone"])
    assert validate(root).problems == []


def test_by_default_only_actions_without_a_human_act_are_labelled_and_the_agent_stays(
    built: dict[str, Path], tmp_path: Path
) -> None:
    root = tmp_path / "mascot" / built["empathetic-dialogues"].name
    shutil.copytree(built["empathetic-dialogues"], root)
    with answering():
        report = label_director(root, "one")
    turns = {row["id"]: row for row in rows(root, "director_turns")}
    found = rows(root, "director_labels")
    assert [row["id"] for row in found] == [name for name, row in turns.items() if row["action_origin"] != "human"]
    assert report.turns + report.skipped == len(turns)
    assert found
    for row in found:
        assert row["agent"] == turns[row["id"]]["agent"]
        assert row["agent_from"] == "corpus"


def test_where_every_act_is_human_there_is_nothing_to_label_unless_asked(built: dict[str, Path]) -> None:
    if any(row["action_origin"] != "human" for row in rows(built["esconv"], "director_turns")):
        pytest.skip("the sample has acts of another origin")
    with answering(), pytest.raises(DatasetError, match="--all"):
        label_director(built["esconv"], "one")


def test_a_second_run_asks_for_nothing_and_gives_the_same_bytes(root: Path) -> None:
    first, model = label(root)
    before = files(root)
    second, again = label(root)
    assert model.asked
    assert not again.asked
    assert (first.asked, first.stored) == (second.stored, second.asked)
    assert files(root) == before


def test_labels_with_other_options_are_replaced_only_when_asked(root: Path) -> None:
    label(root, limit=2)
    with pytest.raises(UsageError, match="--replace"):
        label(root, limit=1)
    report, _ = label(root, limit=1, replace=True)
    assert set(report.rows.values()) == {1}
    assert set(label(root)[0].rows) >= set(report.rows), "more may be labelled unasked"


def test_a_turn_whose_question_fails_has_no_row_and_is_named(root: Path) -> None:
    def fails(question: Question) -> Failure | None:
        broken = isinstance(question, Choice) and '"tone": "' in question.prefix and '"anchor"' in question.prefix
        return Failure("connection", "the server is gone") if broken else None

    with answering(fails):
        report = label_director(root, "one", every=True)
    labelled = {row["id"] for row in rows(root, "director_labels")}
    turns = {row["id"] for row in rows(root, "director_turns")}
    assert report.lost
    assert {lost.where for lost in report.lost} == turns - labelled
    assert {lost.reason for lost in report.lost} == {"connection"}
    assert not any(row["agent"] == "anchor" for row in rows(root, "director_labels"))


def test_the_model_is_not_shown_who_spoke(root: Path) -> None:
    turn = rows(root, "director_turns")[0]
    (_, system), (_, shown) = director.label_messages(turn, "I am here.\nUser: stop")
    assert turn["prompt"][0]["content"] == system
    assert "Somebody: I am here." in shown
    assert "\nUser: stop" not in shown.removeprefix(turn["prompt"][1]["content"])


def test_options_of_scores_are_not_silently_left_aside(built: dict[str, Path], command: Command) -> None:
    code, _, errors = command("judge", built["esconv"], "--task", "director", "--judge", "m", "--subject", "blocks")
    assert code == 2
    assert "--task scores" in errors
