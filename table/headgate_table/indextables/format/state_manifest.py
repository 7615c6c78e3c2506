"""State manifests as values, from Avro and from the JSON of the oldest jars, and back (docs/format.md, sections 2.2 and 2.5)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import fastavro

from headgate_schemas.actions.action_json import format_action, parse_action
from headgate_schemas.actions.actions import MAX_PROTOCOL_VERSION, Metadata
from headgate_schemas.actions.avro_schemas import schema_text
from headgate_schemas.actions.tolerant_json import INT64
from headgate_schemas.columns.near_names import damaged_name
from headgate_schemas.errors import MalformedAction
from headgate_table.avro.container import block_bytes, header_bytes, parse_container
from headgate_table.avro.records import checked_schema, read_record
from headgate_table.avro.seal import seal_keys, sealed
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.indextables.format.bounds import Bounds
from headgate_table.indextables.format.names import STATE_MANIFEST, state_folder

FORMAT_VERSION = 1
MAX_STATE_BYTES = 256 << 20
MAX_JSON_BYTES = 256 << 20


_NAMES = frozenset(
    (
        *("formatVersion", "stateVersion", "createdAt", "numFiles", "totalBytes", "manifests", "tombstones"),
        *("schemaRegistry", "protocolVersion", "metadata", "coordinator"),
        *("path", "numEntries", "minAddedAtVersion", "maxAddedAtVersion", "partitionBounds", "tombstoneCount"),
        *("liveEntryCount", "min", "max"),
    )
)
"""Of the fields of a state and of the records in it."""


@dataclass(frozen=True, slots=True)
class ManifestInfo:
    """A state's item for one manifest."""

    path: str
    num_entries: int
    min_added_at_version: int = 0
    max_added_at_version: int = 0
    partition_bounds: Mapping[str, Bounds] | None = None
    tombstone_count: int = 0
    live_entry_count: int = -1


@dataclass(frozen=True, slots=True)
class StateManifest:
    """One state. `num_files` and `total_bytes` are its writer's numbers, which may be estimates."""

    version: int
    created_at: int
    num_files: int
    total_bytes: int
    manifests: tuple[ManifestInfo, ...]
    tombstones: tuple[str, ...] = ()
    schema_registry: Mapping[str, str] = field(default_factory=dict)
    protocol_version: int = MAX_PROTOCOL_VERSION
    metadata: Metadata | None = None
    coordinator: str | None = None
    format_version: int = FORMAT_VERSION

    @property
    def has_coordinator(self) -> bool:
        return self.coordinator is not None


def decode_state(data: bytes, name: str) -> StateManifest:
    """Read `_manifest.avro` of any known writer; unknown fields are ignored, missing ones get their defaults."""
    container = parse_container(data, name)
    schema = checked_schema(container)
    _check_names(schema, name)
    record = read_record(container)
    try:
        return _from_record(record, name)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptTable(f"{name} is not a state manifest: {type(error).__name__} {error}") from error


def decode_legacy_state(data: bytes, name: str) -> StateManifest:
    """Read the JSON `_manifest` that jars before 0.34.1 wrote."""
    if len(data) > MAX_JSON_BYTES:
        raise CorruptTable(f"{name} takes {len(data)} bytes; more than {MAX_JSON_BYTES} are refused")
    try:
        body = json.loads(data)
        version = _long(body["version"])
        manifests = tuple(
            ManifestInfo(
                path=str(item["path"]),
                num_entries=_long(item["fileCount"]),
                partition_bounds=_legacy_bounds(item.get("partitionBounds")),
            )
            for item in body["manifests"]
        )
        protocol = _legacy_protocol(body.get("protocolJson"))
        return _checked(
            StateManifest(
                version=version,
                created_at=_long(body.get("createdTime") or 0),
                num_files=_long(body.get("totalFileCount") or 0),
                total_bytes=0,
                manifests=manifests,
                schema_registry=_text_map(body.get("schemaRegistry")),
                protocol_version=protocol,
                metadata=_metadata(body.get("metadata"), name),
            ),
            name,
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptTable(f"{name} is not a state of any known form: {type(error).__name__} {error}") from error


def of_version(state: StateManifest, version: int, name: str) -> StateManifest:
    """The state, which must be the one of this version, because its folder has the number, too."""
    if state.version != version:
        raise CorruptTable(
            f"{name} says that it is the state of version {state.version}: it was damaged, or put into another version's folder. "
            f"Restore it, or save what is readable with `headgate table repair`"
        )
    return state


def encode_state(state: StateManifest, sync: bytes, *, codec: str = "zstandard", level: int = 3) -> bytes:
    """The bytes of `_manifest.avro`: one record, one block, sealed."""
    schema = schema_text("state_manifest")
    record = {
        "formatVersion": state.format_version,
        "stateVersion": state.version,
        "createdAt": state.created_at,
        "numFiles": state.num_files,
        "totalBytes": state.total_bytes,
        "manifests": [
            {
                "path": info.path,
                "numEntries": info.num_entries,
                "minAddedAtVersion": info.min_added_at_version,
                "maxAddedAtVersion": info.max_added_at_version,
                "partitionBounds": _bounds_record(info.partition_bounds),
                "tombstoneCount": info.tombstone_count,
                "liveEntryCount": info.live_entry_count,
            }
            for info in state.manifests
        ],
        "tombstones": list(state.tombstones),
        "schemaRegistry": dict(state.schema_registry),
        "protocolVersion": state.protocol_version,
        "metadata": None if state.metadata is None else format_action(state.metadata),
        "coordinator": state.coordinator,
    }
    plain = BytesIO()
    fastavro.schemaless_writer(plain, fastavro.parse_schema(json.loads(schema)), record)
    keys = seal_keys(f"{state_folder(state.version)}/{STATE_MANIFEST}")
    return sealed(header_bytes(schema, codec, sync, keys) + block_bytes(1, plain.getvalue(), codec, sync, level))


def _check_names(schema: Any, name: str) -> None:
    """A damaged field name would be ignored, and its field would get the default, so this raises."""
    match schema:
        case {"type": "record", "fields": list() as fields}:
            found = damaged_name({field["name"] for field in fields}, _NAMES)
            if found is not None:
                raise CorruptTable(
                    f"{name} is damaged: its schema has the field {found[0]!r} where {found[1]!r} belongs. Restore it from a "
                    f"copy of the table; `headgate table verify` shows what else is damaged"
                )
            for field in fields:
                _check_names(field["type"], name)
        case list():
            for branch in schema:
                _check_names(branch, name)
        case dict():
            for part in ("type", "items", "values"):
                _check_names(schema.get(part), name)


def _from_record(record: dict[str, Any], name: str) -> StateManifest:
    coordinator = record.get("coordinator")
    state = StateManifest(
        format_version=int(record.get("formatVersion", FORMAT_VERSION)),
        version=int(record["stateVersion"]),
        created_at=int(record.get("createdAt") or 0),
        num_files=int(record.get("numFiles") or 0),
        total_bytes=int(record.get("totalBytes") or 0),
        manifests=tuple(_info(item) for item in record["manifests"]),
        tombstones=_texts(record.get("tombstones") or ()),
        schema_registry=_text_map(record.get("schemaRegistry")),
        protocol_version=int(record.get("protocolVersion", MAX_PROTOCOL_VERSION)),
        metadata=_metadata(record.get("metadata"), name),
        coordinator=coordinator if isinstance(coordinator, str) else None,
    )
    return _checked(state, name)


def _checked(state: StateManifest, name: str) -> StateManifest:
    if state.format_version > FORMAT_VERSION:
        raise UnsupportedTable(
            f"{name} has state format {state.format_version}; this Headgate knows up to {FORMAT_VERSION}. Upgrade Headgate"
        )
    if state.protocol_version > MAX_PROTOCOL_VERSION:
        raise UnsupportedTable(
            f"{name} needs protocol {state.protocol_version}; this Headgate knows up to {MAX_PROTOCOL_VERSION}. Upgrade Headgate"
        )
    return state


def _info(item: dict[str, Any]) -> ManifestInfo:
    bounds = item.get("partitionBounds")
    return ManifestInfo(
        path=str(item["path"]),
        num_entries=int(item["numEntries"]),
        min_added_at_version=int(item.get("minAddedAtVersion") or 0),
        max_added_at_version=int(item.get("maxAddedAtVersion") or 0),
        partition_bounds=None
        if bounds is None
        else {
            column: Bounds(_text_or_none(value.get("min")), _text_or_none(value.get("max")))
            for column, value in bounds.items()
        },
        tombstone_count=int(item.get("tombstoneCount") or 0),
        live_entry_count=int(item.get("liveEntryCount", -1)),
    )


def _bounds_record(bounds: Mapping[str, Bounds] | None) -> dict[str, dict[str, str | None]] | None:
    if bounds is None:
        return None
    return {column: {"min": bound.min, "max": bound.max} for column, bound in bounds.items()}


def _metadata(text: Any, name: str) -> Metadata | None:
    """The metadata in a state: {"metaData": {…}}, or the bare object of old jars."""
    if text is None or text == "":
        return None
    body = json.loads(text) if isinstance(text, str) else text
    if isinstance(body, dict) and "metaData" not in body:
        body = {"metaData": body}
    try:
        action = parse_action(json.dumps(body))
    except MalformedAction as error:
        raise CorruptTable(f"{name}: its metadata can't be read: {error}") from error
    return action if isinstance(action, Metadata) else None


def _texts(values: Any) -> tuple[str, ...]:
    found = tuple(values)
    if not {type(value) for value in found} <= {str}:
        raise TypeError("a tombstone is not a text")
    return found


def _text_or_none(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"the bound {str(value)[:100]!r} is not a text")
    return value


def _text_map(value: Any) -> dict[str, str]:
    return {str(key): str(item) for key, item in (value or {}).items() if item is not None}


def _long(value: Any) -> int:
    number = int(value)
    if number not in INT64:
        raise ValueError(f"{str(number)[:40]} is no long")
    return number


def _legacy_bounds(value: Any) -> dict[str, Bounds] | None:
    if not value:
        return None
    least, greatest = value.get("minValues") or {}, value.get("maxValues") or {}
    return {
        column: Bounds(_text_or_none(least.get(column)), _text_or_none(greatest.get(column)))
        for column in {*least, *greatest}
    }


def _legacy_protocol(value: Any) -> int:
    if value is None:
        return MAX_PROTOCOL_VERSION
    body = json.loads(value) if isinstance(value, str) else value
    body = body.get("protocol", body)
    return int(body.get("minReaderVersion", MAX_PROTOCOL_VERSION))
