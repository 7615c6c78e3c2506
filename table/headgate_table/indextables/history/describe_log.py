"""DESCRIBE TRANSACTION LOG: the actions of a log as rows, with the columns of the format's own statement.

docs/format.md, section 9.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import (
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    UnknownAction,
)
from headgate_table.indextables.format.entries import ALL_COLUMNS, ordered
from headgate_table.indextables.format.json_checkpoint import read_checkpoint_files
from headgate_table.indextables.format.names import resolve_manifest, state_key, version_key
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import BaseKind
from headgate_table.indextables.manifests.reader import read_manifest
from headgate_table.indextables.read.entry_reader import last_of_each_path

_BATCH = 64
"""Version files held in memory at once."""

LOG_COLUMNS: tuple[tuple[str, str], ...] = (
    ("version", "long"),
    ("log_file_path", "string"),
    ("action_type", "string"),
    ("path", "string"),
    ("partition_values", "string"),
    ("size", "long"),
    ("data_change", "boolean"),
    ("tags", "string"),
    ("modification_time", "timestamp"),
    ("stats", "string"),
    ("min_values", "string"),
    ("max_values", "string"),
    ("num_records", "long"),
    ("footer_start_offset", "long"),
    ("footer_end_offset", "long"),
    ("hotcache_start_offset", "long"),
    ("hotcache_length", "long"),
    ("has_footer_offsets", "boolean"),
    ("time_range_start", "string"),
    ("time_range_end", "string"),
    ("split_tags", "string"),
    ("delete_opstamp", "long"),
    ("num_merge_ops", "int"),
    ("doc_mapping_json", "string"),
    ("doc_mapping_ref", "string"),
    ("uncompressed_size_bytes", "long"),
    ("deletion_timestamp", "timestamp"),
    ("extended_file_metadata", "boolean"),
    ("skip_timestamp", "timestamp"),
    ("skip_reason", "string"),
    ("skip_operation", "string"),
    ("skip_retry_after", "timestamp"),
    ("skip_count", "int"),
    ("protocol_min_reader_version", "int"),
    ("protocol_min_writer_version", "int"),
    ("protocol_reader_features", "string"),
    ("protocol_writer_features", "string"),
    ("metadata_id", "string"),
    ("metadata_name", "string"),
    ("metadata_description", "string"),
    ("metadata_format_provider", "string"),
    ("metadata_format_options", "string"),
    ("metadata_schema_string", "string"),
    ("metadata_partition_columns", "string"),
    ("metadata_configuration", "string"),
    ("metadata_created_time", "timestamp"),
    ("is_checkpoint", "boolean"),
)
"""Names and SQL types. Maps and lists are JSON text."""

_ARROW = {
    "string": pa.string(),
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("ms", tz="UTC"),
}
LOG_SCHEMA = pa.schema([pa.field(name, _ARROW[kind]) for name, kind in LOG_COLUMNS])

_ENTRY_COLUMNS = ordered(set(ALL_COLUMNS) & set(LOG_SCHEMA.names))
"""What the log's rows and file entries have in common, under the same names."""

_Row = dict[str, Any]


def describe_log(reader: LogReader, include_all: bool = False) -> pa.Table:
    """The state (or JSON checkpoint) from which the newest version is read, and the versions after it.

    With `include_all`, the actions of every retained version file instead. Each row names its object.
    """
    if include_all:
        parts = [LOG_SCHEMA.empty_table(), *_version_rows(reader, reader.full_listing().versions)]
        return pa.concat_tables(parts)
    log = reader.latest()
    base = log.plan.base
    parts = [LOG_SCHEMA.empty_table()]
    match base.kind:
        case BaseKind.STATE:
            assert log.state is not None  # a state is the base
            parts += _state_rows(reader, log, log.state)
        case BaseKind.CHECKPOINT:
            files = read_checkpoint_files(
                base.version, lambda key: reader.store.get(key, max_bytes=MAX_VERSION_FILE_BYTES)
            )
            parts += [_table(reader, base.version, key, actions, is_checkpoint=True) for key, actions in files]
        case BaseKind.NOTHING:
            pass
        case _:
            assert_never(base.kind)
    parts += _version_rows(reader, log.plan.versions)
    return pa.concat_tables(parts)


def _version_rows(reader: LogReader, versions: Sequence[int]) -> Iterator[pa.Table]:
    for start in range(0, len(versions), _BATCH):
        batch = versions[start : start + _BATCH]
        for version, actions in zip(batch, reader.many_actions(batch), strict=True):
            yield _table(reader, version, version_key(version), actions, is_checkpoint=False)


def _state_rows(reader: LogReader, log: LoadedLog, state: StateManifest) -> Iterator[pa.Table]:
    version = log.plan.base.version
    key = state_key(version)
    protocol = Protocol(state.protocol_version, state.protocol_version)
    yield _table(reader, version, key, [protocol], is_checkpoint=True)
    if state.metadata is not None:
        yield _table(reader, version, key, [state.metadata], is_checkpoint=True)
    else:
        yield from _older_metadata(reader, version)
    yield _entry_rows(reader, version, state)


def _older_metadata(reader: LogReader, below: int) -> Iterator[pa.Table]:
    """The metadata for a state without its own: that of the newest version file before it."""
    for version in reversed(reader.full_listing().versions):
        found = (
            [action for action in reader.actions(version) if isinstance(action, Metadata)] if version <= below else []
        )
        if found:
            yield _table(reader, version, version_key(version), found[-1:], is_checkpoint=False)
            return


def _entry_rows(reader: LogReader, version: int, state: StateManifest) -> pa.Table:
    """The live entries, each with the manifest that lists it."""
    uri = reader.store.uri
    dead = pa.array(state.tombstones, pa.string())

    def live(place: int) -> pa.Table:
        info = state.manifests[place]
        key = resolve_manifest(info.path, version, uri)
        entries = read_manifest(reader.store, reader.resources, key, info.num_entries, _ENTRY_COLUMNS).table
        entries = entries.filter(pc.invert(pc.is_in(entries.column("path"), value_set=dead)))
        return entries.append_column("log_file_path", pa.repeat(pa.scalar(f"{uri}/{key}"), entries.num_rows))

    tables = reader.resources.each(live, range(len(state.manifests)))
    if not tables:
        return LOG_SCHEMA.empty_table()
    entries = last_of_each_path(pa.concat_tables(tables))
    rows = entries.num_rows
    constants = {"version": version, "action_type": "add", "is_checkpoint": True}
    columns = []
    for field in LOG_SCHEMA:
        if field.name in constants:
            columns.append(pa.repeat(pa.scalar(constants[field.name], field.type), rows))
        elif field.name in entries.column_names:
            columns.append(_shown(entries.column(field.name), field.type))
        else:
            columns.append(pa.nulls(rows, field.type))
    return pa.Table.from_arrays(columns, schema=LOG_SCHEMA)


def _shown(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray | pa.Array:
    if pa.types.is_map(column.type):
        return pa.array([_json(None if pairs is None else dict(pairs)) for pairs in column.to_pylist()], wanted)
    if pa.types.is_list(column.type):
        return pa.array([_json(values) for values in column.to_pylist()], wanted)
    return column.cast(wanted)


def _table(reader: LogReader, version: int, key: str, actions: Iterable[Action], *, is_checkpoint: bool) -> pa.Table:
    common = {"version": version, "log_file_path": f"{reader.store.uri}/{key}", "is_checkpoint": is_checkpoint}
    return pa.Table.from_pylist([{**common, **_row(action)} for action in actions], schema=LOG_SCHEMA)


def _row(action: Action) -> _Row:
    match action:
        case AddFile():
            names = [name for name in LOG_SCHEMA.names if name in AddFile.__dataclass_fields__]
            return {"action_type": "add", **{name: _text(getattr(action, name)) for name in names}}
        case RemoveFile():
            names = [name for name in LOG_SCHEMA.names if name in RemoveFile.__dataclass_fields__]
            return {"action_type": "remove", **{name: _text(getattr(action, name)) for name in names}}
        case SkipFile():
            return {
                "action_type": "skip",
                "path": action.path,
                "partition_values": _text(action.partition_values),
                "size": action.size,
                "skip_timestamp": action.skip_timestamp,
                "skip_reason": action.reason,
                "skip_operation": action.operation,
                "skip_retry_after": action.retry_after,
                "skip_count": action.skip_count,
            }
        case Protocol():
            return {
                "action_type": "protocol",
                "protocol_min_reader_version": action.min_reader_version,
                "protocol_min_writer_version": action.min_writer_version,
                "protocol_reader_features": _text(action.reader_features),
                "protocol_writer_features": _text(action.writer_features),
            }
        case Metadata():
            return {
                "action_type": "metadata",
                "metadata_id": action.id,
                "metadata_name": action.name,
                "metadata_description": action.description,
                "metadata_format_provider": action.format_provider,
                "metadata_format_options": _text(action.format_options),
                "metadata_schema_string": action.schema_string,
                "metadata_partition_columns": _text(action.partition_columns),
                "metadata_configuration": _text(action.configuration),
                "metadata_created_time": action.created_time,
            }
        case CommitInfo() | UnknownAction():
            return {"action_type": "unknown"}
        case _:
            assert_never(action)


def _text(value: Any) -> Any:
    """Maps and lists as JSON, everything else unchanged."""
    if isinstance(value, Mapping):
        return _json(dict(value))
    if isinstance(value, tuple):
        return _json(list(value))
    return value


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
