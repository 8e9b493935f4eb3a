"""Rubrics as data: criteria with a definition and a description of every level from 1 to 5, their loader and lint."""

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mascot_data.errors import PersonaError, RubricError
from mascot_data.personas.reading import read_mapping

LEVELS = (1, 2, 3, 4, 5)
Level = Literal[1, 2, 3, 4, 5]
Text = Annotated[str, Field(min_length=1)]
Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]

_BUILT_IN = Path(__file__).parent / "rubrics"
_ALIKE = 0.9
_GOOD = """
    precisely precise naturally natural just throughout always every fully clear clearly best excellent perfect
    perfectly nothing fits right
"""
_BAD = """
    cold mechanical contradicts contradict hurts hurt blames blame dismisses ignores flat wrong cannot never
    blocks invent invents not no misses bad poor worst useless harmful left over
"""


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Criterion(_Data):
    """One criterion: what it asks, what it means, and what each level looks like."""

    id: Id = Field(description="Name of the criterion in rows.")
    name: Text = Field(description="Name for people, as in the paper's figures.")
    question: Text = Field(description="What a judge is asked, one sentence.")
    definition: Text = Field(description="What counts and what does not.")
    levels: dict[Level, Text] = Field(description="What a subject of each level from 1 (worst) to 5 (best) looks like.")


class Rubric(_Data):
    """Criteria for one kind of subject; ``version`` changes whenever a word of it does."""

    id: Id = Field(description="Name of the rubric.")
    version: Text = Field(description="Version, written to every judgment.")
    subject: Literal["reply", "block"] = Field(description="What is judged: one reply, or a block of turns.")
    criteria: list[Criterion] = Field(min_length=1, description="The criteria, in order.")

    @property
    def label(self) -> str:
        """The rubric and its version as rows record them, such as ``agent/1``."""
        return f"{self.id}/{self.version}"


def load_rubrics(folder: Path | None = None) -> Mapping[str, Rubric]:
    """Return the built-in rubrics by id, with those of a user's folder laid over them.

    Raises:
        RubricError: the folder is missing or empty, or a file breaks a rule; the message names the file.
    """
    return _built_in() if folder is None else {**_built_in(), **_read(folder)}


@cache
def _built_in() -> dict[str, Rubric]:
    return _read(_BUILT_IN)


def _read(folder: Path) -> dict[str, Rubric]:
    paths = sorted(path for path in folder.glob("[!.]*") if path.suffix in (".yaml", ".yml"))
    if not paths:
        raise RubricError(f"{folder}: holds no rubric (*.yaml); give a folder with one")
    found: dict[str, Rubric] = {}
    for path in paths:
        rubric = _parse(path)
        if rubric.id in found:
            raise RubricError(f"{path}: there are two rubrics with the id {rubric.id}; rename one")
        found[rubric.id] = rubric
    return found


def _parse(path: Path) -> Rubric:
    try:
        rubric = Rubric.model_validate(read_mapping(path))
    except PersonaError as error:  # what is no YAML mapping; the sentence names the file
        raise RubricError(str(error)) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RubricError(f"{path}: {place}: {first['msg']}; correct it") from error
    if problems := list(lint(rubric)):
        raise RubricError(f"{path}: {problems[0]}")
    return rubric


def lint(rubric: Rubric) -> Iterator[str]:
    """Yield what is wrong with a rubric's levels and ids, a sentence each.

    Missing levels, two levels that say the same, levels that seem to run from best to worst, a criterion twice.
    """
    ids = [criterion.id for criterion in rubric.criteria]
    for twice in sorted({one for one in ids if ids.count(one) > 1}):
        yield f"criterion {twice} is there twice; rename one"
    for criterion in rubric.criteria:
        missing = [str(level) for level in LEVELS if level not in criterion.levels]
        if missing:
            yield f"criterion {criterion.id} has no level {', '.join(missing)}; describe every level from 1 to 5"
        else:
            yield from _level_problems(criterion)


def _level_problems(criterion: Criterion) -> Iterator[str]:
    texts = [" ".join(criterion.levels[level].lower().split()) for level in (1, 2, 3, 4, 5)]
    for low in range(len(texts)):
        for high in range(low + 1, len(texts)):
            if difflib.SequenceMatcher(None, texts[low], texts[high], autojunk=False).ratio() > _ALIKE:
                yield f"criterion {criterion.id}: levels {low + 1} and {high + 1} say nearly the same; tell them apart"
    if _worth(texts[0]) - _worth(texts[-1]) > 1:
        yield f"criterion {criterion.id}: level 1 reads better than level 5; 1 is the worst, turn the levels round"


def _worth(text: str) -> int:
    words, good, bad = re.findall(r"[a-z]+", text), _GOOD.split(), _BAD.split()
    return sum(word in good for word in words) - sum(word in bad for word in words)
