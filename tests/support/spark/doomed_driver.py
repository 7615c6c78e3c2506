"""A Spark driver that streams files into a table, and is killed with all its processes at a step of a micro-batch's commit.

`python -m support.spark.doomed_driver WAY FOLDER TABLE BUS STEP`; the step is one of `STEPS` of that way, or "none". Spark commits
in a process of its own beside the driver's, so what dies is the whole session of processes.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import WriterCommitMessage

import headgate.spark
from headgate_bus.interface import Bus
from headgate_schemas.ambient import Ambient
from pyspark_headgate.source import HeadgateSource
from pyspark_headgate.write.stream_sink import StreamWriter, stream_writer
from support.processes.fuse import Fuse
from support.processes.isolated import module_path
from support.producer.batch_world import FusedBus

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame
    from pyspark.sql.datasource import DataSourceStreamWriter
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

SOURCE, SINK = "source", "sink"
STEPS: Mapping[str, tuple[str, ...]] = {
    SOURCE: ("files written", "before proposing", "proposed", "commit done"),
    SINK: ("files staged", "files written", "proposed"),
}
"""Each leaves something else behind; every single step of what both share is in `test_spark_stream_sink_steps`."""
STEP_OPTION = "headgate.test.dies.at"
"""Options with this beginning are passed over by the data source itself."""

DRIVER_LIMIT_S = 240

T = TypeVar("T")


def kill_everything() -> None:
    """Every process of this session, this one last."""
    kill_session(os.getsid(0))
    os.kill(os.getpid(), signal.SIGKILL)


def kill_session(session: int) -> None:
    """All of its processes but the one that asks."""
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if os.getsid(int(name)) == session:
                    os.kill(int(name), signal.SIGKILL)
            except ProcessLookupError:
                continue


class DeadlyFuse(Fuse):
    def __init__(self, step: str) -> None:
        super().__init__()
        self._step = step

    def run(self, what: str, effect: Callable[[], T]) -> T:
        if what == "bus append" and self._step == "before proposing":
            kill_everything()
        done = effect()
        if what == "bus append" and self._step == "proposed":
            kill_everything()
        return done


@contextmanager
def deadly_bus(step: str) -> Iterator[None]:
    """Every bus that is opened in here kills at that step."""
    from headgate_producer import producer

    opened = producer._open_bus

    def fused(address: str, ambient: Ambient) -> Bus:
        return FusedBus(opened(address, ambient), DeadlyFuse(step))

    producer._open_bus = fused
    try:
        yield
    finally:
        producer._open_bus = opened


class DoomedWriter(StreamWriter):
    step = "none"

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        message = super().write(iterator)
        if self.step == "files written":
            kill_everything()
        return message

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        with deadly_bus(self.step):
            super().commit(messages, batchId)
        if self.step == "commit done":
            kill_everything()


class DoomedSource(HeadgateSource):
    @classmethod
    def name(cls) -> str:
        return "headgate_doomed_driver"

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "DataSourceStreamWriter":
        writer: StreamWriter = stream_writer(self.given, self.pinned, schema, overwrite=overwrite)
        writer.__class__ = DoomedWriter
        writer.__dict__["step"] = self.given.settings[STEP_OPTION]
        return writer


def doomed_sink(table: str, bus: str, step: str) -> "Callable[[DataFrame, int], None]":
    """`headgate.spark.sink`, by Spark's own writer, in a driver that dies at that step."""
    staging: Any = import_module("headgate.spark.writes.native_files")
    writing: Any = import_module("headgate.spark.writes.new_files")
    place, written = staging._into_place, writing.native_files

    def staged(*given: Any) -> Any:
        if step == "files staged":
            kill_everything()
        return place(*given)

    def in_place(*given: Any) -> Any:
        files = written(*given)
        if step == "files written":
            kill_everything()
        return files

    staging._into_place, writing.native_files = staged, in_place
    return headgate.spark.sink(table, bus, native=True, partitionBy="k")


def drive(way: str, folder: Path, table: str, bus: str, step: str) -> int:
    """Run a driver to its end, or to its death; returns how it ended."""
    command = [sys.executable, "-m", "support.spark.doomed_driver", way, str(folder), table, bus, step]
    environment = os.environ | {"PYTHONPATH": module_path()}
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.PIPE) as driver:
        try:
            _, said = driver.communicate(timeout=DRIVER_LIMIT_S)
        finally:
            kill_session(driver.pid)
    assert driver.returncode in (0, -signal.SIGKILL), said.decode(errors="replace")[-3000:]
    return driver.returncode


def main(way: str, folder: Path, table: str, bus: str, step: str) -> None:
    os.environ |= headgate.spark.local_environment()
    from support.spark.session import local_spark
    from support.spark.streams import SCHEMA

    with local_spark() as spark, deadly_bus(step):
        spark.dataSource.register(DoomedSource)
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").json(str(folder / "in")).coalesce(1)
        writer: DataStreamWriter
        if way == SINK:
            writer = rows.writeStream.foreachBatch(doomed_sink(table, bus, step))
        else:
            writer = rows.writeStream.format("headgate_doomed_driver").option(STEP_OPTION, step)
            writer = writer.options(path=table, bus=bus, partitionBy="k")
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
