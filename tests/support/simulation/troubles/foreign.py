"""A writer that is not Headgate: version files without `commitInfo`, states without the coordinator's field.

Written with json and fastavro only. As known writers do, its states keep of the metadata only what the last state had.
"""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro

from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown
from support.logs.raw_log import LOG, read_avro
from support.writers import avro_schemas

ATTEMPTS = 5


def newest_version(store: Store) -> int:
    numbers = [int(info.key[len(LOG) + 1 :][:20]) for info in store.list(f"{LOG}/0") if info.key.endswith(".json")]
    return max(numbers)


def commit(store: Store, adds: Sequence[Mapping[str, Any]], removes: Sequence[str], now_ms: int) -> int | None:
    """The number of the version that it wrote, if it knows that it did."""
    number = newest_version(store) + 1
    lines = [{"remove": {"path": path, "deletionTimestamp": now_ms, "dataChange": True}} for path in removes]
    data = "".join(json.dumps(line) + "\n" for line in [*lines, *({"add": dict(add)} for add in adds)]).encode()
    for _ in range(ATTEMPTS):
        match store.create(f"{LOG}/{number:020d}.json", data):
            case Created():
                return number
            case AlreadyExists():
                number += 1
            case Unknown():
                return None
    return None


def add(path: str, size: int, region: str, now_ms: int) -> dict[str, Any]:
    return {
        "path": path,
        "partitionValues": {"region": region},
        "size": size,
        "modificationTime": now_ms,
        "dataChange": True,
        "numRecords": 1,
    }


def write_state(
    store: Store,
    number: int,
    live: Mapping[str, Mapping[str, Any]],
    metadata: Mapping[str, Any],
    manifest_id: str,
    now_ms: int,
) -> bool:
    """A compacted state of that version, and the pointer to it. False where the state is there already."""
    path = f"manifests/manifest-{manifest_id[:16]}.avro"
    entries = [_entry(item, number, now_ms) for item in live.values()]
    store.put(f"{LOG}/{path}", _avro(avro_schemas.file_entry_a(), entries))
    record = {
        "formatVersion": 1,
        "stateVersion": number,
        "createdAt": now_ms,
        "numFiles": len(entries),
        "totalBytes": sum(item["size"] for item in entries),
        "manifests": [
            {
                "path": path,
                "numEntries": len(entries),
                "minAddedAtVersion": number,
                "maxAddedAtVersion": number,
                "partitionBounds": None,
                "tombstoneCount": 0,
                "liveEntryCount": len(entries),
            }
        ],
        "tombstones": [],
        "schemaRegistry": {},
        "protocolVersion": 4,
        "metadata": json.dumps({"metaData": dict(metadata)}),
    }
    data = _avro(avro_schemas.state_manifest(), [record])
    if not isinstance(store.create(f"{LOG}/state-v{number:020d}/_manifest.avro", data), Created):
        return False
    _move_pointer(store, number, len(entries), record["totalBytes"], now_ms)
    return True


def newest_state_metadata(store: Store, age: int = 0) -> dict[str, Any] | None:
    """The metadata in the newest state, or in one of those before it."""
    keys = sorted(info.key for info in store.list(f"{LOG}/state-v") if info.key.endswith("/_manifest.avro"))
    if not keys:
        return None
    (record,) = read_avro(store.get(keys[max(0, len(keys) - 1 - age)])).records
    text = record.get("metadata")
    found: dict[str, Any] | None = None if text is None else json.loads(text)["metaData"]
    return found


def _entry(item: Mapping[str, Any], number: int, now_ms: int) -> dict[str, Any]:
    entry = {name["name"]: item.get(name["name"]) for name in avro_schemas.file_entry_a()["fields"]}
    return entry | {"hasFooterOffsets": False, "dataChange": True, "addedAtVersion": number, "addedAtTimestamp": now_ms}


def _avro(schema: dict[str, Any], records: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), list(records), sync_marker=bytes(16))
    return out.getvalue()


def _move_pointer(store: Store, number: int, files: int, size: int, now_ms: int) -> None:
    pointer = {
        "version": number,
        "size": files,
        "sizeInBytes": size,
        "numFiles": files,
        "createdTime": now_ms,
        "parts": None,
        "checkpointId": None,
        "format": "avro-state",
        "stateDir": f"state-v{number:020d}",
    }
    data = json.dumps(pointer).encode()
    key = f"{LOG}/_last_checkpoint"
    if store.head(key) is None:
        store.create(key, data)
        return
    found, etag = store.get_with_etag(key)
    if json.loads(found)["version"] < number:
        store.swap(key, data, etag)
