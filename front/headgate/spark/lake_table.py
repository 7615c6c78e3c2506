"""`HeadgateTable`: a table in a Spark program, with the methods that users know from other lake tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa

from headgate.commits import Commits
from headgate.spark.session_settings import session_settings
from headgate.spark.statements import table_facts
from headgate.spark.statements.arrow_frames import frame_of
from headgate.spark.statements.named_tables import path_of
from headgate.spark.statements.operator_sql import run_statement
from headgate.statements.statements import (
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    MergeSplits,
    PurgeStatement,
    Statement,
    TablePath,
    TruncateTimeTravel,
)
from headgate.table import Table
from headgate_schemas import arguments
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.arguments import checked
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, Rejected
from headgate_table.errors import TableNotFound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pyspark_headgate.effective_settings import Effective

Options = Mapping[str, str]

RECEIPT = pa.schema({"table_path": pa.string(), "status": pa.string(), "version": pa.int64(), "proposal": pa.string()})
"""Of `delete`, `restoreToVersion` and `restoreToTimestamp`: status is committed, or duplicate for what was done before."""


class HeadgateTable:
    """One table. Cheap to make; whatever is asked looks at the store again. Results are DataFrames of what was true then.

    With a `bus`, or `spark.headgate.bus` in the session, changes are proposed there; without one, committed directly.
    """

    def __init__(self, session: "SparkSession", uri: str, bus: str | None, options: Options) -> None:
        self._session = session
        self._uri = uri
        self._bus = bus
        self._options = dict(options)

    @classmethod
    @checked(path=arguments.address, bus=arguments.text)
    def forPath(
        cls, sparkSession: "SparkSession", path: str, *, bus: str | None = None, options: Options | None = None
    ) -> "HeadgateTable":
        """The table at `path`. Raises `TableNotFound` where there is none. `options` are those of `format("headgate")`."""
        table = cls(sparkSession, path, bus, options or {})
        table._opened()
        return table

    @classmethod
    @checked(tableOrViewName=arguments.text, bus=arguments.text)
    def forName(
        cls,
        sparkSession: "SparkSession",
        tableOrViewName: str,
        *,
        bus: str | None = None,
        options: Options | None = None,
    ) -> "HeadgateTable":
        """The table that a name stands for in the session's catalog. Raises `InvalidInput` where Spark can't say its path."""
        from headgate.statements.parse import parse_statement

        statement = parse_statement(f"CHECKPOINT HEADGATE {tableOrViewName}")
        assert isinstance(statement, Checkpoint), "the text begins so"
        if isinstance(statement.target, TablePath):
            raise InvalidInput(f"{tableOrViewName} is a path: HeadgateTable.forPath(spark, {tableOrViewName})")
        return cls.forPath(sparkSession, path_of(sparkSession, statement.target.parts), bus=bus, options=options)

    @classmethod
    def isHeadgateTable(cls, sparkSession: "SparkSession", path: str, *, options: Options | None = None) -> bool:
        """Whether there is a table at `path`."""
        try:
            cls.forPath(sparkSession, path, options=options)
        except TableNotFound:
            return False
        return True

    @property
    def path(self) -> str:
        return self._uri

    @checked(version=arguments.whole, timestamp=arguments.time)
    def toDF(self, version: int | None = None, timestamp: int | str | None = None) -> "DataFrame":
        """The rows of the newest version, or of that one."""
        from headgate.spark import read

        return read(self._session, self._uri, version=version, timestamp=timestamp, options=self._options)

    @checked(limit=arguments.whole)
    def history(self, limit: int | None = None) -> "DataFrame":
        """The versions that the log tells of, newest first."""
        return self._frame(table_facts.history(self._opened(), limit))

    def detail(self) -> "DataFrame":
        """One row: what the table is, where, and in what state."""
        return self._frame(table_facts.detail(self._opened()))

    @checked(version=arguments.whole, where=arguments.text)
    def files(self, version: int | None = None, where: str | None = None) -> "DataFrame":
        """The live files of a version, or those that may hold rows for which `where` is true."""
        return self._frame(table_facts.files(self._opened(), version, where))

    @checked(since=arguments.whole, until=arguments.whole)
    def changes(self, since: int, until: int | None = None) -> "DataFrame":
        """The files that came and went after version `since`; -1 is before the first."""
        return self._frame(table_facts.changes(self._opened(), since, until))

    def optimize(self) -> "Optimize":
        """Write small files together: `.where(…)`, `.targetSize(…)`, then `.executeCompaction()`."""
        return Optimize(self._run, MergeSplits(TablePath(self._uri)))

    @checked(retentionHours=arguments.seconds, dryRun=arguments.flag)
    def vacuum(self, retentionHours: float | None = None, *, dryRun: bool = False) -> "DataFrame":
        """Delete expired versions and states, and files that no retained version names. The row of PURGE.

        Without `retentionHours` the table's settings say how old files must be.
        """
        hours = None if retentionHours is None or not isfinite(retentionHours) else int(retentionHours)
        if hours != retentionHours:
            raise InvalidInput(f"files are kept for whole hours, not for {retentionHours}")
        return self._run(PurgeStatement(TablePath(self._uri), older_than_hours=hours, dry_run=dryRun))

    @checked(condition=arguments.text)
    def delete(self, condition: str | None = None) -> "DataFrame":
        """Remove all files, or those of the partitions that match: a condition on partition columns, as text.

        Raises what rejects it: a condition on another column would have to rewrite files, which nothing here does.
        """
        return self._committed(lambda table: table.delete(where="true" if condition is None else condition))

    @checked(version=arguments.whole)
    def restoreToVersion(self, version: int) -> "DataFrame":
        """Make the files of an earlier version live again, in a new version."""
        return self._committed(lambda table: table.restore(version))

    @checked(timestamp=arguments.time)
    def restoreToTimestamp(self, timestamp: int | str) -> "DataFrame":
        """The same by time: ISO 8601 (UTC where it names no zone) or epoch milliseconds."""
        return self._committed(lambda table: table.restore(table.snapshot(timestamp=timestamp).version))

    def checkpoint(self) -> "DataFrame":
        """Write a state of the newest version. The row of CHECKPOINT."""
        return self._run(Checkpoint(TablePath(self._uri)))

    def compactState(self) -> "DataFrame":
        """Write a state without tombstones, and with sorted manifests. The row of COMPACT."""
        return self._run(Compact(TablePath(self._uri)))

    def describeState(self) -> "DataFrame":
        """The row of DESCRIBE STATE."""
        return self._run(DescribeState(TablePath(self._uri)))

    @checked(includeAll=arguments.flag)
    def describeLog(self, *, includeAll: bool = False) -> "DataFrame":
        """The rows of DESCRIBE TRANSACTION LOG."""
        return self._run(DescribeLog(TablePath(self._uri), includeAll))

    @checked(condition=arguments.text)
    def dropPartitions(self, condition: str) -> "DataFrame":
        """Remove all files of the partitions that match. The row of DROP PARTITIONS."""
        return self._run(DropPartitions(TablePath(self._uri), condition))

    @checked(dryRun=arguments.flag)
    def truncateTimeTravel(self, *, dryRun: bool = False) -> "DataFrame":
        """Forget earlier versions. The row of TRUNCATE TIME TRAVEL."""
        return self._run(TruncateTimeTravel(TablePath(self._uri), dryRun))

    def __repr__(self) -> str:
        return f"HeadgateTable({self._uri!r})"

    def _settings(self) -> "Effective":
        return session_settings(self._session, self._uri, self._options)

    def _opened(self) -> Table:
        settings = self._settings()
        return Table.open(self._uri, settings.store, settings=settings.table)

    def _frame(self, table: pa.Table) -> "DataFrame":
        return frame_of(self._session, table)

    def _run(self, statement: Statement) -> "DataFrame":
        return run_statement(self._session, statement, bus=self._bus, options=self._options)

    @contextmanager
    def _changing(self) -> Iterator[Table]:
        """The table; its changes go to the bus if one is set."""
        settings = self._settings()
        with Commits(self._bus or settings.bus, settings.store, SystemAmbient()) as commits:
            yield Table.open(self._uri, settings.store, settings=settings.table, commit=commits.to(self._uri))

    def _committed(self, change: Callable[[Table], Receipt]) -> "DataFrame":
        with self._changing() as table:
            receipt = change(table)
        return self._frame(pa.Table.from_pylist([_receipt_row(self._uri, receipt)], RECEIPT))


class Optimize:
    """A merge of small files that is being configured. Each step returns a new object; only the last one does anything."""

    def __init__(self, run: "Callable[[Statement], DataFrame]", statement: MergeSplits) -> None:
        self._run = run
        self._statement = statement

    @checked(condition=arguments.text)
    def where(self, condition: str) -> "Optimize":
        """Only in the partitions that match."""
        return Optimize(self._run, replace(self._statement, where=condition))

    @checked(size=arguments.whole)
    def targetSize(self, size: int) -> "Optimize":
        """How many bytes merged files are to have, about; else the table's settings say so."""
        return Optimize(self._run, replace(self._statement, target_size_bytes=size))

    def executeCompaction(self) -> "DataFrame":
        """Merge. The row of MERGE SPLITS."""
        return self._run(self._statement)

    def executeZOrderBy(self, *columns: str | Sequence[str]) -> "DataFrame":
        """Refused: merging keeps the order of rows."""
        raise InvalidInput(
            f"rows can't be ordered by {', '.join(map(str, columns)) or 'columns'} here: merging keeps their order. Write the "
            f"table again, sorted, with mode overwrite; or leave the order and call executeCompaction()"
        )


def _receipt_row(uri: str, receipt: Receipt) -> dict[str, str | int]:
    match receipt:
        case Committed(version, proposal):
            return {"table_path": uri, "status": "committed", "version": version, "proposal": proposal}
        case Duplicate(version, proposal):
            return {"table_path": uri, "status": "duplicate", "version": version, "proposal": proposal}
        case Rejected(code, reason, proposal):
            raise HeadgateError(f"the change of {uri} was rejected ({code.value}): {reason} (proposal {proposal})")
        case _:
            assert_never(receipt)
