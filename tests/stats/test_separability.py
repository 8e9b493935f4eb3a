import random
import sys

import pytest

from mascot_data.errors import PrerequisiteError
from mascot_data.stats.separability import separability

WORDS = ["day", "night", "walk", "talk", "home", "work", "rain", "sun", "song", "bread", "river", "stone"]
OWN = {"anchor": "feel", "catalyst": "why", "guide": "try"}
Turns = tuple[list[str], list[str], list[str]]


def turns(dialogues: int, own: dict[str, str], seed: int = 0) -> Turns:
    """Make dialogues in which everybody speaks once, with a word of his own among others."""
    chance, rows = random.Random(seed), []
    for number in range(dialogues):
        for persona, word in own.items():
            said = [*chance.choices(WORDS, k=6), word]
            chance.shuffle(said)
            rows.append((" ".join(said), persona, f"d{number}"))
    texts, personas, names = zip(*rows, strict=True)
    return list(texts), list(personas), list(names)


@pytest.fixture(autouse=True)
def _sklearn() -> None:
    pytest.importorskip("sklearn", reason="persona separability needs the extra [judge]")


def test_personas_with_words_of_their_own_are_told_apart() -> None:
    found = separability(*turns(40, OWN))
    assert found.f1.value is not None
    assert found.f1.value > 0.95
    assert found.f1.n == 120
    assert set(found.by_persona) == set(OWN)
    assert found.f1.value == pytest.approx(sum(found.by_persona.values()) / 3)
    assert found.chance.value is not None
    assert found.chance.value < 0.5
    # One of three is always said: a third of all turns is right, two personas are never found.
    assert found.majority.value == pytest.approx(0.5 / 3, abs=0.03)


def test_personas_with_the_same_words_are_not() -> None:
    found = separability(*turns(60, dict.fromkeys(OWN, "so")))
    assert found.f1.value is not None
    assert found.chance.value is not None
    assert abs(found.f1.value - found.chance.value) < 0.15


def test_names_do_not_help() -> None:
    named = turns(60, {"anchor": "Anchor's", "catalyst": "catalyst", "guide": "GUIDE"})
    assert separability(*named).f1.value == pytest.approx(1, abs=0.02)
    hidden = separability(*named, names=["anchor", "catalyst", "guide"])
    assert hidden.f1.value is not None
    assert hidden.f1.value < 0.5


def test_a_dialogue_is_in_one_fold_only() -> None:
    # A word of the dialogue gives the persona away, but only to who has seen the dialogue.
    chance = random.Random(0)
    rows = [
        (f"code{number} {chance.choice(WORDS)} {turn}", chance_persona, f"d{number}")
        for number in range(40)
        for chance_persona in [chance.choice(["anchor", "guide"])]
        for turn in range(4)
    ]
    found = separability(*zip(*rows, strict=True))
    assert found.f1.value is not None
    assert found.f1.value < 0.7


def test_it_is_the_same_every_time() -> None:
    texts, personas, dialogues = turns(30, OWN)
    assert separability(texts, personas, dialogues) == separability(texts, personas, dialogues)
    assert separability(texts, personas, dialogues, most=30).f1.n == 30


def test_most_takes_whole_dialogues() -> None:
    assert separability(*turns(30, OWN), most=31).f1.n == 33


def test_what_cannot_be_measured_has_a_reason() -> None:
    one = separability(*turns(30, {"anchor": "feel"}))
    assert [measure.value for measure in one[:4]] == [None] * 4
    assert one.f1.why == "fewer than two personas"
    assert one.by_persona == {}
    assert separability(*turns(4, OWN)).f1.why == "4 dialogues, 5 are needed"
    assert separability([], [], []).f1.why == "fewer than two personas"
    assert separability(["?!", "..."], ["anchor", "guide"], ["a", "b"]).f1 == (
        None,
        0,
        None,
        None,
        "fewer than two personas",
    )


def test_a_persona_of_one_dialogue_is_no_fault() -> None:
    texts, personas, dialogues = turns(10, {"anchor": "feel"})
    found = separability([*texts, "why not"], [*personas, "guide"], [*dialogues, dialogues[0]])
    assert found.by_persona["guide"] == 0
    assert found.f1.value is not None


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(PrerequisiteError, match=r"persona separability needs the extra \[judge\]"):
        separability(*turns(30, OWN))
