"""Tables whose log is gone, and what a rebuild makes of the files that are left."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headgate_schemas.columns.table_schema import column_kinds
from headgate_table.indextables.format.names import LOG
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.rebuild import RebuildResult, Wishes, rebuild_into
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.parquet import parquet
from support.stores.memory import MemoryStore
from support.tables import opened


class InLog:
    """The folder of the log as a store of its own, as `open_store` gives it, over the store of the table."""

    def __init__(self, table: Store) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    @property
    def uri(self) -> str:
        return f"{self._table.uri}/{LOG}"

    def list(self, prefix: str = "", *, after: str = "") -> Any:
        return self._table.list(f"{LOG}/{prefix}")

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        return self._table.get(f"{LOG}/{key}", max_bytes=max_bytes)

    def head(self, key: str) -> Any:
        return self._table.head(f"{LOG}/{key}")

    def create(self, key: str, data: bytes) -> Any:
        return self._table.create(f"{LOG}/{key}", data)


def rows(**columns: Any) -> pa.Table:
    return pa.table(columns or {"id": pa.array([1, 2, 3], pa.int64())})


def stored(files: Mapping[str, pa.Table | bytes] | None = None, store: Store | None = None) -> Store:
    """A store with these files; those that are tables are Parquet."""
    place = store or MemoryStore(FakeAmbient())
    for path, content in (files or {}).items():
        place.put(path, content if isinstance(content, bytes) else parquet(content))
    return place


def rebuilt(store: Store, wishes: Wishes | None = None, **options: Any) -> RebuildResult:
    """Rebuild the log of the table in its place."""
    reader = LogReader(store, options.pop("resources", one_thread()))
    return rebuild_into(reader, InLog(store), wishes or Wishes(), FakeAmbient("rebuild"), **options)


def table_of(store: Store) -> Table:
    return opened(store, resources=one_thread())


def types_of(table: Table) -> Mapping[str, str]:
    return column_kinds(table.metadata.schema_string)


def partitions(table: Table) -> list[dict[str, str]]:
    files = table.snapshot().files(("path", "partition_values")).sort_by("path").to_pylist()
    return [dict(row["partition_values"] or ()) for row in files]
