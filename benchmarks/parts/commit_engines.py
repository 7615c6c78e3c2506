"""One commit of a few files by Headgate, delta-rs and pyiceberg: each by its documented way, on the same kind of place."""

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parts.tables import COLUMNS, PARTITION, added_files, iceberg_append, partition_of, path_of

HEADGATE_SQLITE, HEADGATE_KAFKA, DELTA, ICEBERG = "headgate sqlite", "headgate kafka", "delta-rs", "pyiceberg"
ENGINES = (HEADGATE_SQLITE, HEADGATE_KAFKA, DELTA, ICEBERG)
RETRIES = 15
"""What delta-rs does by itself. pyiceberg is set to as many; a proposal to Headgate needs none."""
ANSWER_LIMIT_S = 60.0
ROUND_TRIPS = 30

PATHS = {
    HEADGATE_SQLITE: "Producer(bus, table).append(files).wait(), one committer process, bus in SQLite; one producer per process",
    HEADGATE_KAFKA: "the same with the bus in Kafka, one broker on this machine",
    DELTA: f"DeltaTable(uri), kept open by each proposer; create_write_transaction(adds), max_commit_retries={RETRIES}",
    ICEBERG: f"SqlCatalog on SQLite; load_table, kept by each proposer; fast_append(), "
    f"commit.retry.num-retries={RETRIES}, waits of 10 ms to 1 s",
}


@dataclass(frozen=True)
class Place:
    """Where a table lies. `scratch` is a local folder for what is not on the store."""

    uri: str
    scratch: str
    s3: Mapping[str, str] = field(default_factory=dict)

    @property
    def headgate(self) -> dict[str, str]:
        if not self.s3:
            return {}
        return {
            "s3.endpoint": self.s3["endpoint"],
            "s3.region": "us-east-1",
            "s3.access-key": self.s3["access"],
            "s3.secret-key": self.s3["secret"],
        }

    @property
    def delta(self) -> dict[str, str]:
        if not self.s3:
            return {}
        return {
            "AWS_ENDPOINT_URL": self.s3["endpoint"],
            "AWS_ACCESS_KEY_ID": self.s3["access"],
            "AWS_SECRET_ACCESS_KEY": self.s3["secret"],
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    @property
    def iceberg(self) -> dict[str, str]:
        # Writers of SQLite wait for one another as long as they have to.
        catalog = {"uri": f"sqlite:///{self.scratch}/catalog.db?timeout=30", "warehouse": _warehouse(self)}
        if not self.s3:
            return catalog
        return catalog | {
            "s3.endpoint": self.s3["endpoint"],
            "s3.access-key-id": self.s3["access"],
            "s3.secret-access-key": self.s3["secret"],
            "s3.region": "us-east-1",
        }


def _warehouse(place: Place) -> str:
    return place.uri if place.s3 else f"file://{place.uri}"


Commit = Callable[[int], None]
"""Commits files named after this number; raises what `failures` names."""


def make(engine: str, place: Place) -> None:
    """An empty table."""
    if not place.s3:
        Path(place.uri).mkdir(parents=True, exist_ok=True)
    Path(place.scratch).mkdir(parents=True, exist_ok=True)
    match engine:
        case "delta-rs":
            _make_delta(place)
        case "pyiceberg":
            _make_iceberg(place)
        case _:
            from headgate_table.table import Table

            Table.create(place.uri, COLUMNS, [PARTITION], storage=place.headgate)


def _make_delta(place: Place) -> None:
    from deltalake import DeltaTable, Field, Schema
    from deltalake.schema import PrimitiveType

    kinds = {"id": "long", "text": "string", "score": "double", "date": "string"}
    fields = [Field(name, PrimitiveType(kind)) for name, kind in kinds.items()]
    DeltaTable.create(place.uri, Schema(fields), partition_by=[PARTITION], storage_options=place.delta)


def _make_iceberg(place: Place) -> None:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import DoubleType, LongType, NestedField, StringType

    catalog = SqlCatalog("bench", **place.iceberg)
    catalog.create_namespace("lake")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "text", StringType()),
        NestedField(3, "score", DoubleType()),
        NestedField(4, "date", StringType()),
    )
    spec = PartitionSpec(PartitionField(4, 1000, IdentityTransform(), "date"))
    # Shorter waits than its own 100 ms to 60 s, with which it would mostly sleep.
    retries = {
        "commit.retry.num-retries": str(RETRIES),
        "commit.retry.min-wait-ms": "10",
        "commit.retry.max-wait-ms": "1000",
    }
    catalog.create_table("lake.events", schema, partition_spec=spec, properties=retries)


def failures(engine: str) -> tuple[type[Exception], ...]:
    """What an engine raises when a commit failed for good."""
    match engine:
        case "delta-rs":
            from deltalake.exceptions import DeltaError

            return (DeltaError, OSError)
        case "pyiceberg":
            from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
            from sqlalchemy.exc import OperationalError

            return (CommitFailedException, CommitStateUnknownException, OperationalError, OSError)
        case _:
            from headgate_schemas.errors import HeadgateError

            return (HeadgateError,)


def live_files(engine: str, place: Place) -> int:
    """How many files the table has, as its own engine counts them."""
    match engine:
        case "delta-rs":
            from deltalake import DeltaTable

            return len(DeltaTable(place.uri, storage_options=place.delta).file_uris())
        case "pyiceberg":
            from pyiceberg.catalog.sql import SqlCatalog

            snapshot = SqlCatalog("bench", **place.iceberg).load_table("lake.events").current_snapshot()
            return int(snapshot.summary["total-data-files"]) if snapshot and snapshot.summary else 0
        case _:
            from headgate_table.table import Table

            return Table.open(place.uri, place.headgate).snapshot().num_files


def first_commits(engine: str) -> int:
    """How many each process commits before it is ready."""
    return 0 if engine in (DELTA, ICEBERG) else 1


def round_trip_ms(place: Place) -> float:
    """The median of what one small write to the place takes, by our store."""
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.store.open import open_store
    from headgate_table.store.settings import StoreSettings

    store = open_store(place.uri, StoreSettings.from_mapping(place.headgate), SystemAmbient())
    times = []
    for number in range(ROUND_TRIPS):
        start = time.perf_counter()
        store.put(f"round-trip-{number}", b"x" * 1000)
        times.append((time.perf_counter() - start) * 1000)
    store.close()
    return statistics.median(times)


def committers(engine: str, place: Place, bus: str, first: int, count: int, files: int) -> list[Commit]:
    """One for each proposer of this process, numbered from `first`, with its table open."""
    match engine:
        case "delta-rs":
            return [_delta(place, number, files) for number in range(first, first + count)]
        case "pyiceberg":
            return [_iceberg(place, number, files) for number in range(first, first + count)]
        case _:
            return _headgate(place, bus, first, count, files)


def producer(place: Place, bus: str) -> Any:
    from headgate_producer.producer import Producer

    return Producer(bus, place.uri, storage=place.headgate)


def headgate_files(proposer: int, turn: int, files: int) -> list[Any]:
    return added_files(f"p{proposer}-{turn}-", files)


def must_be_committed(receipt: object) -> None:
    from headgate_schemas.errors import HeadgateError
    from headgate_schemas.messages.operations import Committed

    if not isinstance(receipt, Committed):
        raise HeadgateError(f"not committed: {receipt}")


def _headgate(place: Place, bus: str, first: int, count: int, files: int) -> list[Commit]:
    shared = producer(place, bus)
    # The committer is up when it has answered.
    must_be_committed(shared.append(headgate_files(first, -1, files)).wait(ANSWER_LIMIT_S))

    def of(proposer: int) -> Commit:
        def commit(turn: int) -> None:
            must_be_committed(shared.append(headgate_files(proposer, turn, files)).wait(ANSWER_LIMIT_S))

        return commit

    return [of(proposer) for proposer in range(first, first + count)]


def _delta(place: Place, proposer: int, files: int) -> Commit:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

    table = DeltaTable(place.uri, storage_options=place.delta)
    stats = json.dumps({"numRecords": 100, "minValues": {"id": 1}, "maxValues": {"id": 9}})

    def commit(turn: int) -> None:
        adds = [
            AddAction(
                path_of(index, f"p{proposer}-{turn}-"),
                1000,
                {PARTITION: partition_of(index)},
                1,
                True,
                stats,
            )
            for index in range(files)
        ]
        properties = CommitProperties(max_commit_retries=RETRIES)
        table.create_write_transaction(adds, "append", table.schema(), [PARTITION], commit_properties=properties)

    return commit


def _iceberg(place: Place, proposer: int, files: int) -> Commit:
    from pyiceberg.catalog.sql import SqlCatalog

    table = SqlCatalog("bench", **place.iceberg).load_table("lake.events")

    def commit(turn: int) -> None:
        iceberg_append(table, place.scratch, range(files), f"p{proposer}-{turn}-")

    return commit
