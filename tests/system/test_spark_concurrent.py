"""Two streaming queries and a batch job write one table at the same time, while its committer is killed again and again."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headgate.spark
from support.kafka.fixtures import new_bus_address
from support.kafka.topics import fill, new_topic, servers
from support.logs.raw_log import LOG
from support.processes.waiting import wait_until
from support.servers.processes import scratch_folder
from support.torture.stage.children import Child
from support.torture.stage.scenes import Scene
from support.torture.stage.stage import Stage, stage_on, stopped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RECORDS = 160
RECORDS_A_BATCH = 16
JOBS = 6
ROWS_A_JOB = 30
VERSIONS_A_LIFE = 2
"""How far the table gets until the committer is killed again."""
LEAST_KILLS = 3
"""Each of the two streams makes ten batches, one after the other. So there are ten versions at least, even if all that waits
while the committer is away ends up in one."""
LIMIT_S = 300.0


@pytest.fixture
def stage(kafka_address: str) -> Iterator[Stage]:
    """A table on this machine's disk, where Spark can write Parquet itself, and a bus on the real broker."""
    with scratch_folder("scene") as folder:
        lake = folder / "lake"
        lake.mkdir()
        with stage_on(Scene(folder, new_bus_address(kafka_address, partitions=1), str(lake), lake)) as stage:
            yield stage


class Job(threading.Thread):
    """Batches one after the other, each by its own Spark job."""

    def __init__(self, spark: "SparkSession", stage: Stage) -> None:
        super().__init__(name="batch-job")
        self._spark = spark
        self._stage = stage
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for number in range(JOBS):
                rows = self._spark.range(number * ROWS_A_JOB, (number + 1) * ROWS_A_JOB).selectExpr(
                    "id", "'job' AS part"
                )
                headgate.spark.write(rows, self._stage.table, bus=self._stage.scene.bus)
        except BaseException as error:
            self.failure = error
            raise


def records(spark: "SparkSession", address: str, part: str) -> "DataFrame":
    """A stream out of a topic of its own, a few records at a time until it has them all."""
    topic = new_topic(address, name=part)
    fill(address, topic, [b"%d" % number for number in range(RECORDS)])
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers(address))
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RECORDS_A_BATCH)
        .load()
        .selectExpr("CAST(CAST(value AS STRING) AS BIGINT) AS id", f"'{part}' AS part")
    )


def kill_while(busy: "list[StreamingQuery | Job]", committer: Child, stage: Stage) -> int:
    """How often the committer was killed until all of them had ended. Each life lets the table get a little further."""
    kills = 0
    while True:
        goal = versions(stage) + VERSIONS_A_LIFE
        wait_until(
            lambda goal=goal: versions(stage) >= goal or not committer.is_running or not any(map(is_alive, busy)),  # type: ignore[misc]  # bound per turn
            "the table gets further",
            LIMIT_S,
        )
        assert committer.is_running, committer.said()[-2000:]
        if not any(map(is_alive, busy)):
            return kills
        committer.kill()
        committer.start()
        kills += 1


def versions(stage: Stage) -> int:
    return sum(1 for _ in (stage.scene.root_folder / "events" / LOG).glob("*.json"))


def is_alive(worker: "StreamingQuery | Job") -> bool:
    return worker.is_alive() if isinstance(worker, Job) else bool(worker.isActive)


def test_every_row_is_there_once_whoever_writes_beside_it_and_however_often_the_committer_dies(
    spark: "SparkSession", stage: Stage, kafka_address: str, tmp_path: Path
) -> None:
    committer = stage.committer()
    by_source = (
        records(spark, kafka_address, "by-source")
        .writeStream.format("headgate")
        .option("bus", stage.scene.bus)
        .option("checkpointLocation", str(tmp_path / "by-source"))
        .trigger(availableNow=True)
        .start(stage.table)
    )
    by_sink = (
        records(spark, kafka_address, "by-sink")
        .writeStream.foreachBatch(headgate.spark.sink(stage.table, stage.scene.bus))
        .option("checkpointLocation", str(tmp_path / "by-sink"))
        .trigger(availableNow=True)
        .start()
    )
    job = Job(spark, stage)
    job.start()
    kills = kill_while([by_source, by_sink, job], committer, stage)

    assert (by_source.exception(), by_sink.exception(), job.failure) == (None, None, None)
    assert kills >= LEAST_KILLS
    found = Counter(
        (row["part"], row["id"]) for row in stage.opened().snapshot().scan(["part", "id"]).read_all().to_pylist()
    )
    wanted = [(part, number) for part in ("by-source", "by-sink") for number in range(RECORDS)]
    assert found == Counter([*wanted, *(("job", number) for number in range(JOBS * ROWS_A_JOB))])
    # It may just have been killed once more; before it has begun, it doesn't know what to do when it is told to stop.
    wait_until(lambda: committer.has_said("committer_started"), "the committer is there again", LIMIT_S)
    stopped(committer)
    assert stage.problems() == []
