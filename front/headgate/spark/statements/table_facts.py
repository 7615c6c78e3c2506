"""A table's history, files, changes and details as Arrow tables with fixed columns.

`headgate.statements.columns` has the columns of statements' results.
"""

from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate_table.table import Table

_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.map_(pa.string(), pa.string())

HISTORY = pa.schema(
    {
        "version": pa.int64(),
        "time": _TIME,
        "operation": pa.string(),
        "adds": pa.int64(),
        "removes": pa.int64(),
        "proposals": pa.list_(pa.string()),
        "source": pa.string(),
        "added_bytes": pa.int64(),
        "removed_bytes": pa.int64(),
        "net_files": pa.int64(),
    }
)

FILES = pa.schema(
    {
        "path": pa.string(),
        "partition_values": _TEXTS,
        "size": pa.int64(),
        "num_records": pa.int64(),
        "modification_time": _TIME,
        "data_change": pa.bool_(),
        "min_values": _TEXTS,
        "max_values": _TEXTS,
        "added_at_version": pa.int64(),
        "added_at_time": _TIME,
    }
)

CHANGES = pa.schema(
    {
        "change": pa.string(),
        "path": pa.string(),
        "partition_values": _TEXTS,
        "size": pa.int64(),
        "num_records": pa.int64(),
        "data_change": pa.bool_(),
        "version": pa.int64(),
        "time": _TIME,
    }
)

DETAIL = pa.schema(
    {
        "format": pa.string(),
        "id": pa.string(),
        "name": pa.string(),
        "description": pa.string(),
        "location": pa.string(),
        "created_at": _TIME,
        "last_modified": _TIME,
        "version": pa.int64(),
        "partition_columns": pa.list_(pa.string()),
        "schema": pa.string(),
        "configuration": _TEXTS,
        "num_files": pa.int64(),
        "size_in_bytes": pa.int64(),
        "num_records": pa.int64(),
        "min_reader_version": pa.int32(),
        "min_writer_version": pa.int32(),
        "state_format": pa.string(),
        "num_manifests": pa.int32(),
        "num_tombstones": pa.int32(),
        "tombstone_ratio": pa.float64(),
        "needs_compaction": pa.bool_(),
        "status": pa.string(),
    }
)


def history(table: Table, limit: int | None = None) -> pa.Table:
    """The versions in the log, newest first."""
    rows = [asdict(entry) for entry in table.history(limit)]
    for row in rows:
        row["time"] = _micros(row["time"])
        row["proposals"] = list(row["proposals"])
    return pa.Table.from_pylist(rows, HISTORY)


def files(table: Table, version: int | None = None, where: str | None = None) -> pa.Table:
    """The live files of a version, by path."""
    found = table.snapshot(version=version, where=where).files(
        [name if name != "added_at_time" else "added_at_timestamp" for name in FILES.names]
    )
    return _conformed(found.sort_by("path").rename_columns(FILES.names), FILES)


def changes(table: Table, since: int, until: int | None = None) -> pa.Table:
    """The files removed and added after a version: first the removed, then the added ones, each by path."""
    found = table.changes(since, until)
    return pa.concat_tables(
        _conformed(
            files.sort_by("path")
            .append_column("change", pa.repeat(pa.scalar(change), files.num_rows))
            .append_column("version", files.column(f"{change}_at_version"))
            .append_column("time", files.column(f"{change}_at_timestamp")),
            CHANGES,
        )
        for change, files in (("removed", found.removed), ("added", found.added))
    )


def detail(table: Table) -> pa.Table:
    """One row about the newest version."""
    snapshot = table.snapshot()
    metadata, protocol = snapshot.metadata, snapshot.protocol
    described = table.describe(skips=False)
    row: dict[str, Any] = {
        "format": metadata.format_provider,
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "location": table.uri,
        "created_at": _micros(metadata.created_time),
        "last_modified": _micros(snapshot.log.time_ms or None),
        "version": snapshot.version,
        "partition_columns": list(metadata.partition_columns),
        "schema": metadata.schema_string,
        "configuration": list(metadata.configuration.items()),
        "num_files": snapshot.num_files,
        "size_in_bytes": snapshot.total_bytes,
        "num_records": snapshot.num_records,
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "state_format": described.format,
        "num_manifests": described.num_manifests,
        "num_tombstones": described.num_tombstones,
        "tombstone_ratio": described.tombstone_ratio,
        "needs_compaction": described.needs_compaction,
        "status": described.status,
    }
    return pa.Table.from_pylist([row], DETAIL)


def _micros(time_ms: int | None) -> int | None:
    return None if time_ms is None else time_ms * 1000


def _conformed(found: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of `schema`; times are stored as epoch milliseconds, where 0 means unknown."""
    arrays = []
    for field in schema:
        column = found.column(field.name)
        if pa.types.is_timestamp(field.type):
            known = pc.if_else(pc.equal(column, 0), pa.scalar(None, pa.int64()), column)
            column = known.cast(pa.timestamp("ms", tz="UTC"))
        arrays.append(column.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
