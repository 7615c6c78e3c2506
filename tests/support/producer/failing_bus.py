"""A bus whose calls fail by plan, and that remembers what was appended to proposals, attempt by attempt."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import (
    DEFAULT_TIMEOUT_S,
    Bus,
    Extent,
    Follower,
    Mark,
    Message,
    MessagePlace,
    Reader,
    Record,
    Seat,
    Topic,
)
from headgate_schemas.messages.sources import Source


class Trouble(Enum):
    """What goes wrong with a call."""

    LOST = "unavailable; nothing happened"
    UNANSWERED = "unavailable, but it happened"
    REFUSED = "an error; nothing happened"


Plan = Callable[[str, int], Trouble | None]
"""By the name of a call and its number from 1 among the calls of that name."""


def no_trouble(call: str, number: int) -> Trouble | None:
    return None


def first(call: str, *troubles: Trouble) -> Plan:
    """These troubles for the first calls of that name, in order."""
    return lambda name, number: troubles[number - 1] if name == call and number <= len(troubles) else None


def always(call: str, trouble: Trouble) -> Plan:
    return lambda name, number: trouble if name == call else None


class FailingBus:
    """Calls are named by their method; reading events is `read`."""

    def __init__(self, inner: Bus, plan: Plan = no_trouble) -> None:
        self.inner = inner
        self.plan = plan
        self.attempts: list[list[Message]] = []
        self.counts: dict[str, int] = {}

    @property
    def address(self) -> str:
        return self.inner.address

    def run(self, call: str, effect: Callable[[], object]) -> None:
        """Let the planned trouble happen, if any; `effect` only where it comes after it."""
        self.counts[call] = self.counts.get(call, 0) + 1
        match self.plan(call, self.counts[call]):
            case None:
                return
            case Trouble.LOST:
                raise BusUnavailable(f"{call} was lost, by plan")
            case Trouble.UNANSWERED:
                effect()
                raise BusUnavailable(f"the answer to {call} was lost, by plan")
            case Trouble.REFUSED:
                raise BusError(f"{call} was refused, by plan")

    def prepare(self) -> None:
        self.inner.prepare()

    def partitions(self, topic: Topic) -> int:
        return self.inner.partitions(topic)

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        return self.inner.partition_of(key, topic)

    def source(self, partition: int) -> Source:
        return self.inner.source(partition)

    def extent(self, topic: Topic, partition: int) -> Extent:
        self.run("extent", lambda: None)
        return self.inner.extent(topic, partition)

    def committed(self, group: str, partition: int) -> int | None:
        return self.inner.committed(group, partition)

    def mark(self, group: str, partition: int) -> Mark | None:
        return self.inner.mark(group, partition)

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        if topic is Topic.PROPOSALS:
            self.attempts.append(list(messages))
            self.run("append", lambda: self.inner.append(topic, messages, timeout_s))
        return self.inner.append(topic, messages, timeout_s)

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> Reader:
        self.run("reader", lambda: None)
        return FailingReader(self, self.inner.reader(topic, offsets))

    def seat(self, group: str, roots: Sequence[str] = ()) -> Seat:
        return self.inner.seat(group, roots)

    def follow(self, group: str) -> Follower:
        return self.inner.follow(group)

    def trim(self, partition: int, before: int) -> None:
        self.inner.trim(partition, before)

    def close(self) -> None:
        self.inner.close()


class FailingReader:
    def __init__(self, bus: FailingBus, inner: Reader) -> None:
        self._bus = bus
        self._inner = inner

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        self._bus.run("read", lambda: None)
        return self._inner.read(timeout_s, max_records)

    def offsets(self) -> Mapping[int, int]:
        return self._inner.offsets()

    def close(self) -> None:
        self._inner.close()
