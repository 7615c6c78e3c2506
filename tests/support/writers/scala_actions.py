"""Actions as the Scala implementation writes them: every key present, absent values as null, in its order."""

from collections.abc import Mapping
from typing import Any

from support.writers.invented import File, schema_string

ADD_KEYS = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "stats",
    "tags",
    "minValues",
    "maxValues",
    "numRecords",
    "footerStartOffset",
    "footerEndOffset",
    "hotcacheStartOffset",
    "hotcacheLength",
    "hasFooterOffsets",
    "timeRangeStart",
    "timeRangeEnd",
    "splitTags",
    "deleteOpstamp",
    "numMergeOps",
    "docMappingJson",
    "docMappingRef",
    "uncompressedSizeBytes",
    "companionSourceFiles",
    "companionDeltaVersion",
    "companionFastFieldMode",
)


def protocol(
    reader: int = 4,
    writer: int = 4,
    reader_features: list[str] | None = None,
    writer_features: list[str] | None = None,
) -> dict[str, Any]:
    return {
        "protocol": {
            "minReaderVersion": reader,
            "minWriterVersion": writer,
            "readerFeatures": reader_features,
            "writerFeatures": writer_features,
        }
    }


def metadata(
    table_id: str,
    created_ms: int,
    partition_columns: tuple[str, ...] = (),
    configuration: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    return {
        "metaData": {
            "id": table_id,
            "name": None,
            "description": None,
            "format": {"provider": "indextables", "options": {}},
            "schemaString": schema_string(partition_columns),
            "partitionColumns": list(partition_columns),
            "configuration": dict(configuration or {}),
            "createdTime": created_ms,
        }
    }


def add(file: File) -> dict[str, Any]:
    return {"add": {key: file.get(key) for key in ADD_KEYS}}


def remove(file: File, deleted_ms: int) -> dict[str, Any]:
    return {
        "remove": {
            "path": file["path"],
            "deletionTimestamp": deleted_ms,
            "dataChange": True,
            "extendedFileMetadata": True,
            "partitionValues": file["partitionValues"],
            "size": file["size"],
            "tags": None,
        }
    }


def pointer(
    version: int,
    *,
    size: int,
    size_bytes: int,
    num_files: int,
    created_ms: int,
    parts: int | None = None,
    checkpoint_id: str | None = None,
    format_name: str = "avro-state",
    state_dir: str | None = None,
) -> dict[str, Any]:
    """`_last_checkpoint`: nine keys, always all of them, in this order."""
    return {
        "version": version,
        "size": size,
        "sizeInBytes": size_bytes,
        "numFiles": num_files,
        "createdTime": created_ms,
        "parts": parts,
        "checkpointId": checkpoint_id,
        "format": format_name,
        "stateDir": state_dir,
    }
