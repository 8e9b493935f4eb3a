"""The prompts of the modes: the templates beside this file, filled from a stage."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from mascot_data.build.projection import to_line
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
    notes: Sequence[str] = (),
    strategy: str | None = None,
    draft: str | None = None,
    short: bool = False,
) -> str:
    """Return the system message of an assistant that answers the person.

    Args:
        stage: The conversation.
        card: Whom it speaks as; None: a single assistant without a persona.
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
        notes=[note for note in notes if note],
        strategy=strategy,
        draft=draft,
        short=short,
    )


def speaker(stage: Stage, name: str) -> str:
    """Return the system message of an agent that has a name and no persona card."""
    return render(_HERE, "speaker", name=name, user=stage.scene.user[1])


def question(
    stage: Stage, step: str, *, view: str | None = None, strategies: Sequence[str] = (), **known: object
) -> tuple[Message, ...]:
    """Return the prompt of a question about the conversation.

    The conversation stands in the system message: small models that have it right before them go on with it instead of
    answering the question.

    Args:
        stage: The conversation.
        step: Which question of the template.
        view: What is looked at above all.
        strategies: From what is chosen.
        known: What else is shown: ``notes``, ``cases``, ``replies``, ``opinions``.
    """
    shown: dict[str, object] = {"notes": (), "cases": (), "replies": (), "opinions": (), **known}
    user = stage.scene.user[1]
    system = render(_HERE, "reader", thinker=_thinker(stage), room=stage.room(), user=user, **shown)
    return (("system", system), ("user", asked(stage, step, view=view, strategies=strategies)))


def asked(stage: Stage, step: str, *, view: str | None = None, strategies: Sequence[str] = ()) -> str:
    """Return the words of a question."""
    user, domain = stage.scene.user[1], stage.scene.domain
    return render(_HERE, "question", step=step, user=user, domain=domain, view=view, strategies=strategies)


def question_after_examples(stage: Stage, step: str, examples: Sequence[Example], persona: str) -> tuple[Message, ...]:
    """Return the prompt of a question about the conversation after examples of a persona's thoughts."""
    words = asked(stage, step)
    told = [message for example in examples for message in _pair(example, example.by(persona).thoughts, words)]
    return (("system", _thinker(stage)), *told, ("user", f"{stage.room()}\n\n{words}"))


def after_examples(
    messages: Sequence[Message], examples: Sequence[Example], persona: str | None = None
) -> tuple[Message, ...]:
    """Return a prompt with examples of good answers, a persona's or the assistant's, before the conversation."""
    told = [message for example in examples for message in _pair(example, example.by(persona).answer)]
    return (messages[0], *told, *messages[1:])


def _pair(example: Example, answer: str, words: str | None = None) -> tuple[Message, Message]:
    room = "\n".join(to_line(line.name, line.text) for line in example.conversation)
    return ("user", f"{room}\n\n{words}" if words else room), ("assistant", answer)


def _thinker(stage: Stage) -> str:
    return stage.with_outline(render(_HERE, "thinker", user=stage.scene.user[1]))


def prompts_digest(root: Path = _HERE.parent) -> str:
    """Return 16 hex digits that change whenever a template, an example or a user profile does."""
    found = hashlib.sha256()
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.suffix in _PROMPT_FILES}
    for name, path in sorted(files.items()):
        found.update(f"{name}\0{path.read_text(encoding='utf-8')}\0".encode())
    return found.hexdigest()[:16]
