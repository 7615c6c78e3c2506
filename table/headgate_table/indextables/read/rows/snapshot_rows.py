"""`Rows`: some columns of a snapshot, for some of its rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate_schemas.columns.table_schema import arrow_schema
from headgate_schemas.predicates.tree import Predicate
from headgate_table.indextables.read.rows.readable_rows import ReadableRows
from headgate_table.indextables.read.rows.scan import checked_columns

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from headgate_table.indextables.read.snapshot import Snapshot


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
        """The number of rows. The log suffices unless `where` names other columns than those of partitions.

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
