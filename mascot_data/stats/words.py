"""Words and runs of words, as all measures here see a text."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = re.compile(r"(?<=\w)['’](?=\w)")


@lru_cache(maxsize=4096)  # the measures of a block ask for the words of its turns again and again
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text: case-folded runs of letters and digits, without punctuation.

    An apostrophe inside a word is left out, so that ``don't`` and ``dont`` are one word.
    """
    return tuple(_WORD.findall(_APOSTROPHES.sub("", text).casefold()))


def ngrams(found: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    """Yield every run of ``n`` words, none where there are fewer."""
    return zip(*(found[start:] for start in range(n)), strict=False)


def without_names(text: str, names: Sequence[str]) -> str:
    """Take names out of a text, in any case, with a following ``'s``; parts of words stay.

    A name that is also a word (``guide``) goes as a word, too.
    """
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    one = "|".join(re.escape(name) for name in longest_first)
    return re.sub(rf"(?<!\w)(?:{one})(?:['’]s)?(?!\w)", " ", text, flags=re.IGNORECASE)
