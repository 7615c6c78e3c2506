"""What every bus promises to those who follow its events in a group, run against the one in memory and every real one."""

from collections.abc import Callable, Sequence

import pytest

from headgate_bus.errors import BusError, Fenced
from headgate_bus.interface import Bus, Follower, Message, Record, Topic
from support.bus.records import bodies, key_in, seat_at
from support.bus.rigs import AMBIENT, PATIENCE_S, Rig

EVENTS = Topic.EVENTS
WORKERS = "workers"


def announce(bus: Bus, *bodies: str, partition: int = 0) -> None:
    bus.append(EVENTS, [Message(key_in(bus, partition, EVENTS), {}, body.encode()) for body in bodies])


def everything(bus: Bus) -> frozenset[int]:
    return frozenset(range(bus.partitions(EVENTS)))


def until(done: Callable[[], bool], *followers: Follower) -> list[Record]:
    """Poll all of them in turn until it is done; what they read."""
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    found: list[Record] = []
    while not done():
        assert AMBIENT.monotonic_s() < deadline, (
            f"not done within {PATIENCE_S} s; held are {[sorted(follower.held()) for follower in followers]}"
        )
        for follower in followers:
            found += follower.poll(0.05)
    return found


def holding_all(bus: Bus, follower: Follower) -> Follower:
    until(lambda: follower.held() == everything(bus), follower)
    return follower


def read(follower: Follower, wanted: int) -> list[Record]:
    """What it reads until that many have come."""
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    found: list[Record] = []
    while len(found) < wanted:
        assert AMBIENT.monotonic_s() < deadline, f"{len(found)} of {wanted} events came within {PATIENCE_S} s"
        found += follower.poll(0.2)
    return found


def settle_all(follower: Follower, records: Sequence[Record]) -> None:
    for record in records:
        follower.settle(record.partition, record.offset + 1)


def test_a_bus_has_several_partitions_of_events(bus: Bus) -> None:
    assert bus.partitions(EVENTS) > 1


def test_the_partition_of_a_tables_events_is_told_before_anything_is_appended(bus: Bus) -> None:
    keys = [f"s3://lake/table-{number}" for number in range(20)]
    places = bus.append(EVENTS, [Message(key, {}, b"x") for key in keys])
    assert [place.partition for place in places] == [bus.partition_of(key, EVENTS) for key in keys]


def test_a_group_that_follows_for_the_first_time_begins_with_the_oldest_event(bus: Bus) -> None:
    announce(bus, "a", "b")
    assert bodies(read(bus.follow(WORKERS), 2)) == ["a", "b"]


def test_beginning_with_the_oldest_event_misses_nothing(bus: Bus) -> None:
    announce(bus, "a")
    follower = bus.follow(WORKERS)
    read(follower, 1)
    assert follower.missed() == frozenset()


def test_one_member_holds_every_partition(bus: Bus) -> None:
    assert holding_all(bus, bus.follow(WORKERS)).held() == everything(bus)


def test_events_of_all_partitions_come(bus: Bus) -> None:
    for partition in everything(bus):
        announce(bus, str(partition), partition=partition)
    found = read(bus.follow(WORKERS), len(everything(bus)))
    assert sorted(bodies(found)) == sorted(map(str, everything(bus)))


def test_events_of_a_partition_come_in_order(bus: Bus) -> None:
    for start in range(0, 20, 5):
        announce(bus, *map(str, range(start, start + 5)), partition=1)
    assert bodies(read(bus.follow(WORKERS), 20)) == [str(number) for number in range(20)]


def test_who_has_read_everything_stands_at_the_end_of_each_partition(bus: Bus) -> None:
    """Whatever a bus keeps beside events, such as the ends of transactions. Break: a position is that of the last event + 1."""
    follower = holding_all(bus, bus.follow(WORKERS))
    seat = seat_at(bus)
    seat.publish(0, [Message(key_in(bus, 0, EVENTS), {}, b"a")], (), None)
    until(lambda: bus.extent(EVENTS, 0).next_offset > 0, follower)  # a broker ends a transaction after its answer
    ends = {partition: bus.extent(EVENTS, partition).next_offset for partition in everything(bus)}
    until(lambda: {partition: follower.position(partition) for partition in ends} == ends, follower)


def test_a_follower_stands_nowhere_in_a_partition_that_it_does_not_hold(bus: Bus) -> None:
    follower = bus.follow(WORKERS)
    assert follower.position(0) is None
    follower.close()


def test_a_follower_gives_no_more_events_than_asked_for(bus: Bus) -> None:
    announce(bus, *"abcdef")
    follower = bus.follow(WORKERS)
    found: list[list[str]] = []
    while sum(map(len, found)) < 6:
        found.append(bodies(follower.poll(1.0, max_records=4)))
    assert max(map(len, found)) <= 4
    assert [body for polled in found for body in polled] == list("abcdef")


def test_nothing_comes_twice_to_the_member_that_read_it(bus: Bus) -> None:
    announce(bus, "a")
    follower = bus.follow(WORKERS)
    read(follower, 1)
    announce(bus, "b")
    assert bodies(read(follower, 1)) == ["b"]


def test_a_waiting_follower_gets_what_comes(rig: Rig, bus: Bus) -> None:
    follower = holding_all(bus, bus.follow(WORKERS))
    announce(rig.again(), "came")
    assert bodies(read(follower, 1)) == ["came"]


def test_a_group_goes_on_where_it_has_settled(rig: Rig, bus: Bus) -> None:
    announce(bus, *"abcd")
    first = bus.follow(WORKERS)
    settle_all(first, read(first, 4)[:2])
    first.close()
    assert bodies(read(rig.again().follow(WORKERS), 2)) == ["c", "d"]


def test_what_was_read_but_not_settled_comes_again(rig: Rig, bus: Bus) -> None:
    announce(bus, *"ab")
    first = bus.follow(WORKERS)
    read(first, 2)
    first.close()
    assert bodies(read(rig.again().follow(WORKERS), 2)) == ["a", "b"]


def test_settling_less_than_before_takes_nothing_back(rig: Rig, bus: Bus) -> None:
    announce(bus, *"abc")
    first = bus.follow(WORKERS)
    records = read(first, 3)
    first.settle(records[0].partition, records[1].offset + 1)
    first.settle(records[0].partition, records[0].offset)
    first.close()
    assert bodies(read(rig.again().follow(WORKERS), 1)) == ["c"]


def test_what_was_never_read_can_not_be_settled(bus: Bus) -> None:
    announce(bus, "a")
    follower = holding_all(bus, bus.follow(WORKERS))
    with pytest.raises(BusError, match="only what"):
        follower.settle(0, 50)


def test_a_partition_that_is_not_held_can_not_be_settled(bus: Bus) -> None:
    with pytest.raises(Fenced):
        bus.follow(WORKERS).settle(0, 0)


def test_a_group_whose_place_was_let_go_of_goes_on_with_the_oldest_that_is_left(rig: Rig, bus: Bus) -> None:
    announce(bus, *"abcde")
    first = bus.follow(WORKERS)
    settle_all(first, read(first, 5)[:2])
    first.close()
    rig.lose_events(0, 4)
    second = rig.again().follow(WORKERS)
    assert bodies(read(second, 1)) == ["e"]
    assert second.missed() == {0}


def test_a_follower_that_is_overtaken_by_letting_go_goes_on_and_says_so(rig: Rig, bus: Bus) -> None:
    follower = holding_all(bus, bus.follow(WORKERS))
    announce(bus, *"abcde")
    rig.lose_events(0, 3)
    assert bodies(read(follower, 2)) == ["d", "e"]
    assert follower.missed() == {0}


def test_what_was_missed_is_told_once(rig: Rig, bus: Bus) -> None:
    announce(bus, *"abc")
    first = bus.follow(WORKERS)
    settle_all(first, read(first, 3)[:1])
    first.close()
    rig.lose_events(0, 2)
    second = rig.again().follow(WORKERS)
    read(second, 1)
    assert [second.missed(), second.missed()] == [frozenset({0}), frozenset()]


def test_letting_go_of_what_was_settled_misses_nothing(rig: Rig, bus: Bus) -> None:
    announce(bus, *"abc")
    first = bus.follow(WORKERS)
    settle_all(first, read(first, 3)[:2])
    first.close()
    rig.lose_events(0, 2)
    second = rig.again().follow(WORKERS)
    assert bodies(read(second, 1)) == ["c"]
    assert second.missed() == frozenset()


def test_groups_follow_each_for_itself(rig: Rig, bus: Bus) -> None:
    announce(bus, "a")
    first = bus.follow(WORKERS)
    settle_all(first, read(first, 1))
    assert bodies(read(rig.again().follow("others"), 1)) == ["a"]


def test_a_group_of_committers_of_the_same_name_is_another(bus: Bus) -> None:
    seat = bus.seat(WORKERS)
    follower = bus.follow(WORKERS)
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    while not seat.held() or follower.held() != everything(bus):
        assert AMBIENT.monotonic_s() < deadline
        seat.poll(0.05)
        follower.poll(0.05)


def test_two_members_share_the_partitions_evenly(rig: Rig, bus: Bus) -> None:
    members = [bus.follow(WORKERS), rig.again().follow(WORKERS)]
    half = bus.partitions(EVENTS) // 2
    until(lambda: [len(member.held()) for member in members] == [half, half], *members)
    assert members[0].held() | members[1].held() == everything(bus)


def test_a_newcomer_gets_a_share_from_the_one_that_held_everything(rig: Rig, bus: Bus) -> None:
    first = holding_all(bus, bus.follow(WORKERS))
    second = rig.again().follow(WORKERS)
    until(lambda: len(second.held()) == bus.partitions(EVENTS) // 2, first, second)
    assert not first.held() & second.held()


def test_while_members_come_no_two_hold_the_same_partition(rig: Rig, bus: Bus) -> None:
    members = [holding_all(bus, bus.follow(WORKERS)), rig.again().follow(WORKERS)]
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    while not members[1].held():
        assert AMBIENT.monotonic_s() < deadline
        for member in members:
            member.poll(0.05)
            assert not members[0].held() & members[1].held()


def test_what_a_member_leaves_goes_to_the_others_at_once(rig: Rig, bus: Bus) -> None:
    first, second = holding_all(bus, bus.follow(WORKERS)), rig.again().follow(WORKERS)
    until(lambda: bool(second.held()), first, second)
    first.close()
    begun = AMBIENT.monotonic_s()
    holding_all(bus, second)
    assert AMBIENT.monotonic_s() - begun < PATIENCE_S / 2


def test_what_a_member_left_unsettled_comes_to_its_successor(rig: Rig, bus: Bus) -> None:
    announce(bus, *"abc")
    first = bus.follow(WORKERS)
    settle_all(first, read(first, 3)[:1])
    second = rig.again().follow(WORKERS)
    first.close()
    assert bodies(read(second, 2)) == ["b", "c"]


def test_a_member_that_lost_a_partition_settles_nothing_of_it(rig: Rig, bus: Bus) -> None:
    for partition in everything(bus):
        announce(bus, "a", partition=partition)
    first = bus.follow(WORKERS)
    records = read(first, len(everything(bus)))
    second = rig.again().follow(WORKERS)
    found = until(lambda: len(second.held()) == bus.partitions(EVENTS) // 2, first, second)
    taken = next(iter(second.held()))
    (lost,) = [record for record in records if record.partition == taken]
    with pytest.raises(Fenced):
        first.settle(lost.partition, lost.offset + 1)
    while taken not in {record.partition for record in found}:
        found += read(second, 1)


def test_a_closed_follower_refuses(bus: Bus) -> None:
    follower = bus.follow(WORKERS)
    follower.close()
    with pytest.raises(BusError):
        follower.poll(0.0)


def test_closing_the_bus_gives_the_partitions_to_others(rig: Rig, bus: Bus) -> None:
    other = rig.again()
    # Kept, since one that nobody has any more can't be closed, and is only taken for dead after a while.
    follower = holding_all(bus, bus.follow(WORKERS))
    bus.close()
    holding_all(other, other.follow(WORKERS))
    with pytest.raises(BusError, match="closed"):
        follower.poll(0.0)
