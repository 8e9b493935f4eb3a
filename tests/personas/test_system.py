from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.personas import Ban, Card, load_personas, system_message

PERSONAS = load_personas()
SEATS = [(persona, roster) for roster in PERSONAS.rosters.values() for persona in roster.personas]
SNIPPETS = [
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "{# gone #}",
    "{{ card.examples }}",
    '"',
    "'",
    "<b>&amp;",
    "\\n",
    "%}",
    "{{",
]

plain = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)
texts = st.lists(plain | st.sampled_from(SNIPPETS), min_size=1, max_size=4).map(" ".join)


def items(least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(texts, min_size=least, max_size=most, unique_by=lambda text: text.casefold())


cards = st.fixed_dictionaries(
    {
        "id": st.just("own-card"),
        "name": texts,
        "role": texts,
        "purpose": texts,
        "traits": items(3, 6),
        "style": items(2, 4),
        "does": items(3, 6),
        "never": st.lists(
            st.builds(
                lambda what, other: {"what": what, "belongs_to": other}, texts, st.sampled_from(["anchor", None])
            ),
            min_size=3,
            max_size=6,
        ),
        "examples": items(4, 6),
    }
).map(Card.model_validate)


@settings(deadline=None, max_examples=50)
@given(cards)
def test_card_text_comes_out_literally(card: Card) -> None:
    message = system_message(card, [PERSONAS.cards["anchor"]])
    lines = message.splitlines()
    assert lines[0] == f"You are {card.name} ({card.role}). {card.purpose}"
    assert lines[1] == f"Character: {', '.join(card.traits)}."
    expected = [*card.does, *card.style, *(_ban(ban) for ban in card.never)]
    assert [line[2:] for line in lines if line.startswith("- ")] == expected


def _ban(ban: Ban) -> str:
    return f"{ban.what} (leave that to Anchor)" if ban.belongs_to == "anchor" else ban.what


@pytest.mark.parametrize(("persona", "roster"), SEATS, ids=[persona for persona, _ in SEATS])
def test_a_built_in_card_in_its_roster(persona: str, roster: Any) -> None:
    card, others = PERSONAS.cards[persona], PERSONAS.others(persona, roster)
    message = system_message(card, others)
    assert 120 <= len(message.split()) <= 200
    assert message == system_message(card, list(others))
    assert not any(example in message for example in card.examples)
    left = {ban.belongs_to for ban in card.never}
    for other in others:
        assert (f"leave that to {other.name})" in message) == (other.id in left)
    assert '"Name: text"' in message
    assert message.endswith("Answer with only your own next reply, without a name in front.")
    assert not any(line != line.rstrip() for line in message.split("\n"))


def test_nothing_is_left_to_somebody_who_is_not_there() -> None:
    message = system_message(PERSONAS.cards["anchor"])
    assert "leave that to" not in message
    assert "Ask a question of any kind" in message


def test_people_in_meetings_speak_under_their_own_name() -> None:
    message = system_message(PERSONAS.cards["phd-student"], name="PhD D")
    assert message.startswith("You are PhD D (doctoral-level researcher")
