import re

from hypothesis import example, given
from hypothesis import strategies as st

from mascot_data.generate.trim import stops, trim

NAMES = ["User", "Anchor", "Guide", "Decision Logger", "The Chair (2)"]
OTHERS = "User|Anchor|Guide|Decision Logger|The Chair \\(2\\)|Assistant|Human|System|Director|Person|Agent|Speaker"
TAG = re.compile(rf"^[ \t>*_\[(#-]*(?:{OTHERS})[\])*_]*[ \t]*:", re.I | re.M)

names = st.sampled_from(NAMES)
words = st.sampled_from(
    ["well", "so it is.", "12:30 is fine", "a guide: no", "\n", "\n\n", " ", "- one", "**two**", "é"]
)
tags = st.builds(
    lambda before, name, after: f"\n{before}{name}{after}",
    st.sampled_from(["", "**", "> ", "[", "  ", "- ", "### "]),
    st.sampled_from([*NAMES, "assistant", "USER", "Director", "human"]),
    st.sampled_from([":", ": ", "**:", ":** ", "] :", ":\n"]),
)
texts = st.lists(words | tags, max_size=8).map("".join)


@given(texts, names)
@example("fine\nAnchor: more\nUser: yes", "Anchor")
def test_nobodys_tag_is_left(text: str, me: str) -> None:
    assert not TAG.search(trim(text, "stop", NAMES, me).text)


@given(texts, names)
def test_trimming_again_changes_nothing(text: str, me: str) -> None:
    once = trim(text, "stop", NAMES, me)
    assert trim(once.text, "stop", NAMES, me) == (once.text, "stop")


@given(texts, names)
def test_a_reply_is_a_piece_of_the_text(text: str, me: str) -> None:
    reply = trim(text, "length", NAMES, me)
    assert reply.text in text
    assert reply.text == reply.text.strip()
    assert reply.finish_reason in ("length", "speaker-tag")
    before, after = text[: text.find(reply.text)], text[text.find(reply.text) + len(reply.text) :]
    if reply.finish_reason == "length":
        assert not after.strip() or not reply.text
    if reply.text:
        assert not re.sub(TAG, "", before).strip(" \t\n*_[](#>-:")


@given(st.lists(words, max_size=8).map("".join), names, st.sampled_from(["stop", "length"]))
def test_without_a_tag_all_is_kept(text: str, me: str, finish: str) -> None:
    assert trim(text, finish, NAMES, me) == (text.strip(), finish)  # type: ignore[arg-type]


@given(st.sampled_from(["Anchor: ", "anchor:", "**Anchor:** ", "[Anchor] : ", "> Anchor: Anchor: "]))
def test_the_own_name_in_front_is_taken_away(tag: str) -> None:
    assert trim(f"{tag}I hear you.", "stop", NAMES, "Anchor") == ("I hear you.", "stop")


def test_a_second_turn_of_ones_own_is_no_reply() -> None:
    assert trim("Anchor: I hear you.\nAnchor: And you?", "stop", NAMES, "Anchor") == ("I hear you.", "speaker-tag")


def test_names_inside_a_sentence_are_no_tags() -> None:
    text = "I asked the guide: no answer.\nUsers: many. Guided: yes."
    assert trim(text, "stop", NAMES, "Anchor") == (text, "stop")


def test_who_speaks_only_for_others_says_nothing() -> None:
    assert trim("User: I am sad.", "stop", NAMES, "Anchor") == ("", "speaker-tag")


@given(st.lists(st.text(min_size=1), unique=True, max_size=9), st.integers(0, 8))
def test_stop_strings_are_those_of_others(found: list[str], place: int) -> None:
    me = found[place] if place < len(found) else "me"
    strings = stops(found, me)
    assert len(strings) == min(4, len(set(found) - {me}))
    assert f"\n{me}:" not in strings
    assert all(string.startswith("\n") and string.endswith(":") and string[1:-1] in found for string in strings)
