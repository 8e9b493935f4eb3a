import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mascot_data.errors import PersonaError
from mascot_data.personas import Card
from mascot_data.personas.reading import parse, read_mapping


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name: a\nrole: [b\npurpose: c\n", 3),
        ("name: a\n\tb: c\n", 2),
        ("name: a\nrole: b\nname: c\n", 3),
        ("name: a\nacts:\n  esconv: []\n  esconv: []\n", 4),
        ("name: a\nrole: b\x07\n", 2),
        ("name: !!python/object/apply:os.getcwd []\n", 1),
        ("a: *nowhere\n", 1),
    ],
)
def test_broken_yaml_names_file_and_line(write: Any, text: str, line: int) -> None:
    path = write("jester.yaml", text)
    with pytest.raises(PersonaError) as caught:
        read_mapping(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "just text", "{}", "when: 2026-13-45", "[" * 1000])
def test_what_is_no_mapping_names_the_file(write: Any, text: str) -> None:
    path = write("jester.yaml", text)
    with pytest.raises(PersonaError) as caught:
        read_mapping(path)
    assert str(path) in str(caught.value)


def test_unreadable_files_name_the_file(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("name: Zoë".encode("latin-1"))
    for path in (latin, tmp_path / "absent.yaml", tmp_path):
        with pytest.raises(PersonaError) as caught:
            read_mapping(path)
        assert str(path) in str(caught.value)


def test_a_byte_order_mark_is_ignored(write: Any) -> None:
    assert read_mapping(write("a.yaml", "\ufeffname: Anchor\n")) == {"name": "Anchor"}


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=60) | st.text(alphabet="ab:-[]{}&*!'\"#|>%@ \n\t0123456789?,<=.~", max_size=60))
def test_any_text_ends_in_a_mapping_or_a_persona_error(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            said = f"{path} holds {len(read_mapping(path))} fields"
        except PersonaError as error:
            said = str(error)
        assert said.startswith(str(path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"purpos": "x"}, "the field `purpos` is unknown"),
        ({"name": 7}, "the field `name` is not text"),
        ({"does": ["a", True, "c"]}, "the field `does`, entry 2 is not text"),
        ({"traits": ["a", "b"]}, "the field `traits` has 2 entries, write at least 3"),
        ({"traits": list("abcdefg")}, "the field `traits` has too many entries, write at most 6"),
        ({"examples": ["a", "b", "c"]}, "the field `examples` has 3 entries, write at least 4"),
        ({"acts": {"es-conv": ["Question"]}}, "the field `acts`, `es-conv`"),
        ({"meeting_roles": ["("]}, "not a regular expression"),
        ({"id": "The Jester"}, "kebab-case"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], change: dict[str, Any], said: str) -> None:
    with pytest.raises(PersonaError, match=r"^somewhere: ") as caught:
        parse(Card, {**fields, **change}, "somewhere")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["id", "name", "role", "purpose", "traits", "style", "does", "never", "examples"])
def test_a_missing_field_is_named(fields: dict[str, Any], field: str) -> None:
    del fields[field]
    with pytest.raises(PersonaError, match=f"the field `{field}` is missing"):
        parse(Card, fields, "somewhere")
