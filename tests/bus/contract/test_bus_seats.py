"""What every bus promises to the holder of a seat, and to those that want it: delivery in order, and one holder at a time."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate_bus.errors import Fenced, OffsetGone
from headgate_bus.interface import Bus, Extent, Topic
from support.bus.records import all_of, bodies, key_in, message, messages, poll_until, seat_at, settle
from support.bus.rigs import AMBIENT, GROUP, PARTITIONS, PATIENCE_S, Rig, holding

PROPOSALS, EVENTS, DEAD_LETTERS = Topic.PROPOSALS, Topic.EVENTS, Topic.DEAD_LETTERS


def test_nobody_has_committed_at_first(bus: Bus) -> None:
    seat = seat_at(bus)
    assert (bus.committed(GROUP, 0), seat.committed(0)) == (None, None)


def test_a_newly_held_partition_delivers_nothing_before_seek(bus: Bus) -> None:
    bus.append(PROPOSALS, [message(key=key_in(bus, number)) for number in range(PARTITIONS)])
    seat = holding(bus.seat(GROUP))
    assert list(seat.poll(0.3)) == []


def test_a_seat_delivers_from_where_it_was_sent(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcd", key=key_in(bus, 0)))
    seat = seat_at(bus, {0: 2})
    assert bodies(poll_until(seat, 2)) == ["c", "d"]


def test_a_seat_delivers_each_partition_in_order(bus: Bus) -> None:
    keys = [key_in(bus, number) for number in range(PARTITIONS)]
    bus.append(PROPOSALS, [message(f"{index}", key) for index in range(10) for key in keys])
    found = poll_until(seat_at(bus), 10 * PARTITIONS)
    for number in range(PARTITIONS):
        assert bodies([record for record in found if record.partition == number]) == [str(index) for index in range(10)]


def test_a_seat_gives_no_more_records_than_asked_for(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcdef"))
    seat = seat_at(bus)
    found: list[list[str]] = []
    while sum(map(len, found)) < 6:
        found.append(bodies(seat.poll(PATIENCE_S, max_records=4)))
    assert max(map(len, found)) <= 4
    assert [body for polled in found for body in polled] == list("abcdef")


def test_a_seat_with_nothing_to_deliver_waits_and_returns_nothing(bus: Bus) -> None:
    seat = seat_at(bus)
    begun = AMBIENT.monotonic_s()
    assert list(seat.poll(0.3)) == []
    assert 0.25 <= AMBIENT.monotonic_s() - begun < PATIENCE_S


def test_a_waiting_seat_gets_what_comes(rig: Rig, bus: Bus) -> None:
    other = rig.again()
    seat = seat_at(bus)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(poll_until, seat, 1)
        other.append(PROPOSALS, messages("came"))
        assert bodies(waiting.result()) == ["came"]


def test_a_paused_partition_delivers_nothing_and_stays_held(bus: Bus) -> None:
    bus.append(PROPOSALS, [message(str(number), key_in(bus, number)) for number in range(PARTITIONS)])
    seat = seat_at(bus)
    seat.pause(0)
    assert bodies([*poll_until(seat, 1), *seat.poll(0.2)]) == ["1"]
    assert seat.held() == frozenset(range(PARTITIONS))


def test_a_resumed_partition_delivers_what_was_held_back(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"ab", key=key_in(bus, 0)))
    seat = seat_at(bus)
    seat.pause(0)
    seat.poll(0.2)
    seat.resume(0)
    assert bodies(poll_until(seat, 2)) == ["a", "b"]


def test_seeking_back_delivers_again(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    poll_until(seat, 3)
    seat.seek(0, 1)
    assert bodies(poll_until(seat, 2)) == ["b", "c"]


def test_seeking_beyond_the_end_is_told_by_poll(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus, {0: 50})
    with pytest.raises(OffsetGone) as caught:
        seat.poll(PATIENCE_S)
    assert (caught.value.partition, caught.value.offset, caught.value.next_offset) == (0, 50, 3)


def test_seeking_below_what_was_trimmed_is_told_by_poll(bus: Bus) -> None:
    seat = settle(bus, 3)
    bus.trim(0, 2)
    seat.seek(0, 1)
    with pytest.raises(OffsetGone) as caught:
        seat.poll(PATIENCE_S)
    assert (caught.value.partition, caught.value.offset, caught.value.first) == (0, 1, 2)


def test_after_an_offset_was_gone_a_seat_can_seek_and_go_on(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus, {0: 50})
    with pytest.raises(OffsetGone):
        seat.poll(PATIENCE_S)
    seat.seek(0, 1)
    assert bodies(poll_until(seat, 2)) == ["b", "c"]


def test_a_partition_that_is_not_held_cannot_be_published_for(bus: Bus) -> None:
    seat = bus.seat(GROUP)
    with pytest.raises(Fenced):
        seat.publish(0, messages("event"), [], None)
    assert all(bus.extent(EVENTS, number) == Extent(0, 0) for number in range(bus.partitions(EVENTS)))


def test_a_seat_that_was_refused_because_it_held_nothing_yet_gets_its_place_all_the_same(bus: Bus) -> None:
    """Break: take whoever publishes before it holds anything for one that has lost its place."""
    seat = bus.seat(GROUP)
    with pytest.raises(Fenced, match="isn't held"):
        seat.publish(0, messages("too early"), [], None)
    holding(seat).publish(0, messages("event"), [], None)
    assert bodies(all_of(bus, EVENTS, 1)) == ["event"]


def test_two_seats_never_hold_the_same_partition(rig: Rig, bus: Bus) -> None:
    seats = [bus.seat(GROUP), rig.again().seat(GROUP)]
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    while len(seats[0].held() | seats[1].held()) < PARTITIONS:
        assert AMBIENT.monotonic_s() < deadline, "the partitions were never all held"
        for seat in seats:
            seat.poll(0.05)
    for _ in range(5):
        for seat in seats:
            seat.poll(0.05)
        assert not seats[0].held() & seats[1].held()


def test_a_waiting_seat_takes_over_when_the_holder_closes(rig: Rig, bus: Bus) -> None:
    first = seat_at(bus)
    second = rig.again().seat(GROUP)
    first.close()
    assert holding(second).held() == frozenset(range(PARTITIONS))


def test_a_supplanted_seat_is_fenced_when_it_publishes(rig: Rig, bus: Bus) -> None:
    seat = seat_at(bus)
    rig.supplant(GROUP)
    with pytest.raises(Fenced):
        seat.publish(0, messages("zombie"), [], None)


def test_of_what_a_supplanted_seat_publishes_nothing_is_seen(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    successor = rig.supplant(GROUP)
    with pytest.raises(Fenced):
        seat.publish(0, messages("zombie"), messages("zombie"), 3)
    successor.publish(0, messages("successor"), messages("successor"), 1)
    assert bus.committed(GROUP, 0) == 1
    assert bodies(all_of(bus, EVENTS, 1)) == ["successor"]
    assert bodies(all_of(bus, DEAD_LETTERS, 1)) == ["successor"]


def test_a_supplanted_seat_stays_fenced(rig: Rig, bus: Bus) -> None:
    seat = seat_at(bus)
    rig.supplant(GROUP).close()
    for _ in range(2):
        with pytest.raises(Fenced):
            seat.publish(0, messages("zombie"), [], None)


def test_groups_do_not_take_each_others_places(rig: Rig, bus: Bus) -> None:
    seat = seat_at(bus)
    holding(rig.again().seat("others"))
    seat.publish(0, messages("event"), [], None)
    assert bodies(all_of(bus, EVENTS, 1)) == ["event"]
