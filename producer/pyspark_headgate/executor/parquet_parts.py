"""Writes the rows of one Spark task, as Arrow batches, into Parquet files by partition and size. For executors, with
PyArrow alone.

The driver commits the files; it gets their footers and so needs to read none of them.
"""

import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from pyspark_headgate.executor.arrow_store import StorePlace
from pyspark_headgate.executor.float_statistics import leaf_paths, statistics_option, with_nan
from pyspark_headgate.executor.fsync import make_durable
from pyspark_headgate.executor.partition_split import Key, partition_folder, partition_parts
from pyspark_headgate.executor.row_columns import conformed

BUFFERED_BYTES = 128 << 20
"""Rows that one task holds in memory before it writes the partition that has the most of them. Larger row groups are
smaller files, and faster ones."""
ROW_GROUP_ROWS = 1 << 20
OPEN_FILES = 64
"""Files that one task writes side by side; beyond that the one that grew least recently is finished early."""
FILES_PER_TASK = 10_000
"""More partitions than that in one task make files too small to be read well."""
SPLIT_ROWS = 1 << 17
SPLIT_BYTES = 32 << 20
"""Rows that are looked at together when they are put into partitions, whichever comes first."""


class WrongRows(Exception):
    """Rows that don't fit the table. Executors don't have Headgate's errors."""


class TooManyParts(Exception):
    """The rows of one task fall into more files than it may write."""


@dataclass(frozen=True, slots=True)
class PartsPlan:
    """Everything that a task must know to write its rows; made on the driver."""

    place: StorePlace
    table: str
    """Its address, for messages."""
    job: str
    """New for each attempt of a job, so that no file meets another one's name."""
    data: pa.Schema
    """The columns that files hold, in the table's types and order."""
    partition: pa.Schema
    """The columns that folders stand for."""
    sources: Mapping[str, int]
    """By column of the table, the place of the rows' own column."""
    escapes: Mapping[int, str] = field(default_factory=dict)
    """How characters are spelled in folders, for `str.translate`."""
    null_text: str = ""
    """The folder's text of a null."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What each file's metadata say of it."""
    compression: str = "snappy"
    target_file_bytes: int = 256 << 20
    buffered_bytes: int = BUFFERED_BYTES
    open_files: int = OPEN_FILES
    files_per_task: int = FILES_PER_TASK


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A finished file, and the values that the driver needs to add it to the table."""

    path: str
    size: int
    modified_ms: int
    partition: tuple[str | None, ...]
    """Texts in the order of the partition columns; None is null."""
    footer: bytes
    """The file's own footer, deflated, as a Parquet file without rows."""


def write_parts(
    plan: PartsPlan, batches: Iterator[pa.RecordBatch], partition_id: int, attempt: int
) -> list[WrittenFile]:
    """Raises `WrongRows` for values that the table's columns can't hold. Files that were written by then are orphans."""
    parts = _Parts(plan, f"part-{partition_id:05d}-{attempt}-{plan.job}")
    schema = pa.schema([*plan.data, *plan.partition])
    try:
        for table in _gathered(batches):
            try:
                rows = conformed(table, schema, plan.sources, plan.table)
            except ValueError as error:
                raise WrongRows(str(error)) from error
            parts.take(rows)
        return parts.finish()
    finally:
        parts.give_up()


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combines Spark's small batches."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= SPLIT_ROWS or size >= SPLIT_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


@dataclass(slots=True)
class _Part:
    """The unwritten rows of one partition, and its open file."""

    rows: list[pa.Table] = field(default_factory=list)
    count: int = 0
    bytes: int = 0
    file: "_OpenFile | None" = None
    with_nan: frozenset[int] = frozenset()
    """The stored columns in which NaN has come so far: files have no statistics of them."""

    def take(self, rows: pa.Table) -> None:
        self.rows.append(rows)
        self.count += rows.num_rows
        self.bytes += rows.nbytes

    def hand_over(self) -> pa.Table:
        taken = pa.concat_tables(self.rows)
        self.rows, self.count, self.bytes = [], 0, 0
        return taken


class _Parts:
    """All partitions of a task."""

    def __init__(self, plan: PartsPlan, stem: str) -> None:
        self._plan = plan
        self._stem = stem
        self._system = plan.place.open()
        self._leaves = leaf_paths(plan.data)
        self._parts: dict[Key, _Part] = {}
        self._open: dict[Key, _OpenFile] = {}
        """In the order in which they grew."""
        self._written: list[WrittenFile] = []
        self._begun = 0
        self._buffered = 0
        self._group_bytes = min(plan.buffered_bytes, plan.target_file_bytes)

    def take(self, rows: pa.Table) -> None:
        for key, part_rows in partition_parts(rows, self._plan.partition.names, self._plan.data.names):
            part = self._parts.setdefault(key, _Part())
            part.take(part_rows)
            self._buffered += part_rows.nbytes
            if part.count >= ROW_GROUP_ROWS or part.bytes >= self._group_bytes:
                self._flush(key, part)
        while self._buffered >= self._plan.buffered_bytes:
            key, part = max(self._parts.items(), key=lambda item: item[1].bytes)
            self._flush(key, part)

    def finish(self) -> list[WrittenFile]:
        for key, part in self._parts.items():
            if part.count:
                self._flush(key, part)
            if part.file is not None:
                self._close(key, part)
        return self._written

    def give_up(self) -> None:
        """Close the open files, which nobody will name."""
        for file in self._open.values():
            file.abandon()
        self._open.clear()

    def _flush(self, key: Key, part: _Part) -> None:
        self._buffered -= part.bytes
        rows = part.hand_over()
        found = with_nan(rows)
        if not found <= part.with_nan:
            part.with_nan |= found
            if part.file is not None:  # a file whose statistics would be wrong from here on
                self._close(key, part)
        file = part.file or self._begin(key, part)
        self._open[key] = self._open.pop(key)
        file.write(rows)
        if file.size >= self._plan.target_file_bytes:
            self._close(key, part)

    def _begin(self, key: Key, part: _Part) -> "_OpenFile":
        if self._begun >= self._plan.files_per_task:
            raise TooManyParts(
                f"one task writes more than {self._plan.files_per_task} files to {self._plan.table} (FILES_PER_TASK): repartition "
                f"the rows by the table's partition columns before they are written, or partition the table by less"
            )
        if len(self._open) >= self._plan.open_files:
            oldest = next(iter(self._open))
            self._close(oldest, self._parts[oldest])
        folder = partition_folder(key, self._plan.partition.names, self._plan.escapes, self._plan.null_text)
        path = f"{folder}{self._stem}-{self._begun:05d}.parquet"
        self._begun += 1
        part.file = self._open[key] = _OpenFile(
            self._plan, self._system, path, statistics_option(self._leaves, part.with_nan)
        )
        return part.file

    def _close(self, key: Key, part: _Part) -> None:
        assert part.file is not None
        self._written.append(part.file.close(key))
        part.file = None
        del self._open[key]


class _OpenFile:
    """An open Parquet file; each write is one row group."""

    def __init__(self, plan: PartsPlan, system: fs.FileSystem, path: str, statistics: bool | list[str]) -> None:
        self._plan = plan
        self._system = system
        self._path = path
        self._full = plan.place.path(path)
        if plan.place.kind == "local":
            os.makedirs(os.path.dirname(self._full), exist_ok=True)
        self._sink = system.open_output_stream(self._full, compression=None)
        self._footers: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(
            self._sink,
            plan.data,
            compression=plan.compression,
            version="2.6",
            store_schema=False,
            write_statistics=statistics,
            write_page_checksum=True,
            metadata_collector=self._footers,
        )

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))

    def close(self, key: Key) -> WrittenFile:
        self._writer.add_key_value_metadata(self._plan.notes)
        self._writer.close()
        self._sink.close()
        if self._plan.place.kind == "local" and self._plan.place.durable:
            make_durable(self._full)
        info = self._system.get_file_info(self._full)
        return WrittenFile(
            path=self._path,
            size=info.size,
            modified_ms=info.mtime_ns // 1_000_000,
            partition=key,
            footer=_packed(self._footers[0]),
        )

    def abandon(self) -> None:
        """Close the file after a failure. The failure is reported, even if closing fails as well."""
        with suppress(pa.ArrowException, OSError):
            self._writer.close()
        with suppress(pa.ArrowException, OSError):
            self._sink.close()


def _packed(footer: pq.FileMetaData) -> bytes:
    sink = pa.BufferOutputStream()
    footer.write_metadata_file(sink)
    return zlib.compress(sink.getvalue().to_pybytes(), 1)
