"""All errors of the table room. Each message says what happened, to which table or file, and what to do."""

from headgate_schemas.errors import HeadgateError


class StoreError(HeadgateError):
    """The store did not answer, refused access, or gave a wrong answer."""


class ObjectMissing(StoreError):
    """An object that was requested by name does not exist.

    Examples:
        >>> headgate.DataFile.of_parquet("missing.parquet")
        Traceback (most recent call last):
        headgate_table.errors.ObjectMissing: ...
    """

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
    """There is no table log at this address.

    Examples:
        >>> headgate.Table.open("lake/nothing")
        Traceback (most recent call last):
        headgate_table.errors.TableNotFound: ...
    """


class TableExists(HeadgateError):
    """A table was to be created, but there is one at the address already.

    Examples:
        >>> headgate.Table.create("lake/twice", "id BIGINT").version
        0
        >>> headgate.Table.create("lake/twice", "id BIGINT")
        Traceback (most recent call last):
        headgate_table.errors.TableExists: ...
    """


class CorruptTable(HeadgateError):
    """A file of the log is missing or damaged, or it contradicts another one."""


class ManifestMissing(CorruptTable):
    """A manifest that a state names is not there: it was lost, or cleaned up with a state that somebody still held."""


class UnsupportedTable(HeadgateError):
    """The table needs a newer reader or writer than this release."""


class VersionNotRetained(HeadgateError):
    """The log can no longer rebuild this version or time. The message names the retained range.

    Examples:
        >>> headgate.Table.create("lake/short", "id BIGINT").snapshot(version=5)
        Traceback (most recent call last):
        headgate_table.errors.VersionNotRetained: ...
    """


class CommitConflict(HeadgateError):
    """Other writers won every attempt. Nothing was committed."""


class WriteRefused(HeadgateError):
    """The table doesn't take the rows that were written for it. None of them are in the table; the message says why."""


class OutcomeUnknown(HeadgateError):
    """Nobody can tell whether the change was committed. The message names the proposal to ask for."""

    def __init__(self, message: str, proposal_id: str | None = None) -> None:
        self.proposal_id = proposal_id
        super().__init__(message)
