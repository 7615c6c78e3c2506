"""DROP PARTITIONS: remove every file of the partitions that match a predicate, in one version."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from headgate_schemas.actions.actions import Metadata, RemoveFile
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Committed, Delete, Duplicate, Operation, Receipt, Rejected
from headgate_schemas.predicates.partition_text import covering
from headgate_schemas.predicates.tree import Predicate, columns
from headgate_table.indextables.log.reader import LogReader
from headgate_table.totals import as_total


@dataclass(frozen=True, slots=True)
class DropReport:
    """`status` is success, no_action (nothing matched, nothing was committed) or error."""

    table_path: str
    status: str
    partitions_dropped: int
    splits_removed: int
    total_size_bytes: int
    message: str


def drop_partitions(
    reader: LogReader,
    metadata: Metadata,
    where: str,
    matching: Callable[[str], int],
    commit: Callable[[Operation], Receipt],
) -> DropReport:
    """Remove the partitions that match `where`. `matching` counts their live files.

    Raises `InvalidInput` for a table without partitions, and for a column that isn't a partition column.
    """
    predicate = _checked(reader.store.uri, metadata, where)
    if matching(where) == 0:
        return _nothing(reader.store.uri, where)
    receipt = commit(Delete(where=where))
    match receipt:
        case Committed(version) | Duplicate(version):
            return _report(reader, metadata, version, where, predicate)
        case Rejected(reason=reason):
            return DropReport(reader.store.uri, "error", 0, 0, 0, reason)
        case _:
            assert_never(receipt)


def _checked(uri: str, metadata: Metadata, where: str) -> Predicate:
    if not metadata.partition_columns:
        raise InvalidInput(
            f"{uri} is not partitioned, so there are no partitions to drop; delete files by path instead"
        )
    from headgate_schemas.predicates.text import parse_predicate  # imports sqlglot, which only predicates need

    predicate = parse_predicate(where)
    for column in sorted(columns(predicate)):
        if column not in metadata.partition_columns:
            raise InvalidInput(
                f"{column!r} is no partition column of {uri}, so it can't select whole partitions; partition columns: "
                f"{', '.join(metadata.partition_columns)}"
            )
    return predicate


def _report(reader: LogReader, metadata: Metadata, version: int, where: str, predicate: Predicate) -> DropReport:
    """The files that the version really removed: files may have come and gone since they were counted.

    The version may also hold other proposals, such as removes in other partitions.
    """
    matches = covering(predicate, kinds_of(column_kinds(metadata.schema_string)))
    removes = [
        action
        for action in reader.actions(version)
        if isinstance(action, RemoveFile) and matches(action.partition_values or {})
    ]
    if not removes:
        return _nothing(reader.store.uri, where)
    partitions = {tuple(sorted((remove.partition_values or {}).items())) for remove in removes}
    return DropReport(
        table_path=reader.store.uri,
        status="success",
        partitions_dropped=len(partitions),
        splits_removed=len(removes),
        total_size_bytes=as_total(sum(remove.size or 0 for remove in removes)),
        message=f"dropped {len(partitions)} partitions with {len(removes)} files in version {version}",
    )


def _nothing(uri: str, where: str) -> DropReport:
    return DropReport(uri, "no_action", 0, 0, 0, f"no partition matches {where}")
