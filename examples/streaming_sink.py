"""Take what comes into a Kafka topic into a table with Spark, every record exactly once: kill it at any time, start it again.

    python examples/streaming_sink.py kafka://127.0.0.1:9092 clicks lake/clicks lake/checkpoints/clicks

`make kafka` starts a broker and prints its address, kafka_fill_topic.py beside this makes the topic and its records, and
`headgate committer --bus kafka://127.0.0.1:9092` decides what is proposed. Spark finds its Kafka connector in the setting
`spark.jars.packages`, or by `spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION`, of your Spark's version.
"""

import os
import sys

from pyspark.sql import SparkSession

import headgate
import headgate.spark


def main(bus: str, topic: str, table: str, checkpoint: str) -> None:
    spark = SparkSession.builder.appName("clicks-to-lake").getOrCreate()
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bus.removeprefix("kafka://").partition("/")[0])
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    clicks = records.selectExpr(
        "from_json(CAST(value AS STRING), 'id BIGINT, country STRING') AS click", "CAST(timestamp AS DATE) AS day"
    ).selectExpr("click.id", "upper(click.country) AS country", "day")

    # The table is made with the first batch. A stream says by an option how it is partitioned: Spark drops partitionBy() here.
    query = (
        clicks.writeStream.format("headgate")
        .option("bus", bus)
        .option("partitionBy", "country")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)  # ends when all that is there was taken; leave it out to go on for ever
        .start(table)
    )
    query.awaitTermination()
    taken = sum(progress.numInputRows for progress in query.recentProgress)
    print(f"{taken} records taken; the table holds {headgate.Table.open(table).snapshot().num_records}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(f"usage: {sys.argv[0]} BUS TOPIC TABLE CHECKPOINT")
    # A Java for machines that have none, and this Python for Spark's own processes.
    os.environ |= headgate.spark.local_environment()
    main(*sys.argv[1:])
