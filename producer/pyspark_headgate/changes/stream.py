"""The streaming reader of `format("headgate")`: the rows that versions added, or the feed of all changes. For drivers.

`feed` chooses the files of a batch, and `rows` reads them on executors. Two offsets alone determine a batch, so a
repeated batch has the same rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.errors import HeadgateError
from headgate_table.indextables.read.rows.scan import check_readable
from headgate_table.table import Table
from pyspark_headgate.changes.changed_files import FileChange
from pyspark_headgate.changes.columns import CHANGE_COLUMNS, files_of, with_change_columns, without_change_columns
from pyspark_headgate.changes.feed import ChangeFeed, Start
from pyspark_headgate.changes.offset import ChangeOffset, offset_of
from pyspark_headgate.changes.options import check_feed, check_stream, on_removal
from pyspark_headgate.changes.rows import ChangeRows
from pyspark_headgate.effective_settings import effective
from pyspark_headgate.executor.arrow_store import store_place
from pyspark_headgate.executor.file_rows import FileRows
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.read.file_plan import planned, shape_of
from pyspark_headgate.read.table_version import Pinned, open_table, pin
from pyspark_headgate.row_types import arrow_form, check_asked, spark_schema

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
except ImportError as error:
    raise HeadgateError(
        "reading a table as a stream needs PySpark 4.2 or newer: earlier ones ask a source for all that is there, whatever "
        "it is set to. Install a newer one, or read batch by batch with spark.read"
    ) from error

DEFAULT_MAX_FILES = 1000
"""As users know it from other lake tables."""
DEFAULT_MAX_VERSIONS = 1000
"""A stream that is behind plans for a second or two, not for minutes, before it reads anything."""


def feed_schema(given: SourceOptions, pinned: Pinned | None) -> StructType:
    """The columns of the change feed."""
    return with_change_columns(spark_schema((pinned or pin(given)).schema_string, given.path), given.path)


def stream_reader(given: SourceOptions, pinned: Pinned | None, schema: StructType) -> DataSourceStreamReader:
    """A reader of new rows, in the columns of `schema`."""
    check_stream(given)
    return ChangeStreamReader(ChangeReading(given, pinned or pin(given), schema, goes_on=True))


def feed_reader(given: SourceOptions, pinned: Pinned | None, schema: StructType) -> DataSourceReader:
    """A reader of the change feed, from the start in the options up to the chosen version."""
    check_feed(given)
    return ChangeBatchReader(ChangeReading(given, pinned or pin(given), schema))


class ChangeReading:
    """Changes of one table, as files and as tasks."""

    def __init__(self, given: SourceOptions, pinned: Pinned, schema: StructType, *, goes_on: bool = False) -> None:
        """`goes_on`: a continuing query must not leave out columns that later versions add."""
        self.given = given
        self.pinned = pinned
        self._fixed_to = pinned.schema_string if goes_on else None
        self._on_removal = on_removal(given)
        asked = without_change_columns(schema) if given.read_change_feed else schema
        check_asked(asked, spark_schema(pinned.schema_string, given.path), given.path)
        delivered = arrow_form(schema)
        self.rows = FileRows(
            given.path,
            store_place(given.path, effective(given).store),
            delivered,
            tuple(delivered.names),
            table_names=tuple(column_kinds(pinned.schema_string)),
        )

    @cached_property
    def table(self) -> Table:
        return open_table(self.given)

    @cached_property
    def feed(self) -> ChangeFeed:
        return ChangeFeed(self.table, self._on_removal, self._fixed_to)

    def first(self) -> ChangeOffset:
        return self.feed.first(Start(self.given.starting_version, self.given.starting_timestamp))

    def tasks(self, changes: Sequence[FileChange]) -> list[InputPartition]:
        """The tasks that read these files."""
        if not changes:
            return []
        files = files_of(changes)
        check_readable(self.given.path, self.table.metadata, files)
        kinds = kinds_of(column_kinds(self.pinned.schema_string))
        shape = shape_of(self.rows.schema, kinds, self.pinned.partition_columns)
        self._check_placed(changes)
        extra = [name for name in CHANGE_COLUMNS.fieldNames() if name in self.rows.schema.names]
        return list(planned(files, shape, self.given.path, extra if self.given.read_change_feed else ()))

    def _check_placed(self, changes: Sequence[FileChange]) -> None:
        for change in changes:
            if change.partition_values is None and self.pinned.partition_columns:
                raise HeadgateError(
                    f"version {change.version} of {self.given.path} removes {change.path} without saying of which partition, "
                    f"and the log doesn't know it any more: its rows can't be told whole. Start a query with a new checkpoint"
                )


class ChangeStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Exists on the driver as long as the query. On executors, it becomes a `ChangeRows`."""

    def __init__(self, reading: ChangeReading) -> None:
        self._reading = reading
        self._upto: ChangeOffset | None = None

    def initialOffset(self) -> dict[str, Any]:
        return self._reading.first().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxFiles(self._reading.given.max_files_per_trigger or DEFAULT_MAX_FILES)

    def prepareForTriggerAvailableNow(self) -> None:
        self._upto = self._reading.feed.newest()

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:
        max_files: int | None = None
        max_versions: int | None = None
        if not isinstance(limit, ReadAllAvailable):
            max_files = limit.max_files if isinstance(limit, ReadMaxFiles) else DEFAULT_MAX_FILES
            max_versions = self._reading.given.max_versions_per_trigger or DEFAULT_MAX_VERSIONS
        return self._reading.feed.end(offset_of(start), self._upto, max_files, max_versions).to_json()

    def reportLatestOffset(self) -> dict[str, Any]:
        return self._reading.feed.seen().to_json()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Sequence[InputPartition]:
        return self._reading.tasks(self._reading.feed.between(offset_of(start), offset_of(end)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return ChangeRows(self._reading.rows).read(partition)

    def __reduce__(self) -> tuple[type[ChangeRows], tuple[FileRows]]:
        return ChangeRows, (self._reading.rows,)


class ChangeBatchReader(DataSourceReader):
    """The feed of a range of versions, read at once. On executors, it becomes a `ChangeRows`."""

    def __init__(self, reading: ChangeReading) -> None:
        self._reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        feed = self._reading.feed
        start = self._reading.first()
        upto = ChangeOffset(start.table, self._reading.pinned.version + 1)
        if start.place >= upto.place:
            return []
        end = feed.end(start, upto, None, None)
        if end.place < upto.place:
            feed.end(end, upto, None, None)  # raises now if the range can't be read
        return self._reading.tasks(feed.between(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return ChangeRows(self._reading.rows).read(partition)

    def __reduce__(self) -> tuple[type[ChangeRows], tuple[FileRows]]:
        return ChangeRows, (self._reading.rows,)
