"""What is on a store, judged by the writer profile that every known reader accepts (docs/format.md, sections 13 and 14).

Decoded by `raw_log`, which knows nothing of our code. `breaches` names everything that some reader refuses or silently loses.
"""

import json
import zlib
from collections.abc import Iterator

from headgate_table.store.interface import Store
from support.logs.known_keys import METADATA_KEYS, POINTER_KEYS
from support.logs.raw_log import RawLog
from support.writers import avro_schemas

MAPS = ("partitionValues", "minValues", "maxValues", "tags", "configuration")


def breaches(store: Store, since: int = 0) -> list[str]:
    """One line each; empty when every known reader reads the table whole. Of others' tables, what is there `since` a version."""
    log = RawLog(store)
    return [*_versions(log, since), *_states(log, since), *_pointer(log)]


def _versions(log: RawLog, since: int) -> Iterator[str]:
    for version in (number for number in log.versions() if number >= since):
        data = log.version_bytes(version)
        if data[:2] == b"\x01\x01":
            member = zlib.decompressobj(wbits=31)
            member.decompress(data[2:])
            if not member.eof or member.unused_data:
                yield f"version {version} is not one whole gzip stream"
        kinds = []
        for line in log.actions(version):
            (kind,) = line
            kinds.append(kind)
            for name in MAPS:
                values = line[kind].get(name) or {}
                if not all(isinstance(text, str) for text in values.values()):
                    yield f"version {version}: {name} of a {kind} holds something that is no text"
            if kind == "add" and not isinstance(line[kind].get("partitionValues"), dict):
                yield f"version {version}: an add without partitionValues"
        if "add" in kinds and "remove" in kinds[kinds.index("add") :]:
            yield f"version {version}: a remove after an add"


def _states(log: RawLog, since: int) -> Iterator[str]:
    entry_schemas = [
        avro_schemas.without_prose(avro_schemas.file_entry_a()),
        avro_schemas.without_prose(avro_schemas.file_entry_b()),
    ]
    for version in (number for number in log.states() if number >= since):
        state, file = log.state(version), log.state_file(version)
        if file.codec not in ("null", "zstandard"):
            yield f"state {version} is compressed by {file.codec}"
        body = json.loads(state["metadata"] or "{}")
        if list(body) != ["metaData"] or set(body["metaData"]) - METADATA_KEYS:
            yield f"state {version} carries no metadata that other readers take"
        for key, text in state["schemaRegistry"].items():
            if key.startswith("docMappingSchema."):
                yield f"state {version}: the registry key {key} is not bare"
            elif body.get("metaData", {}).get("configuration", {}).get(f"docMappingSchema.{key}") != text:
                yield f"state {version}: the configuration lacks the document mapping {key}"
        if state["numFiles"] != len(log.live(version)):
            yield f"state {version} says {state['numFiles']} files, but {len(log.live(version))} live"
        entries = [entry["path"] for entry in log.entries(version)]
        if len(entries) != len(set(entries)):
            yield f"state {version} lists a path twice, which other readers resolve in different ways"
        for info in state["manifests"]:
            manifest = log.manifest_file(info["path"], version)
            if manifest.codec not in ("null", "zstandard"):
                yield f"{info['path']} is compressed by {manifest.codec}"
            if avro_schemas.without_prose(manifest.schema) not in entry_schemas:
                yield f"{info['path']} has fields that other writers don't know"
            if len(manifest.records) != info["numEntries"]:
                yield f"{info['path']} has {len(manifest.records)} entries, not {info['numEntries']}"
            added = [entry["addedAtVersion"] for entry in manifest.records]
            if added and (min(added), max(added)) != (info["minAddedAtVersion"], info["maxAddedAtVersion"]):
                yield f"{info['path']} tells other versions than its entries"


def _pointer(log: RawLog) -> Iterator[str]:
    states = log.states()
    if not states:
        return
    pointer = log.pointer()
    if list(pointer) != POINTER_KEYS:
        yield f"the pointer has the keys {list(pointer)}"
    if pointer["version"] != states[-1] or pointer["numFiles"] != log.state(states[-1])["numFiles"]:
        yield f"the pointer tells of {pointer['version']}, but the newest state is {states[-1]}"
