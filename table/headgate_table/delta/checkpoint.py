"""A checkpoint of a Delta log: all live files of one version, as one Parquet file. No I/O."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from headgate_schemas.actions.actions import AddFile, Metadata
from headgate_table.delta.commit import KEY, MirroredVersion, add_body, metadata_body
from headgate_table.delta.schema import DeltaColumns

ENTRY_COLUMNS = (
    "path",
    "partition_values",
    "size",
    "modification_time",
    "num_records",
    "min_values",
    "max_values",
    "split_tags",
)
"""Of a table's live entries, what a checkpoint is made from."""

_TEXTS = pa.map_(pa.string(), pa.string())
_SCHEMA = pa.schema(
    [
        pa.field(
            "protocol",
            pa.struct(
                [
                    pa.field("minReaderVersion", pa.int32()),
                    pa.field("minWriterVersion", pa.int32()),
                    pa.field("readerFeatures", pa.list_(pa.string())),
                    pa.field("writerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
        pa.field(
            "metaData",
            pa.struct(
                [
                    pa.field("id", pa.string()),
                    pa.field("name", pa.string()),
                    pa.field("description", pa.string()),
                    pa.field("format", pa.struct([pa.field("provider", pa.string()), pa.field("options", _TEXTS)])),
                    pa.field("schemaString", pa.string()),
                    pa.field("partitionColumns", pa.list_(pa.string())),
                    pa.field("configuration", _TEXTS),
                    pa.field("createdTime", pa.int64()),
                ]
            ),
        ),
        pa.field(
            "txn",
            pa.struct(
                [
                    pa.field("appId", pa.string()),
                    pa.field("version", pa.int64()),
                    pa.field("lastUpdated", pa.int64()),
                ]
            ),
        ),
        pa.field(
            "add",
            pa.struct(
                [
                    pa.field("path", pa.string()),
                    pa.field("partitionValues", _TEXTS),
                    pa.field("size", pa.int64()),
                    pa.field("modificationTime", pa.int64()),
                    pa.field("dataChange", pa.bool_()),
                    pa.field("stats", pa.string()),
                ]
            ),
        ),
        pa.field(
            "remove",
            pa.struct(
                [
                    pa.field("path", pa.string()),
                    pa.field("deletionTimestamp", pa.int64()),
                    pa.field("dataChange", pa.bool_()),
                ]
            ),
        ),
    ]
)
_BATCH = 20_000
_CODEC = "snappy"


def checkpoint_bytes(
    identity: MirroredVersion,
    entries: pa.Table,
    metadata: Metadata,
    columns: DeltaColumns,
    writers: Mapping[str, int],
    table_uri: str,
) -> tuple[bytes, int]:
    """The file, and the number of its actions. `entries` has `ENTRY_COLUMNS`; `writers` is the newest seq by app.

    Raises `Unmirrorable`.
    """
    head: list[dict[str, Any]] = [{"protocol": columns.protocol}, {"metaData": _texts_as_maps(metadata, columns)}]
    head += [{"txn": {"appId": app, "version": seq}} for app, seq in sorted(writers.items())]
    import pyarrow.parquet as pq  # programs that read tables only by their own log don't need it

    sink = io.BytesIO()
    schema = _SCHEMA.with_metadata({KEY: json.dumps(asdict(identity), separators=(",", ":"))})
    with pq.ParquetWriter(sink, schema, compression=_CODEC) as writer:
        writer.write_table(pa.Table.from_pylist(head, schema))
        for rows in _adds(entries, columns, table_uri):
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return sink.getvalue(), len(head) + entries.num_rows


def identity_of_checkpoint(data: bytes) -> MirroredVersion | None:
    """The version that a checkpoint mirrors; None if no mirror wrote it."""
    import pyarrow.parquet as pq

    try:
        told = json.loads((pq.read_schema(io.BytesIO(data)).metadata or {})[KEY.encode()])
        return MirroredVersion(str(told["table"]), int(told["version"]), str(told["mark"]))
    except (pa.ArrowException, ValueError, KeyError, TypeError):
        return None


def last_checkpoint_bytes(version: int, actions: int, files: int, size: int) -> bytes:
    """The hint that names the newest checkpoint, so that readers need no long listing."""
    body = {"version": version, "size": actions, "sizeInBytes": size, "numOfAddFiles": files}
    return json.dumps(body, separators=(",", ":")).encode()


def _texts_as_maps(metadata: Metadata, columns: DeltaColumns) -> dict[str, Any]:
    body = metadata_body(metadata, columns)
    return body | {"format": {"provider": "parquet", "options": []}, "configuration": []}


def _adds(entries: pa.Table, columns: DeltaColumns, table_uri: str) -> Iterator[list[dict[str, Any]]]:
    for batch in entries.select(list(ENTRY_COLUMNS)).to_batches(max_chunksize=_BATCH):
        rows = []
        for entry in batch.to_pylist():
            body = add_body(_add_of(entry), columns, table_uri)
            body |= {"partitionValues": list(body["partitionValues"].items()), "dataChange": False}
            rows.append({"add": body})
        yield rows


def _add_of(entry: dict[str, Any]) -> AddFile:
    for column in ("partition_values", "min_values", "max_values"):
        entry[column] = None if entry[column] is None else dict(entry[column])
    return AddFile(**entry)
