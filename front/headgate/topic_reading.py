"""Reads a range of a topic of a bus, for people who look at it. Joins no group."""

import heapq
from collections.abc import Iterator, Mapping
from contextlib import closing

from headgate_bus.interface import Bus, Record, Topic
from headgate_schemas.errors import InvalidInput

_PATIENCE_S = 0.5
"""How long one look at the bus waits. Signals are heard in between."""
_LAST_LOOK_S = 5.0
"""The end of a topic may consist of marks that are no records: reading stops when nothing more comes for this long."""


def starting_offsets(bus: Bus, topic: Topic, start: str, partition: int | None = None) -> dict[int, int]:
    """The start in each partition: `first`, `next`, or an offset, which needs a single partition."""
    count = bus.partitions(topic)
    if partition is not None and partition >= count:
        raise InvalidInput(f"there is no partition {partition} of {topic.value}: it has {count}, from 0")
    chosen = range(count) if partition is None else [partition]
    extents = {number: bus.extent(topic, number) for number in chosen}
    if start == "first":
        return {number: extent.first for number, extent in extents.items()}
    if start == "next":
        return {number: extent.next_offset for number, extent in extents.items()}
    if len(extents) > 1:
        raise InvalidInput(f"{topic.value} has {count} partitions, each with offsets of its own: give --partition, too")
    return dict.fromkeys(extents, int(start))


def read_topic(bus: Bus, topic: Topic, offsets: Mapping[int, int], *, follow: bool = False) -> Iterator[Record]:
    """The records from these offsets up to the present end, in the order of their times; with `follow`, without an end."""
    ends = {number: bus.extent(topic, number).next_offset for number in offsets}
    past = [_read(bus, topic, {number: offset}, ends) for number, offset in offsets.items() if offset != ends[number]]
    yield from heapq.merge(*past, key=lambda record: (record.time_ms, record.partition, record.offset))
    if follow:
        yield from _read(bus, topic, ends, None)


def _read(bus: Bus, topic: Topic, offsets: Mapping[int, int], ends: Mapping[int, int] | None) -> Iterator[Record]:
    """Reads up to the ends, or endlessly."""
    with closing(bus.reader(topic, offsets)) as reader:
        waited_s = 0.0
        while ends is None or (waited_s < _LAST_LOOK_S and _is_short_of(reader.offsets(), ends)):
            records = reader.read(_PATIENCE_S)
            waited_s = 0.0 if records else waited_s + _PATIENCE_S
            yield from (record for record in records if ends is None or record.offset < ends[record.partition])


def _is_short_of(offsets: Mapping[int, int], ends: Mapping[int, int]) -> bool:
    return any(offset < ends[number] for number, offset in offsets.items())
