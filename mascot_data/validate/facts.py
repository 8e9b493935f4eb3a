"""What ``provenance.json`` has to say for a dataset directory to be checked against it."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mascot_data.build.added import read_added
from mascot_data.build.provenance import FILE, read_provenance
from mascot_data.errors import DatasetError
from mascot_data.records import SCHEMA_VERSION

Counts = dict[str, int]


class _Stated(BaseModel):
    """Base: other fields are allowed, so that a later build may say more."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class StatedFile(_Stated):
    """A file as it was written; ``rows`` only for Parquet."""

    sha256: str
    rows: int | None = None


class StatedAccount(_Stated):
    """The account of the build; see ``build.account.Account``."""

    conversations: int
    failed_conversations: int
    utterances: int
    failed_utterances: int
    queries: int
    kept: int
    shared: int
    merged: int
    splits: Counts
    dropped: Counts
    dialogues: Counts
    turns: Counts
    personas: Counts
    flagged: Counts
    rows: dict[str, Counts]
    labels: dict[str, dict[str, Counts]]


class StatedOptions(_Stated):
    """The options of the build that shape what the checks expect."""

    block_turns: int = Field(ge=1)


class StatedPart(_Stated):
    """What a later command added; see ``build.added``."""

    part: str
    built_on: str
    files: dict[str, StatedFile]
    options: dict[str, Any]
    summary: dict[str, Any]


class Facts(_Stated):
    """The provenance, as far as the checks need it."""

    schema_version: str
    options: StatedOptions
    rows_digest: str
    files: dict[str, StatedFile]
    account: StatedAccount
    parts: list[StatedPart]

    @property
    def all_files(self) -> dict[str, StatedFile]:
        """The files of the build, then those of each part, by name."""
        return self.files | {name: file for part in self.parts for name, file in part.files.items()}


def stated_facts(root: Path) -> Facts:
    """Read the provenance of a dataset directory, and of what later commands added to it.

    Raises:
        DatasetError: it is missing or damaged, or of another schema version.
    """
    facts = read_provenance(root)
    version = facts.get("schema_version")
    if version != SCHEMA_VERSION:
        raise DatasetError(
            f"{root / FILE}: is of schema version {version}, but this is for {SCHEMA_VERSION}; build the dataset again"
        )
    try:
        return Facts.model_validate({**facts, "parts": read_added(root)})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DatasetError(f"{root / FILE}: is damaged ({place}: {first['msg']}); build the dataset again") from error
