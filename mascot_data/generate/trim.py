"""What of a sampled message is the speaker's own reply: up to where the model speaks for somebody else."""

import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from mascot_data.models.chat import Stop

Finish = Literal["stop", "length", "speaker-tag"]
"""Why a reply ends: the model was done, it had said all the tokens it may, or it began to speak for somebody else."""

_OTHERS = ("User", "Assistant", "Human", "System", "Director", "Person", "Agent", "Speaker")
_BEFORE = r"[ \t>*_\[(#-]"
_AFTER = r"[\])*_]*+[ \t]*+:[*_]*+"
_MOST_STOPS = 4  # OpenAI's protocol takes no more


class Reply(NamedTuple):
    """A speaker's own words, and why they end."""

    text: str
    finish_reason: Finish


def stops(names: Collection[str], me: str) -> tuple[str, ...]:
    """Return stop strings that save a model from speaking for others; ``trim`` finds what they miss."""
    return tuple(f"\n{name}:" for name in names if name != me)[:_MOST_STOPS]


def trim(text: str, finish: Stop, names: Collection[str], me: str) -> Reply:
    """Cut a sampled message at the first line that begins with a speaker's name; ``me`` in front is taken away.

    A name counts with a colon after it, whatever its case, also in bold or with a bracket around it. White space at
    both ends goes.
    """
    words = text.strip()
    # Possessive: a megabyte of names or stars is read once.
    own = re.match(rf"(?:{_BEFORE}*+{re.escape(me)}{_AFTER}\s*+)++", words, re.I)
    words = words[own.end() :] if own else words
    tag = _tag({*names, *_OTHERS, me}).search(words)
    if tag:
        return Reply(words[: tag.start()].rstrip(), "speaker-tag")
    return Reply(words, finish)


def _tag(names: Collection[str]) -> re.Pattern[str]:
    longest = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"^{_BEFORE}*(?:{'|'.join(map(re.escape, longest))}){_AFTER}", re.I | re.M)
