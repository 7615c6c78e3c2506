"""`df.writeStream.format("headgate")`: each micro-batch is one version, exactly once, however often it is killed and
repeated.

Query and number identify a batch. Both stay the same in a repeat, whose files have other names. The committer accepts
the first proposal, and answers the others with its version.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_headgate.executor.map_task import written_by_task
from pyspark_headgate.executor.parquet_parts import PartsPlan, WrittenFile
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.read.table_version import Pinned
from pyspark_headgate.write.change import WriteChange

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

    from pyspark_headgate.write.table_target import TableTarget

QUERY_ID = "sql.streaming.queryId"
"""Spark's own, kept in the query's checkpoint."""


@dataclass(frozen=True, slots=True)
class BatchWritten(WriterCommitMessage):
    """The files of one task of a micro-batch, and further values for the driver, whose writer is another object by
    then.
    """

    query: str
    job: str
    change: WriteChange
    files: tuple[WrittenFile, ...]


class WrongQuery(Exception):
    """Spark doesn't name the query of a task. Executors don't have Headgate's errors."""


def stream_writer(
    given: SourceOptions, seen: Pinned | None, schema: "StructType", *, overwrite: bool
) -> "StreamWriter":
    """Spark calls it twice for each batch: to send the writer to the tasks, and to commit their files.

    `seen` is the table a moment ago, if there was one; it is out of date at the commit, which doesn't need it.
    """
    from pyspark_headgate.write.table_target import TableTarget

    check_stream(given, TableTarget(given))
    return StreamWriter(given, seen, schema.json(), overwrite)


def check_stream(given: SourceOptions, target: "TableTarget") -> None:
    """Raises `InvalidInput` for options that a stream doesn't support."""
    from headgate_schemas.errors import InvalidInput

    if not target.has_bus:
        raise InvalidInput(
            f"a stream to {given.path} needs the option bus: that a replayed batch is there already is known by its proposal, and only a "
            f"committer on a bus looks at that. `headgate up` runs one on this machine"
        )
    if given.replace_where is not None or given.partition_overwrite_mode == "dynamic":
        raise InvalidInput(
            f"a stream to {given.path} appends, or replaces everything in output mode complete: replaceWhere and a dynamic "
            f"partitionOverwriteMode are for batches. In foreachBatch, write with mode overwrite instead"
        )


class StreamWriter(DataSourceStreamArrowWriter):
    """Reads the table when it is sent to tasks, but not when it only commits."""

    def __init__(self, given: SourceOptions, seen: Pinned | None, rows: str, overwrite: bool) -> None:
        self._given = given
        self._seen = seen
        self._rows = rows
        self._overwrite = overwrite
        self._plan: PartsPlan | None = None
        self._change: WriteChange | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self._plan is None:
            from pyspark_headgate.write.plan import plan_write
            from pyspark_headgate.write.table_target import TableTarget

            target = TableTarget(self._given)
            planned = plan_write(
                target,
                self._given,
                self._rows,
                self._seen or target.look(),
                overwrite=self._overwrite,
                streaming=True,
                job=target.ambient.new_id(),
            )
            self._plan, self._change = planned.parts, planned.change
        return self.__dict__

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        assert self._plan is not None
        assert self._change is not None, "planned when it was pickled"
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY_ID)
        if not query:
            raise WrongQuery(f"Spark doesn't tell tasks of {self._plan.table} which query they belong to ({QUERY_ID})")
        files = tuple(written_by_task(self._plan, iterator))
        return BatchWritten(query, self._plan.job, self._change, files)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        from headgate_schemas.messages.operations import Writer
        from pyspark_headgate.write.commit_files import data_files, put_into_table
        from pyspark_headgate.write.table_target import TableTarget

        written = [message for message in messages if isinstance(message, BatchWritten)]
        if not written:
            return
        first = written[0]
        files = data_files([file for each in written for file in each.files], first.change.partition_columns)
        writer = Writer(writer_name(first.query), batchId)
        put_into_table(TableTarget(self._given), first.change, files, first.job, writer)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Deletes nothing: Spark also calls it after a failed commit, which may have proposed the files."""


def writer_name(query: str) -> str:
    """The name of the writer in the table; its seq is the batch's number."""
    return f"spark/{query}"
