"""Decodes the file entries of manifests in bulk: DataFusion turns blocks into Arrow, in parallel and column by column.

DataFusion decodes 20 times as fast as a record reader; fastavro decodes the files that it can't (`records`). Blocks are
decompressed here rather than in DataFusion: this bounds the output, supports every codec, and lets blocks be skipped.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa
from datafusion import SessionConfig, SessionContext

from headgate_table.avro.container import MAX_DECOMPRESSED_BYTES, Block, Container, header_bytes, varint
from headgate_table.avro.records import checked_schema, read_records
from headgate_table.avro.sentinel import TOKEN, sentinel_record
from headgate_table.errors import CorruptTable

_SYNC = bytes(16)
_SENTINEL_FIELD = "path"
"""Every entry has one."""
_BATCH_ROWS = 8192
"""Rows that are decoded at a time; many more no longer fit into the processor's caches."""
_RECORDS_AT_ONCE = 256
"""Held as Python values, each with all the fields that its schema may give it."""
_OPTIONS = {"datafusion.optimizer.max_passes": "1", "datafusion.execution.collect_statistics": "false"}
_SPLIT_PACKED_BYTES = 512 << 10
_SPLIT_PLAIN_BYTES = 2 << 20
"""Less, with or without compression, is not worth a second task."""
_PADDING = "headgate.padding"
_LEAST_PADDING = 64
"""From here on the length of a text takes two bytes."""
_COUNTS_BYTES = 20
"""What the number of rows and that of bytes take at most."""

_T = TypeVar("_T")
_R = TypeVar("_R")
KeepBlock = Callable[[bytes], bool]
_Unfolded = tuple[int, bytes]
"""How many records a block holds, and its bytes without compression."""


class _Misread(Exception):
    """DataFusion returned other rows than those in the file."""


class _Room:
    """The remaining bound on the uncompressed size of one file, or of several that are decoded together."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = MAX_DECOMPRESSED_BYTES
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        return max(0, self._left)

    def take(self, size: int) -> None:
        with self._lock:
            self._left -= size
            if self._left < 0:
                raise CorruptTable(f"{self._name} decompresses to more than {MAX_DECOMPRESSED_BYTES} bytes; refused")


def _session(batch_rows: int) -> SessionContext:
    # One partition: our own threads work on blocks and files in parallel. Selecting columns needs no optimizer.
    return SessionContext(SessionConfig(_OPTIONS).with_target_partitions(1).with_batch_size(batch_rows))


def decode_columns(
    container: Container, names: Sequence[str], executor: Executor | None = None, keep: KeepBlock | None = None
) -> pa.Table:
    """The named fields of all records, as the Arrow types that the writer's schema implies; unknown names are left out.

    `keep` may refuse blocks by their bytes; the result then lacks their records.
    """
    schema = checked_schema(container)
    present = [field["name"] for field in schema["fields"]]
    wanted = [name for name in names if name in present]
    room = _Room(container.name)
    parts: Sequence[Iterable[_Unfolded]]
    if keep is None:
        parts = [_unfolded(part, room) for part in _packed_parts([container], executor)]
        rows = container.num_records
    else:
        kept = _kept(container, keep, room, executor)
        parts = _split(kept, [len(data) for _, data in kept], _SPLIT_PLAIN_BYTES, executor)
        rows = sum(count for count, _ in kept)
    if not parts or not wanted:
        return _empty(container, wanted, rows)
    sentinel = sentinel_record(schema, _SENTINEL_FIELD)
    if sentinel is None:
        return _by_records(container, wanted, keep, _Misread("the schema has no text to mark the end with"))
    try:
        return _decode_parts(container.schema_text, sentinel, parts, wanted, executor)
    except BaseException as error:
        # DataFusion panics (a BaseException) on some damaged input; only its known exceptions are caught.
        if not _is_decoder_failure(error):
            raise
        return _by_records(container, wanted, keep, error)


def decode_together(
    containers: Sequence[Container], names: Sequence[str], executor: Executor | None = None
) -> list[pa.Table]:
    """`decode_columns` of several small files, in order; files with one schema are decoded as if they were one file.

    DataFusion takes some milliseconds for a file, whatever its size, and a state may have many small manifests.
    """
    alike: dict[bytes, list[int]] = {}
    for place, container in enumerate(containers):
        alike.setdefault(container.schema_text, []).append(place)
    tables: dict[int, pa.Table] = {}
    for places in alike.values():
        group = [containers[place] for place in places]
        whole = _decode_alike(group, names, executor) if len(group) > 1 else None
        start = 0
        for place in places:
            container = containers[place]
            # If they can't be decoded as one, each is decoded by itself, so that an error names the damaged one.
            rows = container.num_records
            tables[place] = decode_columns(container, names, executor) if whole is None else whole.slice(start, rows)
            start += rows
    return [tables[place] for place in range(len(containers))]


def _decode_alike(group: Sequence[Container], names: Sequence[str], executor: Executor | None) -> pa.Table | None:
    """The records of all files, which have one schema; None if they can't be decoded as one."""
    schema = checked_schema(group[0])
    present = [field["name"] for field in schema["fields"]]
    wanted = [name for name in names if name in present]
    sentinel = sentinel_record(schema, _SENTINEL_FIELD)
    if sentinel is None or not wanted:
        return None
    packed = _packed_parts(group, executor)
    if not packed:
        return None
    room = _Room(group[0].name)
    try:
        parts = [_unfolded(part, room) for part in packed]
        return _decode_parts(group[0].schema_text, sentinel, parts, wanted, executor)
    except BaseException as error:
        if not (isinstance(error, CorruptTable) or _is_decoder_failure(error)):
            raise
        return None


def _decode_parts(
    schema_text: bytes,
    sentinel: bytes,
    parts: Sequence[Iterable[_Unfolded]],
    names: list[str],
    executor: Executor | None,
) -> pa.Table:
    return pa.concat_tables(_each(executor, lambda part: _decode_part(schema_text, part, names, sentinel), parts))


def _unfolded(blocks: Sequence[tuple[Container, Block]], room: _Room) -> Iterator[_Unfolded]:
    """The uncompressed blocks one at a time, so that each is freed before the next one fills the processor's caches."""
    for container, block in blocks:
        data = container.payload(block, room.left)
        room.take(len(data))
        yield block.count, data


def _kept(container: Container, keep: KeepBlock, room: _Room, executor: Executor | None) -> list[_Unfolded]:
    """The blocks to keep, which are few as a rule. The others are dropped at once, to free their memory."""

    def look(part: Sequence[tuple[Container, Block]]) -> list[_Unfolded]:
        return [(count, data) for count, data in _unfolded(part, room) if keep(data)]

    parts = _packed_parts([container], executor)
    return [unfolded for found in _each(executor, look, parts) for unfolded in found]


def _each(executor: Executor | None, work: Callable[[_T], _R], parts: Sequence[_T]) -> Iterable[_R]:
    """The results in order; several items are processed in parallel."""
    return map(work, parts) if executor is None or len(parts) == 1 else executor.map(work, parts)


def _packed_parts(containers: Sequence[Container], executor: Executor | None) -> list[list[tuple[Container, Block]]]:
    blocks = [(container, block) for container in containers for block in container.blocks]
    return _split(blocks, [block.size for _, block in blocks], _SPLIT_PACKED_BYTES, executor)


def _split(items: Sequence[_T], sizes: Sequence[int], least: int, executor: Executor | None) -> list[list[_T]]:
    """Parts of about the same size, for as many threads as are worthwhile."""
    total = sum(sizes)
    most = 1 if executor is None else min(os.cpu_count() or 1, 4)
    count = max(1, min(most, total // least, len(items)))
    parts: list[list[_T]] = [[] for _ in range(count)]
    filled = 0
    for item, size in zip(items, sizes, strict=True):
        parts[min(count - 1, filled * count // max(1, total))].append(item)
        filled += size
    return [part for part in parts if part]


def _decode_part(schema_text: bytes, blocks: Iterable[_Unfolded], names: list[str], sentinel: bytes) -> pa.Table:
    """All blocks as a single one that ends in sentinels, read in batches that end exactly at its end.

    So DataFusion stops after the last record, whatever follows (see `sentinel`).
    """
    with _scratch_file() as (descriptor, path):
        head_bytes = len(header_bytes(schema_text, "null", _SYNC, {_PADDING: b""})) + _COUNTS_BYTES + _LEAST_PADDING + 1
        os.lseek(descriptor, head_bytes, os.SEEK_SET)
        count = size = 0
        for records, data in blocks:
            _write(descriptor, data)
            count += records
            size += len(data)
        batches = count // _BATCH_ROWS + 1
        batch_rows = -(-(count + 1) // batches)
        rows = batch_rows * batches
        ends = sentinel * (rows - count)
        _write(descriptor, ends + _SYNC)
        os.lseek(descriptor, 0, os.SEEK_SET)
        _write(descriptor, _head(schema_text, rows, size + len(ends), head_bytes))
        selected = names if _SENTINEL_FIELD in names else [*names, _SENTINEL_FIELD]
        frame = _session(batch_rows).read_avro(path, file_extension="").select(*(f'"{name}"' for name in selected))
        table = frame.limit(rows).to_arrow_table()
    if table.num_rows != rows or set(table.column(_SENTINEL_FIELD)[count:].to_pylist()) != {TOKEN}:
        raise _Misread("the records don't end where their block ends")
    return table.slice(0, count).select(names)


def _head(schema_text: bytes, rows: int, size: int, length: int) -> bytes:
    """All bytes before the records, with a fixed length: the counts are filled in after the records are written."""
    counts = varint(rows) + varint(size)
    bare = len(header_bytes(schema_text, "null", _SYNC, {_PADDING: b""})) + len(counts)
    return header_bytes(schema_text, "null", _SYNC, {_PADDING: bytes(length - bare - 1)}) + counts


@contextmanager
def _scratch_file() -> Iterator[tuple[int, str]]:
    """A file and its path, because DataFusion only reads files: in memory if the system supports that."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        with os.fdopen(os.memfd_create("headgate-manifest"), "wb", buffering=0) as file:
            yield file.fileno(), f"/proc/{os.getpid()}/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile(prefix="headgate-", buffering=0) as named:
            yield named.fileno(), named.name


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _is_decoder_failure(error: BaseException) -> bool:
    if type(error).__name__ == "PanicException":
        return True
    return isinstance(error, Exception) and not isinstance(error, (CorruptTable, OSError, MemoryError))


def _by_records(container: Container, names: list[str], keep: KeepBlock | None, error: BaseException) -> pa.Table:
    """Reads a file that DataFusion refused record by record: this works (for a type that DataFusion lacks) or names the
    damage.
    """
    if keep is not None:
        return decode_columns(container, names)
    records = read_records(container)
    pieces: list[pa.Table] = []
    try:
        while rows := list(islice(records, _RECORDS_AT_ONCE)):
            pieces.append(pa.Table.from_pydict({name: pa.array(_values(rows, name)) for name in names}))
        return pa.concat_tables(pieces, promote_options="permissive") if pieces else _empty(container, names, 0)
    except (pa.ArrowException, TypeError, ValueError) as second:
        raise CorruptTable(f"{container.name}: its entries can't be decoded: {error}; {second}") from second


def _values(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [list(value.items()) if isinstance(value := row[name], dict) else value for row in rows]


def _empty(container: Container, names: list[str], rows: int) -> pa.Table:
    if rows and not names:
        raise CorruptTable(f"{container.name}: none of the wanted fields is in its schema")
    return pa.table({name: pa.nulls(0) for name in names})
