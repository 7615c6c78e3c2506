"""States and the pointer as they are written: a state is decoded by fastavro and must tell what the log tells."""

import json
from collections.abc import Mapping
from typing import Any

from support.logs.raw_log import LOG, read_avro
from support.simulation.judge.broken import must
from support.simulation.judge.model import State, TableModel

OURS = ("headgate.", "docMappingSchema.")
"""Configuration keys that belong to the committer, or that a state adds by itself."""


def judge_state(model: TableModel, number: int, data: bytes) -> None:
    """The state's root file was written. Raises `InvariantBroken`."""
    must(number in model.versions, f"{model.uri}: a state of version {number}, which doesn't exist")
    if number < model.pointer and model.store.head(f"{LOG}/{number:020d}.json") is None:
        return  # of a writer that was away while the log was truncated: it has to take it back, and nobody reads it
    (record,) = read_avro(data).records
    folder = f"{LOG}/state-v{number:020d}"
    gone = set(record["tombstones"])
    listed: dict[str, dict[str, Any]] = {}
    manifests: set[str] = set()
    for info in record["manifests"]:
        path = info["path"]
        key = f"{LOG}/{path}" if "/" in path else f"{folder}/{path}"
        if model.store.head(key) is None:
            must(number < model.pointer, f"{model.uri}: state {number} names {path}, which isn't there")
            model.void_states.add(
                number
            )  # of a writer that was away for so long that it was cleaned: it takes that back, too
            return
        manifests.add(key)
        for entry in _entries(model, key):
            must(
                entry["path"] not in listed or entry["path"] in gone or model.is_disturbed,
                f"{model.uri}: state {number} lists {entry['path']} twice (invariant 6)",
            )
            listed[entry["path"]] = entry
    there = {path: entry["size"] for path, entry in listed.items() if path not in gone}
    meant = {path: add["size"] for path, add in model.versions[number].live.items()}
    must(
        there == meant,
        f"{model.uri}: state {number} differs from the log (invariant 4): only in the state "
        f"{sorted(there.keys() - meant.keys())[:3]}, only in the log {sorted(meant.keys() - there.keys())[:3]}",
    )
    if record.get("metadata") is not None:
        told = json.loads(record["metadata"])["metaData"]
        must(
            _plain(told) == _plain(model.versions[number].metadata),
            f"{model.uri}: state {number} holds other metadata than the log (invariant 4): "
            f"{_plain(told)} instead of {_plain(model.versions[number].metadata)}",
        )
    model.states[number] = State(frozenset(manifests), is_foreign=record.get("coordinator") is None)


def judge_pointer(model: TableModel, data: bytes) -> None:
    """The pointer was moved. Raises `InvariantBroken`."""
    version = json.loads(data)["version"]
    must(version >= model.pointer, f"{model.uri}: the pointer went back from {model.pointer} to {version} (rule 7)")
    must(version in model.states, f"{model.uri}: the pointer leads to state {version}, which isn't there (rule 7)")
    model.pointer = version


def _entries(model: TableModel, key: str) -> list[dict[str, Any]]:
    """Manifests never change."""
    if key not in model.decoded:
        model.decoded[key] = read_avro(model.store.get(key)).records
    return model.decoded[key]


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    configuration = metadata.get("configuration") or {}
    return {
        "schema": metadata.get("schemaString"),
        "partitions": metadata.get("partitionColumns"),
        "configuration": {key: text for key, text in configuration.items() if not key.startswith(OURS)},
    }
