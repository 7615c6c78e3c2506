"""The batch reader of `format("headgate")` on the driver: it chooses the files and their tasks.

`executor.file_rows` reads in the task; `table_version` chooses the version.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from headgate_schemas.columns.column_kinds import ColumnKind, kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.predicates.text import check_columns, parse_predicate
from headgate_schemas.predicates.tree import Predicate, all_of
from headgate_schemas.predicates.tree import columns as columns_of
from headgate_table.indextables.read.rows.column_defaults import column_defaults
from headgate_table.indextables.read.rows.row_filter import row_filter, row_group_filter
from headgate_table.indextables.read.rows.scan import check_readable
from headgate_table.interface.snapshot import Snapshot
from headgate_table.table import Table
from pyspark_headgate.effective_settings import effective
from pyspark_headgate.executor.arrow_store import store_place
from pyspark_headgate.executor.file_rows import FileRows, FilesReader
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.read.file_plan import planned, shape_of
from pyspark_headgate.read.table_version import Pinned, pin
from pyspark_headgate.row_types import arrow_columns, arrow_form, check_asked, spark_schema

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_PUSHING_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"
"""The program by which Spark pushes filters. It runs only with spark.sql.python.filterPushdown.enabled; where that is off, Spark
refuses readers that take filters, and nobody tells a source about the session's settings."""


def table_schema(given: SourceOptions, pinned: Pinned | None) -> StructType:
    """The columns of the chosen version."""
    return spark_schema((pinned or pin(given)).schema_string, given.path)


def batch_reader(given: SourceOptions, pinned: Pinned | None, schema: StructType) -> DataSourceReader:
    """A reader of the rows of one version, in the columns of `schema`."""
    reading = TableReading(given, pinned or pin(given), schema)
    return PushingTableReader(reading) if given.filter_pushdown and is_pushing() else TableReader(reading)


def is_pushing() -> bool:
    """Whether this process was started to push filters."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return _PUSHING_WORKER in sys.modules or (main is not None and main.name == _PUSHING_WORKER)


class TableReading:
    """The read of one version of a table. `where` may be narrowed until it is planned."""

    def __init__(self, given: SourceOptions, pinned: Pinned, schema: StructType) -> None:
        settings = effective(given)
        self.uri = given.path
        self.pinned = pinned
        check_asked(schema, spark_schema(pinned.schema_string, given.path), given.path)
        self.kinds = kinds_of(column_kinds(pinned.schema_string))
        self._given = given
        self._delivered = arrow_form(schema)
        self._place = store_place(given.path, settings.store)
        self._where = None if given.where is None else _checked(given.where, self.kinds)
        self._table = Table.open(given.path, settings.store, settings=settings.table)

    def narrow(self, predicate: Predicate) -> None:
        self._where = predicate if self._where is None else all_of(self._where, predicate)

    def rows(self) -> FileRows:
        """How executors read."""
        asked = frozenset() if self._where is None else columns_of(self._where)
        text = self.pinned.schema_string
        extra = arrow_columns(text, asked - set(self._delivered.names))
        read = pa.schema([*self._delivered, *extra])
        in_files = tuple(sorted(asked - set(self.pinned.partition_columns)))
        rows = FileRows(
            self.uri,
            self._place,
            read,
            tuple(self._delivered.names),
            column_defaults(text, read),
            table_names=tuple(column_kinds(text)),
        )
        if self._where is None:
            return rows
        return replace(
            rows,
            where=row_filter(self._where, read, self.kinds),
            groups=row_group_filter(self._where, read, self.kinds, in_files),
            groups_columns=in_files,
        )

    def slices(self) -> list[InputPartition]:
        """The tasks."""
        snapshot = self.snapshot()
        files = snapshot.files(("path", "partition_values", "size"))
        check_readable(self.uri, snapshot.metadata, files)
        read = self.rows().schema
        return list(planned(files, shape_of(read, self.kinds, self.pinned.partition_columns), self.uri))

    def snapshot(self) -> Snapshot:
        return self._table.snapshot(self.pinned.version, where=self._where)


class TableReader(DataSourceReader):
    """On executors, it becomes a `FilesReader`."""

    def __init__(self, reading: TableReading) -> None:
        self._reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        return self._reading.slices()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return FilesReader(self._reading.rows()).read(partition)

    def __reduce__(self) -> tuple[type[FilesReader], tuple[FileRows]]:
        return FilesReader, (self._reading.rows(),)


class PushingTableReader(TableReader):
    """A reader that accepts Spark's filters.

    Spark (4.3, and since it pushes filters to Python) keeps the result of the last reader with filters for every other
    query of the same DataFrame. A query without filters, or with others, would silently miss rows. This reader can't
    detect that, so only users who ask for it get it.
    """

    def pushFilters(self, filters: "list[Filter]") -> "Iterator[Filter]":
        """All filters also stay with Spark: here they only serve to leave out files, row groups and rows early."""
        from pyspark_headgate.read.pushed_filters import pushed_predicate  # Spark 4.0 can't import this

        predicate = pushed_predicate(filters, self._reading.kinds)
        if predicate is not None:
            self._reading.narrow(predicate)
        yield from filters


def _checked(text: str, kinds: "dict[str, ColumnKind]") -> Predicate:
    predicate = parse_predicate(text)
    check_columns(predicate, text, kinds)
    return predicate
