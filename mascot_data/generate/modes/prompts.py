"""The prompts of the modes: the templates beside this file, filled from a stage."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from mascot_data.generate.examples import Example
from mascot_data.generate.stage import Stage
from mascot_data.generate.templates import render
from mascot_data.models.chat import Message
from mascot_data.personas import Card

_HERE = Path(__file__).parent
_PROMPT_FILES = {".jinja", ".yaml"}


def assistant(
    stage: Stage,
    *,
    card: Card | None = None,
    examples: Sequence[Example] = (),
    show_thoughts: bool = False,
    notes: Sequence[str] = (),
    strategy: str | None = None,
    draft: str | None = None,
    short: bool = False,
) -> str:
    """Return the system message of an assistant that answers the person.

    Args:
        stage: The conversation.
        card: Whom it speaks as; None: a single assistant without a persona.
        examples: Worked examples to show.
        show_thoughts: Whether the examples come with their thoughts.
        notes: What was thought before.
        strategy: What the reply is to do.
        draft: A reply to improve.
        short: Whether one short sentence is wanted.
    """
    return render(
        _HERE,
        "assistant",
        domain=stage.scene.domain,
        user=stage.scene.user[1],
        card=card,
        persona=card and card.id,
        examples=examples,
        show_thoughts=show_thoughts,
        notes=[note for note in notes if note],
        strategy=strategy,
        draft=draft,
        short=short,
    )


def speaker(stage: Stage, name: str) -> str:
    """Return the system message of an agent that has a name and no persona card."""
    return render(_HERE, "speaker", name=name, user=stage.scene.user[1])


def question(stage: Stage, template: str, **values: object) -> tuple[Message, ...]:
    """Return the prompt of a question about the conversation, which is shown in it as a whole."""
    asked = render(_HERE, template, room=stage.room(), user=stage.scene.user[1], **values)
    return (("system", stage.with_outline(render(_HERE, "thinker"))), ("user", asked))


def prompts_digest(root: Path = _HERE.parent) -> str:
    """Return 16 hex digits that change whenever a template, an example or a user profile does."""
    found = hashlib.sha256()
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.suffix in _PROMPT_FILES}
    for name, path in sorted(files.items()):
        found.update(f"{name}\0{path.read_text(encoding='utf-8')}\0".encode())
    return found.hexdigest()[:16]
