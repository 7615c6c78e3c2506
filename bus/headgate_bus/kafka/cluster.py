"""Questions to the cluster about topics, extents and committed offsets; and its few changes: creating topics, trimming."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import tenacity
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import KafkaConnectionError, KafkaError, TopicAlreadyExistsError, for_code

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Deployment, Extent, Mark, Topic
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.clients import CLOSE_TIMEOUT_S, new_admin, new_consumer
from headgate_bus.kafka.deadline_calls import DeadlinePassed, KafkaCalls
from headgate_bus.kafka.deployments import deployments_in, groups_of
from headgate_bus.kafka.errors import PASSING, translated
from headgate_bus.kafka.topics import FoundTopic, WantedTopic
from headgate_bus.marks import read_mark
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.sources import Source

ANSWER_TIMEOUT_S = 10.0
"""For one question, its repeats over elections and lost connections included."""
MADE_WITHIN_S = 10.0
"""How long a new topic may take until it has leaders."""
READ_COMMITTED = 1
UNKNOWN_TOPIC = 3

NO_TOPIC_ID = "00000000-0000-0000-0000-000000000000"
"""What a broker answers that gives topics no ids."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class AnyTopic:
    """Any topic of the cluster, as it is now. None stands for values that an old broker doesn't report."""

    cluster: str | None
    topic_id: str | None
    partitions: tuple[int, ...]


class KafkaCluster:
    """A connection to the cluster. Threads share it. After a lost connection, the next question makes a new one."""

    def __init__(self, address: KafkaAddress, calls: KafkaCalls, ambient: Ambient) -> None:
        self._address = address
        self._calls = calls
        self._ambient = ambient
        self._lock = threading.Lock()
        self._admin: Any = None
        self._closed: bool = False

    def connect(self) -> None:
        """Raises `BusUnavailable` when no broker answers, and names possible causes."""
        self._ask("connecting", lambda admin: None)

    def source(self, partition: int) -> Source:
        name = self._address.topic(Topic.PROPOSALS)

        def ask(admin: Any) -> Source:
            cluster = str(admin.describe_cluster()["cluster_id"])
            found = _described(admin, name)
            _partition(found, name, partition)
            return Source(cluster, str(found["topic_id"]), partition)

        return self._ask(f"identifying topic {name}", ask)

    def any_topic(self, name: str) -> AnyTopic:
        """Raises `BusError` if there is no topic of this name."""

        def ask(admin: Any) -> AnyTopic:
            cluster = admin.describe_cluster()["cluster_id"]
            found = _described(admin, name, f"there is no topic {name}: create it, or look at its spelling")
            topic_id = str(found["topic_id"] or NO_TOPIC_ID)
            return AnyTopic(
                None if cluster is None else str(cluster),
                None if topic_id == NO_TOPIC_ID else topic_id,
                tuple(sorted(place["partition_index"] for place in found["partitions"])),
            )

        return self._ask(f"describing topic {name}", ask)

    def partitions(self, topic: Topic) -> int:
        name = self._address.topic(topic)
        return self._ask(f"describing topic {name}", lambda admin: len(_described(admin, name)["partitions"]))

    def extent(self, topic: Topic, partition: int) -> Extent:
        name = self._address.topic(topic)
        place = TopicPartition(name, partition)

        def ask(admin: Any) -> Extent:
            _partition(_described(admin, name), name, partition)
            first = admin.list_partition_offsets({place: OffsetSpec.EARLIEST})[place].offset
            # The end of committed records: a reader up to here has seen everything that is visible by now.
            end = admin.list_partition_offsets({place: OffsetSpec.LATEST}, isolation_level=READ_COMMITTED)[place].offset
            return Extent(first, max(first, end))

        return self._ask(f"looking up the extent of {name}, partition {partition}", ask)

    def committed(self, group: str, partition: int) -> int | None:
        found = self._settled(group, partition)
        return None if found is None or found.offset < 0 else int(found.offset)

    def mark(self, group: str, partition: int) -> Mark | None:
        found = self._settled(group, partition)
        return None if found is None or found.offset < 0 else read_mark(found.metadata)

    def _settled(self, group: str, partition: int) -> Any:
        """The committed offset and the text that was committed with it."""
        name = self._address.topic(Topic.PROPOSALS)

        def ask(admin: Any) -> Any:
            _partition(_described(admin, name), name, partition)
            # Only a consumer of committed records waits for transactions that are being committed.
            consumer = new_consumer(self._address, self._address.group(group))
            try:
                place = TopicPartition(name, partition)
                return consumer.committed(place, metadata=True, timeout_ms=int(ANSWER_TIMEOUT_S * 1000))
            finally:
                consumer.close(autocommit=False, timeout_ms=int(CLOSE_TIMEOUT_S * 1000))

        return self._ask(f"looking up what group {group} has committed of {name}", ask)

    def is_member(self, group: str, member: str) -> bool:
        def ask(admin: Any) -> bool:
            name = self._address.group(group)
            description = admin.describe_groups([name])[name]
            return any(found["member_id"] == member for found in description["members"])

        return self._ask(f"looking up the members of group {group}", ask)

    def deployments(self, aside: str) -> list[Deployment]:
        """The announcements of living committers of this bus, except for the member with this id."""

        def ask(admin: Any) -> list[Deployment]:
            names = groups_of(self._address, admin.list_groups())
            return deployments_in(self._address, admin.describe_groups(names) if names else {}, aside)

        return self._ask("looking up the groups of committers", ask)

    def trim(self, partition: int, before: int) -> None:
        """Delete proposals below `before`, but none that a group has not settled yet."""
        name = self._address.topic(Topic.PROPOSALS)
        place = TopicPartition(name, partition)

        def ask(admin: Any) -> None:
            _partition(_described(admin, name), name, partition)
            groups = [str(group["group_id"]) for group in admin.list_groups()]
            offsets = [found[place].offset for found in admin.list_group_offsets(groups).values() if place in found]
            settled = min((offset for offset in offsets if offset >= 0), default=0)
            first = admin.list_partition_offsets({place: OffsetSpec.EARLIEST})[place].offset
            if min(before, settled) > first:
                admin.delete_records({place: min(before, settled)}, timeout_ms=int(ANSWER_TIMEOUT_S * 1000))

        self._ask(f"trimming {name}, partition {partition}", ask)

    def make(self, wanted: WantedTopic) -> FoundTopic:
        """The topic as it is now. Creates it as wanted unless it exists, also if another process creates it at the same
        time.
        """

        def ask(admin: Any) -> FoundTopic:
            if admin.describe_topics([wanted.name])[0]["error_code"] == UNKNOWN_TOPIC:
                self._create(admin, wanted)
            return _as_it_is(admin, wanted)

        return self._ask(f"preparing topic {wanted.name}", ask, ANSWER_TIMEOUT_S + MADE_WITHIN_S)

    def look(self, wanted: WantedTopic) -> FoundTopic:
        """The topic as it is now. Raises `BusError` if it is missing."""
        return self._ask(f"describing topic {wanted.name}", lambda admin: _as_it_is(admin, wanted))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            admin, self._admin = self._admin, None
        if admin is not None:
            self._calls.start("closing the connection", admin.close)

    def _create(self, admin: Any, wanted: WantedTopic) -> None:
        request = {
            wanted.name: {
                "num_partitions": wanted.partitions,
                "replication_factor": wanted.replication,
                "configs": dict(wanted.settings),
            }
        }
        answer = admin.create_topics(request, timeout_ms=int(MADE_WITHIN_S * 1000), raise_errors=False)["topics"][0]
        error = for_code(answer["error_code"])
        if answer["error_code"] and error is not TopicAlreadyExistsError:
            if error.retriable:
                raise error(answer["error_message"])
            raise BusError(
                f"topic {wanted.name} can't be made with {wanted.partitions} partitions and replication"
                f" {wanted.replication}: {answer['error_message'] or error.__name__}"
            )
        admin.wait_for_topics([wanted.name], timeout_ms=int(MADE_WITHIN_S * 1000))

    def _ask(self, doing: str, question: Callable[[Any], Answer], timeout_s: float = ANSWER_TIMEOUT_S) -> Answer:
        deadline = self._ambient.monotonic_s() + timeout_s

        def attempt() -> Answer:
            left = deadline - self._ambient.monotonic_s()
            return self._calls.within(left, f"{doing} at {self._address}", lambda: question(self._connected()))

        asking = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, PASSING)),
            stop=lambda _: self._ambient.monotonic_s() >= deadline,
            wait=tenacity.wait_exponential(multiplier=0.05, max=1),
            sleep=self._ambient.sleep,
            after=lambda _: self._forget(),
            reraise=True,
        )
        try:
            return asking(attempt)
        except DeadlinePassed:
            self._forget()
            raise
        except BusUnavailable:
            raise
        except (KafkaError, OSError, RuntimeError) as error:
            self._forget()
            raise translated(error, doing, self._address) from error

    def _connected(self) -> Any:
        with self._lock:
            self._check_open()
            if self._admin is not None:
                return self._admin
        # Outside of the lock: this takes seconds when no broker answers.
        return self._kept(new_admin(self._address))

    def _kept(self, made: Any) -> Any:
        with self._lock:
            if self._admin is None and not self._closed:
                self._admin = made
        if self._admin is not made:
            made.close()
            raise KafkaConnectionError("another thread connected or closed at the same time")
        return made

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this bus was closed; open it again")

    def _forget(self) -> None:
        with self._lock:
            admin, self._admin = self._admin, None
        if admin is not None:
            self._calls.start("closing a lost connection", admin.close)


def _described(admin: Any, name: str, if_missing: str = "") -> dict[str, Any]:
    found: dict[str, Any] = admin.describe_topics([name])[0]
    if found["error_code"]:
        error = for_code(found["error_code"])
        if found["error_code"] == UNKNOWN_TOPIC:
            raise BusError(
                if_missing or f"topic {name} isn't there: prepare the bus first, or correct the address's prefix"
            )
        raise error(f"topic {name}")
    return found


def _as_it_is(admin: Any, wanted: WantedTopic) -> FoundTopic:
    found = _described(admin, wanted.name)
    resource = ConfigResource(ConfigResourceType.TOPIC, wanted.name)
    settings = admin.describe_configs([resource], config_filter="all")["topic"][wanted.name]
    return FoundTopic(
        wanted.topic,
        wanted.name,
        len(found["partitions"]),
        min(len(partition["replica_nodes"]) for partition in found["partitions"]),
        {name: setting["value"] for name, setting in settings.items()},
    )


def _partition(found: dict[str, Any], name: str, partition: int) -> None:
    if partition not in {place["partition_index"] for place in found["partitions"]}:
        raise BusError(f"topic {name} has no partition {partition}; it has {len(found['partitions'])}")
