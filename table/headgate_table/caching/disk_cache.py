"""Decoded manifests on a local disk, for processes that start often: one file per column, mapped into memory for
reading.

Manifests never change, so no file can be stale. An incomplete file is removed and read again from the store. Processes
may share a folder: a file appears complete by a rename, and processes that have it open can still read a removed one.
"""

import hashlib
import os
import tempfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

DEFAULT_MAX_BYTES = 2 << 30
"""Decoded manifests of about ten million files with few columns."""
ABANDONED_MS = 3_600_000
"""A file that is still being written after an hour belongs to a process that died."""

_LAYOUT = "manifests-1"
"""Changed whenever files of an older Headgate must not be taken."""
_SUFFIX = ".column"
_TEMPORARY = ".writing-"
_MAGIC = b"headgate"
_TRAILER_BYTES = len(_MAGIC) + 4
_KEEP_SHARE = 0.9
"""Eviction goes a little below the bound, so that not every writing evicts."""
_LOOK_AGAIN_SHARE = 1 / 16
"""After writing this share of the bound a process looks again at what others have written."""

_log = get_logger("headgate.disk_cache")


@dataclass(frozen=True, slots=True)
class _Stored:
    path: Path
    size: int
    used_ns: int


class DiskCache:
    """At most `max_bytes` in `folder`, evicted by last use. Each of several processes may exceed it by a sixteenth."""

    def __init__(self, folder: str | os.PathLike[str], ambient: Ambient, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._root = Path(folder) / _LAYOUT
        self._ambient = ambient
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._bytes_seen: int | None = None
        self._written_since = 0

    def get(self, table: str, key: str, columns: Sequence[str], num_rows: int | None = None) -> pa.Table | None:
        """The columns if all of them are there, else None. A manifest with another number of rows than `num_rows` is
        removed.
        """
        found: dict[str, pa.ChunkedArray] = {}
        for column in columns:
            path = self._path(table, key, column)
            values = _read(path, column)
            if values is None:
                continue
            if num_rows is not None and len(values) != num_rows:
                _remove(path)
                continue
            num_rows = len(values)
            found[column] = values
        return pa.table(found) if found else None

    def put(self, table: str, key: str, entries: pa.Table) -> None:
        """Remember all columns. A disk error costs a warning, never the read."""
        try:
            written = 0
            for column in entries.column_names:
                written += self._write(self._path(table, key, column), entries.select([column]))
            self._make_room(written)
        except OSError as error:
            _log.warning("disk_cache_write_failed", folder=str(self._root), table=table, reason=str(error))

    def invalidate(self, table: str | None = None) -> int:
        """Remove one table's files, or all; returns their number."""
        removed = 0
        for stored in self._stored(self._root if table is None else self._table_folder(table)):
            removed += _remove(stored.path)
        with self._lock:
            self._bytes_seen = None
        return removed

    def _table_folder(self, table: str) -> Path:
        return self._root / _digest(table)

    def _path(self, table: str, key: str, column: str) -> Path:
        return self._table_folder(table) / f"{_digest(key)}-{column}{_SUFFIX}"

    def _write(self, path: Path, entries: pa.Table) -> int:
        body = _serialised(entries)
        size = len(body) + _TRAILER_BYTES
        if size > self._max_bytes // 2:
            return 0  # it alone would push most of the others out
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(body)
                file.write(_trailer(body))
            os.replace(temporary, path)
        except BaseException:
            _remove(Path(temporary))
            raise
        return size

    def _make_room(self, written: int) -> None:
        with self._lock:
            self._written_since += written
            is_known = self._bytes_seen is not None and self._written_since < self._max_bytes * _LOOK_AGAIN_SHARE
            if is_known and self._bytes_seen is not None and self._bytes_seen + self._written_since <= self._max_bytes:
                return
            self._bytes_seen = self._evict()
            self._written_since = 0

    def _evict(self) -> int:
        """Remove the files with the oldest last use until the bound holds; returns the bytes left."""
        abandoned_ns = (self._ambient.now_ms() - ABANDONED_MS) * 1_000_000
        stored = []
        for each in self._stored(self._root, with_temporary=True):
            if not each.path.name.startswith(_TEMPORARY):
                stored.append(each)
            elif each.used_ns < abandoned_ns:
                _remove(each.path)
        total = sum(each.size for each in stored)
        if total <= self._max_bytes:
            return total
        for each in sorted(stored, key=lambda each: each.used_ns):
            if total <= self._max_bytes * _KEEP_SHARE:
                break
            _remove(each.path)
            total -= each.size
        return total

    def _stored(self, folder: Path, *, with_temporary: bool = False) -> Iterator[_Stored]:
        pending = [folder]
        while pending:
            try:
                with os.scandir(pending.pop()) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(Path(entry.path))
                        elif entry.name.endswith(_SUFFIX) or (with_temporary and entry.name.startswith(_TEMPORARY)):
                            try:
                                status = entry.stat(follow_symlinks=False)
                            except FileNotFoundError:
                                continue  # the other files of its folder still count
                            yield _Stored(Path(entry.path), status.st_size, status.st_mtime_ns)
            except FileNotFoundError:
                continue  # removed by another process, or never made


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _serialised(entries: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, entries.schema) as writer:
        writer.write_table(entries)
    return sink.getvalue()


def _trailer(body: pa.Buffer) -> bytes:
    return _MAGIC + zlib.crc32(body).to_bytes(4, "big")


def _read(path: Path, column: str) -> pa.ChunkedArray | None:
    """The column of a complete file, mapped; None if there is none. Reading it counts as use."""
    try:
        with pa.memory_map(str(path)) as file:  # close frees the descriptor; the mapping stays
            whole = file.read_buffer()
        os.utime(path)
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowInvalid) as error:  # ArrowInvalid: an empty file can't be mapped
        _discard(path, str(error))
        return None
    body, trailer = (
        whole.slice(0, max(0, whole.size - _TRAILER_BYTES)),
        whole.slice(max(0, whole.size - _TRAILER_BYTES)),
    )
    # Arrow trusts the offsets in a file, so a wrong byte could crash the process: the checksum is verified first.
    if trailer.to_pybytes() != _trailer(body):
        _discard(path, "its checksum is wrong")
        return None
    try:
        values = pa.ipc.open_file(body).read_all().column(column)
    except (pa.ArrowException, KeyError) as error:
        _discard(path, str(error))
        return None
    return values


def _discard(path: Path, reason: str) -> None:
    _log.warning("disk_cache_entry_discarded", path=str(path), reason=reason)
    _remove(path)


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False  # gone already, or not ours to remove: then it stays unused
    return True
