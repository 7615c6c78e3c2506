"""Runs operator statements without Spark: from a statement to its result, with exactly the columns of `columns`.

The table room does the work; here its reports become rows. As in the format's own statements, some failures are rows
and others are raised (docs/format.md, section 9).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, assert_never

import pyarrow as pa

from headgate.commits import Commits
from headgate.statements.arrow_columns import result_of, result_schema
from headgate.statements.columns import OUTPUT_COLUMNS, PURGE_METRICS
from headgate.statements.parse import parse_statement, predicate_error_in_statement
from headgate.statements.statements import (
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    InvalidateCache,
    MergeSplits,
    PurgeStatement,
    RepairLog,
    Statement,
    TableName,
    TablePath,
    Target,
    TruncateTimeTravel,
)
from headgate.table import Table
from headgate_schemas import arguments
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.arguments import checked
from headgate_schemas.errors import HeadgateError, InvalidInput, PredicateError
from headgate_schemas.messages.operations import Rejected
from headgate_table.caching.resources import ReadResources, process_resources
from headgate_table.errors import OutcomeUnknown, TableExists
from headgate_table.indextables.format.pointer import Pointer
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table as StoredTable

if TYPE_CHECKING:
    from headgate_table.indextables.cleaning.cleaner import PurgeReport
    from headgate_table.indextables.cleaning.plan import Protected
    from headgate_table.indextables.cleaning.truncate import TruncateReport
    from headgate_table.store.interface import Store

Row = Mapping[str, Any]


@checked(
    statement=arguments.text,
    storage=arguments.either(StoreSettings, arguments.text_map),
    settings=arguments.text_map,
    bus=arguments.text,
)
def sql(
    statement: str,
    storage: Mapping[str, str] | StoreSettings | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    ambient: Ambient | None = None,
    bus: str | None = None,
) -> pa.Table:
    """Run an operator statement, such as "DESCRIBE HEADGATE STATE 's3://lake/events'". Returns its result.

    With the address of a `bus`, a statement that changes a table is proposed, and a committer decides it.

    Raises `StatementError` for a text that is no statement. CHECKPOINT, COMPACT, DESCRIBE STATE, TRUNCATE, MERGE SPLITS
    and REPAIR report an error in their status, the others raise it. All of them raise `OutcomeUnknown`.

    Examples:
        >>> table = headgate.Table.create("lake/events", "id BIGINT")
        >>> headgate.sql("COMPACT HEADGATE 'lake/events'").column("status").to_pylist()
        ['SUCCESS']
    """
    stores = StoreSettings.of(storage)
    chosen = ambient or SystemAmbient()
    with Commits(bus, stores, chosen) as commits:
        return Executor(stores, settings or {}, chosen, commits=commits).run(parse_statement(statement), statement)


def failure(row: Row) -> str | None:
    """The error message for a result's status."""
    told = row.get("metrics") or row
    status = told.get("status")
    if not isinstance(status, str) or not status.upper().startswith("ERROR"):
        return None
    return str(told.get("message") or status.partition(":")[2].strip() or status)


class Executor:
    """Runs statements with the same settings."""

    def __init__(
        self,
        storage: StoreSettings,
        settings: Mapping[str, str],
        ambient: Ambient,
        resources: ReadResources | None = None,
        commits: Commits | None = None,
    ) -> None:
        self._storage = storage
        self._settings = settings
        self._ambient = ambient
        self._resources = resources
        self._commits = commits

    def run(self, statement: Statement, text: str = "") -> pa.Table:
        """The result of a statement; `text` is its original text, for error positions."""
        match statement:
            case Checkpoint(target):
                return self._state_written(Checkpoint, target, lambda table: table.checkpoint())
            case Compact(target):
                return self._state_written(Compact, target, _compact)
            case DescribeState(target):
                return self._row(DescribeState, self._state_row(_path(target)))
            case DescribeLog(target, include_all):
                return describe_log(self._open(_path(target)), include_all=include_all)
            case PurgeStatement():
                return self._row(PurgeStatement, self._purge_row(statement))
            case TruncateTimeTravel():
                return self._row(TruncateTimeTravel, self._truncate_row(statement))
            case DropPartitions():
                return self._row(DropPartitions, self._drop_row(statement, text))
            case MergeSplits():
                return self._row(MergeSplits, self._merge_row(statement, text))
            case RepairLog(source, target_log):
                return self._row(RepairLog, self._repair_row(source, target_log))
            case InvalidateCache(target):
                return self._row(InvalidateCache, self._invalidate_row(target))
            case _:
                assert_never(statement)

    def _open(self, path: str) -> Table:
        return Table.open(
            path,
            self._storage,
            settings=self._settings,
            ambient=self._ambient,
            resources=self._resources,
            commit=None if self._commits is None else self._commits.to(path),
        )

    def _protected(self, table: Table) -> "Protected | None":
        """The needs of undecided proposals for a table that is to be cleaned."""
        return None if self._commits is None else self._commits.protected(table.reader)

    def _store(self, path: str) -> "Store":
        return open_store(path, self._storage, self._ambient)

    def _row(self, statement: type[Statement], row: Row) -> pa.Table:
        return result_of(statement, [row])

    def _state_written(self, statement: type[Statement], target: Target, write: Callable[[Table], Any]) -> pa.Table:
        path = _path(target)
        self._store(path)  # an invalid address is raised, and isn't a row
        try:
            table = self._open(path)
            write(table)
            snapshot = table.snapshot()
            pointer = table.reader.pointer()
            files = snapshot.num_files
            row: Row = {
                "table_path": table.uri,
                "status": "SUCCESS",
                "checkpoint_version": pointer.version if isinstance(pointer, Pointer) else snapshot.version,
                # Its protocol and its metadata count, too.
                "num_actions": files + 2,
                "num_files": files,
                "protocol_version": snapshot.protocol.min_reader_version,
                "is_multi_part": isinstance(pointer, Pointer) and pointer.parts is not None,
            }
        except OutcomeUnknown:
            raise
        except HeadgateError as error:
            row = {"table_path": path, "status": f"ERROR: {error}"}
        return self._row(statement, row)

    def _state_row(self, path: str) -> Row:
        self._store(path)
        names = [column.name for column in OUTPUT_COLUMNS[DescribeState]]
        try:
            description = self._open(path).describe(skips=False)
        except HeadgateError as error:
            return {
                "table_path": path,
                "format": "error",
                "version": -1,
                "num_files": 0,
                "num_manifests": 0,
                "num_tombstones": 0,
                "tombstone_ratio": 0.0,
                "total_bytes": 0,
                "needs_compaction": False,
                "status": f"ERROR: {error}",
            }
        return {name: description[name] for name in names}

    def purge(self, statement: PurgeStatement) -> tuple[str, "PurgeReport"]:
        """The table's address, and what was deleted, or in a dry run would be. Raises on failure."""
        table = self._open(_path(statement.target))
        protected = self._protected(table)
        if protected is None and statement.nothing_waits:
            from headgate_table.indextables.cleaning.plan import Protected

            protected = Protected()
        report = table.purge(
            statement.older_than_hours,
            statement.log_retention_hours,
            dry_run=statement.dry_run,
            protected=protected,
        )
        return table.uri, report

    def truncate(self, statement: TruncateTimeTravel) -> "TruncateReport":
        """The table's address, and the result of deleting its history."""
        table = self._open(_path(statement.target))
        return table.truncate_history(dry_run=statement.dry_run, protected=self._protected(table))

    def _purge_row(self, statement: PurgeStatement) -> Row:
        return purge_row(*self.purge(statement))

    def _truncate_row(self, statement: TruncateTimeTravel) -> Row:
        path = _path(statement.target)
        self._store(path)
        try:
            return truncate_row(self.truncate(statement))
        except OutcomeUnknown:
            raise
        except HeadgateError as error:
            return {
                "table_path": path,
                "status": "ERROR",
                "versions_deleted": 0,
                "checkpoints_deleted": 0,
                "files_preserved": 0,
                "message": str(error),
            }

    def _drop_row(self, statement: DropPartitions, text: str) -> Row:
        table = self._open(_path(statement.target))
        try:
            report = table.drop_partitions(statement.where)
        except PredicateError as error:
            if not text:
                raise
            raise predicate_error_in_statement(error, text, statement.where_position) from None
        return {"table_path": table.uri, **_fields(report, DropPartitions)}

    def _merge_row(self, statement: MergeSplits, text: str) -> Row:
        from headgate.statements.merge_splits import merge_splits, path_to_merge

        path = path_to_merge(statement, _path)
        self._store(path)
        try:
            return merge_splits(self._open(path), statement, self._ambient, self._settings)
        except PredicateError as error:
            if not text:
                raise
            raise predicate_error_in_statement(error, text, statement.where_position) from None
        except (InvalidInput, OutcomeUnknown):
            raise
        except HeadgateError as error:
            return {"table_path": path, "metrics": {"status": "error", "message": str(error)}}

    def _repair_row(self, source: str, target: str) -> Row:
        from headgate_table.indextables.repair.repair import repair_log

        try:
            result = repair_log(source, target, self._storage, ambient=self._ambient, resources=self._resources)
        except (InvalidInput, OutcomeUnknown, TableExists):
            raise
        except HeadgateError as error:
            return {
                "source_path": source,
                "target_path": target,
                "source_version": -1,
                "total_splits": 0,
                "valid_splits": 0,
                "missing_splits": 0,
                "status": f"ERROR: {error}",
            }
        return _fields(result, RepairLog)

    def _invalidate_row(self, target: Target | None) -> Row:
        resources = self._resources or process_resources()
        uri = None if target is None else self._store(_path(target)).uri
        before = resources.cache.invalidate(uri)
        asked = before.hits + before.misses
        what = "the objects of all tables" if uri is None else "this table's objects"
        return {
            "table_path": uri or "ALL",
            "result": f"SUCCESS: forgot {what}",
            "cache_hits_before": before.hits,
            "cache_misses_before": before.misses,
            "hit_rate_before": f"{before.hits / asked:.1%}" if asked else "N/A",
        }


def describe_log(table: StoredTable, *, include_all: bool = False) -> pa.Table:
    """The rows of DESCRIBE TRANSACTION LOG."""
    from headgate_table.indextables.history.describe_log import describe_log as rows

    return rows(table.reader, include_all).select(result_schema(DescribeLog).names).cast(result_schema(DescribeLog))


def purge_row(uri: str, report: "PurgeReport") -> Row:
    """The row of PURGE."""
    return {"table_path": uri, "metrics": {field.name: getattr(report, field.name) for field in PURGE_METRICS.fields}}


def truncate_row(report: "TruncateReport") -> Row:
    """The row of TRUNCATE TIME TRAVEL."""
    return _fields(report, TruncateTimeTravel)


def _compact(table: Table) -> None:
    receipt = table.compact()
    if isinstance(receipt, Rejected):
        raise HeadgateError(receipt.reason)


def _fields(report: Any, statement: type[Statement]) -> dict[str, Any]:
    """The columns of a result that are fields of a report."""
    return {
        column.name: getattr(report, column.name)
        for column in OUTPUT_COLUMNS[statement]
        if hasattr(report, column.name)
    }


def _path(target: Target) -> str:
    match target:
        case TablePath(path):
            return path
        case TableName(parts):
            name = ".".join(parts)
            raise InvalidInput(
                f"{name} is a name in a catalog, and there is no catalog here: only Spark knows what it stands for. "
                f"Give the table's path, in quotes: '/lake/{parts[-1]}' or 's3://bucket/{parts[-1]}'"
            )
        case _:
            assert_never(target)
