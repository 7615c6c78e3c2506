"""The same table in three formats: same files, same partitions, same statistics; made without any data files."""

import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from headgate_schemas.actions.actions import AddFile

COLUMNS = "id BIGINT, text STRING, score DOUBLE, date STRING"
PARTITION = "date"
FILES_PER_PARTITION = 1000
_START_MS = 1_700_000_000_000


def partition_of(number: int) -> str:
    """A thousand files a day; a calendar without long months is enough."""
    day = number // FILES_PER_PARTITION
    return f"{2000 + day // 336:04d}-{day // 28 % 12 + 1:02d}-{day % 28 + 1:02d}"


def path_of(number: int, salt: str = "part") -> str:
    return f"date={partition_of(number)}/{salt}-{uuid.uuid5(uuid.NAMESPACE_OID, f'{salt}{number}')}.parquet"


def added_files(salt: str, count: int) -> "list[AddFile]":
    """Files that are not in the table yet, with few statistics."""
    from headgate_schemas.actions.actions import AddFile

    return [
        AddFile(
            path=path_of(index, salt),
            partition_values={PARTITION: partition_of(index)},
            size=1000,
            modification_time=1,
            num_records=100,
            min_values={"id": "1"},
            max_values={"id": "9"},
        )
        for index in range(count)
    ]


def headgate_entries(first: int, count: int, step: int = 1) -> pa.Table:
    """File entries with our column names, of every so many files."""
    numbers = range(first, first + count * step, step)
    maps = pa.map_(pa.string(), pa.string())
    return pa.table(
        {
            "path": [path_of(number) for number in numbers],
            "partition_values": pa.array([[("date", partition_of(number))] for number in numbers], maps),
            "size": pa.array([1_000_000 + number for number in numbers], pa.int64()),
            "modification_time": pa.array([_START_MS + number for number in numbers], pa.int64()),
            "data_change": pa.array([True] * count),
            "min_values": pa.array([list(_least(number).items()) for number in numbers], maps),
            "max_values": pa.array([list(_greatest(number).items()) for number in numbers], maps),
            "num_records": pa.array([100] * count, pa.int64()),
            "has_footer_offsets": pa.array([False] * count),
            "added_at_version": pa.array([1] * count, pa.int64()),
            "added_at_timestamp": pa.array([_START_MS] * count, pa.int64()),
        }
    )


def _least(number: int) -> dict[str, str]:
    return {"id": str(number * 100), "text": f"aaa{number}", "score": str(number / 7)}


def _greatest(number: int) -> dict[str, str]:
    return {"id": str(number * 100 + 99), "text": f"zzz{number}", "score": str(number / 3)}


def make_headgate(folder: str, files: int, per_manifest: int = 50_000, storage: dict[str, str] | None = None) -> None:
    """A table whose state at version 1 lists the files, in manifests as our own compaction writes them."""
    from headgate_schemas.actions.actions import CommitInfo
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.caching.resources import process_resources
    from headgate_table.indextables.format.names import state_key, version_key
    from headgate_table.indextables.format.pointer import state_pointer
    from headgate_table.indextables.format.state_manifest import StateManifest, encode_state
    from headgate_table.indextables.format.version_file import encode_actions
    from headgate_table.indextables.log.reader import LogReader
    from headgate_table.indextables.rules.swap import manifest_info
    from headgate_table.indextables.write.manifest_writer import write_manifest
    from headgate_table.indextables.write.state_writer import StateWriter
    from headgate_table.settings.options import TableOptions
    from headgate_table.table import Table

    ambient, options = SystemAmbient(), TableOptions()
    table = Table.create(folder, COLUMNS, [PARTITION], storage=storage)
    manifests = []
    total = 0
    for first in range(0, files, per_manifest):
        entries = headgate_entries(first, min(per_manifest, files - first))
        total += pc.sum(entries.column("size")).as_py()
        manifests.append(manifest_info(write_manifest(table.store, ambient, options, entries, table.metadata)))
    state = StateManifest(1, ambient.now_ms(), files, total, tuple(manifests), metadata=table.metadata)
    table.store.put(version_key(1), encode_actions([CommitInfo({"timestamp": ambient.now_ms(), "nonce": "made"})]))
    table.store.put(state_key(1), encode_state(state, bytes(16)))
    StateWriter(LogReader(table.store, process_resources()), ambient, options).advance_pointer(
        state_pointer(1, files, total, ambient.now_ms())
    )


def make_delta(folder: str, files: int, storage: dict[str, str] | None = None) -> None:
    """One commit of a Delta log, then delta-rs's own checkpoint of it."""
    from deltalake import DeltaTable

    log = Path(folder) / "_delta_log"
    log.mkdir(parents=True)
    with (log / f"{0:020d}.json").open("w") as out:
        for action in _delta_actions(files):
            out.write(json.dumps(action) + "\n")
    DeltaTable(folder).create_checkpoint()


def _delta_actions(files: int) -> Iterator[dict[str, Any]]:
    fields = [("id", "long"), ("text", "string"), ("score", "double"), ("date", "string")]
    schema = {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields],
    }
    yield {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    yield {
        "metaData": {
            "id": str(uuid.uuid4()),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": ["date"],
            "configuration": {},
            "createdTime": _START_MS,
        }
    }
    for number in range(files):
        stats = {
            "numRecords": 100,
            "minValues": {"id": number * 100, "text": f"aaa{number}", "score": number / 7},
            "maxValues": {"id": number * 100 + 99, "text": f"zzz{number}", "score": number / 3},
            "nullCount": {"id": 0, "text": 0, "score": 0},
        }
        yield {
            "add": {
                "path": path_of(number),
                "partitionValues": {"date": partition_of(number)},
                "size": 1_000_000 + number,
                "modificationTime": _START_MS + number,
                "dataChange": True,
                "stats": json.dumps(stats),
            }
        }


def make_iceberg(folder: str, files: int) -> None:
    """One fast append by pyiceberg; the catalog is only needed to write."""
    from pyiceberg.catalog.memory import InMemoryCatalog
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import DoubleType, LongType, NestedField, StringType

    catalog = InMemoryCatalog("bench", warehouse=f"file://{folder}")
    catalog.create_namespace("lake")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "text", StringType()),
        NestedField(3, "score", DoubleType()),
        NestedField(4, "date", StringType()),
    )
    spec = PartitionSpec(PartitionField(4, 1000, IdentityTransform(), "date"))
    table = catalog.create_table("lake.events", schema, partition_spec=spec)
    iceberg_append(table, folder, range(files))
    (Path(folder) / "metadata_location").write_text(table.metadata_location)


def iceberg_table(folder: str) -> Any:
    """The table as it was made, for writing: new files lie beside those that there are, which stay as they are."""
    from pyiceberg.catalog.memory import InMemoryCatalog

    location = (Path(folder) / "metadata_location").read_text()
    catalog = InMemoryCatalog("append", warehouse=f"file://{folder}")
    catalog.create_namespace("lake")
    return catalog.register_table("lake.events", location)


def iceberg_append(table: Any, folder: str, numbers: Sequence[int], salt: str = "part") -> None:
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for number in numbers:
            append.append_data_file(_iceberg_file(folder, number, salt))


def _iceberg_file(folder: str, number: int, salt: str) -> Any:
    from pyiceberg.conversions import to_bytes
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record
    from pyiceberg.types import DoubleType, LongType, StringType

    def bounds(low: bool) -> dict[int, bytes]:
        return {
            1: to_bytes(LongType(), number * 100 if low else number * 100 + 99),
            2: to_bytes(StringType(), f"{'aaa' if low else 'zzz'}{number}"),
            3: to_bytes(DoubleType(), number / (7 if low else 3)),
        }

    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{folder}/lake/events/data/{path_of(number, salt)}",
        file_format=FileFormat.PARQUET,
        partition=Record(partition_of(number)),
        record_count=100,
        file_size_in_bytes=1_000_000 + number,
        column_sizes={},
        value_counts={},
        null_value_counts={},
        nan_value_counts={},
        lower_bounds=bounds(True),
        upper_bounds=bounds(False),
        key_metadata=None,
        split_offsets=None,
        equality_ids=None,
        sort_order_id=None,
        spec_id=0,
    )
