"""Stand-ins for the small models, and dialogues to learn from: fast, and the same everywhere."""

import random
import zlib
from collections.abc import Sequence

import numpy as np

from mascot_data.judge.embedded.labels import Said, Talk
from mascot_data.judge.embedded.states import Array
from mascot_data.judge.embedded.wording import terms_of

WIDTH = 48

SAYINGS = {
    ("anchor", "reflect"): "it sounds like you feel {} about the {}",
    ("catalyst", "ask about"): "what makes you {} about the {} ?",
    ("beacon", "affirm"): "you are strong and the {} will be {}",
    ("guide", "suggest something for"): "you could try to make the {} less {}",
}
_FEELINGS = ["sad", "tired", "angry", "lonely", "worried", "ashamed", "nervous", "hurt"]
_THINGS = ["exam", "job", "move", "wedding", "illness", "garden", "letter", "neighbour", "dog", "school"]


class ByWords:
    """Reads or embeds a text as the words it has, each in a place of its own; counts what it was given."""

    width = WIDTH

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Array:
        self.read += texts
        found = np.full((len(texts), WIDTH), 0.01, np.float32)
        for row, text in enumerate(texts):
            for term in terms_of(text):
                found[row, zlib.crc32(term.encode()) % WIDTH] += 1
        unit: Array = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit


def talks(number: int, seed: int = 0) -> list[Talk]:
    """Make dialogues in which a person tells of a thing and a feeling, and an agent answers in its own way."""
    drawn = random.Random(seed)
    found = []
    for name in range(number):
        turns: list[Said] = []
        for _ in range(4):
            (persona, verb), saying = drawn.choice(list(SAYINGS.items()))
            feeling, thing = drawn.choice(_FEELINGS), drawn.choice(_THINGS)
            turns.append(Said("user", f"my {thing} makes me {feeling}", None, False, None))
            turns.append(Said(persona, saying.format(feeling, thing), persona, True, verb))
        found.append(Talk(f"esconv:{name}", "esconv", "main", tuple(turns)))
    return found
