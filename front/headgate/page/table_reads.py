"""The page's reads of tables: the newest version in numbers, the history, and the files of a version.

A table has at most one read at a time. A version never changes, so the last views are kept. `sweeping` decides when a
table is read for the list.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from headgate.page.table_rows import TableFacts
from headgate.page.table_views import VersionView, version_view
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.caching.resources import lean_resources
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table

OPEN_TABLES = 64
"""Connections to tables that are kept for the next reading."""
MAX_HISTORY = 200
"""Versions that the slider travels over."""
MAX_FILES = 500_000
"""Of a version whose files are shown. `headgate table files` shows more."""
KEPT_VIEWS = 6
KEPT_VIEWS_BYTES = 64 << 20
TURN_WITHIN_S = 10.0
"""How long a reading waits for another one of the same table."""
_PARALLELISM = 4


class TableBusy(HeadgateError):
    """Another read of the table takes long."""


@dataclass(slots=True)
class _Desk:
    lock: threading.Lock = field(default_factory=threading.Lock)
    table: Table | None = None


class TableLooks:
    """Threads share it. Every method raises the errors of opening and reading tables."""

    def __init__(self, stores: StoreSettings, overrides: Mapping[str, str], ambient: Ambient) -> None:
        self._stores = stores
        self._overrides = overrides
        self._ambient = ambient
        self._resources = lean_resources(ambient.monotonic_s, _PARALLELISM)
        self._lock = threading.Lock()
        self._desks: OrderedDict[str, _Desk] = OrderedDict()
        """The one that was asked for longest ago first."""
        self._views: OrderedDict[tuple[str, int, str | None], VersionView] = OrderedDict()

    def facts(self, uri: str) -> TableFacts:
        """The newest version."""
        with self._turn(uri) as table:
            found = table.describe(skips=False)
        if found.version < 0:
            raise HeadgateError(found.status.removeprefix("ERROR: "))
        return TableFacts(
            version=found.version,
            files=found.num_files,
            bytes=found.total_bytes,
            manifests=found.num_manifests,
            tombstones=found.num_tombstones,
            tombstone_ratio=found.tombstone_ratio,
            needs_compaction=found.needs_compaction,
            format=found.format,
            state_ms=found.created_at,
            read_ms=self._ambient.now_ms(),
            mirror_version=found.mirror_version,
            mirror_problem=found.mirror_problem,
        )

    def history(self, uri: str) -> list[dict[str, Any]]:
        """The newest versions, oldest first."""
        with self._turn(uri) as table:
            entries = table.history(MAX_HISTORY)
        return [
            {
                "version": entry.version,
                "time": entry.time,
                "operation": entry.operation[:40],
                "adds": entry.adds,
                "removes": entry.removes,
                "added": entry.added_bytes,
                "removed": entry.removed_bytes,
                "net": entry.net_files,
                "proposals": len(entry.proposals),
            }
            for entry in reversed(entries)
        ]

    def version(self, uri: str, version: int) -> VersionView:
        """The files that were live at a version. Raises `InvalidInput` if they are too many to show."""
        with self._turn(uri) as table:
            snapshot = table.snapshot(version)
            metadata = snapshot.metadata if table.has_log else None
            # A recreated table has another id and its own versions.
            key = uri, version, None if metadata is None else metadata.id
            view = self._kept(key)
            if view is None:
                columns = ["path", "size", "num_records"]
                if metadata is not None:
                    columns.append("partition_values")
                    state = snapshot.log.state
                    _check_size(uri, version, sum(info.num_entries for info in state.manifests) if state else 0)
                files = snapshot.files(columns)
                view = version_view(version, () if metadata is None else metadata.partition_columns, files)
                self._keep(key, view)
        return view

    def close(self) -> None:
        with self._lock:
            desks = list(self._desks.values())
            self._desks.clear()
        for desk in desks:
            _close_unused(desk)
        self._resources.fetchers.shutdown(wait=False, cancel_futures=True)
        self._resources.splitters.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _turn(self, uri: str) -> Iterator[Table]:
        """The table, for this read alone."""
        with self._lock:
            desk = self._desks.pop(uri, None) or _Desk()
            self._desks[uri] = desk
            surplus = [self._desks.popitem(last=False)[1]] if len(self._desks) > OPEN_TABLES else []
        for old in surplus:
            _close_unused(old)
        if not desk.lock.acquire(timeout=TURN_WITHIN_S):
            raise TableBusy(f"{uri} has been being read for more than {TURN_WITHIN_S:g} s: its store is slow, or hangs")
        try:
            if desk.table is None:
                desk.table = Table.open(
                    uri, self._stores, settings=self._overrides, ambient=self._ambient, resources=self._resources
                )
            yield desk.table
        finally:
            desk.lock.release()

    def _kept(self, key: tuple[str, int, str | None]) -> VersionView | None:
        with self._lock:
            view = self._views.pop(key, None)
            if view is not None:
                self._views[key] = view
            return view

    def _keep(self, key: tuple[str, int, str | None], view: VersionView) -> None:
        with self._lock:
            self._views[key] = view
            while len(self._views) > KEPT_VIEWS or (
                len(self._views) > 1 and sum(kept.weight_bytes for kept in self._views.values()) > KEPT_VIEWS_BYTES
            ):
                self._views.popitem(last=False)


def _check_size(uri: str, version: int, listed: int) -> None:
    if listed > MAX_FILES:
        raise InvalidInput(
            f"version {version} lists {listed:,} files, more than the {MAX_FILES:,} that this page shows (MAX_FILES);"
            f" `headgate table files {uri} --version {version}` shows them"
        )


def _close_unused(desk: _Desk) -> None:
    """Close unused tables. A table with a running read is left to that read and to the garbage collector."""
    if desk.lock.acquire(blocking=False):
        if desk.table is not None:
            desk.table.store.close()
        desk.lock.release()
