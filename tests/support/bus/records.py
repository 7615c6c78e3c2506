"""Short words for what tests append to a bus and read from it."""

from collections.abc import Sequence
from itertools import count

from headgate_bus.interface import Bus, Message, Reader, Record, Seat, Topic
from support.bus.rigs import AMBIENT, GROUP, PARTITIONS, PATIENCE_S, holding


def message(body: bytes | str = b"x", key: str = "t", **headers: str) -> Message:
    return Message(key, headers, body.encode() if isinstance(body, str) else body)


def messages(*bodies: str, key: str = "t") -> list[Message]:
    return [message(body, key) for body in bodies]


def bodies(records: Sequence[Record]) -> list[str]:
    return [record.body.decode() for record in records]


def key_in(bus: Bus, partition: int, topic: Topic = Topic.PROPOSALS) -> str:
    """A key whose records of that topic go to that partition."""
    return next(key for number in count() if bus.partition_of(key := f"s3://lake/table-{number}", topic) == partition)


def read_until(reader: Reader, wanted: int) -> list[Record]:
    """What is read until that many have come."""
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    found: list[Record] = []
    while len(found) < wanted:
        assert AMBIENT.monotonic_s() < deadline, f"{len(found)} of {wanted} records came within {PATIENCE_S} s"
        found.extend(reader.read(0.2))
    return found


def poll_until(seat: Seat, wanted: int) -> list[Record]:
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    found: list[Record] = []
    while len(found) < wanted:
        assert AMBIENT.monotonic_s() < deadline, f"{len(found)} of {wanted} proposals came within {PATIENCE_S} s"
        found.extend(seat.poll(0.2))
    return found


def all_of(bus: Bus, topic: Topic, wanted: int) -> list[Record]:
    """The records of all partitions from the first on, and whatever comes right behind the wanted ones."""
    reader = bus.reader(topic, {number: bus.extent(topic, number).first for number in range(bus.partitions(topic))})
    try:
        return [*read_until(reader, wanted), *reader.read(0.1)]
    finally:
        reader.close()


def seat_at(bus: Bus, offsets: dict[int, int] | None = None) -> Seat:
    """A seat that holds all partitions and delivers from these offsets, 0 where none is given."""
    seat = holding(bus.seat(GROUP))
    for number in range(PARTITIONS):
        seat.seek(number, (offsets or {}).get(number, 0))
    return seat


def settle(bus: Bus, records: int) -> Seat:
    """Append that many proposals to partition 0 and commit the offset behind them; the seat that did it.

    Kafka shows to nobody but those who wait for it, for a moment, what a transaction committed: `trim` doesn't, `committed` does.
    """
    bus.append(Topic.PROPOSALS, [message(str(number), key_in(bus, 0)) for number in range(records)])
    seat = seat_at(bus, {0: records})
    seat.publish(0, [], [], records)
    assert bus.committed(GROUP, 0) == records
    return seat
