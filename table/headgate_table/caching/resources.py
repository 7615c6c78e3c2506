"""The threads and the cache of immutable objects that all reads of a process share. Made at first use, never on import."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.measures import SILENT, Measures
from headgate_table.caching.cache import DEFAULT_EXPIRATION_S, CacheStatistics, ObjectCache
from headgate_table.caching.disk_cache import DiskCache
from headgate_table.caching.path_orders import PathOrders

DEFAULT_PARALLELISM = 8
"""`indextables.state.read.parallelism`."""

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class ReadResources:
    """`fetchers` wait for the store and decode whole manifests; `splitters` share the decoding of a single one."""

    cache: ObjectCache
    fetchers: Executor
    splitters: Executor
    disk: DiskCache | None = None
    expiration_s: float = DEFAULT_EXPIRATION_S
    orders: PathOrders = field(default_factory=PathOrders)
    """Bounded by themselves and without expiry: a busy committer asks them at every commit, and may do without the rest."""
    measures: Measures = SILENT

    def remember(self, table: str, key: str, value: object, size: int) -> None:
        """Keep an immutable object in memory for as long as these resources exist."""
        self.cache.put(table, key, value, size, self.expiration_s)

    def invalidate(self, table: str | None = None) -> CacheStatistics:
        """Forget the cached objects of one table, or of all, in memory and on disk. Returns the statistics before that."""
        if self.disk is not None:
            self.disk.invalidate(table)
        self.orders.invalidate(table)
        return self.cache.invalidate(table)

    def each(self, work: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
        """`work` on all items in parallel, results in order. The first failure cancels items that have not begun."""
        if len(items) <= 1:
            return [work(item) for item in items]
        futures: list[Future[_R]] = [self.fetchers.submit(work, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


def new_resources(
    object_cache: ObjectCache,
    parallelism: int = DEFAULT_PARALLELISM,
    disk: DiskCache | None = None,
    expiration_s: float = DEFAULT_EXPIRATION_S,
    orders: PathOrders | None = None,
    measures: Measures = SILENT,
) -> ReadResources:
    # Two pools, because a task that waits for others of its own pool could wait for ever.
    return ReadResources(
        object_cache,
        ThreadPoolExecutor(max_workers=parallelism, thread_name_prefix="headgate-read"),
        ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1), thread_name_prefix="headgate-decode"),
        disk,
        expiration_s,
        PathOrders() if orders is None else orders,
        measures,
    )


LEAN_CACHE_BYTES = 16 << 20


def lean_resources(
    monotonic_s: Callable[[], float], parallelism: int = DEFAULT_PARALLELISM, measures: Measures = SILENT
) -> ReadResources:
    """For a process that decides for many tables and scans none: it caches orders of paths, but hardly any entries."""
    return new_resources(ObjectCache(monotonic_s, LEAN_CACHE_BYTES, measures), parallelism, measures=measures)


@cache
def process_resources(
    parallelism: int = DEFAULT_PARALLELISM, expiration_s: float = DEFAULT_EXPIRATION_S, disk_folder: str = ""
) -> ReadResources:
    """The resources that all tables with these settings share unless they get their own. There is one cache for all."""
    disk = DiskCache(disk_folder, SystemAmbient()) if disk_folder else None
    return new_resources(_process_cache(), parallelism, disk, expiration_s, _process_orders())


@cache
def _process_cache() -> ObjectCache:
    return ObjectCache(SystemAmbient().monotonic_s)


@cache
def _process_orders() -> PathOrders:
    return PathOrders()
