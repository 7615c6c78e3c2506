"""`format("headgate_restless")`: the data source of Headgate on a cluster where tasks are lost after all their work."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from pyspark_headgate.executor.parquet_parts import write_parts
from pyspark_headgate.source import HeadgateSource
from pyspark_headgate.write.batch_sink import BatchWriter, FilesWritten

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.datasource import DataSourceWriter
    from pyspark.sql.types import StructType

TWIN = 10_000
"""Added to an attempt's number for one that runs beside it."""


class RestlessWriter(BatchWriter):
    """Every task runs twice at the same time, as by speculation, and the first attempt of each is lost when it is done."""

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        batches = list(iterator)
        write_parts(self._plan, iter(batches), context.partitionId(), context.taskAttemptId() + TWIN)
        files = write_parts(self._plan, iter(batches), context.partitionId(), context.taskAttemptId())
        if context.attemptNumber() == 0:
            raise ConnectionError("the executor was lost before it could tell")
        return FilesWritten(tuple(files))


class DoomedWriter(BatchWriter):
    """One task never succeeds."""

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        message = super().write(iterator)
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1:
            raise ConnectionError("this executor is lost each time")
        return message


class RestlessSource(HeadgateSource):
    @classmethod
    def name(cls) -> str:
        return "headgate_restless"

    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceWriter":
        return self._as(RestlessWriter, schema, overwrite)

    def _as(self, kind: type[BatchWriter], schema: "StructType", overwrite: bool) -> "DataSourceWriter":
        writer = super().writer(schema, overwrite)
        assert isinstance(writer, BatchWriter)
        writer.__class__ = kind
        return writer


class DoomedSource(RestlessSource):
    @classmethod
    def name(cls) -> str:
        return "headgate_doomed"

    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceWriter":
        return self._as(DoomedWriter, schema, overwrite)
