"""Many speakers in user and assistant messages, without loss: a projection and its inverse for each point of view.

A line of the room is ``Name: text``; a line break inside the text is followed by two spaces. A Speaker sees its own
turns as assistant messages and everybody else's lines, in order, inside user messages. The Director sees the whole room
in one user message. Names hold no line break and no ``": "`` and are unique, so that every line can be read back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Message = tuple[str, str]
"""Role and content."""

SILENCE = "(nobody has spoken yet)"
GO_ON = "(go on)"
_NOTES = (SILENCE, GO_ON)


class Said(NamedTuple):
    """A turn as the room hears it: the speaker's name, and what is said."""

    name: str
    text: str


def to_line(name: str, text: str) -> str:
    """Write a turn as a line of the room.

    Raises:
        ValueError: the name is empty or could not be read back.
    """
    if not name or "\n" in name or ": " in name or name.startswith("  "):
        raise ValueError(f"{name!r} cannot name a speaker: it must not be empty, hold a line break or ': '")
    return f"{name}: " + text.replace("\n", "\n  ")


def from_lines(content: str) -> list[Said]:
    """Read the lines of a user message back; notes in brackets are nobody's."""
    said: list[Said] = []
    for line in [] if content in _NOTES else content.split("\n"):
        if line.startswith("  ") and said:
            said[-1] = Said(said[-1].name, f"{said[-1].text}\n{line[2:]}")
        else:
            name, _, text = line.partition(": ")
            said.append(Said(name, text))
    return said


def speaker_view(turns: Iterable[Said], me: str) -> list[Message]:
    """Project turns to the point of view of the speaker named ``me``; roles alternate, beginning with the user."""
    said = list(turns)
    names, texts = [name for name, _ in said], [text for _, text in said]
    return speaker_messages(names, [to_line(name, text) for name, text in said], texts, me)


def speaker_messages(names: Sequence[str], lines: Sequence[str], texts: Sequence[str], me: str) -> list[Message]:
    """``speaker_view`` over turns whose lines are made already; ends with a user message."""
    messages: list[Message] = []
    heard = 0
    for index, name in enumerate(names):
        if name == me:
            messages.append(("user", "\n".join(lines[heard:index]) or (GO_ON if messages else SILENCE)))
            messages.append(("assistant", texts[index]))
            heard = index + 1
    messages.append(("user", "\n".join(lines[heard:]) or (GO_ON if messages else SILENCE)))
    return messages


def add_line(content: str, line: str) -> str:
    """Add a line to what a user message says; a note that nobody spoke gives way to it."""
    return line if content in _NOTES else f"{content}\n{line}"


def from_speaker_view(messages: Sequence[Message], me: str) -> list[Said]:
    """Read a Speaker's messages back into turns; a system message is skipped."""
    said: list[Said] = []
    for role, content in messages:
        if role == "assistant":
            said.append(Said(me, content))
        elif role == "user":
            said.extend(from_lines(content))
    return said


def director_view(turns: Iterable[Said]) -> list[Message]:
    """Project turns to the Director's point of view: the whole room in one user message."""
    return [("user", "\n".join(to_line(name, text) for name, text in turns) or SILENCE)]


def from_director_view(messages: Sequence[Message]) -> list[Said]:
    """Read a Director's messages back into turns; a system message is skipped."""
    return [said for role, content in messages if role == "user" for said in from_lines(content)]


def fit_template(messages: Sequence[Message], *, system: bool = True, alternate: bool = True) -> list[Message]:
    r"""Change messages so that a stricter chat template takes them.

    Args:
        messages: role and content, in order.
        system: whether the template takes a system message. If not, its text goes before that of the user message that
            follows, parted by an empty line; where none follows, it is a user message itself.
        alternate: whether roles must alternate. If so, neighbours of one role are joined by a line break (as the lines
            of a room are, so that they can still be read back).
    """
    fitted: list[Message] = []
    for role, content in messages if system else _without_system(messages):
        if alternate and fitted and fitted[-1][0] == role:
            fitted[-1] = (role, f"{fitted[-1][1]}\n{content}")
        else:
            fitted.append((role, content))
    return fitted


def fit_row(row: Mapping[str, Any], *, system: bool = True, alternate: bool = True) -> dict[str, list[dict[str, str]]]:
    """Return a row's prompt changed by ``fit_template``; for ``rows.map(fit_row, fn_kwargs={"system": False})``."""
    messages = [(message["role"], message["content"]) for message in row["prompt"]]
    fitted = fit_template(messages, system=system, alternate=alternate)
    return {"prompt": [{"role": role, "content": content} for role, content in fitted]}


def _without_system(messages: Sequence[Message]) -> Iterator[Message]:
    held: list[str] = []
    for role, content in messages:
        if role == "system":
            held.append(content)
        elif role == "user":
            yield role, "\n\n".join([*held, content])
            held.clear()
        else:
            if held:
                yield "user", "\n\n".join(held)
            yield role, content
            held.clear()
    if held:
        yield "user", "\n\n".join(held)
