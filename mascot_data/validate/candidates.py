"""The candidates against the prompts they answer, and against what their provenance says they were made with."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mascot_data.build.added import CANDIDATES
from mascot_data.generate.candidates import plain, prompt_hash
from mascot_data.generate.seeds import seed_of
from mascot_data.records import SCHEMA_VERSION, Candidate, Generator, SpeakerTurn
from mascot_data.validate.files import built_files, part_files
from mascot_data.validate.parts import Info, Made
from mascot_data.validate.reading import Problem, UnreadableError, ViewRows, places_of, rows_of

Of = Sequence[tuple[str, Candidate]]
"""The candidates of a prompt, each with its place."""


class CandidatesMade(Made):
    """What candidates were made with; see ``generate.candidates``."""

    k: int
    temperatures: list[float]
    top_p: float
    max_tokens: int
    seed: int
    splits: list[str]
    limit: int | None
    infos: list[Info | None]

    def generator(self, prompt: str, k: int) -> Generator | None:
        """Return what must have said candidate ``k`` (1 and up) of a prompt; None when so many were not asked for."""
        temperatures = [(info, each) for info in self.infos for each in self.temperatures]
        place = (k - 1) // self.k
        if not 0 <= place < len(temperatures) or (info := temperatures[place][0]) is None:
            return None
        return Generator(
            model=info.name,
            revision=info.revision,
            backend=info.backend,
            dtype=info.dtype,
            method="sample",
            temperature=temperatures[place][1],
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=seed_of(self.seed, prompt, k),
        )


def candidate_problems(root: Path, split: str, made: CandidatesMade) -> list[Problem]:
    """Return what is wrong with the candidates of a split; one prompt's are in memory at a time."""
    problems: list[Problem] = []
    places = places_of(root, "speaker_turns", split, SpeakerTurn)
    if places is None or not (split in made.splits or part_files(root, CANDIDATES, split)):
        return problems  # the check of the views tells of prompts that cannot be read
    rows = ViewRows(root, CANDIDATES, split, Candidate, places, problems, key="prompt_id", check=CANDIDATES.name)
    try:
        for turn in _prompts(root, split):
            place = places[turn["id"]]
            of = rows.take(place)
            wanted = split in made.splits and (made.limit is None or place < made.limit)
            found = _presence(turn, of, rows, wanted=wanted) if wanted != bool(of) else _problems(turn, of, made)
            problems += [Problem(CANDIDATES.name, where, what) for where, what in found]
    except UnreadableError:
        return problems
    rows.take(len(places))
    return problems


def _prompts(root: Path, split: str) -> Iterator[dict[str, Any]]:
    for path in built_files(root, "speaker_turns", split):
        yield from (turn for _, turn in rows_of(root, path, SpeakerTurn))


def _presence(turn: dict[str, Any], of: Of, rows: ViewRows[Candidate], *, wanted: bool) -> Iterator[tuple[str, str]]:
    if not wanted:
        yield of[0][0], "its prompt is not one of those that the options name (splits, limit)"
    elif rows.whole:
        yield f"data/{CANDIDATES.config} ({turn['id']})", "the prompt has no candidates"
    else:
        yield from rows.needed()


def _problems(turn: dict[str, Any], of: Of, made: CandidatesMade) -> Iterator[tuple[str, str]]:
    if not of:
        return
    first = of[0][0]
    human = [row.k for _, row in of if row.origin == "human"]
    if human != [0]:
        yield first, f"the prompt has {len(human)} human candidates, not one with k 0"
    if any(one.k >= other.k for (_, one), (_, other) in zip(of, of[1:], strict=False)):
        yield first, "the candidates of the prompt are not in the order of k"
    digest = prompt_hash([(message["role"], message["content"]) for message in turn["prompt"]])
    if any(row.prompt_hash != digest for _, row in of):
        yield first, "prompt_hash is not that of the prompt, which has changed; run  mascot-data candidates  again"
    said: dict[str, int] = {}
    for where, row in of:
        twin = said.setdefault(plain(row.text), row.k)
        if twin != row.k:
            yield where, f"says the same as candidate {twin}"
        yield from ((where, what) for what in _row_problems(turn, row, made))


def _row_problems(turn: dict[str, Any], row: Candidate, made: CandidatesMade) -> Iterator[str]:
    if row.id != f"{row.prompt_id}#{row.k}":
        yield f"id is not {row.prompt_id}#{row.k}"
    for name in ("dialogue_id", "persona", "subset", "license"):
        if getattr(row, name) != turn[name]:
            yield f"{name} is not that of its prompt"
    if row.schema_version != SCHEMA_VERSION:
        yield f"schema_version is {row.schema_version}, not {SCHEMA_VERSION}"
    if not row.text.strip():
        yield "has no text"
    yield from _human_problems(turn, row) if row.origin == "human" else _model_problems(row, made)


def _human_problems(turn: dict[str, Any], row: Candidate) -> Iterator[str]:
    if row.text != turn["completion"][0]["content"]:
        yield "is not what the human said"
    if row.finish_reason != "human" or (row.generator, row.logprob, row.tokens) != (None, None, None):
        yield "a human reply has no generator, logprob or tokens, and the finish_reason human"


def _model_problems(row: Candidate, made: CandidatesMade) -> Iterator[str]:
    if row.finish_reason == "human":
        yield "finish_reason is human, but a model said it"
    if row.tokens is None:
        yield "tokens is null, but a model said it"
    if row.logprob is not None and not -math.inf < row.logprob <= 0:
        yield f"logprob is {row.logprob}, not finite and at most 0"
    expected = made.generator(row.prompt_id, row.k)
    if row.generator is None:
        yield "generator is null, but a model said it"
    elif expected is None:
        yield "was not asked for: k is too large, or its model was not there"
    else:
        for name, value in expected:
            if (found := getattr(row.generator, name)) != value:
                yield f"generator.{name} is {found!r}, where the provenance gives {value!r}"
