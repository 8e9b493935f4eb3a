"""Words, marks and pairs of them, weighted by how rare they are: what a linear classifier sees of a text."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mascot_data.judge.embedded.states import Array
from mascot_data.stats.words import ngrams, words

_MARKS = re.compile(r"([?!])")
_ENDS = re.compile(r"(?<=[.?!])\s+|\n+")
_LEAST_TEXTS = 2


def sentences(text: str) -> list[str]:
    """Cut a text after its full stops, question and exclamation marks and at line breaks; what has no word is left out.

    A text without words is one sentence.
    """
    return [one for one in _ENDS.split(text) if words(one)] or [text]


def terms_of(text: str) -> Iterator[str]:
    """Yield the words of a text with its ``?`` and ``!``, and the pairs of them."""
    found = [term for part in _MARKS.split(text) for term in ((part,) if part in ("?", "!") else words(part))]
    yield from found
    yield from map(" ".join, ngrams(found, 2))


class Wording:
    """TF-IDF with a fixed vocabulary."""

    def __init__(self, terms: Sequence[str], idf: Array) -> None:
        """Take the vocabulary, in order, and the weight of each term."""
        self.terms, self.idf = tuple(terms), idf
        self._vectorizer = _vectorizer(self.terms)
        self._vectorizer.idf_ = idf.astype(np.float64)

    @classmethod
    def learn(cls, texts: Sequence[str]) -> "Wording":
        """Take the terms that at least two texts have."""
        vectorizer = _vectorizer(None)
        vectorizer.fit(texts)
        return cls(tuple(vectorizer.get_feature_names_out().tolist()), vectorizer.idf_.astype(np.float32))

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return a sparse row a text, of length 1; all 0 for a text without a known term."""
        return self._vectorizer.transform(texts)


def _vectorizer(terms: Sequence[str] | None) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    least = 1 if terms else _LEAST_TEXTS
    return TfidfVectorizer(analyzer=terms_of, sublinear_tf=True, min_df=least, vocabulary=terms)
