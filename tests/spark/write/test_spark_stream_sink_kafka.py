"""A stream and a batch of Spark into one table, proposed on the real broker."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headgate_table.table import Table
from support.committing.threaded import a_committer
from support.kafka.fixtures import new_bus_address
from support.spark.streams import FileStream, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@pytest.fixture
def bus(kafka_address: str) -> str:
    return new_bus_address(kafka_address)


def test_a_replayed_batch_is_known_by_the_committer_behind_the_broker(
    spark: "SparkSession", tmp_path: Path, bus: str
) -> None:
    uri = str(tmp_path / "table")

    def write(rows: "DataFrame") -> "DataStreamWriter":
        return rows.writeStream.format("headgate").options(path=uri, bus=bus, partitionBy="k")

    stream = FileStream(spark, tmp_path)
    stream.add((1, "a"))
    with a_committer(bus):
        stream.run(write)
        stream.forget_last_batch()
        stream.add((2, "b"))
        stream.run(write)
        spark.sql("SELECT 3L AS id, 'c' AS k").write.format("headgate").mode("append").option("bus", bus).save(uri)
    assert rows_of(uri) == [(1, "a"), (2, "b"), (3, "c")]
    assert Table.open(uri).version == 3
