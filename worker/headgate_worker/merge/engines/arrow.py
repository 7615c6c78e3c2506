"""The merge engine of a single process: PyArrow streams the sources' rows into one Parquet file, in bounded memory.

`merge.sources` reads the sources, `columns.columns` decides their conversion, and `headgate_table.rows.output_file`
stores the bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from headgate_schemas.actions.actions import AddFile, StoredTexts
from headgate_schemas.errors import InvalidInput
from headgate_table.caching.resources import ReadResources
from headgate_table.data_file import DataFile
from headgate_table.errors import StoreError, UnsupportedTable
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.parquet.bounds import STATISTICS_NOTE, WITHOUT_NAN
from headgate_table.parquet.dictionary_columns import dictionary_columns
from headgate_table.parquet.float_statistics import floats, leaf_paths, statistics_option, with_nan
from headgate_table.rows.output_file import output_file
from headgate_table.store.interface import Store
from headgate_worker.merge.columns.columns import OutputColumns, contradiction, output_columns
from headgate_worker.merge.columns.dictionaries import decoded_bytes, encoded, shown_metadata
from headgate_worker.merge.orders import ArrowLimits, Gone, Merged, MergeOrder, MergeOutcome, NotMerged, Unreadable
from headgate_worker.merge.sources import BadSource, CheckedSource, SourceReader

CODECS = ("zstd", "snappy", "gzip", "brotli", "lz4", "none")
DEFAULT_CODEC = "zstd"
"""Where no source says which codec it has."""


class ArrowEngine:
    """Merges files of one table's store. `give_up` is called between two row groups, and raises if the work should end."""

    def __init__(
        self,
        store: Store,
        resources: ReadResources,
        limits: ArrowLimits | None = None,
        *,
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._resources = resources
        self._limits = limits or ArrowLimits()
        self._reader = SourceReader(store)
        self._give_up = give_up

    def merge(self, order: MergeOrder) -> MergeOutcome:
        """See `MergeEngine`."""
        if not order.schema_string:
            raise UnsupportedTable(
                f"the log of {order.table} knows no schema, so its rows can't be merged; give it one with an alter"
            )
        if order.codec is not None and order.codec not in CODECS:
            raise InvalidInput(f"the codec for merged files is {order.codec!r}; it must be one of {', '.join(CODECS)}")
        checked = self._all_checked(order.sources)
        sources: list[CheckedSource] = []
        problems: list[Unreadable | Gone] = []
        for one in checked:
            if not isinstance(one, CheckedSource):
                problems.append(one)
            elif (why := contradiction(one.columns, order.schema_string, order.partition_columns)) is not None:
                problems.append(Unreadable(one.file.path, why))
            else:
                sources.append(one)
        if problems:
            return NotMerged(tuple(problems))
        columns = output_columns([one.columns for one in sources], order.schema_string, order.partition_columns)
        codec = order.codec or next((one.codec for one in sources if one.codec is not None), DEFAULT_CODEC)
        try:
            try:
                written = self._written(order, sources, columns, codec)
            except _LateNaN:
                # This is rare, so the sources are read again: a file has statistics of a column for all of its row
                # groups or for none.
                written = self._written(order, sources, columns, codec, floats(columns.schema))
        except BadSource as bad:
            return NotMerged((bad.problem,))
        expected = sum(one.num_rows for one in sources)
        add = self._described(order)
        if not written == expected == add.num_records:
            raise StoreError(
                f"{self._store.uri}/{order.output} should hold the {expected} rows of its {len(sources)} sources; "
                f"{written} were written and {add.num_records} are there. Nothing was committed; check the store"
            )
        return Merged(add)

    def _all_checked(self, sources: Sequence[AddFile]) -> list[CheckedSource | Unreadable | Gone]:
        """Check all sources, at the same time if the store's answers take long. On a local disk, threads only hinder
        each other.
        """
        if self._store.local_path(sources[0].path) is not None:
            return [self._checked(source) for source in sources]
        return self._resources.each(self._checked, sources)

    def _checked(self, source: AddFile) -> CheckedSource | Unreadable | Gone:
        try:
            return self._reader.check(source)
        except BadSource as bad:
            return bad.problem

    def _written(
        self,
        order: MergeOrder,
        sources: Sequence[CheckedSource],
        columns: OutputColumns,
        codec: str,
        without: frozenset[int] = frozenset(),
    ) -> int:
        with output_file(self._store, order.output, self._limits.scratch_folder) as stream:
            return self._write(stream, sources, columns, codec, without)

    def _write(
        self,
        stream: BinaryIO,
        sources: Sequence[CheckedSource],
        columns: OutputColumns,
        codec: str,
        without: frozenset[int],
    ) -> int:
        """Returns the number of rows. One row group is read while another one is written.

        The output has no statistics of the columns `without`, and of columns with NaN in the first row group. Raises
        `_LateNaN` if NaN comes in another column later.
        """
        shape = replace(columns.shape, schema=encoded(columns.shape.schema, columns.repeating))
        groups = _RowGroups(self._batches(sources, shape), shape.schema, self._limits)
        written = 0
        # One thread reads all of them: each thread of a pool would keep the memory that it freed.
        with ThreadPoolExecutor(1, thread_name_prefix="headgate-merge") as reader:
            try:
                group = reader.submit(next, groups, None).result()
                if group is not None:
                    without |= with_nan(group)
                options: dict[str, Any] = {
                    "compression": codec,
                    "use_dictionary": dictionary_columns(
                        shape.schema.empty_table() if group is None else group, columns.schema
                    ),
                    # The metadata would show dictionaries, which aren't the table's types; see below.
                    "store_schema": False,
                    "write_statistics": statistics_option(leaf_paths(columns.schema), without),
                    "write_page_index": True,
                    "write_page_checksum": True,
                }
                with pq.ParquetWriter(stream, encoded(columns.schema, columns.repeating), **options) as writer:
                    writer.add_key_value_metadata(shown_metadata(columns.schema))
                    writer.add_key_value_metadata({STATISTICS_NOTE: WITHOUT_NAN})
                    while group is not None:
                        self._give_up()
                        if not with_nan(group) <= without:
                            raise _LateNaN
                        ahead = reader.submit(next, groups, None)
                        writer.write_table(group, row_group_size=self._limits.row_group_rows)
                        written += group.num_rows
                        group = ahead.result()
            finally:
                reader.submit(groups.close).result()  # after the running read
        return written

    def _batches(self, sources: Sequence[CheckedSource], shape: RowShape) -> Iterator[pa.RecordBatch]:
        for source in sources:
            yield from self._reader.batches(source, shape)

    def _described(self, order: MergeOrder) -> AddFile:
        """The output as an entry of the log, read from the stored file."""
        file = DataFile.of_parquet(
            order.output,
            store=self._store,
            partition_values=StoredTexts(order.partition_values),
            data_change=False,
            indexed_columns=order.indexed_columns,
            max_text_length=order.max_text_length,
        )
        return replace(file, num_merge_ops=1 + max(source.num_merge_ops or 0 for source in order.sources))


class _LateNaN(Exception):
    """A column has NaN, but the unfinished file already has statistics of it."""


class _RowGroups:
    """Collects batches into tables of the size of a row group."""

    def __init__(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, limits: ArrowLimits) -> None:
        self._batches = batches
        self._schema = schema
        self._limits = limits

    def __iter__(self) -> "_RowGroups":
        return self

    def __next__(self) -> pa.Table:
        gathered: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in self._batches:
            if not batch.num_rows:
                continue
            gathered.append(batch)
            rows += batch.num_rows
            size += decoded_bytes(batch)
            if rows >= self._limits.row_group_rows or size >= self._limits.row_group_bytes:
                break
        if not gathered:
            raise StopIteration
        # The writer keeps the dictionary with which it began a row group, or stops using dictionaries.
        return pa.Table.from_batches(gathered, self._schema).unify_dictionaries()

    def close(self) -> None:
        """Close the source that is being read."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()
