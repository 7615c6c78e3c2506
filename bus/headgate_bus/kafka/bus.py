"""The bus on Kafka: one object per process, made from an address."""

import threading
from collections.abc import Mapping, Sequence
from typing import TypeVar

from headgate_bus.errors import BusError
from headgate_bus.interface import DEFAULT_TIMEOUT_S, Extent, Mark, Message, MessagePlace, Topic
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.clients import quieten
from headgate_bus.kafka.cluster import KafkaCluster
from headgate_bus.kafka.deadline_calls import KafkaCalls
from headgate_bus.kafka.group.follower import KafkaFollower
from headgate_bus.kafka.group.seat import KafkaSeat
from headgate_bus.kafka.records.appender import KafkaAppender
from headgate_bus.kafka.records.reader import KafkaReader
from headgate_bus.kafka.records.records import partition_for
from headgate_bus.kafka.topics import explain, faults, wanted_topics
from headgate_bus.message_bounds import check_messages
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.sources import Source

Lent = TypeVar("Lent", KafkaReader, KafkaSeat, KafkaFollower)


class KafkaBus:
    """A bus on Kafka. Raises `BusUnavailable` within seconds when no broker answers."""

    def __init__(self, address: str, ambient: Ambient) -> None:
        self._address = parse_kafka_address(address)
        self._ambient = ambient
        self._calls = KafkaCalls()
        self._cluster = KafkaCluster(self._address, self._calls, ambient)
        self._appender = KafkaAppender(self._address, self._cluster, self._calls, ambient)
        self._lock = threading.Lock()
        self._lent: list[KafkaReader | KafkaSeat | KafkaFollower] = []
        """Also those that nobody holds any more: a consumer that isn't closed keeps its thread and its connections."""
        self._counts: dict[Topic, int] = {}
        self._closed = False
        quieten()
        self._cluster.connect()

    @property
    def address(self) -> str:
        return str(self._address)

    def prepare(self) -> None:
        for wanted in wanted_topics(self._address):
            found = self._cluster.make(wanted)
            wrong = faults(found)
            if wrong:
                raise BusError(explain(found, wrong))

    def faults(self) -> list[str]:
        looked_at = [self._cluster.look(wanted) for wanted in wanted_topics(self._address)]
        return [explain(found, wrong) for found in looked_at if (wrong := faults(found))]

    def partitions(self, topic: Topic) -> int:
        self._counts[topic] = found = self._cluster.partitions(topic)
        return found

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        # The number of partitions is fixed when the topic is created, so one lookup is enough.
        return partition_for(key, self._counts.get(topic) or self.partitions(topic))

    def source(self, partition: int) -> Source:
        return self._cluster.source(partition)

    def extent(self, topic: Topic, partition: int) -> Extent:
        return self._cluster.extent(topic, partition)

    def committed(self, group: str, partition: int) -> int | None:
        return self._cluster.committed(group, partition)

    def mark(self, group: str, partition: int) -> Mark | None:
        return self._cluster.mark(group, partition)

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        self._check_open()
        check_messages(topic, messages)
        return self._appender.append(topic, messages, timeout_s)

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> KafkaReader:
        self._check_open()
        return self._lend(KafkaReader(self._address, self._cluster, topic, offsets))

    def seat(self, group: str, roots: Sequence[str] = ()) -> KafkaSeat:
        self._check_open()
        # The client would wait for a missing topic, and its user with it.
        self.partitions(Topic.PROPOSALS)
        return self._lend(KafkaSeat(self._address, group, self._cluster, self._calls, self._ambient, roots))

    def follow(self, group: str) -> KafkaFollower:
        self._check_open()
        self.partitions(Topic.EVENTS)  # for the same reason as in `seat`
        return self._lend(KafkaFollower(self._address, group, self._cluster, self._calls, self._ambient))

    def trim(self, partition: int, before: int) -> None:
        self._cluster.trim(partition, before)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            lent, self._lent = self._lent, []
        for one in lent:
            one.close()
        self._appender.close()
        self._cluster.close()

    def _lend(self, one: Lent) -> Lent:
        with self._lock:
            self._lent = [*(earlier for earlier in self._lent if not earlier.closed), one]
        return one

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this bus was closed; open it again")
