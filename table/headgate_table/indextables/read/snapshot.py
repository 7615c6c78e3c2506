"""One version of a log as a value: its live files as Arrow, its rows, and the cost of reading them."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate_schemas import arguments
from headgate_schemas.actions.actions import Metadata, Protocol
from headgate_schemas.arguments import checked
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.tree import Predicate, all_of
from headgate_schemas.predicates.tree import columns as columns_of
from headgate_table.caching.resources import process_resources
from headgate_table.errors import ManifestMissing
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.read.entry_reader import EntryFilter, ReadManifests, read_entries, read_here
from headgate_table.indextables.read.rows.scan import scan_files
from headgate_table.indextables.read.same_version import same_version
from headgate_table.interface.snapshot import ReadStatistics, Snapshot
from headgate_table.store.interface import Store
from headgate_table.totals import total_of

if TYPE_CHECKING:
    import pyarrow.dataset as ds

DEFAULT_COLUMNS: tuple[str, ...] = tuple(
    column
    for column in ALL_COLUMNS
    if column not in ("doc_mapping_json", "delete_opstamp", "time_range_start", "time_range_end")
)


@dataclass(slots=True)
class _Loaded:
    """The entries that a snapshot has read so far; grows under the lock."""

    entries: pa.Table | None
    statistics: ReadStatistics


class LogSnapshot(Snapshot):
    """A snapshot of a log. It reads manifests when they are first needed, and keeps what it read.

    If cleaning deleted files that it needs, it reads the same version from the rest of the log.

    A pickled snapshot contains the log as it was read, and the address of the table, but no entries. After unpickling,
    it is still the same version, whatever was committed since. It opens the store again (`reopening`).
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
        return self._log.version

    @property
    def metadata(self) -> Metadata:
        return self._reader.metadata(self._log)

    @property
    def protocol(self) -> Protocol:
        return self._log.protocol

    @property
    def log(self) -> LoadedLog:
        return self._log

    @property
    def num_files(self) -> int:
        return int(self._entries(("path", "size")).num_rows)

    @property
    def total_bytes(self) -> int:
        return total_of(self._entries(("path", "size")).column("size"))

    @property
    def num_records(self) -> int | None:
        counts = self._entries(("path", "num_records")).column("num_records")
        return None if counts.null_count else total_of(counts)

    @property
    def statistics(self) -> ReadStatistics:
        return self._loaded.statistics

    @checked(columns=arguments.texts)
    def files(self, columns: Sequence[str] | None = None) -> pa.Table:
        names = DEFAULT_COLUMNS if columns is None else tuple(columns)
        unknown = [name for name in names if name not in ALL_COLUMNS]
        if unknown:
            raise InvalidInput(f"files have no column {unknown[0]!r}; the columns are {', '.join(ALL_COLUMNS)}")
        entries = self._entries(names)
        if "doc_mapping_json" in names:
            entries = self._with_mappings(entries, names)
        return entries.select(list(names))

    def paths(self) -> list[str]:
        return sorted(self._entries(("path",)).column("path").to_pylist())

    @checked(columns=arguments.texts, where=arguments.predicate)
    def scan(self, columns: Sequence[str] | None = None, where: str | Predicate | None = None) -> pa.RecordBatchReader:
        snapshot = self if where is None else self.narrowed(where)
        return scan_files(
            self._reader.store,
            self._reader.resources,
            snapshot.metadata,
            snapshot.files(("path", "partition_values", "size")),
            columns,
            None if snapshot._filter is None else snapshot._filter.predicate,
        )

    def count(self) -> int:
        known = self.num_records if self._filter is None or self._filter.is_exact else None
        if known is not None:
            return known
        named = () if self._filter is None else sorted(columns_of(self._filter.predicate))
        return sum(batch.num_rows for batch in self.scan(named or self.schema.names[:1]))

    def dataset(self) -> "ds.Dataset":
        from headgate_table.indextables.read.rows.files_dataset import COLUMNS, files_dataset  # few callers need it

        return files_dataset(self._reader.store, self._reader.resources, self.metadata, self.files(COLUMNS))

    @checked(where=arguments.predicate)
    def narrowed(self, where: str | Predicate) -> "LogSnapshot":
        if self._filter is None:
            return LogSnapshot(self._reader, self._log, where, self._read_parts)
        other = self._entry_filter(where)
        assert other is not None  # `where` is given
        return LogSnapshot(self._reader, self._log, all_of(self._filter.predicate, other.predicate), self._read_parts)

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
        """Document mappings restored from the schema registry if entries have only a reference."""
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


def _unpickled(store: Store, log: LoadedLog, metadata: Metadata, where: Predicate | None) -> LogSnapshot:
    """The pickle includes the metadata: the log may no longer hold the object with it."""
    return LogSnapshot(LogReader(store, process_resources()), replace(log, known_metadata=metadata), where)
