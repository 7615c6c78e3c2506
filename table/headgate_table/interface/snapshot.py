"""One version of a table as a value, whatever the table's format, and rows of it."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate_schemas import arguments
from headgate_schemas.actions.actions import Metadata, Protocol
from headgate_schemas.arguments import checked
from headgate_schemas.columns.table_schema import arrow_schema
from headgate_schemas.predicates.tree import Predicate
from headgate_table.interface.readable_rows import ReadableRows, checked_columns

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from headgate_table.indextables.log.reader import LoadedLog


@dataclass(frozen=True, slots=True)
class ReadStatistics:
    """The cost of reading entries, and the savings."""

    manifests_read: int = 0
    manifests_skipped: int = 0
    manifests_cached: int = 0
    version_files_read: int = 0
    entries_decoded: int = 0
    entries_skipped: int = 0
    entries_returned: int = 0
    bytes_fetched: int = 0


class Snapshot(ReadableRows):
    """The live files of one version, or those that match `where`. A snapshot never changes, and it reads lazily.

    A snapshot can be pickled. After unpickling, it is still the same version, whatever was committed since.

    Examples:
        >>> import pyarrow, pyarrow.parquet
        >>> table = headgate.Table.create("lake/events", "id BIGINT, text STRING")
        >>> rows = pyarrow.table({"id": [1, 2], "text": ["one", "two"]})
        >>> pyarrow.parquet.write_table(rows, "lake/events/a.parquet")
        >>> table.append([headgate.DataFile.of_parquet("a.parquet", root="lake/events")]).version
        1
        >>> snapshot = table.snapshot()
        >>> snapshot.version, snapshot.num_files, snapshot.num_records
        (1, 1, 2)
    """

    @property
    @abstractmethod
    def version(self) -> int:
        """The version of the table."""

    @property
    @abstractmethod
    def metadata(self) -> Metadata:
        """The metadata at this version: columns, partition columns, configuration."""

    @property
    @abstractmethod
    def protocol(self) -> Protocol:
        """The protocol version and features that this version requires."""

    @property
    @abstractmethod
    def log(self) -> "LoadedLog":
        """The loaded log under this snapshot, for other parts of Headgate."""

    @property
    @abstractmethod
    def num_files(self) -> int:
        """The number of files."""

    @property
    @abstractmethod
    def total_bytes(self) -> int:
        """The size of all files together."""

    @property
    @abstractmethod
    def num_records(self) -> int | None:
        """The number of rows, or None if the row count of a file is unknown."""

    @property
    @abstractmethod
    def statistics(self) -> ReadStatistics:
        """The cost of all reads through this snapshot."""

    @abstractmethod
    def files(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The files as a table, in the order of the log. By default, it has all columns that tables usually fill.

        Examples:
            >>> snapshot.files(["path", "num_records"]).to_pylist()
            [{'path': 'a.parquet', 'num_records': 2}]
        """

    @abstractmethod
    def paths(self) -> list[str]:
        """The paths of the files, sorted.

        Examples:
            >>> snapshot.paths()
            ['a.parquet']
        """

    @abstractmethod
    def scan(self, columns: Sequence[str] | None = None, where: str | Predicate | None = None) -> pa.RecordBatchReader:
        """The rows of the files, if they are Parquet files. Partition values are ordinary columns.

        Examples:
            >>> snapshot.scan(["text"], where="id > 1").read_all().to_pylist()
            [{'text': 'two'}]
        """

    @checked(columns=arguments.texts, where=arguments.predicate)
    def rows(self, columns: Sequence[str] | None = None, where: str | Predicate | None = None) -> "Rows":
        """Some columns, or the rows for which `where` is true: as a value that other libraries read.

        Examples:
            >>> snapshot.rows(["text"], where="id = 2").to_arrow().to_pylist()
            [{'text': 'two'}]
        """
        return Rows(self, columns, where)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows, in Arrow's types."""
        return arrow_schema(self.metadata.schema_string)

    def reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of batches, as `scan()` gives them.

        Examples:
            >>> snapshot.reader().read_all().num_rows
            2
        """
        return self.scan()

    @abstractmethod
    def count(self) -> int:
        """The number of rows. It comes from the log unless `where` names other columns than those of partitions, or a
        file's count is unknown.

        Examples:
            >>> snapshot.count()
            2
        """

    @abstractmethod
    def dataset(self) -> "ds.Dataset":
        """The files as a PyArrow dataset, by which DuckDB, Polars and DataFusion read only the columns and files that they need.

        Each file carries its partition values and what the log knows of its bounds. The dataset has all columns, and all rows of
        these files, so that `where` leaves out files but no rows. Footers are read at once. Raises `UnsupportedTable` for a file
        that PyArrow would read wrongly, and names it; `scan()` reads it.

        Examples:
            >>> import pyarrow.compute
            >>> snapshot.dataset().to_table(filter=pyarrow.compute.field("id") == 2).to_pylist()
            [{'id': 2, 'text': 'two'}]
        """

    @abstractmethod
    def narrowed(self, where: str | Predicate) -> "Snapshot":
        """The same version with one more condition.

        Examples:
            >>> snapshot.narrowed("id > 7").num_files
            0
        """


class Rows(ReadableRows):
    """The rows of a snapshot for which `where` is true, with the columns that were asked for. They never change.

    Examples:
        >>> import pyarrow
        >>> table = pyarrow.table({"id": [1, 2, 3], "day": ["mon", "tue", "tue"]})
        >>> headgate.write("lake/events", table, partition_by=["day"]).version
        1
        >>> rows = headgate.read("lake/events", where="day = 'tue'", columns=["id"])
        >>> rows.count(), rows.to_arrow().to_pylist()
        (2, [{'id': 2}, {'id': 3}])
    """

    def __init__(
        self, snapshot: "Snapshot", columns: Sequence[str] | None = None, where: str | Predicate | None = None
    ) -> None:
        self._snapshot = snapshot if where is None else snapshot.narrowed(where)
        schema = arrow_schema(snapshot.metadata.schema_string)
        self._columns = None if columns is None else checked_columns(columns, schema.names)
        self._schema = schema if self._columns is None else pa.schema([schema.field(name) for name in self._columns])

    @property
    def schema(self) -> pa.Schema:
        """The columns, in Arrow's types."""
        return self._schema

    @property
    def snapshot(self) -> "Snapshot":
        """The files that may hold these rows."""
        return self._snapshot

    def reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of batches.

        Examples:
            >>> [batch.num_rows for batch in rows.reader()]
            [2]
        """
        return self._snapshot.scan(self._columns)

    def count(self) -> int:
        """The number of rows. It comes from the log unless `where` names other columns than those of partitions.

        Examples:
            >>> rows.count()
            2
        """
        return self._snapshot.count()

    def dataset(self) -> "ds.Dataset":
        """The files that may hold these rows, as a PyArrow dataset: see `Snapshot.dataset`. It has all columns, and no filter.

        Examples:
            >>> rows.dataset().count_rows()
            2
        """
        return self._snapshot.dataset()
