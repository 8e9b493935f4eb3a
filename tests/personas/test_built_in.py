import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mascot_data.personas import Card, load_personas

PERSONAS = load_personas()
SOURCES = Path(os.environ.get("MASCOT_TEST_SOURCES", Path(__file__).resolve().parents[2] / "../shared/sources"))

ESCONV = {
    "Reflection of feelings": "anchor",
    "Restatement or Paraphrasing": "anchor",
    "Question": "catalyst",
    "Affirmation and Reassurance": "beacon",
    "Self-disclosure": "beacon",
    "Providing Suggestions": "guide",
    "Information": "guide",
}
INTENTS = {
    "acknowledging": "anchor",
    "consoling": "anchor",
    "sympathizing": "anchor",
    "questioning": "catalyst",
    "encouraging": "beacon",
    "agreeing": "beacon",
    "wishing": "beacon",
    "suggesting": "guide",
}


def members(roster: str) -> list[Card]:
    return [PERSONAS.cards[persona] for persona in PERSONAS.rosters[roster].personas]


def test_the_rosters_and_their_personas() -> None:
    assert PERSONAS.rosters["companions"].personas == ("anchor", "catalyst", "beacon", "guide")
    assert PERSONAS.rosters["workplace"].personas == ("scribe", "decision-logger", "action-captain", "critic")
    seated = [persona for roster in PERSONAS.rosters.values() for persona in roster.personas]
    assert sorted(seated) == sorted(PERSONAS.cards)


@pytest.mark.parametrize(("corpus", "acts"), [("esconv", ESCONV), ("empathetic-dialogues", INTENTS), ("qmsum", {})])
def test_every_act_belongs_to_one_companion(corpus: str, acts: dict[str, str]) -> None:
    assert PERSONAS.by_act(corpus, PERSONAS.rosters["companions"]) == acts
    assert PERSONAS.by_act(corpus, PERSONAS.rosters["workplace"]) == {}


@pytest.mark.parametrize("field", ["does", "examples", "style", "purpose"])
def test_no_two_cards_share_a_sentence(field: str) -> None:
    found = [getattr(card, field) for card in PERSONAS.cards.values()]
    sentences = [text.casefold() for value in found for text in ([value] if isinstance(value, str) else value)]
    assert len(sentences) == len(set(sentences))


def test_there_are_five_examples_and_more() -> None:
    assert min(len(card.examples) for card in PERSONAS.cards.values()) >= 5


@pytest.mark.parametrize("roster", ["companions", "workplace"])
def test_every_agent_leaves_their_work_to_all_the_others(roster: str) -> None:
    for card in members(roster):
        left = {ban.belongs_to for ban in card.never} - {None}
        assert left == {other.id for other in members(roster)} - {card.id}


@pytest.mark.parametrize("roster", PERSONAS.rosters)
def test_no_two_cards_of_a_roster_do_the_same_work(roster: str) -> None:
    words = {card.id: set(re.findall(r"[a-z']+", " ".join(card.does).lower())) for card in members(roster)}
    for one, two in itertools.combinations(words, 2):
        overlap = len(words[one] & words[two]) / len(words[one] | words[two])
        assert overlap < 0.2, (one, two, words[one] & words[two])


@pytest.mark.parametrize("persona", ["anchor", "beacon", "guide"])
def test_only_the_catalyst_asks(persona: str) -> None:
    assert not any("?" in example for example in PERSONAS.cards[persona].examples)


@pytest.mark.parametrize(
    ("name", "persona"),
    [
        ("Project Manager", "project-manager"),
        ("Marketing", "marketing"),
        ("Industrial Designer", "industrial-designer"),
        ("User Interface", "user-interface"),
        ("Professor B", "professor"),
        ("PhD A", "phd-student"),
        (" Grad  B ", "grad-student"),
        ("Postdoc E", "postdoc"),
        ("Undergrad D", "undergraduate"),
        ("The Chair", "chair"),
        ("The Chair (Ms. Jane Doe (North Shore, Ind.))", "chair"),
        ("The Acting Chair (Mr. John Doe)", "chair"),
        ("Professor Jane Doe", "committee-member"),
        ("Hon. Jane Doe (Minister of Tides)", "committee-member"),
        ("Jane Doe AM", "committee-member"),
        ("Jane Chair", "committee-member"),
    ],
)
def test_meeting_roles(name: str, persona: str) -> None:
    card = PERSONAS.for_meeting_role(name)
    assert card is not None
    assert card.id == persona


@pytest.mark.parametrize("name", ["", "  ", "Jane", "Anchor"])
def test_who_has_no_meeting_role(name: str) -> None:
    assert PERSONAS.for_meeting_role(name) is None


def _meetings() -> Iterator[tuple[str, set[str]]]:
    listed = (SOURCES / "qmsum/domain_file_list.txt").read_text(encoding="utf-8").split()
    domains = {Path(line).stem: Path(line).parts[1] for line in listed if line.endswith(".json")}
    for path in SOURCES.glob("qmsum/data/ALL/*/*.json"):
        turns = json.loads(path.read_text(encoding="utf-8"))["meeting_transcripts"]
        yield domains[path.stem], {turn["speaker"] for turn in turns}


@pytest.mark.skipif(not (SOURCES / "qmsum").is_dir(), reason="needs the real QMSum release in MASCOT_TEST_SOURCES")
def test_everybody_in_the_real_meetings_has_a_card_of_the_domain() -> None:
    roles = [card.id for card in members("meeting")]
    expected = {"Product": set(roles[:4]), "Academic": set(roles[4:9]), "Committee": set(roles[9:])}
    found: dict[str, set[str | None]] = {domain: set() for domain in expected}
    for domain, names in _meetings():
        for name in names:
            card = PERSONAS.for_meeting_role(name)
            found[domain].add(card.id if card else None)
    assert found == expected


@pytest.mark.skipif(not (SOURCES / "esconv").is_dir(), reason="needs the real ESConv release in MASCOT_TEST_SOURCES")
def test_the_strategies_of_the_real_release_are_those_of_the_cards() -> None:
    conversations = json.loads((SOURCES / "esconv/ESConv.json").read_text(encoding="utf-8"))
    strategies = {turn["annotation"].get("strategy") for talk in conversations for turn in talk["dialog"]}
    acts = PERSONAS.by_act("esconv", PERSONAS.rosters["companions"])
    assert strategies - {None} == {*acts, "Others"}
