"""Make a Kafka topic unless it is there, and put some records into it, for kafka_batch_job.py to take:

python examples/kafka_fill_topic.py kafka://127.0.0.1:9092 clicks 1000
"""

import json
import sys

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient

COUNTRIES = ("de", "fr", "it")


def main(address: str, topic: str, count: int) -> None:
    brokers = address.removeprefix("kafka://").partition("/")[0].split(",")
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    if topic not in admin.list_topics():
        admin.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}}, wait_for_metadata=True)
    admin.close()
    producer = KafkaProducer(bootstrap_servers=brokers, acks="all")
    for number in range(count):
        producer.send(topic, json.dumps({"id": number, "country": COUNTRIES[number % len(COUNTRIES)]}).encode())
    producer.flush(60)
    producer.close()
    print(f"{count} records are in {topic}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} BUS TOPIC COUNT")
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
