"""The table of pinned upstream releases and the digests by which their files are known."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

_Hex = Annotated[str, Field(pattern="^[0-9a-f]+$")]


class ReleaseFile(BaseModel):
    """A file of a release; exactly one of ``git_blob`` and ``sha256`` says how its content is verified."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^\w[\w.-]*$", description="Name in the cache.")
    url: str
    git_blob: _Hex | None = Field(default=None, min_length=40, max_length=40)
    sha256: dict[str, Annotated[_Hex, Field(min_length=64, max_length=64)]] = Field(default_factory=dict)
    failed: bool = Field(default=False, description="Wanted only with the failed conversations.")

    @model_validator(mode="after")
    def _one_way_to_verify(self) -> Self:
        if (self.git_blob is None) != bool(self.sha256):
            raise ValueError(f"{self.name}: give either git_blob or sha256")
        return self

    @property
    def digests(self) -> dict[str, str]:
        """Every accepted digest by its name: ``git-blob``, or who recorded the SHA-256."""
        return {"git-blob": self.git_blob} if self.git_blob else self.sha256


class Release(BaseModel):
    """What is known of a corpus's upstream release."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    license: str = Field(description="SPDX id, lower case.")
    home: str = Field(description="Web page of the corpus.")
    max_bytes: int = Field(gt=0, description="Longest download that is accepted, bytes.")
    files: tuple[ReleaseFile, ...] = Field(min_length=1)

    def wanted(self, include_failed: bool) -> list[ReleaseFile]:
        """The files to have, with or without those of the failed conversations."""
        return [file for file in self.files if include_failed or not file.failed]


def load_releases(path: Path | None = None) -> dict[str, Release]:
    """Return the releases by corpus name, from the package's own table or from another file of its form."""
    table = yaml.safe_load((path or Path(__file__).with_name("releases.yaml")).read_text("utf-8"))
    return TypeAdapter(dict[str, Release]).validate_python(table)


def content_digest(file: ReleaseFile, path: Path) -> str:
    """Return the digest of a file on disk, of the kind that ``file`` is pinned by, as hex."""
    with path.open("rb") as stream:
        if file.git_blob is None:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        header = b"blob %d\0" % path.stat().st_size
        return hashlib.file_digest(stream, partial(hashlib.sha1, header, usedforsecurity=False)).hexdigest()


def matched_digest(file: ReleaseFile, path: Path) -> str | None:
    """Return the name of the pinned digest that a file on disk has; None without a match or a file."""
    if not path.is_file():
        return None
    found = content_digest(file, path)
    return next((name for name, digest in file.digests.items() if digest == found), None)
