"""Every error a user can meet, in one tree.

``MascotError``
    ``UsageError``          the call itself is wrong (options that do not go together)
    ``InputError``          a source file cannot be read as what it should be
        ``ArchiveError``    an archive is unsafe or broken
    ``DownloadError``       an upstream release cannot be had, or is not the pinned one
    ``AccountError``        what was read and what was kept do not add up
    ``OutputError``         the result cannot be written (read-only folder, full disk)
    ``DatasetError``        a dataset directory is missing or cannot be read
    ``PersonaError``        a persona card or roster breaks a rule
    ``RubricError``         a rubric breaks a rule
    ``ModelError``          a model cannot be had, loaded or reached
    ``PrerequisiteError``   an optional extra is not installed

Every message is one sentence that says where, what is wrong and what to do. ``exit_code`` is the status with
which the command line ends.
"""


class MascotError(Exception):
    """Base of every error raised on purpose by this package."""

    exit_code = 2


class UsageError(MascotError):
    """Options or arguments that do not go together."""


class InputError(MascotError):
    """A source file that cannot be read; ``where`` names the file and, where known, the line or record."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = where
        self.what = what


class ArchiveError(InputError):
    """An archive with unsafe member names, an implausible size, or broken content."""


class DownloadError(MascotError):
    """An upstream release that cannot be fetched or does not match its pinned digest."""


class AccountError(MascotError):
    """The account of a build does not add up, or differs from the published counts."""


class OutputError(MascotError):
    """The result cannot be written; what was there before is untouched."""


class DatasetError(MascotError):
    """A dataset directory that is missing, incomplete or of another schema version."""


class PersonaError(MascotError):
    """A persona card, roster or mapping table that breaks a rule; the message names the file."""


class RubricError(MascotError):
    """A rubric that breaks a rule; the message names the file."""


class ModelError(MascotError):
    """A model that cannot be had, loaded or reached, or that lacks what is asked of it (a chat template, say)."""


class PrerequisiteError(MascotError):
    """A feature whose optional packages are missing; the message holds the install command."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra [{extra}]: run  pip install 'mascot-data[{extra}]'")
        self.extra = extra
