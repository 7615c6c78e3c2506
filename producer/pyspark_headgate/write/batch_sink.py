"""`df.write.format("headgate")`: tasks write files, and the driver adds them to the table in one version.

The writer is sent to executors without Headgate, so the driver's methods import what they need themselves.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyspark_headgate.executor.map_task import written_by_task
from pyspark_headgate.executor.parquet_parts import PartsPlan, WrittenFile
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.read.table_version import Pinned
from pyspark_headgate.write.change import WriteChange

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class FilesWritten(WriterCommitMessage):
    """The files that one task has written."""

    files: tuple[WrittenFile, ...]


def batch_writer(given: SourceOptions, seen: Pinned | None, schema: "StructType", *, overwrite: bool) -> "BatchWriter":
    """`seen` is the table a moment ago, if there was one. Changes nothing."""
    from headgate_schemas.messages.proposal_ids import timed_id
    from pyspark_headgate.write.plan import plan_write
    from pyspark_headgate.write.table_target import TableTarget

    target = TableTarget(given)
    # Also the proposal's id: Spark may repeat commit(), which then proposes the same again.
    job = timed_id(target.ambient.new_id(), target.ambient.now_ms())
    plan = plan_write(
        target, given, schema.json(), seen or target.look(), overwrite=overwrite, streaming=False, job=job
    )
    return BatchWriter(given, plan.parts, plan.change)


class BatchWriter(DataSourceArrowWriter):
    """Made once on the driver; each attempt of a task has a copy."""

    def __init__(self, given: SourceOptions, plan: PartsPlan, change: WriteChange) -> None:
        self._given = given
        self._plan = plan
        self._change = change

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        return FilesWritten(tuple(written_by_task(self._plan, iterator)))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        from pyspark_headgate.write.commit_files import data_files, put_into_table
        from pyspark_headgate.write.table_target import TableTarget

        written = [file for message in messages if isinstance(message, FilesWritten) for file in message.files]
        files = data_files(written, self._change.partition_columns)
        put_into_table(TableTarget(self._given), self._change, files, self._plan.job)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Deletes nothing: Spark also calls it after a failed commit, which may have proposed the files."""
