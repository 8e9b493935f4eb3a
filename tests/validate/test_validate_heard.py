"""Names that are in no row are learnt, and then have to be the same wherever they are heard."""

from collections.abc import Sequence

from mascot_data.build.projection import Said
from mascot_data.records import Dialogue, Outcome, Scenario, Speaker, Turn
from mascot_data.validate.heard import OWN, Names, heard_problem


def dialogue(*spoken: tuple[str, str | None, str]) -> Dialogue:
    """Make a dialogue of (speaker, persona, text)."""
    speakers = {speaker: persona for speaker, persona, _ in spoken}

    def kind(speaker: str) -> str:
        return "agent" if speakers[speaker] else "user" if speaker == "user" else "participant"

    turns = [
        Turn.model_construct(index=index, speaker=speaker, kind=kind(speaker), persona=persona, text=text)
        for index, (speaker, persona, text) in enumerate(spoken)
    ]
    people = [
        Speaker.model_construct(id=speaker, kind=kind(speaker), persona=persona, role=None, name="x")
        for speaker, persona in speakers.items()
    ]
    return Dialogue.model_construct(speakers=people, turns=turns, scenario=Scenario, outcome=Outcome)


def heard(names: Names, row: Dialogue, *said: tuple[str, str], me: str | None = None) -> str | None:
    lines: Sequence[Said] = [Said(*pair) for pair in said]
    return heard_problem(row, lines, 0, len(row.turns), names, me)


ROW = dialogue(("user", None, "a"), ("critic", "critic", "b"))


def test_a_name_is_learnt_and_then_expected() -> None:
    names = Names()
    assert heard(names, ROW, ("User", "a"), ("Socrates", "b")) is None
    assert heard(names, ROW, ("User", "a"), ("Socrates", "b")) is None
    assert heard(names, ROW, ("User", "a"), ("Plato", "b")) == "its prompt gives turn 1 to 'Plato', not to 'critic'"


def test_a_name_is_not_learnt_from_another_text() -> None:
    names = Names()
    assert heard(names, ROW, ("User", "a"), ("Plato", "c")) == "its prompt shows another text for turn 1"
    assert heard(names, ROW, ("User", "a"), ("Socrates", "b")) is None


def test_namesakes_are_told_apart_by_number() -> None:
    names = Names()
    both = dialogue(("Critic", None, "a"), ("critic", "critic", "b"))
    assert heard(names, both, ("Critic", "a"), ("Critic (2)", "b")) is None
    assert heard(names, ROW, ("User", "a"), ("Critic", "b")) is None
    assert heard(names, both, ("Critic", "a"), ("Critic", "b")) is not None


def test_a_number_can_be_part_of_a_name() -> None:
    names = Names()
    assert heard(names, ROW, ("User", "a"), ("HAL (2)", "b")) is None
    assert heard(names, ROW, ("User", "a"), ("HAL", "b")) is not None


def test_own_turns_carry_no_name() -> None:
    names = Names()
    assert heard(names, ROW, ("User", "a"), (OWN, "b"), me="critic") is None
    assert heard(names, ROW, ("User", "a"), ("Critic", "b"), me="critic") is not None
    assert (
        heard(names, ROW, (OWN, "a"), (OWN, "b"), me="critic") == "its prompt gives turn 0 to 'itself', not to 'user'"
    )


def test_more_or_fewer_turns_are_told() -> None:
    assert heard(Names(), ROW, ("User", "a")) == "its prompt shows 1 turns, not the 2 from 0 to 2"
    assert heard(Names(), ROW, *[("User", "a")] * 3) == "its prompt shows 3 turns, not the 2 from 0 to 2"
