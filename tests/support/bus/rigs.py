"""What the contract suite needs of each kind of bus: a bus, other processes' handles on it, and a way to supplant a seat."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headgate_bus.interface import Bus, Seat, Topic
from headgate_bus.open import open_bus
from headgate_bus.sqlite.bus import SqliteBus
from headgate_bus.sqlite.seat import lock_path
from headgate_schemas.ambient import SystemAmbient
from support.bus.memory import MemoryBus

if TYPE_CHECKING:
    from headgate_bus.kafka.address import KafkaAddress

AMBIENT = SystemAmbient()
GROUP = "committers"
PARTITIONS = 2
PATIENCE_S = 60.0
"""How long a test waits for what must come. Only a failing test waits that long."""


class Rig(Protocol):
    """A bus of `PARTITIONS` partitions, not prepared yet."""

    bus: Bus

    def again(self) -> Bus:
        """Another process's handle on the same bus."""
        ...

    def supplant(self, group: str) -> Seat:
        """A seat of another process that has taken all partitions, while their holder lives and doesn't know."""
        ...

    def lose_events(self, partition: int, before: int) -> None:
        """Let go of events below an offset, as retention does, whoever has read them."""
        ...

    def settled(self, group: str, partition: int, offset: int) -> None:
        """Let the group, which nobody is in, have settled so much, whatever the log holds."""
        ...

    def close(self) -> None: ...


class OpenedRig:
    """Remembers what was opened, to close it all."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self._opened = [bus]

    def another(self, bus: Bus) -> Bus:
        self._opened.append(bus)
        return bus

    def close(self) -> None:
        for bus in self._opened:
            bus.close()


class MemoryRig(OpenedRig):
    def __init__(self) -> None:
        self.memory = MemoryBus(AMBIENT, PARTITIONS)
        super().__init__(self.memory)

    def again(self) -> Bus:
        return self.another(self.memory.again())

    def supplant(self, group: str) -> Seat:
        self.memory.expire()
        return holding(self.again().seat(group))

    def lose_events(self, partition: int, before: int) -> None:
        self.memory.cluster.truncate(Topic.EVENTS, partition, before)

    def settled(self, group: str, partition: int, offset: int) -> None:
        self.memory.cluster.group(group).committed[partition] = offset


class SqliteRig(OpenedRig):
    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "bus.db")
        super().__init__(SqliteBus(self._path, AMBIENT, partitions=PARTITIONS))

    def again(self) -> Bus:
        return self.another(SqliteBus(self._path, AMBIENT))

    def supplant(self, group: str) -> Seat:
        # The lock can't be lost while its holder lives, except that somebody removes its file.
        os.unlink(lock_path(self._path, group))
        return holding(self.again().seat(group))

    def lose_events(self, partition: int, before: int) -> None:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            connection.execute(
                "UPDATE partitions SET first = ? WHERE topic = ? AND partition = ?",
                (before, Topic.EVENTS.value, partition),
            )

    def settled(self, group: str, partition: int, offset: int) -> None:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO settled VALUES (?, ?, ?)", (group, partition, offset))


class KafkaRig(OpenedRig):
    def __init__(self, new_bus: Callable[..., Bus]) -> None:
        super().__init__(new_bus(partitions=PARTITIONS))

    def again(self) -> Bus:
        return self.another(open_bus(self.bus.address, AMBIENT))

    def supplant(self, group: str) -> Seat:
        from kafka.admin import MemberToRemove

        # What the broker does to a member that it takes for dead, and that one hears of it at its next heartbeat.
        with self._admin() as (address, admin):
            name = address.group(group)
            members = [each["member_id"] for each in admin.describe_groups([name])[name]["members"]]
            assert members
            admin.remove_group_members(name, [MemberToRemove(member_id=each) for each in members])
        return holding(self.again().seat(group))

    def lose_events(self, partition: int, before: int) -> None:
        from kafka import TopicPartition

        with self._admin() as (address, admin):
            admin.delete_records({TopicPartition(address.topic(Topic.EVENTS), partition): before})

    @contextmanager
    def _admin(self) -> Iterator[tuple["KafkaAddress", Any]]:
        from headgate_bus.kafka.address import parse_kafka_address
        from headgate_bus.kafka.clients import new_admin

        address = parse_kafka_address(self.bus.address)
        with closing(new_admin(address)) as admin:
            yield address, admin

    def settled(self, group: str, partition: int, offset: int) -> None:
        from kafka import OffsetAndMetadata, TopicPartition

        from headgate_bus.kafka.address import parse_kafka_address
        from headgate_bus.kafka.clients import new_consumer

        address = parse_kafka_address(self.bus.address)
        consumer = new_consumer(address, address.group(group))
        try:
            place = TopicPartition(address.topic(Topic.PROPOSALS), partition)
            consumer.commit({place: OffsetAndMetadata(offset, "", -1)})
        finally:
            consumer.close(autocommit=False)


def holding(seat: Seat, partitions: int = PARTITIONS) -> Seat:
    """The seat, once it holds that many partitions."""
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    while len(seat.held()) < partitions:
        assert AMBIENT.monotonic_s() < deadline, f"the seat holds {sorted(seat.held())} after {PATIENCE_S} s"
        seat.poll(0.1)
    return seat
