"""A reader as they were before Avro states: pointer, JSON checkpoint, later version files, and nothing else.

As strict as the strictest known one: it refuses a protocol above 3, and in a checkpoint every action and every field that it
doesn't know (docs/format.md, sections 1.4 and 3). Imports nothing of Headgate but the interface of a store.
"""

import gzip
import json
from dataclasses import dataclass
from typing import Any

from headgate_table.store.interface import Store
from support.logs.known_keys import ADD_KEYS, METADATA_KEYS, POINTER_KEYS, PROTOCOL_KEYS

LOG = "_transaction_log"
LAST_PROTOCOL = 3

_FIELDS = {"protocol": PROTOCOL_KEYS, "metaData": METADATA_KEYS, "add": ADD_KEYS}


@dataclass(frozen=True, slots=True)
class JsonTable:
    """What such a reader finds. Files are keyed by path, with their document mapping put back."""

    version: int
    protocol: dict[str, Any]
    metadata: dict[str, Any]
    files: dict[str, dict[str, Any]]


def read_json_table(store: Store) -> JsonTable:
    """The newest version; an `AssertionError` names what the reader can't take."""
    pointer = json.loads(store.get(f"{LOG}/_last_checkpoint"))
    assert set(pointer) <= set(POINTER_KEYS), f"unknown keys in the pointer: {set(pointer) - set(POINTER_KEYS)}"
    assert pointer.get("format") in (None, "json", "json-multipart"), f"a checkpoint in {pointer['format']}"
    actions = _checkpoint(store, pointer)
    for action in actions:
        ((kind, body),) = action.items()
        assert kind in _FIELDS, f"unknown action {kind}"
        assert set(body) <= _FIELDS[kind], f"unknown fields in {kind}: {set(body) - _FIELDS[kind]}"
    assert [next(iter(action)) for action in actions[:2]] == ["protocol", "metaData"]
    assert pointer["size"] == len(actions)
    assert pointer["numFiles"] == len(actions) - 2
    version = int(pointer["version"])
    while store.head(f"{LOG}/{version + 1:020d}.json") is not None:
        version += 1
        actions += _lines(store.get(f"{LOG}/{version:020d}.json"))
    return _replayed(version, actions)


def _checkpoint(store: Store, pointer: dict[str, Any]) -> list[dict[str, Any]]:
    name = f"{LOG}/{pointer['version']:020d}.checkpoint.json"
    if pointer.get("checkpointId") is None:
        return _lines(store.get(name))
    index = json.loads(store.get(name))
    assert index["checkpointId"] == pointer["checkpointId"]
    assert len(index["parts"]) == pointer["parts"]
    return [action for part in index["parts"] for action in _lines(store.get(f"{LOG}/{part}"))]


def _lines(data: bytes) -> list[dict[str, Any]]:
    text = gzip.decompress(data[2:]) if data[:2] == b"\x01\x01" else data
    return [json.loads(line) for line in text.decode("utf-8").splitlines()]


def _replayed(version: int, actions: list[dict[str, Any]]) -> JsonTable:
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 1}
    metadata: dict[str, Any] = {}
    files: dict[str, dict[str, Any]] = {}
    for action in actions:
        match action:
            case {"protocol": body}:
                protocol = body
                assert protocol["minReaderVersion"] <= LAST_PROTOCOL, f"protocol {protocol['minReaderVersion']}"
            case {"metaData": body}:
                metadata = body
            case {"add": body}:
                files.pop(body["path"], None)
                files[body["path"]] = body
            case {"remove": body}:
                files.pop(body["path"], None)
    configuration = metadata.get("configuration", {})
    for path, file in files.items():
        ref = file.get("docMappingRef")
        if ref is not None and file.get("docMappingJson") is None:
            text = configuration.get(f"docMappingSchema.{ref}")
            assert text is not None, f"{path} refers to the document mapping {ref}, which the metadata doesn't hold"
            file["docMappingJson"] = text
    return JsonTable(version, protocol, metadata, files)
