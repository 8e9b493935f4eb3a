"""Rubrics: the built-in ones are sound, a user's own are checked."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mascot_data.errors import RubricError
from mascot_data.judge.rubric import LEVELS, Rubric, lint, load_rubrics

LEVELS_OK = {1: "rude words only", 2: "short and dull", 3: "plain talk", 4: "kind in most places", 5: "warm all along"}


def rubric(**changes: Any) -> dict[str, Any]:
    criterion = {"id": "tact", "name": "Tact", "question": "How tactful?", "definition": "Tact.", "levels": LEVELS_OK}
    return {"id": "mine", "version": "3", "subject": "reply", "criteria": [{**criterion, **changes}]}


def save(folder: Path, data: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "mine.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return folder


def test_the_built_in_rubrics_have_the_criteria_of_the_paper_and_no_fault() -> None:
    found = load_rubrics()
    assert [criterion.id for criterion in found["agent"].criteria] == [
        "emotion",
        "empathy",
        "consistency",
        "relevance",
        "contribution",
    ]
    assert len(found["collective"].criteria) == 4
    assert {name: rubric.subject for name, rubric in found.items()} == {"agent": "reply", "collective": "block"}
    for rubric in found.values():
        assert list(lint(rubric)) == []
        assert all(tuple(criterion.levels) == LEVELS for criterion in rubric.criteria)


def test_ones_own_rubric_is_laid_over_the_built_in_ones(tmp_path: Path) -> None:
    found = load_rubrics(save(tmp_path, rubric()))
    assert found["mine"].label == "mine/3"
    assert "agent" in found
    with pytest.raises(RubricError, match="holds no rubric"):
        load_rubrics(tmp_path / "nowhere")


INVERTED = {**LEVELS_OK, 1: "precise, natural, perfect throughout", 5: "cold, wrong, hurts, ignores the person"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"levels": {level: text for level, text in LEVELS_OK.items() if level != 3}}, "has no level 3"),
        ({"levels": INVERTED}, "level 1 reads better than level 5"),
        ({"levels": {**LEVELS_OK, 4: "warm all  along"}}, "levels 4 and 5 say nearly the same"),
        ({"levels": {**LEVELS_OK, 6: "more than warm"}}, "levels.6"),
        ({"levels": {**LEVELS_OK, 2: ""}}, "levels.2"),
        ({"id": "No Name"}, "criteria.0.id"),
        ({"colour": "red"}, "criteria.0.colour"),
    ],
)
def test_faults_are_named_with_their_file(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(RubricError, match=expected) as error:
        load_rubrics(save(tmp_path, rubric(**changes)))
    assert "mine.yaml" in str(error.value)


def test_a_criterion_or_rubric_twice_is_a_fault(tmp_path: Path) -> None:
    data = rubric()
    double = Rubric.model_validate({**data, "criteria": data["criteria"] * 2})
    assert "criterion tact is there twice; rename one" in list(lint(double))
    (save(tmp_path, data) / "other.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    with pytest.raises(RubricError, match="two rubrics with the id mine"):
        load_rubrics(tmp_path)


def test_what_is_no_yaml_is_a_rubric_error(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(RubricError, match=r"mine\.yaml"):
        load_rubrics(tmp_path)
