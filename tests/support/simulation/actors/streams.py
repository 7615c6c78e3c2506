"""Streaming sinks: what Spark's driver runs of ours for each micro-batch, with batches that are replayed after every death.

Spark itself, its tasks and its checkpoint are played: a batch is known by its query and its number, and is replayed with files
of other names until the checkpoint says that it was committed.
"""

import random
from dataclasses import dataclass, field, replace

from headgate_bus.interface import Bus
from headgate_producer.errors import WriteRefused
from headgate_producer.producer import Producer
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Operation, Receipt, Writer
from headgate_table.table import Table
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.write.change import Replaces, WriteChange
from pyspark_headgate.write.commit_files import put_into_table
from pyspark_headgate.write.kept_producers import KeptProducers, ProducerPlace
from pyspark_headgate.write.stream_sink import writer_name
from pyspark_headgate.write.table_target import TableTarget
from support.simulation.actors.operations import REGIONS, added_file
from support.simulation.judge.asked import ask_of
from support.simulation.judge.broken import must
from support.simulation.world.data_files import STREAMED
from support.simulation.world.executors import resources_of
from support.simulation.world.scheduler import Process
from support.simulation.world.world import COLUMNS, PARTITION_BY, World

RECEIPT_S = 45
REPLAYS = 0.15
"""Of a batch that was committed, the chance that the checkpoint doesn't say so: the driver died before it was written."""


class _Target(TableTarget):
    """The driver's, on the store of the world. Notes what it asks for and what it is told."""

    def __init__(self, world: World, process: Process, table: str) -> None:
        given = SourceOptions.of({"path": table, "bus": "memory:", "receiptWithin": str(RECEIPT_S)})
        super().__init__(given, world.ambient(process), KeptProducers(self._opened))
        self._world = world
        self._process = process

    def commit(
        self, operation: Operation, proposal_id: str, writer: Writer | None = None, *, created_ms: int | None = None
    ) -> Receipt:
        world = self._world
        is_new_data = isinstance(operation, Append)
        world.asks.add(ask_of(proposal_id, self.address, operation, writer, is_new_data=is_new_data))
        receipt = super().commit(operation, proposal_id, writer, created_ms=created_ms)
        world.receipts.seen(receipt, self.address)
        return receipt

    def _table(self) -> Table:
        return self._world.table(self._process, self.address)

    def _opened(self, place: ProducerPlace, ambient: Ambient) -> Producer:
        world, process = self._world, self._process
        bus: Bus = world.bus(process)
        return Producer(
            bus,
            place.table,
            author="stream",
            ambient=ambient,
            threads=False,
            store=world.store(process, place.table),
            resources=resources_of(world.ambient(process)),
        )


@dataclass
class Stream:
    """One query. Its checkpoint survives its deaths."""

    world: World
    query: str
    table: str
    count: int
    is_complete: bool = False
    """Whether each batch replaces everything (output mode complete)."""
    widens_at: int | None = None
    """The batch from which on the rows have a column that the table lacks."""
    committed: int = 0
    """Batches that the checkpoint says to be committed."""
    acknowledged: set[int] = field(default_factory=set)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.drawn = random.Random(f"stream/{self.world.seed}/{self.query}")

    @property
    def name(self) -> str:
        return f"stream-{self.query}"

    @property
    def is_done(self) -> bool:
        return self.committed >= self.count

    def live(self, process: Process) -> None:
        target = _Target(self.world, process, self.table)
        while not self.is_done:
            if target.look() is None:
                process.sleep(1.0)  # somebody is about to create the table
                continue
            try:
                self._batch(process, target, self.committed)
            except WriteRefused as error:
                # Its files lay about for longer than orphans are kept, or its proposal for longer than ids are.
                self.world.scheduler.note(process.name, f"the batch is written again: {error}")
                continue
            process.sleep(self.drawn.random() * 0.1)  # in which the driver may die
            if self.drawn.random() >= REPLAYS:
                self.committed += 1
            process.sleep(self.drawn.random() ** 2 * 3)

    def _batch(self, process: Process, target: _Target, number: int) -> None:
        self.attempts += 1
        files = tuple(self._written(number, part) for part in range(1 + number % 2))
        put_into_table(
            target, self._change(number), files, target.ambient.new_id(), Writer(writer_name(self.query), number)
        )
        self.acknowledged.add(number)

    def _change(self, number: int) -> WriteChange:
        is_wide = self.widens_at is not None and number >= self.widens_at
        columns = f"{COLUMNS}, of_{self.query} STRING" if is_wide else COLUMNS
        return WriteChange(
            replaces=Replaces.EVERYTHING if self.is_complete else Replaces.NOTHING,
            rows=schema_string_of(columns),
            partition_columns=PARTITION_BY,
            merge_schema=is_wide,
            widens=is_wide,
        )

    def _written(self, number: int, part: int) -> AddFile:
        """As a task does, under another name each time."""
        world = self.world
        region = REGIONS[(number + part) % len(REGIONS)]
        path = world.file_name(region, f"-{self.attempts}")
        world.rows_given[path] = (f"{STREAMED}{self.query}/{number}/{part}",)
        file = replace(added_file(path, region), modification_time=world.scheduler.now_ms)
        world.put_file(self.table, path, file.size)
        return file

    def check_end(self) -> None:
        """Every batch is in the log; that none is there twice, each version was judged for."""
        rows = self.world.models[self.table].batch_of_row
        for number in range(self.count):
            row = f"{STREAMED}{self.query}/{number}/0"
            must(row in rows, f"{self.table}: batch {number} of {self.query} is committed, but no version has its rows")
