"""Readable text from speech transcripts, and one name for each person of a meeting."""

import json
import os
import re
import time
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mascot_data.build.speech import canonical_names, clean_speech, is_noise, role_of

SOURCES = Path(os.environ.get("MASCOT_TEST_SOURCES", Path(__file__).resolve().parents[2] / "../shared/sources"))
QMSUM = SOURCES / "qmsum" / "data" / "ALL"
needs_qmsum = pytest.mark.skipif(not QMSUM.is_dir(), reason=f"the meetings of QMSum are not in {QMSUM}")

NOISE = re.compile(
    r"\{(?:disfmarker|vocalsound|pause|gap|comment|nonvocalsound)\}"
    r"|\[(?:laughter|objection|inaudible|interruption)[.!?]?\]",
    re.IGNORECASE,
)

CLEANED = [
    # spaced punctuation and contractions
    ("we 're on .", "we're on."),
    ("Well , it 's fine , is n't it ?", "Well, it's fine, isn't it?"),
    ("I 'm sure they 'll say we 've won !", "I'm sure they'll say we've won!"),
    ("I do n't wan na go , you 've got ta see it .", "I don't wanna go, you've gotta see it."),
    ("Gon na rain : bring a coat ; or two .", "Gonna rain: bring a coat; or two."),
    ("You can not park here .", "You can not park here."),
    ("both drivers ' cars at ten o ' clock , we ' r late .", "both drivers' cars at ten o'clock, we'r late."),
    ("Yes ma '", "Yes ma'"),
    # noise
    ("{vocalsound} Right {disfmarker} right . {pause}", "Right right."),
    ("{gap} , so we start", "so we start"),
    ("so , {disfmarker} , we start . {gap} .", "so, we start."),
    ("really , {vocalsound} ? .", "really?"),
    ("one{gap}two", "one two"),
    ("I would take @ @ {comment} the red one .", "I would take the red one."),
    ("Thank you. [Laughter.] Next item.", "Thank you. Next item."),
    ("We will\u2014[Inaudible.]\u2014next week.", "We will\u2014next week."),
    ("He left [Inaudible.]\u2014in May.", "He left\u2014in May."),
    ('it sounds like " {gap} " . Odd .', "it sounds like. Odd."),
    (". Yeah , sure", "Yeah, sure"),
    ("Okay . .. .", "Okay."),
    # hyphens and quotes
    ("Mm - hmm . Twenty - five , A - to - B .", "Mm-hmm. Twenty-five, A-to-B."),
    ("Uh - huh", "Uh-huh"),
    ("Tomor - {vocalsound} Next week .", "Tomor- Next week."),
    ('he said " come in " , and " sit down . "', 'he said "come in", and "sit down."'),
    ('" Fine " \'s what she wrote , three " fine "s .', '"Fine"\'s what she wrote, three "fine"s.'),
    ('and she {disfmarker} " was the last word " .', 'and she "was the last word".'),
    # spelled letters
    ("Two D_V_D_s and a T_V_ , an anti-R_F_ coating", "Two DVDs and a TV, an anti-RF coating"),
    ("the L_C_D_'s new", "the LCD's new"),
    ("'S to do now", "'S to do now"),
    # white space
    ("  too\u00a0many \n spaces\t", "too many spaces"),
]

CLEAN = [
    "Meet me at 10:30, e.g. at https://example.org/a_b?c=d, or write to a_b@example.org.",
    "It cost $1,200.50 (up 3.5%)... and that - I think - is fair!",
    "She said, \"We're done,\" and left; the members' vote was 5-4.",
    "Only .5 percent? He asked for 'the plan' and 'no deal', etc., and got U.K.-style cuts.",
    "low- and middle-income seniors\u2014all of them\u2014in the 1990s",
    "[correction: it was May] {name} @home, a lone @ sign, C++ & R&D",
    "'Cause I know 'em.",
    "...and then?",
]

BLANK = [
    "",
    " ",
    "\n\t",
    ".",
    " . , ?",
    "{vocalsound}",
    "{gap} . {pause} {gap}",
    "[Inaudible.]",
    "@ @ .",
    "\u2014 \" '",
]


@pytest.mark.parametrize(("raw", "wanted"), CLEANED)
def test_transcripts_become_readable(raw: str, wanted: str) -> None:
    assert clean_speech(raw) == wanted


@pytest.mark.parametrize("text", CLEAN)
def test_clean_text_stays_as_it_is(text: str) -> None:
    assert clean_speech(text) == text


@pytest.mark.parametrize("text", BLANK)
def test_text_without_a_word_is_noise(text: str) -> None:
    assert is_noise(text)
    assert clean_speech(text) == ""


@pytest.mark.parametrize("text", ["no", "{vocalsound} 5", "{unknown}", "[Applause]", "a_b"])
def test_text_with_a_word_is_no_noise(text: str) -> None:
    assert not is_noise(text)
    assert clean_speech(text)


def letters(text: str) -> str:
    """The letters and digits outside noise marks, in order."""
    return re.sub(r"[\W_]+", "", NOISE.sub(" ", text))


SIGNS = [*"abSTé5 .,?!;:-_@\"'*/\u2014\u2019[]{}", "we", "  ", "\u00a0", "\n", "..", " - ", " . ", " , ", " ' ", ' " ']
MARKS = [
    "{gap}",
    " {disfmarker} ",
    "[Laughter.]",
    "[laughter",
    "{pause",
    " 's",
    " n't",
    "wan na",
    "T_V_",
    " @ @ ",
    "@@",
]
pieces = st.sampled_from(SIGNS + MARKS)
texts = st.one_of(st.text(), st.lists(pieces, max_size=30).map("".join))


@given(texts)
def test_no_word_is_changed_lost_or_moved(text: str) -> None:
    assert letters(clean_speech(text)) == letters(text)


@given(texts)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean_speech(text)
    assert clean_speech(once) == once


@given(texts)
def test_noise_is_what_leaves_nothing(text: str) -> None:
    assert is_noise(text) == (clean_speech(text) == "") == (letters(text) == "")


@given(st.lists(st.sampled_from(["a", "Tom", "42", "{gap}", "{pause}", ".", ",", "?"]), max_size=12))
def test_words_never_run_together(tokens: list[str]) -> None:
    words = [token for token in tokens if token.isalnum()]
    assert re.findall(r"\w+", clean_speech(" ".join(tokens))) == words


@pytest.mark.parametrize(
    "unit",
    [". ", ' "', "A_", "{gap", "{gap} ", "@ ", " '", " -", "- - ", "[[", "a ' ", ". .. ", '"s ', "\u00a0\n", "a n't"],
)
def test_no_text_takes_unreasonably_long(unit: str) -> None:
    text = unit * 20_000
    start = time.process_time()
    clean_speech(text)
    is_noise(text)
    assert time.process_time() - start < 5


# --- names ---------------------------------------------------------------------------------------------------------

SAME = [
    (["Mr. Ray Lowe", "Mr. Ray Lowe (North End, NDP)"], "Mr. Ray Lowe"),
    (["Hon. Ida Moss (Minister of Roads)", "The Honourable Ida Moss", "Right Hon. Ida Moss"], "Hon. Ida Moss"),
    (["  Ida   Moss", "IDA MOSS", "Ida Moss:"], "Ida Moss"),
    (["The Chair", "The Chair (Hon. Ida Moss (North End, Lib.))", "Hon. Ida Moss"], "The Chair"),
    (
        ["The Acting Chair (Mr. Ray Lowe)", "The Acting Chair (Mr. Ray Lowe (North, CPC))"],
        "The Acting Chair (Mr. Ray Lowe)",
    ),
    (["The Acting Chair (Mr. Ray Lowe)", "Mr. Ray Lowe"], "Mr. Ray Lowe"),
    (["Mr. Seán O'Dowd", "Mr. Seán O\u2019Dowd (West, BQ"], "Mr. Seán O'Dowd"),
    (["grad a", "Grad A"], "Grad A"),
]

APART = [
    ["Grad A", "Grad B", "PhD A", "PhD B", "Professor A", "Professor B", "Postdoc A"],
    ["Project Manager", "Marketing", "Industrial Designer", "User Interface"],
    ["Mr. Lowe", "Dr. Lowe", "Mr. Ray Lowe", "Mr. Roy Lowe", "Ray Lowe Junior"],
    ["Mr. Pat Lowe", "Mrs. Pat Lowe", "Hon. Pat Lowe"],
    ["Mr. Ray Lowe (North End, NDP)", "Mr. Ray Lowe (South End, Lib.)", "Mr. Ray Lowe"],
    ["The Chair", "The Acting Chair (Mr. Ray Lowe)", "The Acting Chair (Mrs. Ida Moss)", "The Acting Chair"],
    ["The Chair (Mr. Ray Lowe)", "The Chair (Ms. Ida Moss)", "The Chair"],
    ["Sian Moss AM", "Sian Hughes", "Dr Sian Lee"],
    ["", "(", "()", "...", "Chair"],
]


@pytest.mark.parametrize(("spellings", "name"), SAME)
def test_spellings_of_one_person_get_one_name(spellings: list[str], name: str) -> None:
    assert canonical_names(spellings) == dict.fromkeys(spellings, name)


@pytest.mark.parametrize("spellings", APART)
def test_different_people_stay_apart(spellings: list[str]) -> None:
    assert len(set(canonical_names(spellings).values())) == len(spellings)


def test_a_name_nested_without_end_is_read() -> None:
    nested = "The Chair (" * 5_000
    assert canonical_names([nested]).keys() == {nested}


def test_the_note_goes_even_when_it_is_always_there() -> None:
    assert canonical_names(["Ms. Ida Moss (North End, GP)"]) == {"Ms. Ida Moss (North End, GP)": "Ms. Ida Moss"}


spelled = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "Mr. ", "Ms. ", "Hon. ", "The Right Honourable ", "Dr ", "PROFESSOR  "]),
    st.sampled_from(["Ray Lowe", "ray lowe", "Ida Moss", "Moss", "A", "The Chair", "The Acting Chair", ""]),
    st.sampled_from(
        ["", " (North, CPC)", " (Minister of Roads)", " (Mr. Ray Lowe)", " (Mr. Ray Lowe (North, CPC))", " ("]
    ),
)


@given(st.lists(st.one_of(spelled, st.text(max_size=8))), st.randoms(use_true_random=False))
def test_names_depend_only_on_the_set_of_spellings(spellings: list[str], random: Random) -> None:
    shuffled = spellings + spellings[:3]
    random.shuffle(shuffled)
    assert canonical_names(shuffled) == canonical_names(spellings)
    assert canonical_names(spellings).keys() == set(spellings)


@given(st.lists(spelled))
def test_no_merge_joins_different_words_of_a_name(spellings: list[str]) -> None:
    held: dict[str, set[str]] = {}
    for spelling, name in canonical_names(spellings).items():
        people = re.findall(r"ray lowe|ida moss|\bmoss|\ba\b", spelling.lower().partition("(")[0])
        held.setdefault(name, set()).update(people)
    assert all(len(people) <= 1 for people in held.values())


@pytest.mark.parametrize(
    ("spellings", "role"),
    [
        (["Project Manager"], "Project Manager"),
        (["Marketing"], "Marketing"),
        (["PhD C"], "PhD"),
        (["Grad J"], "Graduate student"),
        (["Professor B"], "Professor"),
        (["Professor Ida Moss"], None),
        (["The Chair (Hon. Ida Moss (North End, Lib.))", "The Chair"], "Chair"),
        (["Mr. Ray Lowe", "The Acting Chair (Mr. Ray Lowe (North End, CPC))"], "Acting Chair"),
        (["Hon. Ida Moss", "Hon. Ida Moss (Minister of Roads, Rail and Ports)"], "Minister of Roads, Rail and Ports"),
        (["Mr. Ray Lowe (North End, CPC)"], "Member"),
        (["Ida Moss AM"], "Assembly Member"),
        (["Hon. Ida Moss"], None),
        ([""], None),
        ([], None),
    ],
)
def test_roles(spellings: list[str], role: str | None) -> None:
    assert role_of(spellings) == role


@given(st.lists(st.one_of(spelled, st.text())), st.randoms(use_true_random=False))
def test_a_role_depends_only_on_the_set_of_spellings(spellings: list[str], random: Random) -> None:
    shuffled = spellings[:]
    random.shuffle(shuffled)
    assert role_of(shuffled) == role_of(spellings)


# --- the real meetings ---------------------------------------------------------------------------------------------


@cache
def meetings() -> dict[str, list[tuple[str, str]]]:
    return {
        path.stem: [
            (turn["speaker"], turn["content"]) for turn in json.loads(path.read_text("utf-8"))["meeting_transcripts"]
        ]
        for path in sorted(QMSUM.glob("*/*.json"))
    }


@needs_qmsum
def test_every_real_turn_keeps_its_words_and_cleans_once() -> None:
    for name, turns in meetings().items():
        for number, (_, text) in enumerate(turns):
            once = clean_speech(text)
            assert letters(once) == letters(text), (name, number)
            assert clean_speech(once) == once, (name, number)
            assert not re.search(r"\w [.,?!;:](?: |$)|\{[a-z]+\}|@ @|\w_|  ", once), (name, number, once)


@needs_qmsum
def test_real_turns_without_a_word() -> None:
    found = Counter(
        "blank" if not text.strip() else "noise" for turns in meetings().values() for _, text in turns if is_noise(text)
    )
    # Of the noise, two turns are nothing but a stage direction in brackets; blank ones and the rest are 6,466.
    assert found == {"blank": 115, "noise": 6_353}


@needs_qmsum
def test_real_people_under_several_names() -> None:
    several: Counter[str] = Counter()
    for name, turns in meetings().items():
        people = Counter(canonical_names({speaker for speaker, _ in turns}).values())
        several[name] += sum(count > 1 for count in people.values())
    assert len(meetings()) == 232
    assert len(+several) == 11
    # 405 by what stands before the parenthesis, and two more under both `Hon.` and `The Honourable`.
    assert several.total() == 407
