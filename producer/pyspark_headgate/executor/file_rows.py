"""Rows of data files for Spark, read on executors with PyArrow alone. The driver plans the files and their parts
(`read.file_plan`).

A file's columns are converted as in `headgate_table.indextables.read.rows.row_shape`, into the types of Spark's schema.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import types
from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_headgate.executor.arrow_store import StorePlace
from pyspark_headgate.executor.stored_names import respelled, stored_names, stored_type

BATCH_ROWS = 32_768
"""Of one Arrow batch on its way to Spark: large enough for its overhead not to show, a few megabytes of usual rows."""
BATCHES_AHEAD = 2

_DAMAGE = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError)
"""What PyArrow raises for bytes that are no Parquet file, or no longer: a damaged footer may ask for an encoding or codec
that nobody implements."""

_PARQUET = ds.ParquetFileFormat(
    read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"),
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True),
)
_SLICE_COLUMNS = 3


class UnreadableFile(Exception):
    """A data file is missing or damaged, or has values that the table's schema forbids. The message names the file."""


class FileSlices(InputPartition):
    """Files, or parts of them, for one task. A part is the row groups that begin between two bytes of the file.

    Packed as an Arrow table (path, start, end, then a column for each constant), since there may be many.
    """

    def __init__(self, packed: bytes) -> None:
        super().__init__(None)
        self.packed = packed

    @classmethod
    def of(cls, slices: pa.Table) -> "FileSlices":
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, slices.schema) as writer:
            writer.write_table(slices)
        return cls(sink.getvalue().to_pybytes())

    def table(self) -> pa.Table:
        with pa.ipc.open_stream(self.packed) as reader:
            return reader.read_all()

    def __repr__(self) -> str:
        return f"FileSlices({len(self.packed)} bytes)"


@dataclass(frozen=True, slots=True)
class FileRows:
    """How the rows of one table are read, the same for every file. It is sent to executors."""

    table: str
    """For messages."""
    place: StorePlace
    schema: pa.Schema
    """The columns that are looked at, exactly as Spark wants them. What a slice has as a constant never comes from its file."""
    delivered: tuple[str, ...]
    """Those of them that go to Spark."""
    defaults: Mapping[str, pa.Scalar | None] = field(default_factory=dict)
    """Of columns that a file may lack because they came later; without one, null. None for one that isn't understood."""
    where: pc.Expression | None = None
    """Rows for which it isn't true are left out."""
    groups: pc.Expression | None = None
    """Row groups for whose statistics it can't be true are not read."""
    groups_columns: tuple[str, ...] = ()
    """What `groups` looks at: it holds for files that have these columns in the types of `schema`."""
    table_names: tuple[str, ...] = ()
    """All columns of the table, where only some are read."""

    def read(self, slices: pa.Table) -> Iterator[pa.RecordBatch]:
        """The rows of the slices, in order. Raises `UnreadableFile`."""
        files = self.place.open()
        names = slices.schema.names[_SLICE_COLUMNS:]
        for place in range(slices.num_rows):
            path, start, end = (slices.column(column)[place].as_py() for column in range(_SLICE_COLUMNS))
            constants = {name: slices.column(_SLICE_COLUMNS + position)[place] for position, name in enumerate(names)}
            yield from self._rows(files, path, start, end, constants)

    def _rows(
        self, files: Any, path: str, start: int, end: int, constants: Mapping[str, pa.Scalar]
    ) -> Iterator[pa.RecordBatch]:
        name = f"the data file {path} of {self.table}"
        try:
            fragment = _PARQUET.make_fragment(self.place.path(path), files)
            physical = fragment.physical_schema
            stored = self._stored(physical, constants, name)
            repeated = [column for column in stored.values() if physical.names.count(column) > 1]
            if repeated:
                raise UnreadableFile(f"{name} has two columns {repeated[0]!r}; write it again with one")
            fragment = fragment.subset(row_group_ids=_groups_between(fragment.metadata, start, end))
            fragment = self._pruned(fragment, physical)
            for batch in _stored_batches(fragment, stored):
                yield from self._filtered(self._conform(batch, constants, name))
        except FileNotFoundError as error:
            raise UnreadableFile(
                f"{name} is missing, though the log lists it. If it was cleaned up while this query ran, run the query again; "
                f"else restore the file, or remove it from the table: `headgate table verify` finds all that are missing"
            ) from error
        except _DAMAGE as error:
            raise UnreadableFile(
                f"{name} can't be read as Parquet: {error}. Restore the file, or remove it from the table"
            ) from error

    def _stored(self, physical: pa.Schema, constants: Mapping[str, pa.Scalar], name: str) -> dict[str, str]:
        """The columns to read: the name in the table, and the name in the file."""
        held = tuple(physical.names)
        stored: dict[str, str] = {}
        for column in self.schema.names:
            if column in constants:
                continue
            found = stored_names(column, held, self.table_names or self.schema.names)
            if len(found) > 1:
                raise UnreadableFile(
                    f"{name} has the columns {found[0]!r} and {found[1]!r}, and the table {column!r}: nobody can tell which one "
                    f"it is (case is ignored). Write the file again with the table's column"
                )
            if found:
                stored[column] = found[0]
        return stored

    def _pruned(self, fragment: Any, physical: pa.Schema) -> Any:
        if self.groups is None:
            return fragment
        as_stored = all(
            column in physical.names and physical.field(column).type == self.schema.field(column).type
            for column in self.groups_columns
        )
        return fragment.subset(filter=self.groups, schema=physical) if as_stored else fragment

    def _conform(self, batch: pa.RecordBatch, constants: Mapping[str, pa.Scalar], name: str) -> pa.RecordBatch:
        arrays = []
        for item in self.schema:
            if item.name in constants:
                array = pa.repeat(constants[item.name], batch.num_rows)
            elif item.name in batch.schema.names:
                array = _cast(batch.column(item.name), item, name)
            else:
                array = self._missing(item, batch.num_rows, name)
            if array.null_count and not item.nullable:
                raise UnreadableFile(
                    f"{name} has no value for {item.name!r} in some row, but the table's schema says NOT NULL. "
                    f"Remove the file from the table, or write it again"
                )
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _missing(self, item: "pa.Field[Any]", rows: int, name: str) -> pa.Array:
        if item.name not in self.defaults:
            return pa.nulls(rows, item.type)
        default = self.defaults[item.name]
        if default is None:
            raise UnreadableFile(
                f"{name} lacks {item.name!r}, whose default in the table's schema is no plain literal. "
                f"Read the table by headgate.spark.read, or without this column"
            )
        return pa.repeat(default, rows)

    def _filtered(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if self.where is not None:
            batch = batch.filter(self.where)
        if batch.num_rows:
            yield batch if len(self.delivered) == batch.num_columns else batch.select(list(self.delivered))


class FilesReader(DataSourceReader):
    """The form in which a reader reaches executors."""

    def __init__(self, rows: FileRows) -> None:
        self._rows = rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # A table without files has one empty partition.
        if not isinstance(partition, FileSlices):
            return iter(())
        return self._rows.read(partition.table())


def _groups_between(metadata: Any, start: int, end: int) -> list[int]:
    """The row groups that begin in [start, end): each belongs to exactly one part, however a file is cut."""
    return [number for number in range(metadata.num_row_groups) if start <= _begin(metadata.row_group(number)) < end]


def _begin(group: Any) -> int:
    if group.num_columns == 0:
        return 0
    first = group.column(0)
    pages = [first.data_page_offset]
    if first.has_dictionary_page and first.dictionary_page_offset:
        pages.append(first.dictionary_page_offset)
    return int(max(0, min(pages)))


def _stored_batches(fragment: Any, stored: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    if stored:
        yield from fragment.to_batches(
            columns={name: pc.field(held) for name, held in stored.items()},
            batch_size=BATCH_ROWS,
            batch_readahead=BATCHES_AHEAD,
            fragment_readahead=1,
        )
        return
    # Only the number of rows is wanted.
    left = sum(group.num_rows for group in fragment.row_groups)
    while left > 0:
        yield pa.record_batch({"": pa.nulls(min(BATCH_ROWS, left))})
        left -= BATCH_ROWS


_IsType = Callable[[pa.DataType], bool]


def _any_of(*tests: _IsType) -> _IsType:
    return lambda type_: any(test(type_) for test in tests)


_is_number = _any_of(types.is_integer, types.is_floating, types.is_decimal)
_is_text = _any_of(
    types.is_string,
    types.is_large_string,
    types.is_string_view,
    types.is_binary,
    types.is_large_binary,
    types.is_binary_view,
    types.is_fixed_size_binary,
)
_is_list = _any_of(types.is_list, types.is_large_list, types.is_fixed_size_list)
_FAMILIES: Sequence[tuple[_IsType, _IsType]] = (
    (types.is_null, lambda type_: True),
    (types.is_integer, _is_number),
    (types.is_floating, types.is_floating),
    (types.is_decimal, types.is_decimal),
    (types.is_boolean, types.is_boolean),
    (types.is_date, types.is_date),
    (types.is_timestamp, types.is_timestamp),
    (_is_text, _is_text),
    (_is_list, _is_list),
    (types.is_map, types.is_map),
    (types.is_struct, types.is_struct),
)
"""From and to, as the table room reads them: a text never becomes a number."""


def _misfit(source: Any, target: Any) -> str | None:
    """The reason why no value of one type can be read as the other.

    Casts report single values that don't fit, but they round floating point numbers.
    """
    if types.is_dictionary(source):
        return _misfit(source.value_type, target)
    if not any(is_from(source) and is_to(target) for is_from, is_to in _FAMILIES):
        return "the types don't go together"
    if types.is_floating(source) and types.is_floating(target) and source.bit_width > target.bit_width:
        return f"a {target} has fewer digits and a smaller range than a {source}"
    for inner, wanted in _inner(source, target):
        problem = _misfit(inner, wanted)
        if problem is not None:
            return f"{problem} ({inner} and {wanted})"
    return None


def _inner(source: Any, target: Any) -> Iterator[tuple[Any, Any]]:
    """The inner types, side by side."""
    if types.is_struct(source) and types.is_struct(target):
        for field in target:
            if source.get_all_field_indices(field.name):
                yield source.field(field.name).type, field.type
    elif types.is_map(source) and types.is_map(target):
        yield source.key_type, target.key_type
        yield source.item_type, target.item_type
    elif _is_list(source) and _is_list(target):
        yield source.value_type, target.value_type


def _cast(array: pa.Array, wanted: "pa.Field[Any]", name: str) -> pa.Array:
    if array.type == wanted.type:
        return array
    as_stored = stored_type(array.type)
    if as_stored != array.type:
        array = array.cast(as_stored)
    source = array.type.value_type if types.is_dictionary(array.type) else array.type
    problem = respelled(source, wanted.type) or _misfit(source, wanted.type)
    if problem is None:
        try:
            return array.cast(wanted.type)
        except pa.ArrowException as error:
            problem = str(error)
    raise UnreadableFile(
        f"{name} holds {wanted.name!r} as {array.type}, which can't be read as the table's {wanted.type}: {problem}. "
        f"Write the file again in the table's types, or read it by itself"
    )
