"""A stream's sink without Spark: processes that write and commit micro-batches, and may be killed at any step of it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headgate_bus.interface import Bus
from headgate_committer.committer import Committer
from headgate_producer.producer import Producer
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.operations import Receipt, Writer
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from pyspark_headgate.executor.parquet_parts import write_parts
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.write.commit_files import data_files, put_into_table
from pyspark_headgate.write.kept_producers import KeptProducers, ProducerPlace
from pyspark_headgate.write.plan import plan_write
from pyspark_headgate.write.stream_sink import writer_name
from pyspark_headgate.write.table_target import TableTarget
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.committing.rig import Stores, context_of
from support.processes.fuse import Fuse
from support.producer.batch_world import FusedBus

QUERY = "a0b1c2d3"
ROWS = StructType([StructField("id", LongType()), StructField("k", StringType())])


class SinkWorld:
    """The committer works while a process waits for the bus, unless it rests."""

    def __init__(self, folder: Path) -> None:
        self.uri = os.path.realpath(folder / "table")
        self.ambient = FakeAmbient()
        self.bus = MemoryBus(self.ambient)
        self.bus.prepare()
        self.is_committing = True
        stores = Stores({self.uri: LocalStore(self.uri, self.ambient, durable=False)}, {})
        self.committer = Committer(self.bus.again(), stores, context_of(self.ambient))
        self.wrap: Callable[[Bus], Bus] = lambda bus: bus
        self._attempts = 0

    def batch(self, number: int, rows: Sequence[tuple[int, str]], fuse: Fuse | None = None) -> Receipt | None:
        """One attempt of a micro-batch by a process of its own: what Spark has tasks do, and what it has the driver do."""
        chosen = fuse or Fuse()
        given = SourceOptions.of(
            {"path": self.uri, "bus": "memory:", "partitionBy": "k", "receiptWithin": "5", "local.durable": "false"}
        )
        target = TableTarget(given, self.ambient, KeptProducers(self._opener(chosen)))
        job = self.ambient.new_id()
        plan = plan_write(target, given, ROWS.json(), target.look(), overwrite=False, streaming=True, job=job)
        self._attempts += 1
        batch = pa.record_batch(list(map(list, zip(*rows, strict=True))), names=["id", "k"])
        written = chosen.run("files", lambda: write_parts(plan.parts, iter([batch]), 0, self._attempts))
        files = data_files(written, plan.change.partition_columns)
        receipt = put_into_table(target, plan.change, files, job, Writer(writer_name(QUERY), number))
        chosen.run("Spark's own commit", lambda: None)
        return receipt

    def settle(self) -> None:
        for _ in range(50):
            self.committer.step(0.0)

    def ids(self) -> list[int]:
        """Of all rows in the table."""
        found: list[int] = Table.open(self.uri).snapshot().scan(["id"]).read_all().column("id").to_pylist()
        return sorted(found)

    def _opener(self, fuse: Fuse) -> Callable[[ProducerPlace, Ambient], Producer]:
        def opened(place: ProducerPlace, ambient: Ambient) -> Producer:
            bus = FusedBus(self.wrap(self.bus.again(wait=self._wait)), fuse)
            return Producer(bus, place.table, ambient=ambient, threads=False)

        return opened

    def _wait(self, seconds: float) -> None:
        if self.is_committing:
            self.committer.step(0.0)
        self.ambient.sleep(seconds)
