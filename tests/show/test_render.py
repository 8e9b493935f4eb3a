"""What a dialogue holds is shown as text, never as markup, code or an order to the terminal."""

import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mascot_data.records import SCHEMA_VERSION, Dialogue, Directive, Extra, Outcome, Scenario, Speaker, Turn
from mascot_data.show import render_html, render_text
from mascot_data.show.render import visible

MARKUP = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "</p></section><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "<svg><script>alert(1)</script></svg>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href='javascript:alert(1)'>here</a>",
    "<base href='https://evil.example/'>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<style>@import '//evil.example/x.css';</style>",
    "<form action=//evil.example><input name=q></form>",
    "<object data=//evil.example/x></object>",
    "<!-- <script>alert(1)</script> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<math><mtext></mtext><mglyph><style></math><img src onerror=alert(1)>",
    "red; background: url(//evil.example/x.png)",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;",
    "javascript:alert(1)",
]
TEMPLATES = [
    "{{ 7 * 7 }}",
    "{{ row.__class__.__mro__ }}",
    "{% for x in range(9) %}x{% endfor %}",
    "{# gone #}",
    "{{{ raw }}}",
    "${7 * 7} #{7 * 7} <%= 7 * 7 %>",
    "%s %(name)s {0} {name}",
    "[bold red]loud[/bold red]",
    "[link=https://evil.example]here[/link]",
    "[/]",
    ":smile: :warning:",
]
STEERING = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H",
    "\x9b31mred",
    "gone\x08\x08\x08\x08",
    "over\rwritten",
    "\x00\x7f\x0b\x0c",
    "\u202egnp.exe",
    "\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "line\u2028and\u2029paragraph",
    "tab\there",
]
PAYLOADS = [*MARKUP, *TEMPLATES, *STEERING]
TAGS = {"html", "head", "meta", "title", "style", "body", "header", "h1", "p", "em", "main", "section", "span", "div"}
TAGS |= {"footer"}
FORBIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def dialogue(text: str) -> Dialogue:
    """Make a dialogue that has a text everywhere."""
    asked = Directive(agent=text, action=text, tone=text, origin="rule")

    def turn(index: int, persona: str | None) -> Turn:
        return Turn(
            index=index,
            speaker=text if persona is None else persona,
            kind="participant" if persona is None else "agent",
            persona=persona,
            text=text,
            acts=[text],
            acts_origin="human",
            source_turns=[index],
            source_texts=[text],
            source_speakers=[text],
            source_query=None,
            evidence=[],
            directive=asked if persona else None,
            feedback=None,
            flags=[text],
        )

    personas = [None, "anchor", f"a {text}"]
    return Dialogue(
        id=text,
        source="qmsum",
        source_id=text,
        domain="workplace",
        subset=text,
        scenario=Scenario(situation=text, emotion=text, valence=None, problem=text, topic=text, query=text),
        speakers=[
            Speaker(
                id=persona or text,
                kind="agent" if persona else "participant",
                persona=persona,
                role=f"role {text}",
                name=text,
            )
            for persona in personas
        ],
        turns=[turn(index, persona) for index, persona in enumerate(personas)],
        outcome=Outcome(
            initial_intensity=None, final_intensity=None, empathy=None, relevance=None, supporter_relevance=None
        ),
        extra=[Extra(name=text, value=text)],
        flags=[text],
        license=text,
        schema_version=SCHEMA_VERSION,
    )


class Page(HTMLParser):
    """Collects the tags, attributes and text of a page as a browser would see them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []
        self.other: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.other.append(data)

    def unknown_decl(self, data: str) -> None:
        self.other.append(data)


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_a_page_shows_it_as_text(payload: str) -> None:
    html = render_html(dialogue(payload))
    page, plain = Page(html), Page(render_html(dialogue("Zebra")))
    assert page.tags == plain.tags
    assert set(page.tags) <= TAGS
    assert page.other == []
    assert [name for name, _ in page.attributes] == [name for name, _ in plain.attributes]
    shown = "".join(page.text)
    assert shown.count(visible(payload)) >= "".join(plain.text).count("Zebra")
    assert not FORBIDDEN.search(html)


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_a_terminal_shows_it_as_text(payload: str) -> None:
    screen = io.StringIO()
    console = Console(file=screen, highlight=False, color_system=None, width=10_000)
    for line in render_text(dialogue(payload)):
        console.print(line)
    assert not FORBIDDEN.search(screen.getvalue())
    assert screen.getvalue().count(visible(payload)) >= 12


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    page = Page(render_html(dialogue(f"<{text}>")))
    assert set(page.tags) <= TAGS
    assert visible(f"<{text}>") in "".join(page.text)


@given(st.text())
def test_visible_leaves_nothing_that_steers_and_keeps_the_rest(text: str) -> None:
    shown = visible(text)
    assert not FORBIDDEN.search(shown)
    if not FORBIDDEN.search(text):
        assert shown == text


def test_a_page_asks_for_nothing_from_outside() -> None:
    page = Page(render_html(dialogue("Zebra")))
    attributes = dict(page.attributes)
    assert attributes["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert attributes.keys() <= {"lang", "charset", "name", "content", "http-equiv", "class", "style", "title"}
    (style,) = [text for text in page.text if ".turn" in text]
    assert "url(" not in style
    assert "@import" not in style


def test_every_persona_has_its_colour_and_others_have_one_too() -> None:
    page = Page(render_html(dialogue("Zebra")))
    colours = [value for name, value in page.attributes if name == "style"]
    assert colours == ["--persona: #1f77b4", "--persona: #7a7a7a"]


def test_what_a_flag_means_is_said() -> None:
    assert ("title", "The supporter speaks first.") in Page(render_html(dialogue("supporter-first"))).attributes


def test_missing_facts_leave_no_gap() -> None:
    row = dialogue("Zebra")
    empty = row.scenario.model_copy(update=dict.fromkeys(("situation", "emotion", "problem", "topic", "query")))
    bare = row.model_copy(update={"scenario": empty, "flags": [], "turns": []})
    assert [line.plain for line in render_text(bare)] == ["Zebra", "Zebra", ""]
    assert "None" not in render_html(bare)
