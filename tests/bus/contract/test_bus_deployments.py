"""What committers announce is seen by others for as long as they live."""

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Bus, Deployment
from support.bus.rigs import AMBIENT, GROUP, PATIENCE_S, Rig, holding
from support.processes.waiting import wait_until


def test_a_lone_seat_sees_nobody(bus: Bus) -> None:
    assert list(holding(bus.seat(GROUP, ["s3://lake"])).others()) == []


def test_another_group_is_seen_with_its_roots_until_it_leaves(rig: Rig, bus: Bus) -> None:
    other = holding(rig.again().seat("others", ["s3://b", "s3://a"]))
    seat = holding(bus.seat(GROUP))
    assert list(seat.others()) == [Deployment("others", ("s3://a", "s3://b"))]
    assert list(other.others()) == [Deployment(GROUP, ())]
    other.close()
    wait_until(lambda: not seat.others(), "the other is gone", PATIENCE_S)


def test_who_stands_by_sees_the_holder_of_its_group(rig: Rig, bus: Bus) -> None:
    holder = holding(rig.again().seat(GROUP, ["s3://a"]))
    waiting = bus.seat(GROUP, ["s3://b"])
    waiting.poll(0.1)
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    while True:
        assert AMBIENT.monotonic_s() < deadline
        try:
            found = list(waiting.others())
        except BusUnavailable:  # a group that is sharing out can't be told yet
            waiting.poll(0.1)
            holder.poll(0.1)
            continue
        break
    assert found == [Deployment(GROUP, ("s3://a",))]


def test_followers_of_events_are_no_committers(rig: Rig, bus: Bus) -> None:
    follower = rig.again().follow("workers")
    follower.poll(0.1)
    assert list(holding(bus.seat(GROUP)).others()) == []
