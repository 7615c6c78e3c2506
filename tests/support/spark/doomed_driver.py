"""A Spark driver that streams files into a table, and is killed with all its processes at a step of a micro-batch's commit.

`python -m support.spark.doomed_driver FOLDER TABLE BUS STEP`; the step is one of `STEPS`, or "none". Spark commits in a
process of its own beside the driver's, so what dies is the whole session of processes.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql.datasource import WriterCommitMessage

import headgate.spark
from headgate_bus.interface import Bus
from headgate_schemas.ambient import Ambient
from pyspark_headgate.source import HeadgateSource
from pyspark_headgate.stream_sink import StreamWriter, stream_writer
from support.producer.batch_world import Fuse, FusedBus

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.datasource import DataSourceStreamWriter
    from pyspark.sql.types import StructType

STEPS = ("files written", "before proposing", "proposed", "commit done")
"""Each leaves something else behind; every single step of a commit is in `test_spark_stream_sink_steps`."""
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


class DoomedWriter(StreamWriter):
    step = "none"

    def write(self, iterator: "Iterator[RecordBatch]") -> WriterCommitMessage:
        message = super().write(iterator)
        if self.step == "files written":
            kill_everything()
        return message

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        from headgate_producer import producer

        opened = producer._open_bus

        def fused(address: str, ambient: Ambient) -> Bus:
            return FusedBus(opened(address, ambient), DeadlyFuse(self.step))

        producer._open_bus = fused
        try:
            super().commit(messages, batchId)
        finally:
            producer._open_bus = opened
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


def drive(folder: Path, table: str, bus: str, step: str) -> int:
    """Run a driver to its end, or to its death; returns how it ended."""
    command = [sys.executable, "-m", "support.spark.doomed_driver", str(folder), table, bus, step]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    with subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.PIPE) as driver:
        try:
            _, said = driver.communicate(timeout=DRIVER_LIMIT_S)
        finally:
            kill_session(driver.pid)
    assert driver.returncode in (0, -signal.SIGKILL), said.decode(errors="replace")[-3000:]
    return driver.returncode


def main(folder: Path, table: str, bus: str, step: str) -> None:
    os.environ |= headgate.spark.local_environment()
    from support.spark.session import local_spark
    from support.spark.streams import SCHEMA

    with local_spark() as spark:
        spark.dataSource.register(DoomedSource)
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").json(str(folder / "in"))
        query = (
            rows.coalesce(1)
            .writeStream.format("headgate_doomed_driver")
            .options(path=table, bus=bus, partitionBy="k", checkpointLocation=str(folder / "checkpoint"))
            .option(STEP_OPTION, step)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
