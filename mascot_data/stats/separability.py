"""Can the personas be told apart by their words? A classifier that could not be simpler tries.

Its features are words and pairs of words, its folds hold whole dialogues, and the personas' names are taken out, so
that neither the matter of a conversation nor a name gives a persona away. Punctuation is no word: a question mark says
nothing.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mascot_data.errors import PrerequisiteError
from mascot_data.stats.measure import Measure, missing
from mascot_data.stats.words import ngrams, without_names, words

Labels = npt.NDArray[np.int64]


class Separability(NamedTuple):
    """How well personas are told apart: macro F1, 0 to 1, of predictions for turns of unseen dialogues.

    ``n`` of every measure is the number of turns.

    Attributes:
        f1: TF-IDF of words and pairs of words with logistic regression.
        unigrams: Naive Bayes over single words, the baseline.
        majority: Always saying the training turns' commonest persona.
        chance: As ``f1``, but with the personas shuffled over the turns; the mean of several shuffles.
        by_persona: F1 of each persona, of the first classifier.
    """

    f1: Measure
    unigrams: Measure
    majority: Measure
    chance: Measure
    by_persona: dict[str, float]


def separability(
    texts: Sequence[str],
    personas: Sequence[str],
    dialogues: Sequence[str],
    *,
    names: Sequence[str] = (),
    folds: int = 5,
    shuffles: int = 3,
    most: int = 1000,
    seed: int = 0,
) -> Separability:
    """Tell personas apart by their words, cross-validated over dialogues.

    Args:
        texts: The agent turns.
        personas: The persona of each.
        dialogues: The dialogue of each; no dialogue is in two folds.
        names: Names that are taken out of the texts.
        folds: How many folds.
        shuffles: How many times the personas are shuffled for the chance level.
        most: Turns that are used: whole dialogues, drawn at random, until there are so many. More turns to learn from
            separate better, so that only values over like numbers of turns can be compared.
        seed: Of everything that is drawn.

    Raises:
        PrerequisiteError: scikit-learn is not installed.
    """
    said = [" ".join(words(without_names(text, names))) for text in texts]
    kept = _drawn([i for i, text in enumerate(said) if text], dialogues, most, seed)
    labels = sorted({personas[i] for i in kept})
    groups = sorted({dialogues[i] for i in kept})
    if len(labels) < 2 or len(groups) < folds:
        few = f"{len(groups):,} dialogues, {folds} are needed"
        nothing = missing("fewer than two personas" if len(labels) < 2 else few, len(kept))
        return Separability(nothing, nothing, nothing, nothing, {})
    truth = np.array([labels.index(personas[i]) for i in kept])
    trial = _Trial([said[i] for i in kept], [dialogues[i] for i in kept], folds, seed)
    found = trial.f1s(truth, trial.weighted, _logistic)
    random_ = np.random.default_rng(seed)
    chance = [fmean(trial.f1s(random_.permutation(truth), trial.weighted, _logistic)) for _ in range(shuffles)]
    return Separability(
        Measure(fmean(found), len(kept)),
        Measure(fmean(trial.f1s(truth, trial.counted, _bayes)), len(kept)),
        Measure(fmean(trial.f1s(truth, trial.counted, _commonest)), len(kept)),
        Measure(fmean(chance), len(kept)) if chance else missing("no shuffles were asked for"),
        dict(zip(labels, found, strict=True)),
    )


def _drawn(usable: Sequence[int], dialogues: Sequence[str], most: int, seed: int) -> list[int]:
    names = sorted({dialogues[i] for i in usable})
    turns: dict[str, list[int]] = {name: [] for name in names}
    for i in usable:
        turns[dialogues[i]].append(i)
    kept: list[int] = []
    for name in random.Random(seed).sample(names, len(names)):  # noqa: S311
        if len(kept) >= most:
            break
        kept += turns[name]
    return sorted(kept)


Classifier = Callable[[Any, Labels, int], Any]
"""Makes a fitted classifier from training features and labels, and a seed."""


class _Trial:
    """Features of the turns, made anew in each fold from its training turns, and what comes of predicting with them."""

    def __init__(self, texts: Sequence[str], dialogues: Sequence[str], folds: int, seed: int) -> None:
        try:
            from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
            from sklearn.model_selection import GroupKFold
        except ImportError as error:
            raise PrerequisiteError("persona separability", "judge") from error
        self._seed = seed
        split = GroupKFold(folds, shuffle=True, random_state=seed)
        self._folds = list(split.split(texts, groups=dialogues))
        self.weighted = [
            self._features(TfidfVectorizer(analyzer=_pairs, sublinear_tf=True), texts, t, h) for t, h in self._folds
        ]
        self.counted = [self._features(CountVectorizer(analyzer=str.split), texts, t, h) for t, h in self._folds]

    def _features(self, vectorizer: Any, texts: Sequence[str], train: Labels, held: Labels) -> tuple[Any, Any]:
        return vectorizer.fit_transform([texts[i] for i in train]), vectorizer.transform([texts[i] for i in held])

    def f1s(self, truth: Labels, features: Sequence[tuple[Any, Any]], classifier: Classifier) -> list[float]:
        """Return the F1 of every label, over the predictions of all folds together."""
        from sklearn.metrics import f1_score
        from threadpoolctl import threadpool_limits

        said = np.empty_like(truth)
        with threadpool_limits(1):  # so little work is done eight times faster by one thread than by several that wait
            for (train, held), (seen, unseen) in zip(self._folds, features, strict=True):
                # With a single label to learn from there is nothing to fit.
                fit = classifier if len(set(truth[train].tolist())) > 1 else _commonest
                said[held] = fit(seen, truth[train], self._seed).predict(unseen)
        return [float(value) for value in f1_score(truth, said, average=None, labels=np.unique(truth), zero_division=0)]


def _pairs(text: str) -> Iterator[str]:
    """Yield the words and the pairs of words."""
    said = text.split()
    yield from said
    yield from map(" ".join, ngrams(said, 2))


def _logistic(features: Any, labels: Labels, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(class_weight="balanced", max_iter=1000, random_state=seed).fit(features, labels)


def _bayes(features: Any, labels: Labels, seed: int) -> Any:
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB().fit(features, labels)


def _commonest(features: Any, labels: Labels, seed: int) -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent").fit(features, labels)
