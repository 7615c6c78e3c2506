"""Topics of a test's own on the broker, with and without records in them."""

from collections.abc import Sequence

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient

from headgate_bus.kafka.address import parse_kafka_address
from headgate_schemas.ambient import SystemAmbient

SEND_LIMIT_S = 30


def new_topic(address: str, partitions: int = 1, *, name: str = "clicks") -> str:
    """An empty one that nobody else has."""
    topic = f"{name}-{SystemAmbient().new_id()[:12]}"
    admin = KafkaAdminClient(**parse_kafka_address(address).client_settings())
    admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 1}}, wait_for_metadata=True)
    admin.close()
    return topic


def fill(address: str, topic: str, bodies: Sequence[bytes]) -> None:
    """Spread over the topic's partitions."""
    producer = KafkaProducer(acks="all", **parse_kafka_address(address).client_settings())
    for body in bodies:
        producer.send(topic, body)
    producer.flush(SEND_LIMIT_S)
    producer.close(SEND_LIMIT_S)


def servers(address: str) -> str:
    """As Spark's connector wants them."""
    return ",".join(parse_kafka_address(address).servers)
