"""The operations of a table format for `headgate_table.table`, which has checked the arguments."""

from collections.abc import Iterator
from typing import Never, Protocol

from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_schemas.predicates.tree import Predicate
from headgate_table.interface.answers import Changes, HistoryEntry, TableDescription
from headgate_table.interface.findings import VerifyReport
from headgate_table.interface.snapshot import Snapshot

BY_TRANSACTIONS = "this way to change it: commit a headgate_table.milvus.Transaction, or propose one"
"""What a table of Milvus manifests lacks, where an operation is asked of it."""


class TableFormat(Protocol):
    """One table in one format. The methods are those of `Table`, where they are described."""

    @property
    def version(self) -> int: ...

    def snapshot(
        self, version: int | None = None, timestamp: int | str | None = None, where: str | Predicate | None = None
    ) -> Snapshot: ...

    def changes(
        self, since: int | None = None, until: int | None = None, *, since_timestamp: int | str | None = None
    ) -> Changes: ...

    def changes_by_version(self, since: int, until: int | None = None) -> Iterator[Changes]: ...

    def history(self, limit: int | None = None) -> list[HistoryEntry]: ...

    def describe(self, *, skips: bool = True) -> TableDescription: ...

    def verify(self, *, data_files: bool = True) -> VerifyReport: ...

    def commit(self, operation: Operation) -> Receipt: ...


def check_one_moment(version: int | None, timestamp: int | str | None) -> None:
    if version is not None and timestamp is not None:
        raise InvalidInput("a snapshot is taken by version or by timestamp, not by both")


def check_one_start(since: int | None, since_timestamp: int | str | None) -> None:
    if (since is None) == (since_timestamp is None):
        raise InvalidInput("changes are asked for since a version or since a time: give one of them")


def meaningless(uri: str, what: str) -> Never:
    """Refuse features that only tables with a log of versions have."""
    raise InvalidInput(f"{uri} is a Milvus table, which doesn't have {what}")
