"""The bus in memory keeps the contract of epochs: who has read another log is told, however long that has grown since."""

import pytest

from headgate_bus.errors import OffsetGone
from headgate_bus.interface import Message, Topic
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus, MemoryCluster, MemorySeat

GROUP = "committers"


def _message(name: str) -> Message:
    return Message("memory://table", {"ce_subject": name}, b"{}")


def _bus(*names: str) -> MemoryBus:
    ambient = FakeAmbient()
    bus = MemoryBus(ambient, cluster=MemoryCluster(ambient, leaders=True))
    bus.prepare()
    bus.append(Topic.PROPOSALS, [_message(name) for name in names])
    return bus


def _seated(bus: MemoryBus, offset: int = 0, leader_epoch: int | None = None) -> MemorySeat:
    seat = bus.seat(GROUP)
    seat.poll(0.0)
    seat.seek(0, offset, leader_epoch)
    return seat


def _cut(bus: MemoryBus, end: int, *names: str) -> None:
    bus.cluster.lose_tail(Topic.PROPOSALS, 0, end)
    bus.append(Topic.PROPOSALS, [_message(name) for name in names])


def test_who_has_read_what_was_lost_is_told_though_the_log_is_longer_than_before() -> None:
    bus = _bus("a", "b", "c")
    seat = _seated(bus)
    assert [record.leader_epoch for record in seat.poll(0.0)] == [0, 0, 0]
    _cut(bus, 2, "x", "y", "z")
    with pytest.raises(OffsetGone, match="epoch 0 ends at 2"):
        seat.poll(0.0)


def test_who_has_read_only_what_is_left_goes_on_with_the_next_leader() -> None:
    bus = _bus("a", "b", "c")
    seat = _seated(bus)
    assert len(seat.poll(0.0, 2)) == 2
    _cut(bus, 2, "x")
    assert [record.leader_epoch for record in seat.poll(0.0)] == [1]


def test_an_epoch_that_is_given_with_the_offset_is_compared_as_well() -> None:
    bus = _bus("a", "b", "c")
    _cut(bus, 1, "x", "y", "z")
    with pytest.raises(OffsetGone):
        _seated(bus, 3, leader_epoch=0).poll(0.0)


def test_without_an_epoch_nothing_is_known_of_what_lay_there() -> None:
    bus = _bus("a", "b", "c")
    _cut(bus, 1, "x", "y", "z")
    assert len(_seated(bus, 3).poll(0.0)) == 1


def test_leaders_that_left_nothing_are_forgotten() -> None:
    bus = _bus("a", "b")
    _cut(bus, 1)
    _cut(bus, 1, "x")
    assert bus.cluster.partition(Topic.PROPOSALS, 0).epochs == [(0, 0), (2, 1)]
