"""Sorted hashes of a manifest's paths, which show the rows that may hold a path; twelve bytes per entry.

Most searched paths are new, and the hashes answer for them without the manifest. `manifests.path_index` builds them.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

DEFAULT_MAX_BYTES = 256 << 20
"""Orders of 22 million entries. Beyond that the least recently used ones are built again when they are needed."""
_SPARE_BYTES = 1 << 20
_SLICE = 8192

Hashes = npt.NDArray[np.int64]


def path_hashes(paths: Sequence[str]) -> Hashes:
    return np.fromiter(map(hash, paths), np.int64, len(paths))


def hashes_of(paths: pa.ChunkedArray) -> Hashes:
    """The hash of each path; valid only within this process."""
    # In slices: the texts of a whole manifest would take more memory as Python objects than the manifest itself.
    parts = [
        path_hashes(chunk.slice(start, _SLICE).to_pylist())
        for chunk in paths.chunks
        for start in range(0, len(chunk), _SLICE)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class PathOrder:
    """The hashes of one manifest's paths, ascending, and their rows. Two paths may share a hash."""

    hashes: Hashes
    rows: npt.NDArray[np.int32]

    @classmethod
    def of(cls, paths: pa.ChunkedArray) -> "PathOrder":
        hashes = hashes_of(paths)
        rows = np.argsort(hashes, kind="stable").astype(np.int32)
        return cls(hashes[rows], rows)

    @property
    def nbytes(self) -> int:
        return self.hashes.nbytes + self.rows.nbytes

    def candidates(self, wanted: Hashes) -> list[tuple[int, int]]:
        """Pairs (position in `wanted`, row) with equal hashes."""
        low = np.searchsorted(self.hashes, wanted, side="left")
        # Most paths are not there, and one comparison shows it: their place in the order has another hash.
        there = low < len(self.hashes)
        there[there] = self.hashes[low[there]] == wanted[there]
        positions = np.flatnonzero(there)
        if not len(positions):
            return []
        first = low[positions]
        counts = np.searchsorted(self.hashes, wanted[positions], side="right") - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.rows[np.repeat(first, counts) + within]
        return list(zip(np.repeat(positions, counts).tolist(), rows.tolist(), strict=True))


class PathOrders:
    """The orders of all tables of a process. They are never stale, since manifests never change."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._orders: OrderedDict[tuple[str, str], PathOrder] = OrderedDict()
        self._bytes = 0
        self._of_table: dict[str, int] = {}

    @property
    def nbytes(self) -> int:
        return self._bytes

    def get(self, table: str, key: str) -> PathOrder | None:
        with self._lock:
            order = self._orders.get((table, key))
            if order is not None:
                self._orders.move_to_end((table, key))
            return order

    def put(self, table: str, key: str, order: PathOrder) -> None:
        with self._lock:
            self._forget((table, key))
            self._orders[(table, key)] = order
            self._bytes += order.nbytes
            self._of_table[table] = self._of_table.get(table, 0) + order.nbytes
            while self._bytes > self._max_bytes:
                self._forget(next(iter(self._orders)))

    def trim(self, table: str, needed_bytes: int) -> None:
        """Drop orders that states of this table no longer need: all beyond twice the number that one state needs."""
        bound = 2 * needed_bytes + _SPARE_BYTES
        with self._lock:
            if self._of_table.get(table, 0) <= bound:
                return
            for key in [key for key in self._orders if key[0] == table]:
                if self._of_table.get(table, 0) <= bound:
                    return
                self._forget(key)

    def invalidate(self, table: str | None = None) -> None:
        with self._lock:
            for key in [key for key in self._orders if table is None or key[0] == table]:
                self._forget(key)

    def _forget(self, key: tuple[str, str]) -> None:
        order = self._orders.pop(key, None)
        if order is None:
            return
        self._bytes -= order.nbytes
        left = self._of_table[key[0]] - order.nbytes
        if left:
            self._of_table[key[0]] = left
        else:
            del self._of_table[key[0]]
