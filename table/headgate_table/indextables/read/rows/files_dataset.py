"""The files of a snapshot as a PyArrow dataset, so that DuckDB, Polars and DataFusion read and prune them by
themselves.

Each file has the log's knowledge of its rows: partition values, defaults of missing columns, bounds. PyArrow reads
files by their own columns, so footers are read first: a file that only `scan` reads correctly is refused by name.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import types

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds
from headgate_table.caching.resources import ReadResources
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.indextables.read.rows.column_defaults import column_defaults
from headgate_table.indextables.read.rows.file_guarantees import file_guarantees
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.indextables.read.rows.scan import PARQUET, check_readable, opened_fragment
from headgate_table.store.arrow_files import arrow_file_system
from headgate_table.store.interface import Store

COLUMNS = ("path", "partition_values", "size", "min_values", "max_values")
"""Of the entries that `files_dataset` takes."""


def files_dataset(store: Store, resources: ReadResources, metadata: Metadata, files: pa.Table) -> ds.Dataset:
    """All rows of these files, in the table's types.

    Raises `UnsupportedTable` for a file whose columns PyArrow would confuse, and `CorruptTable` for one that is missing
    or damaged.
    """
    check_readable(store.uri, metadata, files)
    fragments = _Fragments(store, metadata)
    entries = [row for batch in files.select(list(COLUMNS)).to_batches(max_chunksize=1024) for row in batch.to_pylist()]
    made = resources.each(fragments.of, sorted(entries, key=lambda entry: str(entry["path"])))
    return ds.FileSystemDataset(made, fragments.schema, PARQUET, arrow_file_system(store))


class _Fragments:
    def __init__(self, store: Store, metadata: Metadata) -> None:
        self._store = store
        self._system = arrow_file_system(store)
        self.schema = arrow_schema(metadata.schema_string).remove_metadata()
        self._kinds = kinds_of(column_kinds(metadata.schema_string))
        partition = {name: self._kinds[name] for name in metadata.partition_columns}
        self._defaults = column_defaults(metadata.schema_string, self.schema)
        self._shape = RowShape(self.schema, partition, self._defaults, frozenset(self.schema.names))
        self._data = pa.schema([field for field in self.schema if field.name not in partition])

    def of(self, entry: Mapping[str, Any]) -> ds.ParquetFileFragment:
        path, size = str(entry["path"]), int(entry["size"])
        name = f"the data file {path} of {self._store.uri}"
        partition = self._shape.partition_scalars(dict(entry["partition_values"] or ()), name)
        lows, highs = dict(entry["min_values"] or ()), dict(entry["max_values"] or ())
        known = [_equals(column, value) for column, value in partition.items()]
        known += file_guarantees(self._data, self._kinds, lows, highs)
        fragment = self._opened(path, size, known)
        stored = self._shape.stored_columns(fragment.physical_schema, name)
        self._check_columns(stored, fragment.physical_schema, name)
        defaults = [
            self._default(column, default, name)
            for column, default in self._defaults.items()
            if column not in stored and column not in partition
        ]
        return self._opened(path, size, [*known, *defaults]) if defaults else fragment

    def _opened(self, path: str, size: int, known: Sequence[pc.Expression]) -> ds.ParquetFileFragment:
        promise = reduce(and_, known) if known else None
        return opened_fragment(
            self._store,
            path,
            lambda: PARQUET.make_fragment(path, self._system, partition_expression=promise, file_size=size),
        )

    def _default(self, column: str, default: pa.Scalar | None, name: str) -> pc.Expression:
        if default is None:
            raise UnsupportedTable(f"{name} lacks {column!r}, whose default is no plain literal; read it by scan()")
        return _equals(column, default)

    def _check_columns(self, stored: Mapping[str, str], physical: pa.Schema, name: str) -> None:
        """PyArrow finds columns by their exact names, and casts silently."""
        for column, held in stored.items():
            if column != held:
                raise UnsupportedTable(f"{name} spells the column {column!r} as {held!r}; {_OTHERWISE}")
            if physical.names.count(held) > 1:
                raise CorruptTable(f"{name} has two columns {held!r}; write it again with one")
            given, wanted = physical.field(held).type, self.schema.field(column).type
            if not _is_read_alike(given, wanted):
                raise UnsupportedTable(f"{name} holds {column!r} as {given}, and the table as {wanted}; {_OTHERWISE}")


_OTHERWISE = "a dataset can't read that rightly. scan() does, and a merge writes the file anew"


def _equals(column: str, value: pa.Scalar) -> pc.Expression:
    return pc.field(column) == value if value.is_valid else pc.field(column).is_null()


def _is_read_alike(given: Any, wanted: Any) -> bool:
    """Whether PyArrow's cast keeps each value, or fails if it can't."""
    if given == wanted:
        return True
    if types.is_dictionary(given):
        return _is_read_alike(given.value_type, wanted)
    if (types.is_integer(given) and types.is_integer(wanted)) or (
        types.is_timestamp(given) and types.is_timestamp(wanted)
    ):
        return True
    if types.is_floating(given) and types.is_floating(wanted):
        return bool(given.bit_width <= wanted.bit_width)
    return any(
        test(given) and wanted == plain
        for test, plain in ((types.is_large_string, pa.string()), (types.is_large_binary, pa.binary()))
    )
