"""The order of the entries of a compacted state, and which of them are left out: numbers about entries, not entries.

Pure, and small: a dozen bytes an entry. `manifests.runs` reads entries, and `entry_pieces` moves them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_table.caching.path_orders import Hashes, hashes_of
from headgate_table.indextables.format.map_column import map_values
from headgate_table.indextables.read.entry_reader import last_rows

SURVEYED_COLUMNS = ("path", "partition_values", "doc_mapping_ref")
LEFT_OUT = -1

Places = npt.NDArray[np.int64]

_FLOATS = (r"^[+-]?[0-9]{1,200}(\.[0-9]{1,200})?([eE][+-]?[0-9]{1,2})?$", pa.float64())
_NUMBERS = {
    ColumnKind.INTEGER: (r"^[+-]?[0-9]{1,18}$", pa.int64()),
    ColumnKind.DECIMAL: (r"^[+-]?[0-9]{1,19}(\.[0-9]{1,18})?$", pa.decimal128(38, 18)),
    ColumnKind.FLOAT: _FLOATS,
    ColumnKind.DOUBLE: _FLOATS,
}
"""Texts that are ordered as numbers. Others, NaN and such, stand after them: an odd place costs nothing but locality."""


@dataclass(frozen=True, slots=True)
class EntrySurvey:
    """The facts that the first pass finds about some entries, in their order."""

    is_alive: npt.NDArray[np.bool_]
    """Whether no tombstone hides the entry."""
    hashes: Hashes
    """Of the paths."""
    partitions: tuple[tuple[pa.DictionaryArray, ...], ...]
    """For each partition column, the texts in pieces."""
    refs: tuple[str, ...]
    """The document mappings that living entries refer to."""
    settled: tuple[str, ...]
    """The tombstones that hide entries here."""


def survey(entries: Iterable[pa.Table], partition_columns: Sequence[str], tombstones: pa.Array) -> EntrySurvey:
    alive: list[npt.NDArray[np.bool_]] = []
    hashes: list[Hashes] = []
    partitions: list[list[pa.DictionaryArray]] = [[] for _ in partition_columns]
    refs: dict[str, None] = {}
    settled: dict[str, None] = {}
    for part in entries:
        paths = part.column("path")
        dead = pc.is_in(paths, value_set=tombstones)
        living = pc.invert(dead)
        alive.append(living.to_numpy())
        hashes.append(hashes_of(paths))
        settled |= dict.fromkeys(paths.filter(dead).to_pylist())
        found = part.column("doc_mapping_ref").filter(living).unique()
        refs |= dict.fromkeys(ref for ref in found.to_pylist() if ref is not None)
        for pieces, column in zip(partitions, partition_columns, strict=True):
            texts = map_values(part.column("partition_values"), column).combine_chunks()
            marked = pc.equal(texts, NULL_PARTITION)
            pieces.append(pc.if_else(marked, pa.scalar(None, pa.string()), texts).dictionary_encode())
    return EntrySurvey(
        np.concatenate([np.empty(0, np.bool_), *alive]),
        np.concatenate([np.empty(0, np.int64), *hashes]),
        tuple(map(tuple, partitions)),
        tuple(refs),
        tuple(settled),
    )


def arranged(
    surveys: Sequence[EntrySurvey],
    kinds: Sequence[ColumnKind],
    paths_at: Callable[[Places], pa.ChunkedArray],
) -> Places:
    """For each entry its place in the new order, or `LEFT_OUT`.

    Ordered by partition values, otherwise in the old order; `kinds` are those of the partition columns. If a path
    occurs several times, its last entry stays, as in a replay. `paths_at` is called for the paths of rows that look
    alike.
    """
    stays = np.concatenate([np.empty(0, np.bool_), *(found.is_alive for found in surveys)])
    _leave_repeats_out(stays, np.concatenate([np.empty(0, np.int64), *(found.hashes for found in surveys)]), paths_at)
    rows = np.flatnonzero(stays)
    keys = [
        _ranks([piece for found in surveys for piece in found.partitions[number]], kind)[rows]
        for number, kind in enumerate(kinds)
    ]
    if keys:
        rows = rows[np.lexsort(keys[::-1])]
    places = np.full(len(stays), LEFT_OUT, np.int64)
    places[rows] = np.arange(len(rows))
    return places


def _leave_repeats_out(
    stays: npt.NDArray[np.bool_], hashes: Hashes, paths_at: Callable[[Places], pa.ChunkedArray]
) -> None:
    rows = np.flatnonzero(stays)
    rows = rows[np.argsort(hashes[rows], kind="stable")]
    alike = hashes[rows[1:]] == hashes[rows[:-1]]
    if not alike.any():
        return
    is_suspect = np.zeros(len(rows), np.bool_)
    is_suspect[1:] = alike
    is_suspect[:-1] |= alike
    suspects = np.sort(rows[is_suspect])
    last = last_rows(paths_at(suspects))
    if last is not None:
        stays[suspects] = False
        stays[suspects[last.to_numpy()]] = True


def _ranks(pieces: Sequence[pa.DictionaryArray], kind: ColumnKind) -> npt.NDArray[np.int32]:
    """The rank of each row's text among all texts of the column."""
    if not pieces:
        return np.empty(0, np.int32)
    unified = pa.chunked_array(pieces).unify_dictionaries()
    ranks = text_ranks(unified.chunk(0).dictionary, kind)
    # Rows without a value, whose code is -1 here, find the last rank.
    ranks = np.append(ranks, np.int32(len(ranks)))
    codes = [piece.indices.fill_null(-1).to_numpy(zero_copy_only=False) for piece in unified.chunks]
    ranked: npt.NDArray[np.int32] = ranks[np.concatenate(codes)]
    return ranked


def text_ranks(texts: pa.Array, kind: ColumnKind) -> npt.NDArray[np.int32]:
    """The place of each of these distinct texts in their order: numbers as numbers, then the others as texts."""
    keys = {"text": texts}
    if kind in _NUMBERS:
        pattern, number_type = _NUMBERS[kind]
        numeric = pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, pa.string()))
        keys = {"number": pc.replace_substring_regex(numeric, r"^\+", "").cast(number_type), **keys}
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending", "at_end") for name in keys])
    ranks = np.empty(len(texts), np.int32)
    ranks[order.to_numpy()] = np.arange(len(texts), dtype=np.int32)
    return ranks
