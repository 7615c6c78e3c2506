"""Writes rows into Parquet files on a store, by partition and size, in bounded memory. The files are in no table yet.

Rows wait in memory until they fill a row group, or until too many wait: then the partition with the most rows is
written. Threads encode row groups while the next rows are taken; those of one partition are written one after the
other.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.partition_text import escape_partition_text, stored_text
from headgate_table.data_file import DataFile
from headgate_table.errors import CorruptTable, StoreError
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.parquet.bounds import STATISTICS_NOTE, WITHOUT_NAN, column_bounds
from headgate_table.parquet.dictionary_columns import dictionary_columns
from headgate_table.parquet.float_statistics import leaf_paths, statistics_option, with_nan
from headgate_table.parquet.footer import read_footer
from headgate_table.rows.output_file import output_file
from headgate_table.rows.partition_split import Key, partition_folder, partition_parts, partition_texts
from headgate_table.store.interface import Store
from headgate_table.store.paths import check_key

CODEC = "zstd"
_ESCAPES = {code: escaped for code in range(128) if (escaped := escape_partition_text(chr(code))) != chr(code)}


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The bounds of one write in memory and on disk."""

    target_file_bytes: int = 256 << 20
    """As stored. A file ends with the row group that reaches it."""
    buffered_bytes: int = 96 << 20
    """Of rows that wait for their row group, over all partitions."""
    row_group_bytes: int = 48 << 20
    """In memory. Large enough for pruning and compression to pay."""
    row_group_rows: int = 1 << 20
    open_files: int = 256
    """Written side by side; beyond that the one that grew least recently is finished early."""
    files: int = 100_000
    """Of one write: half of what one proposal may name."""
    threads: int = 2
    """That encode row groups. More than the machine's processors only wait for each other."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The common properties of a write's files."""

    data: pa.Schema
    """The columns that files hold, in the table's types and order."""
    partition: pa.Schema
    """The columns that folders stand for."""
    shape: RowShape
    """How the table reads partition values."""
    name: str
    """New for each write, so that no file meets another one's name."""


class FileWriter:
    """Takes rows of `data` and `partition`, in that order. For one thread, in a `with` block."""

    def __init__(self, store: Store, layout: FileLayout, limits: FileLimits | None = None) -> None:
        self._store = store
        self._layout = layout
        self._limits = limits or FileLimits()
        self._group_bytes = min(self._limits.row_group_bytes, self._limits.target_file_bytes)
        self._parts: dict[Key, _Part] = {}
        self._growing: dict[Key, _Part] = {}
        """Those with an open file, in the order in which they grew."""
        self._numbers = count()
        self._buffered = 0
        self._written: list[DataFile] = []
        self._jobs: set[Future[None]] = set()
        threads = max(1, min(self._limits.threads, os.cpu_count() or 1))
        self._most_jobs = threads + 1
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="headgate-write")

    def __enter__(self) -> "FileWriter":
        return self

    def __exit__(self, *_: object) -> None:
        """Closes open files, which nobody will name."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for part in self._parts.values():
            if part.file is not None:
                part.file.abandon()
                part.file = None

    def take(self, rows: pa.Table) -> None:
        """Raises `InvalidInput` for partition values that nobody could read back, and `StoreError`."""
        partition, data = self._layout.partition.names, self._layout.data.names
        for key, part_rows in partition_parts(rows, partition, data):
            part = self._parts.get(key)
            if part is None:
                self._check_readable(key)
                part = self._parts[key] = _Part(key)
            part.take(part_rows)
            self._buffered += part_rows.nbytes
            if part.count >= self._limits.row_group_rows or part.bytes >= self._group_bytes:
                self._flush(part)
        while self._buffered >= self._limits.buffered_bytes:
            self._flush(max(self._parts.values(), key=lambda each: each.bytes))

    def finish(self) -> list[DataFile]:
        """The files, complete and durable, in the order of their names."""
        for part in self._parts.values():
            if part.count:
                self._flush(part)
            self._after(part, lambda part=part: self._close(part))  # type: ignore[misc]  # bound at once
        while self._jobs:
            self._wait()
        return sorted(self._written, key=lambda file: file.path)

    def _check_readable(self, key: Key) -> None:
        """A partition value is stored as a text. Readers must get the same value from it, and it must fit into a path."""
        check_key(self._path(key, self._limits.files))
        values = dict(zip(self._layout.partition.names, key, strict=True))
        stored = {name: None if text is None else stored_text(text) for name, text in values.items()}
        try:
            read = self._layout.shape.partition_scalars(stored, "a new file")
        except CorruptTable as error:
            raise InvalidInput(f"{self._store.uri} can't hold the partition {values}: {error}") from error
        for name, text in values.items():
            if not read[name].is_valid and not self._layout.partition.field(name).nullable:
                raise InvalidInput(
                    f"column {name!r} has a null (the empty text is one in a partition), but the table at {self._store.uri} says NOT NULL"
                )
            again = partition_texts(pa.chunked_array([pa.repeat(read[name], 1)]))[0].as_py()
            if again != text:
                raise InvalidInput(
                    f"{self._store.uri} can't hold the partition {name} = {text!r}: it would be read as {again!r}"
                )

    def _path(self, key: Key, number: int) -> str:
        folder = partition_folder(key, self._layout.partition.names, _ESCAPES, NULL_PARTITION)
        return f"{folder}part-{number:05d}-{self._layout.name}.parquet"

    def _flush(self, part: "_Part") -> None:
        """Give the rows of a partition to a thread, after its unfinished rows of that partition."""
        self._buffered -= part.bytes
        rows = part.hand_over()
        if part.key not in self._growing and len(self._growing) >= self._limits.open_files:
            oldest = self._growing.pop(next(iter(self._growing)))
            self._after(oldest, lambda: self._close(oldest))
        self._growing[part.key] = self._growing.pop(part.key, part)
        self._after(part, lambda: self._write(part, rows))

    def _after(self, part: "_Part", job: Callable[[], None]) -> None:
        if part.job is not None:
            part.job.result()
        while len(self._jobs) >= self._most_jobs:
            self._wait()
        part.job = self._pool.submit(job)
        self._jobs.add(part.job)

    def _wait(self) -> None:
        done, self._jobs = wait(self._jobs, return_when=FIRST_COMPLETED)
        for job in done:
            job.result()

    def _write(self, part: "_Part", rows: pa.Table) -> None:
        found = with_nan(rows)
        if not found <= part.with_nan:
            part.with_nan |= found
            self._close(part)  # its statistics would be wrong from here on
        if part.file is None:
            part.file = self._begin(part, rows)
        part.file.write(rows)
        if part.file.size >= self._limits.target_file_bytes:
            self._close(part)

    def _begin(self, part: "_Part", rows: pa.Table) -> "_OpenFile":
        number = next(self._numbers)
        if number >= self._limits.files:
            raise InvalidInput(
                f"the rows fall into more than {self._limits.files} files of {self._store.uri} (files): partition the table by less, "
                f"or write fewer partitions at once"
            )
        return _OpenFile(self._store, self._path(part.key, number), self._layout.data, rows, part.with_nan)

    def _close(self, part: "_Part") -> None:
        if part.file is None:
            return
        file, part.file = part.file, None
        values = dict(zip(self._layout.partition.names, part.key, strict=True))
        self._written.append(file.close(values))


@dataclass(slots=True, eq=False)
class _Part:
    """The unwritten rows of one partition, and its open file, which the running job owns."""

    key: Key
    rows: list[pa.Table] = field(default_factory=list)
    count: int = 0
    bytes: int = 0
    file: "_OpenFile | None" = None
    with_nan: frozenset[int] = frozenset()
    """The stored columns in which NaN has come so far: files have no statistics of them."""
    job: "Future[None] | None" = None

    def take(self, rows: pa.Table) -> None:
        self.rows.append(rows)
        self.count += rows.num_rows
        self.bytes += rows.nbytes

    def hand_over(self) -> pa.Table:
        taken = pa.concat_tables(self.rows)
        self.rows, self.count, self.bytes = [], 0, 0
        return taken


class _OpenFile:
    """An open Parquet file; each write is one row group."""

    def __init__(self, store: Store, path: str, schema: pa.Schema, sample: pa.Table, without: frozenset[int]) -> None:
        self._store = store
        self._path = path
        self._output: AbstractContextManager[BinaryIO] = output_file(store, path)
        self._stream = self._output.__enter__()
        self._footers: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(
            self._stream,
            schema,
            compression=CODEC,
            version="2.6",
            store_schema=False,
            use_dictionary=dictionary_columns(sample, schema),
            write_statistics=statistics_option(leaf_paths(schema), without),
            write_page_checksum=True,
            metadata_collector=self._footers,
        )

    @property
    def size(self) -> int:
        return self._stream.tell()

    def write(self, rows: pa.Table) -> None:
        try:
            self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        except OSError as error:
            raise self._unwritten(error) from error

    def close(self, partition_values: Mapping[str, str | None]) -> DataFile:
        try:
            self._writer.add_key_value_metadata({STATISTICS_NOTE: WITHOUT_NAN})
            self._writer.close()
        except OSError as error:
            raise self._unwritten(error) from error
        self._output.__exit__(None, None, None)
        info = self._store.head(self._path)
        if info is None:
            raise StoreError(
                f"{self._store.uri}/{self._path} was written, and is not there: look who deletes files of the table"
            )
        return _described(self._footers[0], self._path, info.size, info.modified_ms, partition_values)

    def abandon(self) -> None:
        """Close the file after a failure. The failure is reported, even if closing fails as well."""
        with suppress(pa.ArrowException, OSError, ValueError):
            self._writer.close()
        failure = StoreError(f"the write to {self._store.uri} ended before {self._path} was whole")
        with suppress(StoreError, OSError):
            self._output.__exit__(type(failure), failure, None)

    def _unwritten(self, error: OSError) -> StoreError:
        return StoreError(
            f"could not write {self._store.uri}/{self._path}: {error.strerror or error}. See that there is room on that disk; "
            f"nothing was committed"
        )


def _described(
    footer: pq.FileMetaData, path: str, size: int, modified_ms: int, partition_values: Mapping[str, str | None]
) -> DataFile:
    sink = pa.BufferOutputStream()
    footer.write_metadata_file(sink)
    stored = sink.getvalue().to_pybytes()
    read = read_footer(path, len(stored), lambda start, length: stored[start : start + length])
    lower, upper = column_bounds(read)
    return DataFile.of_footer(
        read,
        path=path,
        size=size,
        modification_time=modified_ms,
        partition_values=partition_values,
        min_values=lower or None,
        max_values=upper or None,
    )


def file_layout(
    whole: pa.Schema, sources: Sequence[str], partition_columns: Sequence[str], shape: RowShape, name: str
) -> FileLayout:
    """The layout for rows with the columns `sources` of a table with the columns `whole`."""
    data = [item for item in whole if item.name in sources and item.name not in partition_columns]
    return FileLayout(pa.schema(data), pa.schema([whole.field(name) for name in partition_columns]), shape, name)
