"""A log put together piece by piece, for tables that no writer would make on purpose.

Files are named by a letter and lie at `<name>.parquet`; the metadata says where it stands, so that a test can tell which
one was found.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from support.writers import avro_schemas, scala_actions
from support.writers.avro_bytes import container
from support.writers.avro_schemas import Schema
from support.writers.cases.expected import Expected, sorted_paths, total
from support.writers.invented import START_MS, File, Invented, schema_string
from support.writers.log_folder import LogFolder, compact_json, lines, state_name, version_name


def file(name: str, size: int = 1_000, **partition: str) -> File:
    """A small file; its path ends in `.parquet` and starts with its partition folders."""
    folder = "".join(f"{column}={value}/" for column, value in partition.items())
    return {
        "path": f"{folder}{name}.parquet",
        "partitionValues": dict(partition),
        "size": size,
        "modificationTime": START_MS,
        "dataChange": True,
        "numRecords": 10,
        "addedAtVersion": 0,
        "addedAtTimestamp": START_MS,
    }


def add(file: Mapping[str, Any], *without: str, **changes: Any) -> dict[str, Any]:
    """The shortest add line that every reader takes, then changed."""
    keys = ("path", "partitionValues", "size", "modificationTime", "dataChange")
    body = {**{key: file[key] for key in keys}, **changes}
    return {"add": {key: value for key, value in body.items() if key not in without}}


def remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": START_MS, "dataChange": True}}


def protocol(reader: int = 4, writer: int = 4, features: list[str] | None = None) -> dict[str, Any]:
    return scala_actions.protocol(reader, writer, features, features)


def metadata(table_id: str, partition_columns: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    body = {
        "id": table_id,
        "schemaString": schema_string(partition_columns),
        "partitionColumns": list(partition_columns),
        "format": {"provider": "parquet", "options": {}},
        "configuration": {},
        "createdTime": START_MS,
    }
    return {"metaData": {**body, **changes}}


def with_field(schema: Schema, field: Schema, position: int | None = None) -> Schema:
    """The schema with one field more; at the end unless a position is given."""
    fields = list(schema["fields"])
    fields.insert(len(fields) if position is None else position, field)
    return {**schema, "fields": fields}


def with_type(schema: Schema, name: str, kind: Any) -> Schema:
    """The schema with another type for one field; a default would no longer fit and is dropped."""
    changed = [
        {**{k: v for k, v in f.items() if k != "default"}, "type": kind} if f["name"] == name else f
        for f in schema["fields"]
    ]
    return {**schema, "fields": changed}


def without_fields(schema: Schema, *names: str) -> Schema:
    return {**schema, "fields": [f for f in schema["fields"] if f["name"] not in names]}


class HandMade:
    """Writes nothing by itself. Version files are plain text unless their bytes are given."""

    def __init__(self, table: Path, partition_columns: tuple[str, ...] = ()) -> None:
        self.log = LogFolder(table)
        self.invented = Invented("handmade")
        self.partition_columns = partition_columns

    def start(self, *more: Any) -> None:
        """Version 0: protocol 4/4 and a metadata whose id is `table-at-0`."""
        self.version(0, protocol(), metadata("table-at-0", self.partition_columns), *more)

    def version(self, number: int, *actions: Any) -> None:
        self.log.put(version_name(number), lines(actions))

    def raw_version(self, number: int, data: bytes) -> None:
        self.log.put(version_name(number), data)

    def manifest(
        self,
        files: Iterable[Mapping[str, Any]],
        *,
        name: str | None = None,
        schema: Schema | None = None,
        **layout: Any,
    ) -> dict[str, Any]:
        """Write a shared file manifest and return what a state says about it."""
        entries = list(files)
        chosen = avro_schemas.file_entry_a() if schema is None else schema
        data = container(chosen, entries, sync=self.invented.sync(), **layout)
        return self.raw_manifest(data, len(entries), name=name)

    def raw_manifest(self, data: bytes, num_entries: int, *, name: str | None = None) -> dict[str, Any]:
        path = name or f"manifests/manifest-{self.invented.hex(8)}.avro"
        self.log.put(path, data)
        return {
            "path": path,
            "numEntries": num_entries,
            "minAddedAtVersion": 0,
            "maxAddedAtVersion": 0,
            "partitionBounds": None,
            "tombstoneCount": 0,
            "liveEntryCount": -1,
        }

    def state(
        self,
        number: int,
        manifests: Iterable[Mapping[str, Any]],
        *,
        tombstones: Iterable[str] = (),
        meta: Any = None,
        schema: Schema | None = None,
        codec: str = "zstandard",
        **changes: Any,
    ) -> None:
        """Write `_manifest.avro`. `meta` is the metadata as a JSON value; None leaves it null."""
        infos = list(manifests)
        gone = list(tombstones)
        entries = sum(info["numEntries"] for info in infos)
        record = {
            "formatVersion": 1,
            "stateVersion": number,
            "createdAt": START_MS + number,
            "numFiles": max(entries - len(gone), 0),
            "totalBytes": entries * 1_000,
            "manifests": infos,
            "tombstones": gone,
            "schemaRegistry": {},
            "protocolVersion": 4,
            "metadata": None if meta is None else compact_json(meta),
            **changes,
        }
        chosen = avro_schemas.state_manifest() if schema is None else schema
        data = container(chosen, [record], sync=self.invented.sync(), codec=codec)
        self.log.put(f"{state_name(number)}/_manifest.avro", data)

    def pointer(self, number: int, *without: str, **changes: Any) -> None:
        body = scala_actions.pointer(
            number, size=0, size_bytes=0, num_files=0, created_ms=START_MS, state_dir=state_name(number)
        )
        body = {**body, **changes}
        self.raw_pointer(compact_json({k: v for k, v in body.items() if k not in without}).encode())

    def raw_pointer(self, data: bytes) -> None:
        self.log.put("_last_checkpoint", data)

    def expected(self, version: int, files: Iterable[File], **changes: Any) -> Expected:
        live = list(files)
        found: dict[str, Any] = {
            "version": version,
            "paths": sorted_paths(live),
            "total_bytes": total(live),
            "partition_columns": self.partition_columns,
            "table_id": "table-at-0",
        }
        return Expected(**{**found, **changes})
