"""Rooms of many speakers become chat messages and come back as they were; strict templates take them."""

from collections.abc import Sequence
from functools import cache
from typing import NoReturn

import jinja2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mascot_data.build.projection import (
    GO_ON,
    SILENCE,
    Message,
    Said,
    add_line,
    director_view,
    fit_row,
    fit_template,
    from_director_view,
    from_lines,
    from_speaker_view,
    speaker_view,
    to_line,
)

LOOK_ALIKES = [
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\n  ",
    "  \n",
    "Anchor: no",
    "\nAnchor: no",
    "\n  Anchor: no",
    ": ",
    "\n: ",
    "a\r\nb",
    "a\u2028b\x0bc\x85d",
    "Director: sing; loud",
    SILENCE,
    GO_ON,
    f"{SILENCE}\n{GO_ON}",
]
TEXTS = st.text() | st.sampled_from(LOOK_ALIKES) | st.lists(st.sampled_from(["\n", " ", ":", "A", "A: "])).map("".join)


def can_name(name: str) -> bool:
    return bool(name) and "\n" not in name and ": " not in name and not name.startswith("  ")


NAMES = (
    st.sampled_from(["Anchor", "User", "PhD A", "A", "A:", ":", " A", "A ", "(go on)", "Dr. B (2)", "\u00c9\u00e8"])
    | st.text(max_size=8)
).filter(can_name)


@st.composite
def rooms(draw: st.DrawFn) -> tuple[list[Said], str]:
    """Turns of a few speakers, and one of their names or another."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    turns = draw(st.lists(st.builds(Said, st.sampled_from(names), TEXTS), max_size=8))
    return turns, draw(st.sampled_from(names) | NAMES)


def roles(messages: Sequence[Message]) -> list[str]:
    return [role for role, _ in messages]


@settings(deadline=None)
@given(rooms())
@example(([], "A"))
@example(([Said("A", "one"), Said("A", "two")], "A"))
@example(([Said("A", "one"), Said("B", "two\nA: three"), Said("A", "")], "A"))
def test_a_speaker_can_read_back_all_that_was_said(room: tuple[list[Said], str]) -> None:
    turns, me = room
    messages = speaker_view(turns, me)
    assert from_speaker_view([("system", "A: no turn"), *messages], me) == turns
    assert roles(messages) == [("user", "assistant")[number % 2] for number in range(len(messages))]
    assert roles(messages)[-1] == "user"
    assert [content for role, content in messages if role == "assistant"] == [
        said.text for said in turns if said.name == me
    ]


@settings(deadline=None)
@given(rooms())
@example(([], "A"))
def test_the_director_can_read_back_all_that_was_said(room: tuple[list[Said], str]) -> None:
    turns, _ = room
    messages = director_view(turns)
    assert roles(messages) == ["user"]
    assert from_director_view([("system", "A: no turn"), *messages]) == turns


def test_what_the_messages_look_like() -> None:
    turns = [Said("User", "hi\nthere"), Said("Guide", "yes?"), Said("Anchor", "hello"), Said("Anchor", "again")]
    assert speaker_view(turns, "Anchor") == [
        ("user", "User: hi\n  there\nGuide: yes?"),
        ("assistant", "hello"),
        ("user", GO_ON),
        ("assistant", "again"),
        ("user", GO_ON),
    ]
    assert speaker_view([], "Anchor") == director_view([]) == [("user", SILENCE)]
    assert speaker_view(turns[2:3], "Anchor")[0] == ("user", SILENCE)


@settings(deadline=None)
@given(rooms(), st.builds(Said, NAMES, TEXTS))
def test_a_line_can_be_added_and_read_back(room: tuple[list[Said], str], more: Said) -> None:
    turns, me = room
    messages = speaker_view(turns, me)
    messages[-1] = ("user", add_line(messages[-1][1], to_line(*more)))
    assert from_speaker_view(messages, me) == [*turns, more]


@pytest.mark.parametrize("name", ["", "a\nb", "a: b", "  a", "\n"])
def test_names_that_could_not_be_read_back_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a speaker"):
        to_line(name, "x")


def test_lines_of_nobody_are_read_as_such() -> None:
    assert from_lines("what is this") == [Said("what is this", "")]
    assert from_lines("  indented") == [Said("  indented", "")]


ROLES = st.sampled_from(["system", "user", "assistant"])
MESSAGES = st.lists(st.tuples(ROLES, st.text(max_size=6) | st.sampled_from(LOOK_ALIKES)), max_size=8)


@given(MESSAGES, st.booleans(), st.booleans())
@settings(deadline=None)
def test_fitting_keeps_all_text_and_obeys(messages: list[Message], system: bool, alternate: bool) -> None:
    fitted = fit_template(messages, system=system, alternate=alternate)
    if not system:
        assert "system" not in roles(fitted)
    if alternate:
        assert all(before != after for before, after in zip(roles(fitted), roles(fitted)[1:], strict=False))
    kept = "".join(content for _, content in fitted).replace("\n", "")
    assert kept == "".join(content for _, content in messages).replace("\n", "")
    for role, content in messages:
        assert any(content in text and (its == role or role == "system") for its, text in fitted)


@given(MESSAGES)
@settings(deadline=None)
def test_fitting_for_a_template_that_takes_anything_changes_nothing(messages: list[Message]) -> None:
    assert fit_template(messages, system=True, alternate=False) == messages


@settings(deadline=None)
@given(rooms(), st.text())
def test_fitting_twice_is_fitting_once_and_views_need_no_change(room: tuple[list[Said], str], system: str) -> None:
    turns, me = room
    messages: list[Message] = [("system", system), *speaker_view(turns, me)]
    assert fit_template(messages) == messages
    strict = fit_template(messages, system=False)
    assert fit_template(strict, system=False) == strict
    assert strict[0] == ("user", f"{system}\n\n{messages[1][1]}")


def test_neighbours_of_one_role_are_joined_as_lines_of_a_room_are() -> None:
    fitted = fit_template([("user", "A: one"), ("user", "B: two"), ("assistant", "x"), ("assistant", "y")])
    assert fitted == [("user", "A: one\nB: two"), ("assistant", "x\ny")]
    assert from_lines(fitted[0][1]) == [Said("A", "one"), Said("B", "two")]


def test_a_system_message_without_a_user_is_a_user_message() -> None:
    assert fit_template([("system", "be kind ")], system=False) == [("user", "be kind ")]
    assert fit_template([("system", "one"), ("system", "two"), ("user", "x")], system=False) == [
        ("user", "one\n\ntwo\n\nx")
    ]
    assert fit_template([("user", "x"), ("system", "y")], system=False) == [("user", "x\ny")]
    assert fit_template([("system", "x"), ("assistant", "y")], system=False) == [("user", "x"), ("assistant", "y")]


STRICT = """
{%- for message in messages -%}
{%- if message.role not in ("user", "assistant") -%}{{ refuse("no role " ~ message.role) }}{%- endif -%}
{%- if (message.role == "user") != (loop.index0 % 2 == 0) -%}{{ refuse("roles must alternate") }}{%- endif -%}
<{{ message.role }}>{{ message.content }}</>
{%- endfor -%}
"""
WITH_SYSTEM = """
{%- for message in messages -%}
{%- if message.role == "system" and not loop.first -%}{{ refuse("system must come first") }}{%- endif -%}
{%- if not loop.first and message.role == messages[loop.index0 - 1].role -%}{{ refuse("twice") }}{%- endif -%}
<{{ message.role }}>{{ message.content }}</>
{%- endfor -%}
"""


@cache
def compiled(template: str) -> jinja2.Template:
    return jinja2.Environment(autoescape=False).from_string(template)  # as chat templates are


def render(template: str, messages: Sequence[Message]) -> str:
    def refuse(why: str) -> NoReturn:
        raise jinja2.TemplateError(why)

    given = [{"role": role, "content": content} for role, content in messages]
    return compiled(template).render(messages=given, refuse=refuse)


@settings(deadline=None)
@given(rooms(), st.sampled_from(["You are Anchor.", "", "Two\n\nparts"]))
def test_strict_templates_take_the_fitted_messages(room: tuple[list[Said], str], system: str) -> None:
    turns, me = room
    messages: list[Message] = [("system", system), *speaker_view(turns, me), ("assistant", "a reply")]
    with pytest.raises(jinja2.TemplateError, match="no role system"):
        render(STRICT, messages)
    for template, fitted in ((STRICT, fit_template(messages, system=False)), (WITH_SYSTEM, fit_template(messages))):
        text = render(template, fitted)
        assert text.endswith("<assistant>a reply</>")
        assert all(content in text for _, content in messages)


def test_strict_templates_refuse_what_is_not_fitted() -> None:
    twice: list[Message] = [("user", "one"), ("user", "two")]
    with pytest.raises(jinja2.TemplateError, match="alternate"):
        render(STRICT, twice)
    assert render(STRICT, fit_template(twice)) == "<user>one\ntwo</>"


def test_fit_row_fits_the_prompt_of_a_row_and_leaves_the_row_alone() -> None:
    row = {"prompt": [{"role": "system", "content": "card"}, {"role": "user", "content": "User: hi"}], "id": "x"}
    assert fit_row(row, system=False) == {"prompt": [{"role": "user", "content": "card\n\nUser: hi"}]}
    assert fit_row(row) == {"prompt": row["prompt"]}
