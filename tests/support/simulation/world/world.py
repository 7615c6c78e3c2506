"""The world of a simulation: one clock, the stores, the bus, the model that judges them, and processes that use them.

What the processes do is in `workloads`; what is done to them in `nemesis` and, step by step, in `scenario`.
"""

import logging
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TypeVar

from headgate_bus.interface import Record, Topic
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.cloud_events import subject_of
from headgate_schemas.messages.operations import Create
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.table import Table
from support.bus.memory import MemoryBus
from support.simulation.judge.asked import Asks
from support.simulation.judge.broken import InvariantBroken
from support.simulation.judge.deletes import judge_delete
from support.simulation.judge.model import TableModel
from support.simulation.judge.receipts import Receipts
from support.simulation.judge.writes import judge_write
from support.simulation.world.ambient import SimulatedAmbient
from support.simulation.world.data_files import content_of, own_row
from support.simulation.world.executors import resources_of
from support.simulation.world.faults import Faults
from support.simulation.world.nothing_real import nothing_real
from support.simulation.world.scheduler import Process, Scheduler, Signal, Step
from support.simulation.world.simulated_bus import SimulatedBus, WitnessedCluster
from support.simulation.world.simulated_store import SimulatedStore, Witness, WitnessedStore
from support.simulation.world.trace import Trace
from support.stores.memory import MemoryStore

START_MS = 1_780_000_000_000
GROUP = "headgate-committer"
_HOUR_MS = 3_600_000
WRONG_CLOCKS_MS = (
    0,
    0,
    0,
    -5_000,
    20_000,
    -_HOUR_MS,
    _HOUR_MS,
    -200 * _HOUR_MS,
    200 * _HOUR_MS,
    -720 * _HOUR_MS,
    720 * _HOUR_MS,
)
"""How wrong the clock of a machine may be: seconds, an hour, longer than anything is remembered, a month."""
COLUMNS = "id BIGINT, text STRING, region STRING"
PARTITION_BY = ("region",)

T = TypeVar("T")


class _WorldClock:
    """The clock of the store, or of the bus, which are nobody's process. It may be wrong by `skew_ms`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._drawn = 0
        self.skew_ms = 0

    def now_ms(self) -> int:
        return self._scheduler.now_ms + self.skew_ms

    def monotonic_s(self) -> float:
        return self._scheduler.now_ms / 1000

    def new_id(self) -> str:
        self._drawn += 1
        return f"{self._drawn:032x}"

    def jitter(self) -> float:
        return 0.5

    def sleep(self, seconds: float) -> None:
        raise AssertionError("neither store nor bus waits: the process that asked does")

    def wait_for_any(self, work: Collection[Future[Any]], timeout_s: float) -> None:
        raise AssertionError("neither store nor bus has work of its own")


class _Judging:
    """Passes on what happened, and ends the run at the first broken invariant, whoever catches the error."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def judged(self, judge: Callable[[], None]) -> None:
        try:
            judge()
        except InvariantBroken as broken:
            self._scheduler.stop(broken)
            raise


class _TableWitness(_Judging):
    def __init__(self, scheduler: Scheduler, model: TableModel) -> None:
        super().__init__(scheduler)
        self._model = model

    def written(self, key: str, data: bytes) -> None:
        self.judged(lambda: judge_write(self._model, key, data))

    def deleted(self, key: str, modified_ms: int) -> None:
        self.judged(lambda: judge_delete(self._model, key, modified_ms))


class JudgingWitness(_Judging):
    """Of a store, for a model that judges its writes and deletes itself."""

    def __init__(self, scheduler: Scheduler, model: Witness) -> None:
        super().__init__(scheduler)
        self._model = model

    def written(self, key: str, data: bytes) -> None:
        self.judged(lambda: self._model.written(key, data))

    def deleted(self, key: str, modified_ms: int) -> None:
        self.judged(lambda: self._model.deleted(key, modified_ms))


class _BusWitness(_Judging):
    def __init__(self, scheduler: Scheduler, receipts: Receipts) -> None:
        super().__init__(scheduler)
        self._receipts = receipts

    def appended(self, topic: Topic, records: Sequence[Record]) -> None:
        self.judged(lambda: self._receipts.appended(topic, records))


class _IntoTrace(logging.Handler):
    """What processes log becomes part of the story."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(logging.INFO)
        self._scheduler = scheduler

    def emit(self, record: logging.LogRecord) -> None:
        self._scheduler.note(self._scheduler.current_name(), record.getMessage()[:300])


class World:
    """Leave it by `with`: what is left then is killed. Logs go into the trace meanwhile."""

    def __init__(self, seed: int = 0, partitions: int = 1) -> None:
        self.seed = seed
        self.partitions = partitions
        """Of the proposals."""
        self.random = random.Random(f"world/{seed}")
        self.trace = Trace(START_MS)
        self.scheduler = Scheduler(seed, START_MS, self.trace)
        self.faults = Faults(random.Random(f"faults/{seed}"))
        self.clock = _WorldClock(self.scheduler)
        """Of the stores, and of those who judge: always right."""
        self.bus_clock = _WorldClock(self.scheduler)
        self.has_wrong_clocks = False
        """Whether processes that have no seat begin with a wrong clock, each by its name."""
        self.news = Signal()
        self.cluster = self._new_cluster()
        self.stores: dict[str, WitnessedStore] = {}
        self.models: dict[str, TableModel] = {}
        self.asks = Asks()
        self.receipts = Receipts(self.asks, self.models, self.place())
        self.cluster.witness = _BusWitness(self.scheduler, self.receipts)
        self.scheduler.on_step = self._stepped
        self._lives: dict[str, int] = {}
        self._ambients: dict[str, SimulatedAmbient] = {}
        self._checked_offset: dict[int, int] = {}
        self._made_files = 0
        self.rows_given: dict[str, tuple[str, ...]] = {}
        """By path, what is going to be written there, if not a row of its own: a rewrite's are those of its sources."""
        self.closing = ExitStack()
        """What ends with the world."""
        self._unreal = nothing_real()
        self._log = logging.getLogger("headgate")
        self._logged = self._log.level, self._log.propagate, self._log.handlers[:]
        self._log.handlers[:] = [_IntoTrace(self.scheduler)]
        self._log.propagate = False
        self._log.setLevel(logging.INFO)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.scheduler.end()
        finally:
            self.closing.close()
            self._unreal.__exit__(None, None, None)
            level, self._log.propagate, self._log.handlers[:] = self._logged
            self._log.setLevel(level)

    # -- places ------------------------------------------------------------------------------------------------------

    def place(self) -> tuple[str, str]:
        """Cluster and topic id of the proposals."""
        return self.cluster.cluster_id, self.cluster.topic_ids[Topic.PROPOSALS]

    def add_store(self, uri: str, objects: MemoryStore | None = None) -> TableModel:
        objects = objects or MemoryStore(self.clock, uri=uri)
        shared = WitnessedStore(objects)
        model = TableModel(
            uri,
            objects,
            self.asks,
            announced=self.receipts.announced,
            lost=self.receipts.lost,
            ahead=self.receipts.ahead,
            on_bus=self.receipts.proposals,
            now_ms=self.clock.now_ms,
            committed_offset=lambda: self.committed_offset(self.home_of(uri)),
            place=self.place,
            home=lambda: self.home_of(uri),
        )
        shared.witness = _TableWitness(self.scheduler, model)
        self.stores[uri], self.models[uri] = shared, model
        return model

    def new_table(self, uri: str, configuration: Mapping[str, str] | None = None) -> TableModel:
        """A store, and a table of `COLUMNS` at version 0."""
        model = self.add_store(uri)
        self.make_table(uri, configuration)
        return model

    def make_table(self, uri: str, configuration: Mapping[str, str] | None = None) -> None:
        create = Create(schema_string_of(COLUMNS), PARTITION_BY, dict(configuration or {}))
        process = self.process("setup")
        self.complete(process, lambda: create_table(self._reader(process, uri), self.ambient(process), create))

    def rebuild_cluster(self) -> None:
        """Another cluster takes the place of the bus: empty, with other identities."""
        self.cluster = self._new_cluster()
        self.cluster.witness = _BusWitness(self.scheduler, self.receipts)
        self.receipts.made_anew(self.place(), is_same_name=False)
        self._was_cut()

    def lose_tail(self, end: int, partition: int = 0) -> list[Record]:
        """The broker loses what was proposed from an offset on, and hands the same offsets out again. Returns what nobody had
        answered of it, as the others of these do.
        """
        self.cluster.lose_tail(Topic.PROPOSALS, partition, end)
        self._was_cut()
        return self.receipts.cut(partition, end)

    def lose_beginning(self, before: int, partition: int = 0) -> list[Record]:
        """The broker lets go of what was proposed before an offset, whether it was decided or not."""
        self.cluster.truncate(Topic.PROPOSALS, partition, before)
        self._was_cut()
        return self.receipts.trimmed(partition, before)

    def recreate_topic(self, *, forgets: bool = True) -> list[Record]:
        """Somebody deletes the topic of proposals, and it is made again under the same name."""
        self.cluster.recreate(Topic.PROPOSALS, forgets=forgets)
        self._was_cut()
        return self.receipts.made_anew(self.place(), is_same_name=True)

    def _was_cut(self) -> None:
        self._checked_offset.clear()
        for model in (*self.models.values(), *self.receipts.tables.values()):
            model.is_cut = True

    def _new_cluster(self) -> WitnessedCluster:
        cluster = WitnessedCluster(self.bus_clock, self.partitions, lambda: self.scheduler.send(self.news))
        cluster.prepare()
        return cluster

    # -- processes ---------------------------------------------------------------------------------------------------

    def process(self, name: str) -> Process:
        """A new process; each life of the same name gets its own number."""
        life = self._lives.get(name, 0) + 1
        self._lives[name] = life
        return self.scheduler.process(name if life == 1 else f"{name}.{life}")

    def ambient(self, process: Process, skew_ms: int | None = None) -> SimulatedAmbient:
        """One for each process: its ids must never repeat."""
        if process.name not in self._ambients:
            skew_ms = self._skew_of(process.name) if skew_ms is None else skew_ms
            self._ambients[process.name] = SimulatedAmbient(process, f"{self.seed}/{process.name}", skew_ms)
        return self._ambients[process.name]

    def _skew_of(self, name: str) -> int:
        """A machine's clock stays wrong by the same over all lives of a process."""
        if not self.has_wrong_clocks:
            return 0
        machine = name.partition(".")[0]
        return random.Random(f"clock/{self.seed}/{machine}").choice(WRONG_CLOCKS_MS)

    def store(self, process: Process, uri: str) -> SimulatedStore:
        return SimulatedStore(self.stores[uri], process, self.faults)

    def bus(self, process: Process) -> SimulatedBus:
        inner = MemoryBus(self.ambient(process), cluster=self.cluster)
        return SimulatedBus(inner, process, self.faults, self.news, self.cluster)

    def table(self, process: Process, uri: str, settings: Mapping[str, str] | None = None) -> Table:
        """The table as a process opens it, with an empty cache."""
        ambient = self.ambient(process)
        return Table(self.store(process, uri), ambient, resources_of(ambient), settings)

    def _reader(self, process: Process, uri: str) -> LogReader:
        return LogReader(self.store(process, uri), resources_of(self.ambient(process)))

    def complete(self, process: Process, work: Callable[[], T], within_s: float = 3_600) -> T:
        """Start the work in the process, and let the world go on until it is done."""
        results: list[T] = []
        fiber = process.start(lambda: results.append(work()))
        self.scheduler.run(lambda: fiber.is_over, self.scheduler.now_ms + round(within_s * 1000))
        assert results, f"{process.name} didn't finish within {within_s} s"
        return results[0]

    def run_for(self, seconds: float) -> None:
        self.scheduler.run(lambda: False, self.scheduler.now_ms + round(seconds * 1000))

    def let_pass(self, hours: float) -> None:
        """Everybody stands still for so long, and so does whatever is under way."""
        self.scheduler.now_ms += round(hours * 3_600_000)
        self.scheduler.note("world", f"{hours:g} hours later")

    # -- files -------------------------------------------------------------------------------------------------------

    def file_name(self, region: str, mark: str = "") -> str:
        self._made_files += 1
        return f"region={region}/{self._made_files:05d}{mark}.parquet"

    def content(self, path: str, size: int) -> bytes:
        """What a job writes to a data file."""
        return content_of(self.rows_given.get(path, (own_row(path),)), size)

    def put_file(self, uri: str, path: str, size: int) -> None:
        """A data file, as a job writes it before it proposes it."""
        self.stores[uri].put(path, self.content(path, size))

    # -- judging -----------------------------------------------------------------------------------------------------

    def committed_offset(self, partition: int = 0) -> int:
        return self.cluster.group(GROUP).committed.get(partition, 0)

    def home_of(self, uri: str) -> int:
        """The partition on which the proposals of a table belong."""
        return self.cluster.home_among(uri, self.partitions)

    def _is_of_this_log(self, partition: int) -> bool:
        """Whether the committed offset was said of the log that is there; else whoever takes the partition over sets it back."""
        mark = self.cluster.mark_of(GROUP, partition)
        if mark is None:
            return True
        if mark.topic != self.place()[1]:
            return False
        record = self.receipts.records.get((partition, mark.offset))
        return record is not None and (mark.identity, mark.leader_epoch) == (
            subject_of(record.headers),
            record.leader_epoch,
        )

    def _stepped(self, process: Process, step: Step) -> None:
        self.scheduler.note(process.name, str(step))
        if step.done and step.operation == "bus.publish":
            for partition in range(self.partitions):
                if self._is_of_this_log(partition):
                    self._check_offset(partition)

    def _check_offset(self, partition: int) -> None:
        offset, before = self.committed_offset(partition), self._checked_offset.get(partition, 0)
        try:
            self.receipts.check_offset(partition, offset, before)
        except InvariantBroken as broken:
            self.scheduler.stop(broken)
            raise
        self._checked_offset[partition] = max(offset, before)
