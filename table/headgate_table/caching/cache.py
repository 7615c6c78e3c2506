"""A bounded cache of immutable objects, shared by all tables of a process. Its objects expire but are never stale."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headgate_schemas.measures import SILENT, Measures
from headgate_schemas.metrics import CACHE_LOOKUPS

DEFAULT_MAX_BYTES = 512 << 20
"""Decoded manifests of about two million files with few columns."""
DEFAULT_EXPIRATION_S = 300.0
"""`indextables.transaction.cache.expirationSeconds`."""


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    hits: int
    misses: int
    entries: int
    bytes: int


@dataclass(slots=True)
class _Slot:
    value: Any
    size: int
    expires_s: float


class ObjectCache:
    """Evicts the least recently used values when the bytes exceed the bound; each value expires unless used again."""

    def __init__(
        self,
        monotonic_s: Callable[[], float],
        max_bytes: int = DEFAULT_MAX_BYTES,
        measures: Measures = SILENT,
    ) -> None:
        self._monotonic_s = monotonic_s
        self._max_bytes = max_bytes
        self._measures = measures
        self._lock = threading.Lock()
        self._slots: OrderedDict[tuple[str, str], _Slot] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0

    def get(self, table: str, key: str) -> Any | None:
        value = self._get(table, key)
        self._measures.count(CACHE_LOOKUPS, "miss" if value is None else "hit")
        return value

    def _get(self, table: str, key: str) -> Any | None:
        now_s = self._monotonic_s()
        with self._lock:
            slot = self._slots.get((table, key))
            if slot is not None and slot.expires_s < now_s:
                self._forget((table, key))
                slot = None
            if slot is None:
                self._misses += 1
                return None
            self._slots.move_to_end((table, key))
            self._hits += 1
            return slot.value

    def peek(self, table: str, key: str) -> Any | None:
        """As `get`, but it doesn't count as a use of the value, or in the statistics."""
        now_s = self._monotonic_s()
        with self._lock:
            slot = self._slots.get((table, key))
            return None if slot is None or slot.expires_s < now_s else slot.value

    def put(self, table: str, key: str, value: Any, size: int, expiration_s: float = DEFAULT_EXPIRATION_S) -> None:
        """Remember a value for a while, unless it is larger than half of the bound or must not be kept at all."""
        if size > self._max_bytes // 2 or expiration_s <= 0:
            return
        expires_s = self._monotonic_s() + expiration_s
        with self._lock:
            self._forget((table, key))
            self._slots[(table, key)] = _Slot(value, size, expires_s)
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._forget(next(iter(self._slots)))

    def invalidate(self, table: str | None = None) -> CacheStatistics:
        """Forget one table's objects, or all. Returns the statistics so far and resets them."""
        with self._lock:
            before = CacheStatistics(self._hits, self._misses, len(self._slots), self._bytes)
            for key in [key for key in self._slots if table is None or key[0] == table]:
                self._forget(key)
            self._hits = self._misses = 0
            return before

    def statistics(self) -> CacheStatistics:
        with self._lock:
            return CacheStatistics(self._hits, self._misses, len(self._slots), self._bytes)

    def _forget(self, key: tuple[str, str]) -> None:
        slot = self._slots.pop(key, None)
        if slot is not None:
            self._bytes -= slot.size
