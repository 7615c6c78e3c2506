"""Moves entries from old manifests into new ones: split by target, packed, and joined in their new order.

All entries of a table are in memory at once, since any old manifest may hold some of any partition; so they are packed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headgate_table.indextables.compaction.entry_layout import LEFT_OUT, Places

_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some entries of one new manifest, in order, with their places."""

    places: Places
    packed: pa.Buffer


def cut(entries: pa.Table, places: Places, per_manifest: int) -> Iterator[tuple[int, Piece]]:
    """The entries that have a place, by the number of their new manifest."""
    rows = np.flatnonzero(places != LEFT_OUT)
    rows = rows[np.argsort(places[rows], kind="stable")]
    if not len(rows):
        return
    places = places[rows]
    entries = entries.select([name for name in entries.column_names if _has_values(entries.column(name))])
    entries = entries.combine_chunks()
    numbers = places // per_manifest
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        taken = entries.take(pa.array(rows[start:end]))
        yield int(numbers[start]), Piece(places[start:end], _packed(taken))


def joined(pieces: Sequence[Piece]) -> pa.Table:
    """The entries of all pieces in order. Columns without values are left out."""
    entries = pa.concat_tables([_unpacked(piece.packed) for piece in pieces], promote_options="default")
    places = np.concatenate([piece.places for piece in pieces])
    if (places[1:] > places[:-1]).all():
        return entries
    return entries.combine_chunks().take(pa.array(np.argsort(places)))


def _has_values(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count < len(column))


def _packed(entries: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, entries.schema, options=_OPTIONS) as writer:
        writer.write_table(entries)
    return sink.getvalue()


def _unpacked(packed: pa.Buffer) -> pa.Table:
    with pa.ipc.open_stream(packed) as reader:
        return reader.read_all()
