"""The guidelines speak of the criteria and personas that there are, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from mascot_data.judge.rubric import load_rubrics
from mascot_data.personas import load_personas

FOLDER = Path(__file__).resolve().parents[2] / "annotation" / "guidelines"
PAGES = sorted(path.name for path in FOLDER.glob("*.md"))


def text(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


@pytest.mark.parametrize(("page", "rubric"), [("rating.md", "agent"), ("block.md", "collective")])
def test_every_criterion_is_explained_under_the_name_that_annotators_see(page: str, rubric: str) -> None:
    for criterion in load_rubrics()[rubric].criteria:
        assert f"| {criterion.name} |" in text(page)


def test_every_persona_is_named() -> None:
    assert all(card.name in text("README.md") for card in load_personas().cards.values() if card.id in _ROSTERS)


_ROSTERS = {
    name for domain in ("psychological-support", "workplace") for name in load_personas().roster_for(domain).personas
}


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    assert all((FOLDER / target).is_file() for target in re.findall(r"\]\(([a-z]+\.md)\)", text(page)))


def test_the_first_page_leads_to_all_others() -> None:
    assert {*re.findall(r"\]\(([a-z]+\.md)\)", text("README.md")), "README.md"} == set(PAGES)
