"""One version of a table as a value: its live files as Arrow, its rows, and what reading them took."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate_schemas import arguments
from headgate_schemas.actions.actions import Metadata, Protocol
from headgate_schemas.arguments import checked
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.tree import Predicate, all_of
from headgate_schemas.predicates.tree import columns as columns_of
from headgate_table.caching.resources import process_resources
from headgate_table.errors import ManifestMissing
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.read.entry_reader import (
    EntryFilter,
    ReadManifests,
    ReadStatistics,
    read_entries,
    read_here,
)
from headgate_table.indextables.read.rows.readable_rows import ReadableRows
from headgate_table.indextables.read.rows.scan import scan_files
from headgate_table.indextables.read.same_version import same_version
from headgate_table.store.interface import Store
from headgate_table.totals import total_of

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from headgate_table.indextables.read.rows.snapshot_rows import Rows

DEFAULT_COLUMNS: tuple[str, ...] = tuple(
    column
    for column in ALL_COLUMNS
    if column not in ("doc_mapping_json", "delete_opstamp", "time_range_start", "time_range_end")
)


@dataclass(slots=True)
class _Loaded:
    """What a snapshot has read so far; grows under the lock."""

    entries: pa.Table | None
    statistics: ReadStatistics


class Snapshot(ReadableRows):
    """The live files of one version, or those that match `where`. A snapshot never changes, and it reads lazily.

    If cleaning deleted files that it needs, it reads the same version from the rest of the log.

    A pickled snapshot contains the log as it was read, and the address of the table, but no entries. After unpickling,
    it is still the same version, whatever was committed since. It opens the store again (`reopening`).

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

    @checked(where=arguments.predicate)
    def __init__(
        self,
        reader: LogReader,
        log: LoadedLog,
        where: str | Predicate | None = None,
        read_parts: ReadManifests = read_here,
    ) -> None:
        self._reader = reader
        self._log = log
        self._read_parts = read_parts
        self._lock = threading.Lock()
        self._loaded = _Loaded(None, ReadStatistics())
        self._filter = self._entry_filter(where)

    def __reduce__(self) -> tuple[object, tuple[Store, LoadedLog, Metadata, Predicate | None]]:
        predicate = None if self._filter is None else self._filter.predicate
        return _unpickled, (self._reader.store, self._log, self.metadata, predicate)

    @property
    def version(self) -> int:
        """The version of the table."""
        return self._log.version

    @property
    def metadata(self) -> Metadata:
        """The metadata at this version: columns, partition columns, configuration."""
        return self._reader.metadata(self._log)

    @property
    def protocol(self) -> Protocol:
        """The protocol version and features that this version requires."""
        return self._log.protocol

    @property
    def log(self) -> LoadedLog:
        """The loaded log under this snapshot, for other parts of Headgate."""
        return self._log

    @property
    def num_files(self) -> int:
        """The number of files."""
        return int(self._entries(("path", "size")).num_rows)

    @property
    def total_bytes(self) -> int:
        """The size of all files together."""
        return total_of(self._entries(("path", "size")).column("size"))

    @property
    def num_records(self) -> int | None:
        """The number of rows, or None if the row count of a file is unknown."""
        counts = self._entries(("path", "num_records")).column("num_records")
        return None if counts.null_count else total_of(counts)

    @property
    def statistics(self) -> ReadStatistics:
        """The cost of all reads through this snapshot."""
        return self._loaded.statistics

    @checked(columns=arguments.texts)
    def files(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The files as a table, in the order of the log. By default, it has all columns that tables usually fill.

        Examples:
            >>> snapshot.files(["path", "num_records"]).to_pylist()
            [{'path': 'a.parquet', 'num_records': 2}]
        """
        names = DEFAULT_COLUMNS if columns is None else tuple(columns)
        unknown = [name for name in names if name not in ALL_COLUMNS]
        if unknown:
            raise InvalidInput(f"files have no column {unknown[0]!r}; the columns are {', '.join(ALL_COLUMNS)}")
        entries = self._entries(names)
        if "doc_mapping_json" in names:
            entries = self._with_mappings(entries, names)
        return entries.select(list(names))

    def paths(self) -> list[str]:
        """The paths of the files, sorted.

        Examples:
            >>> snapshot.paths()
            ['a.parquet']
        """
        return sorted(self._entries(("path",)).column("path").to_pylist())

    @checked(columns=arguments.texts, where=arguments.predicate)
    def scan(self, columns: Sequence[str] | None = None, where: str | Predicate | None = None) -> pa.RecordBatchReader:
        """The rows of the files, if they are Parquet files. Partition values are ordinary columns.

        Examples:
            >>> snapshot.scan(["text"], where="id > 1").read_all().to_pylist()
            [{'text': 'two'}]
        """
        snapshot = self if where is None else self.narrowed(where)
        return scan_files(
            self._reader.store,
            self._reader.resources,
            snapshot.metadata,
            snapshot.files(("path", "partition_values", "size")),
            columns,
            None if snapshot._filter is None else snapshot._filter.predicate,
        )

    @checked(columns=arguments.texts, where=arguments.predicate)
    def rows(self, columns: Sequence[str] | None = None, where: str | Predicate | None = None) -> "Rows":
        """Some columns, or the rows for which `where` is true: as a value that other libraries read.

        Examples:
            >>> snapshot.rows(["text"], where="id = 2").to_arrow().to_pylist()
            [{'text': 'two'}]
        """
        from headgate_table.indextables.read.rows.snapshot_rows import Rows  # made of this module's class

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

    def count(self) -> int:
        """The number of rows. The log suffices unless `where` names other columns than those of partitions, or a file's count is unknown.

        Examples:
            >>> snapshot.count()
            2
        """
        known = self.num_records if self._filter is None or self._filter.is_exact else None
        if known is not None:
            return known
        named = () if self._filter is None else sorted(columns_of(self._filter.predicate))
        return sum(batch.num_rows for batch in self.scan(named or self.schema.names[:1]))

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
        from headgate_table.indextables.read.rows.files_dataset import COLUMNS, files_dataset  # few ask for it

        return files_dataset(self._reader.store, self._reader.resources, self.metadata, self.files(COLUMNS))

    @checked(where=arguments.predicate)
    def narrowed(self, where: str | Predicate) -> "Snapshot":
        """The same version with one more condition.

        Examples:
            >>> snapshot.narrowed("id > 7").num_files
            0
        """
        if self._filter is None:
            return Snapshot(self._reader, self._log, where, self._read_parts)
        other = self._entry_filter(where)
        assert other is not None  # `where` is given
        return Snapshot(self._reader, self._log, all_of(self._filter.predicate, other.predicate), self._read_parts)

    def _entry_filter(self, where: str | Predicate | None) -> EntryFilter | None:
        if where is None:
            return None
        # These import sqlglot, which only predicates need.
        from headgate_schemas.predicates.format import format_predicate
        from headgate_schemas.predicates.text import check_columns, parse_predicate

        metadata = self.metadata
        kinds = kinds_of(column_kinds(metadata.schema_string))
        predicate = parse_predicate(where) if isinstance(where, str) else where
        check_columns(predicate, where if isinstance(where, str) else format_predicate(where), kinds)
        return EntryFilter(predicate, kinds, metadata.partition_columns)

    def _entries(self, columns: Iterable[str]) -> pa.Table:
        """Entries with at least these columns, remembered."""
        with self._lock:
            have = self._loaded.entries
            if have is not None and set(columns) <= set(have.column_names):
                return have
            wanted = {*columns, *(have.column_names if have is not None else ())}
            try:
                entries, statistics = self._read(wanted)
            except ManifestMissing:
                found = same_version(self._reader, self._log)
                if found is None:
                    raise
                self._log = found
                entries, statistics = self._read(wanted)
            before = self._loaded.statistics
            total = replace(
                statistics,
                manifests_read=before.manifests_read + statistics.manifests_read,
                manifests_cached=before.manifests_cached + statistics.manifests_cached,
                bytes_fetched=before.bytes_fetched + statistics.bytes_fetched,
                entries_decoded=before.entries_decoded + statistics.entries_decoded,
            )
            self._loaded = _Loaded(entries, total)
            return entries

    def _read(self, columns: Iterable[str]) -> tuple[pa.Table, ReadStatistics]:
        reader = self._reader
        return read_entries(reader.store, reader.resources, self._log, columns, self._filter, self._read_parts)

    def _with_mappings(self, entries: pa.Table, names: Sequence[str]) -> pa.Table:
        """Document mappings restored from the schema registry where entries carry only a reference."""
        refs = self._entries((*names, "doc_mapping_ref"))
        index = refs.column_names.index("doc_mapping_json")
        registry = self._log.registry
        restored = [
            inline if inline is not None else registry.get(ref) if ref is not None else None
            for inline, ref in zip(
                refs.column("doc_mapping_json").to_pylist(), refs.column("doc_mapping_ref").to_pylist(), strict=True
            )
        ]
        return refs.set_column(index, "doc_mapping_json", pa.array(restored, pa.string()))


def _unpickled(store: Store, log: LoadedLog, metadata: Metadata, where: Predicate | None) -> Snapshot:
    """The metadata comes along: a log may have forgotten by now where it was written."""
    return Snapshot(LogReader(store, process_resources()), replace(log, known_metadata=metadata), where)
