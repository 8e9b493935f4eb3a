"""Read ``dropped.jsonl``, the utterances that are in no turn."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from mascot_data.build.dataset import DROPPED
from mascot_data.build.turns import DROP_REASONS


class DroppedLine(BaseModel):
    """A line of the file; see ``build.turns.Dropped``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source_id: str
    source_turn: int
    speaker: str
    text: str
    reason: str


def dropped_lines(root: Path, problems: list[tuple[str, str]]) -> Iterator[DroppedLine]:
    """Yield the lines that can be read; the others become problems (where, what)."""
    path = root / DROPPED
    try:
        with path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                try:
                    line = DroppedLine.model_validate_json(raw)
                except ValidationError as error:
                    problems.append((f"{DROPPED} line {number}", f"is damaged ({error.errors()[0]['msg']})"))
                    continue
                if line.reason not in DROP_REASONS:
                    problems.append((f"{DROPPED} line {number}", f"{line.reason!r} is not on the list of reasons"))
                yield line
    except OSError as error:
        problems.append((DROPPED, f"cannot be read ({error.strerror}); build the dataset again"))
