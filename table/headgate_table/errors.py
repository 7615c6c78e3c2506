"""Every error of the table room. Each message says what happened, to which table or file, and what to do."""

from headgate_schemas.errors import HeadgateError


class StoreError(HeadgateError):
    """The store didn't answer, refused us, or answered with nonsense."""


class ObjectMissing(StoreError):
    """An object that was asked for by name doesn't exist."""

    def __init__(self, message: str, key: str) -> None:
        self.key = key
        super().__init__(message)


class FileInTheWay(StoreError):
    """A part of a table's path is a file, not a folder: by mistake, or since a disk is not mounted."""

    def __init__(self, message: str, path: str) -> None:
        self.path = path
        """Of that file."""
        super().__init__(message)


class TableNotFound(HeadgateError):
    """There is no table log at this address."""


class TableExists(HeadgateError):
    """A table is already at the address where one was to be created."""


class CorruptTable(HeadgateError):
    """A file of the log is missing, damaged, hostile or contradicts another one."""


class ManifestMissing(CorruptTable):
    """A manifest that a state names is not there: it was lost, or cleaned up with a state that somebody still held."""


class UnsupportedTable(HeadgateError):
    """The table needs a newer reader or writer than this one."""


class VersionNotRetained(HeadgateError):
    """A version or time outside of what the log can still rebuild; the message names the retained range."""


class CommitConflict(HeadgateError):
    """Other writers won every attempt. Nothing was committed."""


class OutcomeUnknown(HeadgateError):
    """Nobody can say whether the change was committed. The message names what to look up."""

    def __init__(self, message: str, proposal_id: str | None = None) -> None:
        self.proposal_id = proposal_id
        super().__init__(message)
