"""Take what a Kafka topic holds into a table, every record exactly once: run it as often as you like, kill it at any time.

    python examples/kafka_batch_job.py kafka://127.0.0.1:9092 clicks FOLDER

`make kafka` starts a broker to try it on and prints its address; kafka_fill_topic.py beside this makes the topic, whose records
are JSON such as {"id": 1, "country": "de"}. The committer runs inside of this program here; in a deployment it is a process of
its own.
"""

import json
import sys
from collections.abc import Sequence

import pyarrow as pa

import headgate

SCHEMA = pa.schema([("id", pa.int64()), ("country", pa.string())])


def to_table(records: Sequence[headgate.SourceRecord]) -> pa.Table:
    return pa.Table.from_pylist([json.loads(record.value or b"{}") for record in records], SCHEMA)


def main(bus: str, topic: str, place: str) -> None:
    with headgate.committing(bus), headgate.Producer(bus, place, author="kafka_batch_job.py") as producer:
        producer.create(SCHEMA, partition_by=["country"]).wait(60)  # rejected when it is there, which is as good
        report = headgate.BatchJob("clicks-to-lake", headgate.KafkaRecords(bus, topic), producer, to_table).run()
    print(f"{report.records} records in {report.batches} batches; next time from {dict(report.positions)}")
    print(f"the table holds {headgate.Table.open(place).snapshot().num_records} records")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} BUS TOPIC TABLE")
    try:
        main(*sys.argv[1:])
    except headgate.HeadgateError as error:
        sys.exit(str(error))
