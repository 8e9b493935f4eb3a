"""White space, letters and case in columns of texts, by Python's rules; Arrow's own differ beyond ASCII.

A column is searched as a whole, and only the few texts that need it are then looked at one by one.
"""

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mascot_data.build.columns import Marks, marks, strings, true

_ODD_SPACE = r"\t\x0b-\r\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
"""What ``str.split`` takes for white space, but for the space and the line break; in the notation of RE2."""
SPACE = rf"{_ODD_SPACE}\n "
_UNTIDY = rf"[{_ODD_SPACE}\n]|  |\A | \z"
_LETTER = re.compile(r"[^\W\d_]")


def clean_chat(text: str) -> str:
    """Normalise white space: every run of it, line breaks and no-break spaces included, is one space."""
    return " ".join(text.split())


def cleaned(texts: pa.StringArray) -> pa.StringArray:
    """Apply ``clean_chat`` to a column."""
    return changed(texts, matches(texts, _UNTIDY), clean_chat)


def lowered(texts: pa.StringArray) -> pa.StringArray:
    """Return texts in lower case."""
    return changed(pc.ascii_lower(texts), ~true(pc.string_is_ascii(texts)), str.lower, texts)


def spaced(texts: pa.StringArray) -> pa.StringArray:
    """Return texts with a space for all other white space but line breaks, so that Arrow can split them."""
    return changed(texts, matches(texts, f"[{_ODD_SPACE}]"), lambda text: re.sub(r"[^\S\n]", " ", text))


def blank(texts: pa.StringArray) -> Marks:
    """Tell which texts are nothing but white space."""
    return matches(texts, rf"\A[{SPACE}]*\z")


def lettered(texts: pa.StringArray) -> Marks:
    """Tell which texts hold a letter."""
    found = matches(texts, "[A-Za-z]")
    rest = np.flatnonzero(~found)
    found[rest] = [_LETTER.search(text) is not None for text in texts.filter(marks(~found)).to_pylist()]
    return found


def matches(texts: pa.StringArray, pattern: str) -> Marks:
    """Tell which texts hold a match of an expression of RE2, which takes time linear in the text."""
    return true(pc.match_substring_regex(texts, pattern))


def changed(
    texts: pa.StringArray, where: Marks, change: Callable[[str], str], source: pa.StringArray | None = None
) -> pa.StringArray:
    """Return a column with some texts changed, from those of another column if one is given."""
    if not where.any():
        return texts
    mask = marks(where)
    given = (texts if source is None else source).filter(mask).to_pylist()
    return pc.replace_with_mask(texts, mask, strings([change(text) for text in given]))
