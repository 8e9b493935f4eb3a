"""Judge candidates and blocks, and add the scores to a dataset as the config ``judgments``."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mascot_data.build.added import BLOCK_JUDGMENTS, JUDGMENTS, Part, add_part, check_options, read_base
from mascot_data.build.reading import splits_of
from mascot_data.errors import UsageError
from mascot_data.generate.candidates import Lost
from mascot_data.judge.judges import RATING, judges_of, open_judge
from mascot_data.judge.rubric import Rubric, load_rubrics
from mascot_data.judge.subject import Context, Reply, block_contexts, candidate_contexts
from mascot_data.judge.verdict import Judge, JudgeInfo, Verdict, Verdicts
from mascot_data.models import Failure, ModelOptions
from mascot_data.models.store import Store, default_store, key_of
from mascot_data.personas import Personas, load_personas
from mascot_data.records.dialogue import SCHEMA_VERSION, Split
from mascot_data.records.judgments import COMPOSITE

Subject = Literal["candidates", "blocks", "rollouts"]
SUBJECTS: Mapping[Subject, str] = {"candidates": "agent", "blocks": "collective", "rollouts": "collective"}
"""What can be judged, and the rubric that it is judged by."""

CHUNK = 64
"""Contexts that are parted into batches together."""

_GROWING = ("splits", "limit")

Progress = Callable[[str, int, int | None], None]
"""Called with the judge's name, the replies dealt with, and how many there are."""


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """What a run did; ``judged`` and ``stored`` count replies, ``rows`` judgments by judge and criterion.

    ``means`` has the mean score by judge and criterion. ``lost`` are replies, or criteria of replies, without a score.
    ``order_gaps`` says, of judges that compare, how far their two orders are apart on average (0 to 1).
    ``disagreements`` has, by criterion that several judges scored, how far apart the highest and the lowest score of a
    reply are on average (0 to 4).
    """

    directory: Path
    contexts: int
    replies: int
    judged: int
    stored: int
    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    means: dict[tuple[str, str], float] = field(default_factory=dict)
    order_gaps: dict[str, float] = field(default_factory=dict)
    disagreements: dict[str, float] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "directory": str(self.directory),
            "contexts": self.contexts,
            "replies": self.replies,
            "judged": self.judged,
            "stored": self.stored,
            "scores": [
                {"judge": judge, "criterion": criterion, "rows": count, "mean": self.means[judge, criterion]}
                for (judge, criterion), count in sorted(self.rows.items())
            ],
            "order_gaps": self.order_gaps,
            "disagreements": self.disagreements,
            "lost": [lost._asdict() for lost in self.lost],
        }


@dataclass(frozen=True)
class _Run:
    """What a run is made of."""

    root: Path
    base: Mapping[str, Any]
    subject: Subject
    judges: Sequence[str]
    methods: Sequence[str]
    rubric: Rubric
    splits: Sequence[Split]
    limit: int | None
    cards: Personas

    @property
    def part(self) -> Part:
        """Where the rows go."""
        return JUDGMENTS if self.subject == "candidates" else BLOCK_JUDGMENTS

    def options(self) -> dict[str, Any]:
        """Return what shapes the rows, for the provenance."""
        return {
            "subject": self.subject,
            "judges": list(self.judges),
            "methods": list(self.methods),
            "rubric": self.rubric.label,
            "personas": self.cards.digest(),
            "splits": list(self.splits),
            "limit": self.limit,
        }

    def contexts(self, split: Split) -> Iterator[Context]:
        """Read what is judged."""
        if self.subject == "candidates":
            return candidate_contexts(self.root, split, self.cards, self.limit)
        origin: Literal["corpus", "rollout"] = "corpus" if self.subject == "blocks" else "rollout"
        return block_contexts(self.root, split, self.cards, origin, self.limit)


class _Used(NamedTuple):
    """What is left of a judge when it has judged: enough to find its verdicts in the store and to name it in rows."""

    name: str
    info: JudgeInfo
    identity: str
    criteria: tuple[str, ...]
    compares: bool


def judge(
    directory: str | Path,
    judges: Sequence[str] = ("embedded",),
    *,
    methods: Sequence[str] = (RATING,),
    subject: Subject = "candidates",
    rubric: str | None = None,
    rubrics: str | Path | None = None,
    splits: Sequence[str] = (),
    limit: int | None = None,
    personas: str | Path | None = None,
    store: str | Path | None = None,
    replace: bool = False,
    options: ModelOptions | None = None,
    progress: Progress | None = None,
) -> JudgeReport:
    """Score candidates, or blocks, by a rubric, and add the scores to the dataset as the config ``judgments``.

    Every score is stored under what was judged before the next batch goes out: a run that was killed goes on where it
    was and ends with the same bytes. A score that could not be had is missing, never guessed.

    Args:
        directory: The dataset directory.
        judges: ``embedded``, or names of models; see ``mascot_data.models.names``.
        methods: How models judge: ``rating``, ``pairwise``, ``likelihood``, ``text``; each of them with each model.
        subject: ``candidates``, ``blocks`` (those of the corpus) or ``rollouts``.
        rubric: Id of the rubric; by default ``agent`` for candidates, ``collective`` for blocks and rollouts.
        rubrics: Folder with rubrics of your own.
        splits: ``train``, ``validation``, ``test``; all of them when empty.
        limit: Only the first so many contexts of each split.
        personas: The folder of cards that the dataset was built with.
        store: File of stored scores; by default beside the dataset directory.
        replace: Replace judgments that were made with other options.
        options: How models are run.
        progress: Called after each batch.

    Raises:
        UsageError: options that do not go together, or judgments made with other options are there.
        DatasetError: there is nothing to judge.
        RubricError: a rubric breaks a rule.
        ModelError: a judge cannot be used.
        OutputError: the store or the dataset cannot be written.
    """
    root = Path(directory)
    chosen = _rubric(checked_subject(subject), rubric, None if rubrics is None else Path(rubrics))
    cards = load_personas(None if personas is None else Path(personas))
    judges_of(judges, methods)
    if limit is not None and limit < 1:
        raise UsageError("--limit must be 1 or more")
    part = JUDGMENTS if subject == "candidates" else BLOCK_JUDGMENTS
    base = read_base(root, part)
    run = _Run(root, base, subject, list(judges), list(methods), chosen, splits_of(splits), limit, cards)
    if not replace:
        check_options(root, part, run.options(), _GROWING)
    with Store(Path(store) if store else default_store(root)) as scores:
        return _judged(run, scores, options, progress)


def checked_subject(name: str) -> Subject:
    """Return the subject of this name.

    Raises:
        UsageError: there is none.
    """
    for subject in SUBJECTS:
        if subject == name:
            return subject
    raise UsageError(f"--subject {name}: choose {', '.join(SUBJECTS)}")


def _rubric(subject: Subject, name: str | None, folder: Path | None) -> Rubric:
    known = load_rubrics(folder)
    wanted = name or SUBJECTS[subject]
    if wanted not in known:
        raise UsageError(f"--rubric {wanted}: choose among {', '.join(known)}")
    kind = "reply" if subject == "candidates" else "block"
    if known[wanted].subject != kind:
        raise UsageError(f"--rubric {wanted} is for a {known[wanted].subject}, but {subject} are judged")
    return known[wanted]


def _judged(run: _Run, store: Store, options: ModelOptions | None, progress: Progress | None) -> JudgeReport:
    counts = Counter({"contexts": 0, "replies": 0})
    for context in chain.from_iterable(run.contexts(split) for split in run.splits):
        counts["contexts"] += 1
        counts["replies"] += len(context.replies)
    used: list[_Used] = []
    lost: list[Lost] = []
    for name, method in judges_of(run.judges, run.methods):
        with open_judge(name, method, run.rubric, run.root, run.cards, options) as judge:
            used.append(_Used(judge.name, judge.info, judge.identity, judge.criteria, judge.compares))
            lost += _ask(run, judge, store, counts, progress)
    kept = _Kept(run, store, used)
    add_part(
        run.root, run.part, {split: kept.rows(split) for split in run.splits}, run.options(), kept.summary, run.base
    )
    return JudgeReport(
        run.root,
        counts["contexts"],
        counts["replies"],
        counts["judged"],
        counts["stored"],
        kept.counts,
        kept.means(),
        kept.order_gaps.means(),
        kept.disagreements.means(),
        lost,
    )


def _chunks(run: _Run, split: Split | None = None) -> Iterator[list[Context]]:
    chunk: list[Context] = []
    for one in run.splits if split is None else [split]:
        for context in run.contexts(one):
            chunk.append(context)
            if len(chunk) == CHUNK:
                yield chunk
                chunk = []
    if chunk:
        yield chunk


def _keys(judge: Judge | _Used, context: Context) -> list[list[str]]:
    """Return for every reply of a context the keys of its verdicts, in the order of the judge's criteria."""
    cards = context.roster if context.card is None else (context.card,)
    shared = [context.subject, context.source, [card.model_dump(mode="json") for card in cards]]
    base = key_of("judge", judge.identity, *shared, context.directive, context.heard)
    if judge.compares:
        base = key_of(base, [reply.turns for reply in context.replies])
    return [[key_of(base, reply.turns, criterion) for criterion in judge.criteria] for reply in context.replies]


def _ask(run: _Run, judge: Judge, store: Store, counts: Counter[str], progress: Progress | None) -> list[Lost]:
    """Have a judge score what is not stored, batch by batch, and return what it gave no score for."""
    lost: list[Lost] = []
    done = 0
    for chunk in _chunks(run):
        keys = [_keys(judge, context) for context in chunk]
        stored = store.get([key for context in keys for reply in context for key in reply]).keys()
        for batch in judge.batches(chunk):
            open_ones = {place: _open(judge, chunk[place], keys[place], stored) for place in batch}
            places = [place for place, replies in open_ones.items() if replies]
            asked = [chunk[place]._replace(replies=tuple(open_ones[place])) for place in places]
            new: dict[str, Any] = {}
            for place, context, said in zip(places, asked, judge.judge(asked) if asked else [], strict=True):
                of = dict(zip((reply.id for reply in chunk[place].replies), keys[place], strict=True))
                for reply, verdicts in zip(context.replies, said, strict=True):
                    found = {} if isinstance(verdicts, Failure) else {one.criterion: one for one in verdicts}
                    places_of = dict(zip(judge.criteria, of[reply.id], strict=True))
                    new |= {places_of[name]: list(one) for name, one in found.items()}
                    lost += _losses(judge, reply, verdicts)
            store.put(new)
            replies = sum(len(chunk[place].replies) for place in batch)
            counts["judged"] += (judged := sum(map(len, open_ones.values())))
            counts["stored"] += replies - judged
            done += replies
            if progress:
                progress(judge.name, done, counts["replies"])
    return lost


def _open(judge: Judge, context: Context, keys: Sequence[Sequence[str]], stored: Collection[str]) -> list[Reply]:
    """Return the replies that lack a verdict; where replies are compared, all of them if one does."""
    found = [reply for reply, mine in zip(context.replies, keys, strict=True) if not all(key in stored for key in mine)]
    return list(context.replies) if found and judge.compares else found


def _losses(judge: Judge, reply: Reply, verdicts: Verdicts) -> Iterator[Lost]:
    if isinstance(verdicts, Failure):
        yield Lost(judge.name, reply.id, verdicts.reason, verdicts.what)
        return
    scored = {verdict.criterion for verdict in verdicts}
    for criterion in judge.criteria:
        if criterion not in scored:
            yield Lost(judge.name, reply.id, "no-score", f"no score for {criterion}")


class _Kept:
    """The rows of a run, from what is stored; counts them as they are taken."""

    def __init__(self, run: _Run, store: Store, judges: Sequence[_Used]) -> None:
        self._run, self._store, self._judges = run, store, judges
        self.counts: Counter[tuple[str, str]] = Counter()
        self._sums: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.order_gaps, self.disagreements = _Means(), _Means()

    def means(self) -> dict[tuple[str, str], float]:
        """Return the mean scores by judge and criterion."""
        return {place: self._sums[place] / count for place, count in self.counts.items()}

    def summary(self) -> dict[str, Any]:
        """Return the counts, and the judges, for the provenance."""
        return {
            "judges": [{"name": judge.name, **judge.info._asdict()} for judge in self._judges],
            "rows": {f"{name} {criterion}": count for (name, criterion), count in sorted(self.counts.items())},
            "order_gaps": self.order_gaps.means(),
            "disagreements": self.disagreements.means(),
        }

    def rows(self, split: Split) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a split: reply by reply, judge by judge, criterion by criterion, then their mean."""
        for chunk in _chunks(self._run, split):
            keys = [[_keys(judge, context) for judge in self._judges] for context in chunk]
            stored = self._store.get([key for one in keys for judge in one for reply in judge for key in reply])
            for context, of_judges in zip(chunk, keys, strict=True):
                for place, reply in enumerate(context.replies):
                    scores: defaultdict[str, list[float]] = defaultdict(list)
                    for judge, of_replies in zip(self._judges, of_judges, strict=True):
                        found = [Verdict(*stored[key]) for key in of_replies[place] if key in stored]
                        whole = len(found) == len(judge.criteria)
                        for verdict in [*found, _mean(found)] if whole else found:
                            scores[verdict.criterion].append(verdict.score)
                            yield self._row(context, reply, judge, verdict)
                    for criterion, several in scores.items():
                        if len(several) > 1:
                            self.disagreements.add(criterion, max(several) - min(several))

    def _row(self, context: Context, reply: Reply, judge: _Used, verdict: Verdict) -> tuple[Any, ...]:
        self.counts[judge.name, verdict.criterion] += 1
        self._sums[judge.name, verdict.criterion] += verdict.score
        if verdict.order_gap is not None:
            self.order_gaps.add(judge.name, verdict.order_gap)
        return (
            f"{reply.id}!{verdict.criterion}!{judge.name}",
            reply.id,
            context.subject,
            context.dialogue_id,
            context.prompt_id,
            context.card.id if context.card else None,
            context.subset,
            verdict.criterion,
            verdict.score,
            verdict.distribution,
            verdict.label_mass,
            verdict.value,
            verdict.order_gap,
            verdict.method,
            judge.info,
            judge.name,
            self._run.rubric.label,
            verdict.prompt_hash,
            reply.k,
            context.license,
            SCHEMA_VERSION,
        )


class _Means:
    """Means by name."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, name: str, value: float) -> None:
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = total + value, count + 1

    def means(self) -> dict[str, float]:
        return {name: round(total / count, 6) for name, (total, count) in sorted(self._sums.items())}


def _mean(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the mean of the criteria; it is a composite, no judgment of its own."""
    score = math.fsum(verdict.score for verdict in verdicts) / len(verdicts)
    return Verdict(COMPOSITE, score, "composite", prompt_hash=verdicts[0].prompt_hash)
