"""The four lives of docs/architecture.md, played once each, and which of our modules and functions take part.

Each life is prepared first, and traced from its first station to its last, in every thread of this process. Nothing is
substituted: the bus is an SQLite file, the table lies in a local folder, the committer and the worker are real ones.
"""

import importlib.util
import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.embedded import committing
from headgate_bus.open import open_bus
from headgate_producer.producer import Producer
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.messages.operations import Committed
from headgate_table.data_file import DataFile
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.limits import RoleTerms, WorkerLimits
from headgate_worker.loop.worker import Worker
from headgate_worker.serving import serving

ROOMS = (
    "headgate",
    "headgate_bus",
    "headgate_committer",
    "headgate_producer",
    "headgate_schemas",
    "headgate_table",
    "headgate_worker",
    "pyspark_headgate",
)
STORES = StoreSettings(local_durable=False)
SCHEMA = "id BIGINT, k STRING"
WAIT_S = 60.0
_OPTIMIZED = 0x1
"""A flag of code that belongs to a function: the bodies of modules and classes, which run at import, don't have it."""


@dataclass(slots=True)
class Trace:
    """Every function of ours that was called, in the order of its first call, and the thread that called it first."""

    first_calls: dict[str, str] = field(default_factory=dict)
    """Thread by `module:function`."""
    _known: dict[tuple[CodeType, str], str] = field(default_factory=dict)

    @property
    def functions(self) -> list[str]:
        return list(self.first_calls)

    @property
    def modules(self) -> list[str]:
        return list(dict.fromkeys(name.partition(":")[0] for name in self.first_calls))

    def saw(self, frame: FrameType, event: str, argument: object) -> None:
        """A profiler, as `sys.setprofile` takes one."""
        if event != "call" or not frame.f_code.co_flags & _OPTIMIZED:
            return
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in ROOMS or frame.f_code.co_filename.startswith("<"):
            return  # another's, or made by a decorator, as a dataclass's methods are
        key = (frame.f_code, module)
        if key not in self._known:
            function = frame.f_code.co_qualname.partition(".<locals>")[0]
            if function.startswith("<"):
                return  # a lambda or comprehension of a module's own
            self._known[key] = f"{module}:{function}"
        self.first_calls.setdefault(self._known[key], threading.current_thread().name)


class Tracing:
    """A profiler for all threads that start within `everywhere`, which is switched on for a while."""

    def __init__(self) -> None:
        self._trace: Trace | None = None

    @contextmanager
    def everywhere(self) -> Iterator["Tracing"]:
        threading.setprofile(self._saw)
        sys.setprofile(self._saw)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @contextmanager
    def on(self, trace: Trace) -> Iterator[None]:
        self._trace = trace
        try:
            yield
        finally:
            self._trace = None

    def _saw(self, frame: FrameType, event: str, argument: object) -> None:
        trace = self._trace
        if trace is not None:
            trace.saw(frame, event, argument)


def proposal(tracing: Tracing, folder: Path) -> Trace:
    """One append, from `Producer.append` to its receipt, by a committer that knows the table already."""
    bus, uri, trace = f"sqlite:{folder / 'bus.db'}", str(folder / "table"), Trace()
    with committing(bus, STORES), Producer(bus, uri, storage=STORES) as producer:
        producer.create(SCHEMA, partition_by=["k"]).wait(WAIT_S)
        file = a_file(folder / "table", "k=a/1.parquet")
        with tracing.on(trace):
            receipt = producer.append([file]).wait(WAIT_S)
        assert isinstance(receipt, Committed), receipt
    return trace


def read(tracing: Tracing, folder: Path) -> Trace:
    """One read of rows with a predicate on a partition column and on a data column: `Table.open`, `snapshot`, `scan`."""
    uri, trace = str(folder / "table"), Trace()
    table = Table.create(uri, SCHEMA, ["k"], {"indextables.checkpoint.interval": "2"}, storage=STORES)
    for number in range(3):
        table.append(
            [a_file(folder / "table", f"k=a/{number}.parquet"), a_file(folder / "table", f"k=b/{number}.parquet")]
        )
    with tracing.on(trace):
        rows = Table.open(uri, storage=STORES).snapshot(where="k = 'a' AND id > 1").scan().read_all()
    assert rows.num_rows == 3, rows
    return trace


def compaction(tracing: Tracing, folder: Path) -> Trace:
    """From the event of a commit to the version in which a worker's compaction is, proposed by a bus."""
    bus, uri, trace = f"sqlite:{folder / 'bus.db'}", str(folder / "table"), Trace()
    settings = {"indextables.checkpoint.interval": "1", "indextables.state.compaction.maxManifests": "2"}
    ambient, log = SystemAmbient(), folder / "table" / "_transaction_log"
    limits = WorkerLimits(terms={"compact": RoleTerms(after_commits=1, cooldown_ms=0)})
    with ExitStack() as stack:
        stack.enter_context(committing(bus, STORES))
        producer = stack.enter_context(Producer(bus, uri, storage=STORES))
        producer.create(SCHEMA, ["k"], settings).wait(WAIT_S)
        for number in range(4):
            producer.append([a_file(folder / "table", f"k=a/{number}.parquet")]).wait(WAIT_S)
            _wait(ambient, lambda: _newest_state(log) == _newest_version(log))  # each state adds a manifest
        opened = stack.enter_context(closing(open_bus(bus, ambient)))
        worker = stack.enter_context(serving(opened, STORES, ambient, limits, roles=["compact"], watched=[uri]))
        with tracing.on(trace):
            version = _compacted(worker, log, ambient)
    (entry,) = (entry for entry in Table.open(uri, storage=STORES).history() if entry.version == version)
    assert entry.operation == "CompactState", entry
    return trace


def micro_batch(tracing: Tracing, folder: Path) -> Trace:
    """One micro-batch of `writeStream.format("headgate")`: the calls that Spark makes of the data source, in one process.

    Spark itself makes them in three processes, which no profiler sees at once: it plans, a task writes, the driver commits.
    """
    from pyspark import TaskContext
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    from pyspark_headgate.source import HeadgateSource
    from pyspark_headgate.write.stream_sink import QUERY_ID, StreamWriter

    bus, uri, trace = f"sqlite:{folder / 'bus.db'}", str(folder / "table"), Trace()
    schema = StructType([StructField("id", LongType()), StructField("k", StringType())])
    context = TaskContext._getOrCreate()
    context._partitionId, context._taskAttemptId, context._localProperties = 0, 0, {QUERY_ID: "a-query"}
    options = {"path": uri, "bus": bus}
    with committing(bus, STORES):
        with Producer(bus, uri, storage=STORES) as producer:
            producer.create(SCHEMA, partition_by=["k"]).wait(WAIT_S)
        try:
            with tracing.on(trace):
                planned = pickle.dumps(HeadgateSource(options).streamWriter(schema, overwrite=False))
                task: StreamWriter = pickle.loads(planned)  # noqa: S301 - as Spark sends it to a task
                written = task.write(iter([pa.record_batch({"id": [1, 2], "k": ["a", "b"]})]))
                HeadgateSource(options).streamWriter(schema, overwrite=False).commit([written], 0)
        finally:
            TaskContext._taskContext = None
            from pyspark_headgate.write.kept_producers import KEPT

            KEPT.close()
    assert Table.open(uri).snapshot().num_files == 2
    return trace


Life = Callable[[Tracing, Path], Trace]
LIVES: dict[str, Life] = {"proposal": proposal, "read": read, "compaction": compaction}
"""By the name that the page's headings know them by."""
if importlib.util.find_spec("pyspark") is not None:
    LIVES["micro-batch"] = micro_batch


def lived(name: str) -> Trace:
    """One life in a folder of its own."""
    with TemporaryDirectory(prefix="headgate-") as folder, Tracing().everywhere() as tracing:
        return LIVES[name](tracing, Path(folder))


def a_file(table: Path, path: str) -> DataFile:
    """A Parquet file of three rows below a local table."""
    place = table / path
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [0, 1, 2]}), place)
    return DataFile.of_parquet(path, root=table)


def _compacted(worker: Worker, log: Path, ambient: Ambient) -> int:
    """The version of its task, once that is done and the pointer is at its state, which is written beside the announcement."""
    before = _newest_version(log)

    def is_done() -> bool:
        worker.step()
        return not worker.tasks and _newest_version(log) > before

    _wait(ambient, is_done)
    _wait(ambient, lambda: _newest_state(log) == _newest_version(log))
    return _newest_version(log)


def _wait(ambient: Ambient, is_done: Callable[[], bool]) -> None:
    deadline_s = ambient.monotonic_s() + WAIT_S
    while not is_done():
        assert ambient.monotonic_s() < deadline_s, "what was waited for doesn't come"
        ambient.sleep(0.01)


def _newest_version(log: Path) -> int:
    return len(list(log.glob("*.json"))) - 1


def _newest_state(log: Path) -> int:
    pointer = log / "_last_checkpoint"
    return int(json.loads(pointer.read_text())["version"]) if pointer.exists() else -1
