"""Encodes Arrow to Avro in bulk: Arrow kernels turn rows into the exact bytes of records, without a Python loop over
rows.

Each field turns into one or more binary columns (length, content, terminator); joined element by element, they are the
records. This is about ten times as fast as a record writer, and compaction can keep its data in Arrow.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.entry_fields import EntryField, FieldKind
from headgate_table.avro.container import block_bytes, header_bytes
from headgate_table.avro.seal import seal_keys, sealed

DEFAULT_BLOCK_BYTES = 64_000
"""The size at which the Java writer ends a block; small blocks are also what lets a reader skip most of a manifest."""

_SLICE_ROWS = 16_384
_SLICE_BYTES = 256 << 20
"""Rows turned into bytes at a time: bounds the memory of the intermediate columns, and keeps 32-bit offsets valid."""


@dataclass(frozen=True, slots=True)
class BlockSettings:
    """The compression of a file's blocks, and their uncompressed size."""

    codec: str = "zstandard"
    level: int = 3
    size: int = DEFAULT_BLOCK_BYTES


class EntryEncoder:
    """Writes entries into one manifest as they come, and holds back at most one block.

    Pieces of the file go to `sink` in order. `size_estimate` is the file's length if it ended now.
    """

    def __init__(
        self,
        sink: Callable[[bytes], object],
        fields: Sequence[EntryField],
        schema_text: bytes,
        sync: bytes,
        *,
        blocks: BlockSettings = BlockSettings(),
        more: Mapping[str, bytes] | None = None,
    ) -> None:
        self._sink = sink
        self._fields = fields
        self._blocks = blocks
        self._sync = sync
        self._held: list[memoryview] = []
        self._held_bytes = 0
        self._held_count = 0
        self._written = 0
        self._plain_written = 0
        self.num_entries = 0
        self._emit(header_bytes(schema_text, blocks.codec, sync, more))
        self._header_size = self._written

    def append(self, entries: pa.Table) -> None:
        """Add rows. Columns carry our names; optional ones may be missing, and are null then."""
        row_bytes = entries.nbytes // max(1, entries.num_rows) + 1
        step = max(1, min(_SLICE_ROWS, _SLICE_BYTES // row_bytes))
        for start in range(0, entries.num_rows, step):
            self._append_slice(entries.slice(start, step))

    def finish(self) -> int:
        """Write the block that is held back; returns the length of the file."""
        self._end_block()
        return self._written

    @property
    def size_estimate(self) -> int:
        """Bytes written, plus the block held back at the compression seen so far."""
        packed = self._written - self._header_size
        ratio = packed / self._plain_written if self._plain_written else 0.25
        return self._written + round(self._held_bytes * (1.0 if self._blocks.codec == "null" else ratio))

    def _append_slice(self, entries: pa.Table) -> None:
        records = encode_records(entries, self._fields)
        offsets = np.frombuffer(records.buffers()[1], dtype=np.int32)[
            records.offset : records.offset + len(records) + 1
        ]
        data = memoryview(records.buffers()[2])
        first = 0
        while first < len(records):
            room = self._blocks.size - self._held_bytes
            # The row that crosses the limit still belongs to the block, as in the Java writer.
            last = min(len(records), int(np.searchsorted(offsets, offsets[first] + room)))
            last = max(last, first + 1)
            self._held.append(data[offsets[first] : offsets[last]])
            self._held_bytes += int(offsets[last] - offsets[first])
            self._held_count += last - first
            if self._held_bytes >= self._blocks.size:
                self._end_block()
            first = last
        # The held rows must not keep a whole slice of records in memory.
        self._held = [memoryview(bytes(piece)) for piece in self._held]
        self.num_entries += len(records)

    def _end_block(self) -> None:
        if self._held_count:
            plain = b"".join(self._held)
            self._emit(block_bytes(self._held_count, plain, self._blocks.codec, self._sync, self._blocks.level))
            self._plain_written += len(plain)
        self._held = []
        self._held_bytes = self._held_count = 0

    def _emit(self, piece: bytes) -> None:
        self._sink(piece)
        self._written += len(piece)


def encode_manifest(
    entries: pa.Table,
    fields: Sequence[EntryField],
    schema_text: bytes,
    sync: bytes,
    *,
    name: str = "",
    codec: str = "zstandard",
    level: int = 3,
) -> bytes:
    """One whole manifest in memory; sealed if its name is given."""
    pieces: list[bytes] = []
    keys = seal_keys(name) if name else None
    encoder = EntryEncoder(pieces.append, fields, schema_text, sync, blocks=BlockSettings(codec, level), more=keys)
    encoder.append(entries)
    encoder.finish()
    data = b"".join(pieces)
    return sealed(data) if name else data


def encode_records(entries: pa.Table, fields: Sequence[EntryField]) -> pa.BinaryArray:
    """Row i of the result is the Avro encoding of row i as a record of `fields`."""
    parts: list[pa.Array] = []
    rows = entries.num_rows
    for field in fields:
        if field.column not in entries.column_names:
            if not field.optional:
                raise ValueError(f"entries have no column {field.column!r}, which a manifest needs")
            parts.append(_constant(b"\x00", rows))
            continue
        column = _one_chunk(entries.column(field.column))
        parts.extend(_optional(field, column) if field.optional else _required(field, column))
    return _one_chunk(pc.binary_join_element_wise(*parts, b""))


def _required(field: EntryField, column: pa.Array) -> Iterator[pa.Array]:
    if column.null_count:
        raise ValueError(f"column {field.column!r} holds a null, but a manifest needs a value in every row")
    yield from _values(field.kind, column)


def _optional(field: EntryField, column: pa.Array) -> Iterator[pa.Array]:
    rows = len(column)
    if column.null_count == rows:
        yield _constant(b"\x00", rows)
    elif column.null_count == 0:
        yield _constant(b"\x02", rows)
        yield from _values(field.kind, column)
    else:
        valid = column.is_valid()
        absent = pa.scalar(b"\x00", pa.binary())
        joined = pc.binary_join_element_wise(
            _constant(b"\x02", rows), *_values(field.kind, _filled(field.kind, column)), b""
        )
        yield _one_chunk(pc.if_else(valid, joined, absent))


def _filled(kind: FieldKind, column: pa.Array) -> pa.Array:
    match kind:
        case FieldKind.STRING:
            return column.fill_null("")
        case FieldKind.LONG | FieldKind.INT:
            return column.fill_null(0)
        case FieldKind.BOOLEAN:
            return column.fill_null(False)
        case FieldKind.STRING_MAP | FieldKind.STRING_LIST:
            return column  # lists keep their offsets; the caller drops values under a null


def _values(kind: FieldKind, column: pa.Array) -> Iterator[pa.Array]:
    match kind:
        case FieldKind.STRING:
            yield from _strings(column)
        case FieldKind.LONG | FieldKind.INT:
            yield _longs(column.to_numpy(zero_copy_only=False))
        case FieldKind.BOOLEAN:
            yield pc.if_else(column, pa.scalar(b"\x01", pa.binary()), pa.scalar(b"\x00", pa.binary()))
        case FieldKind.STRING_MAP:
            # flatten() and not .keys: it honours the slice and skips values under nulls.
            yield from _collection(
                column, [column.cast(_PAIRS).flatten().field(0), column.cast(_PAIRS).flatten().field(1)]
            )
        case FieldKind.STRING_LIST:
            yield from _collection(column, [column.flatten()])


_PAIRS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())]))


def _collection(column: pa.Array, items: Sequence[pa.Array]) -> Iterator[pa.Array]:
    counts = pc.fill_null(pc.list_value_length(column.cast(_PAIRS) if pa.types.is_map(column.type) else column), 0)
    sizes = counts.to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    encoded = _one_chunk(pc.binary_join_element_wise(*(part for item in items for part in _strings(item)), b""))
    grouped = pa.ListArray.from_arrays(pa.array(offsets), encoded)
    # An empty collection is the terminator alone; any other is one block: its count, its items, the terminator.
    lead = _longs(sizes)
    yield _one_chunk(pc.if_else(pa.array(sizes > 0), lead, pa.scalar(b"", pa.binary())))
    yield pc.binary_join(grouped, b"")
    yield _constant(b"\x00", len(column))


def _strings(column: pa.Array) -> Iterator[pa.Array]:
    if column.null_count:
        raise ValueError("a string inside of a map or list is null; manifests hold strings only")
    data = column.cast(pa.binary())
    yield _longs(pc.binary_length(data).to_numpy(zero_copy_only=False))
    yield data


def _longs(values: npt.NDArray[np.generic]) -> pa.Array:
    """Zig-zag varints of all values at once."""
    signed = values.astype(np.int64)
    rest = ((signed << 1) ^ (signed >> 63)).view(np.uint64)
    length = np.ones(len(rest), np.int32)
    shift = 7
    while shift < 70 and len(rest) and (over := (rest >> np.uint64(shift)) > 0).any():
        length += over
        shift += 7
    width = int(length.max()) if len(length) else 1
    matrix = np.empty((len(rest), width), np.uint8)
    for index in range(width):
        low = ((rest >> np.uint64(7 * index)) & np.uint64(0x7F)).astype(np.uint8)
        matrix[:, index] = low | ((length > index + 1).astype(np.uint8) << 7)
    used = matrix[np.arange(width) < length[:, None]]
    offsets = np.zeros(len(rest) + 1, np.int32)
    np.cumsum(length, out=offsets[1:])
    return pa.Array.from_buffers(pa.binary(), len(rest), [None, pa.py_buffer(offsets), pa.py_buffer(used)])


def _constant(value: bytes, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.binary()), rows)


def _one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column
