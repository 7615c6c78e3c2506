"""What every bus promises of publishing: events and offset at once, or neither."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate_bus.errors import BusError, Fenced
from headgate_bus.interface import MAX_MESSAGE_BYTES, Bus, Mark, Message, Topic
from support.bus.records import all_of, bodies, key_in, message, messages, poll_until, read_until, seat_at, settle
from support.bus.rigs import GROUP, Rig, holding

PROPOSALS, EVENTS, DEAD_LETTERS = Topic.PROPOSALS, Topic.EVENTS, Topic.DEAD_LETTERS


def test_events_that_were_published_can_be_read(bus: Bus) -> None:
    seat = seat_at(bus)
    seat.publish(0, [Message("s3://lake/t", {"ce_id": "7"}, b"one"), Message("s3://lake/t", {}, b"two")], [], None)
    found = all_of(bus, EVENTS, 2)
    assert [(record.key, record.headers, record.body) for record in found] == [
        ("s3://lake/t", {"ce_id": "7"}, b"one"),
        ("s3://lake/t", {}, b"two"),
    ]


def test_dead_letters_that_were_published_can_be_read(bus: Bus) -> None:
    seat_at(bus).publish(0, [], [Message("s3://lake/t", {"ce_id": "7"}, b"\xff")], None)
    assert [(record.key, record.body) for record in all_of(bus, DEAD_LETTERS, 1)] == [("s3://lake/t", b"\xff")]


def test_events_keep_their_order_over_several_publishes(bus: Bus) -> None:
    seat = seat_at(bus)
    for start in range(0, 9, 3):
        seat.publish(0, messages(*(str(number) for number in range(start, start + 3))), [], None)
    assert bodies(all_of(bus, EVENTS, 9)) == [str(number) for number in range(9)]


def test_publishing_advances_the_committed_offset(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    seat.publish(0, messages("event"), [], 2)
    assert (bus.committed(GROUP, 0), seat.committed(0)) == (2, 2)


def test_an_offset_may_be_committed_with_nothing_to_announce(bus: Bus) -> None:
    settle(bus, 3)
    assert bus.committed(GROUP, 0) == 3


def test_publishing_without_an_offset_leaves_it_as_it_is(bus: Bus) -> None:
    seat = settle(bus, 3)
    seat.publish(0, messages("event"), [], None)
    assert bus.committed(GROUP, 0) == 3


def test_publishing_for_one_partition_leaves_the_others_offsets(bus: Bus) -> None:
    settle(bus, 3)
    assert bus.committed(GROUP, 1) is None


def test_publishing_the_same_again_is_allowed(bus: Bus) -> None:
    seat = settle(bus, 3)
    seat.publish(0, messages("event"), [], 3)
    seat.publish(0, messages("event"), [], 3)
    assert bus.committed(GROUP, 0) == 3
    assert bodies(all_of(bus, EVENTS, 2)) == ["event", "event"]


def test_each_group_has_its_own_offset(bus: Bus) -> None:
    settle(bus, 3)
    assert bus.committed("others", 0) is None


def test_the_next_holder_starts_at_the_committed_offset(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcd", key=key_in(bus, 0)))
    seat = seat_at(bus)
    poll_until(seat, 4)
    seat.publish(0, messages("event"), [], 2)
    bus.close()
    successor = holding(rig.again().seat(GROUP))
    offset = successor.committed(0)
    assert offset == 2
    successor.seek(0, offset)
    assert bodies(poll_until(successor, 2)) == ["c", "d"]


def test_the_committed_offset_goes_back_where_the_log_ends_before_it(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    rig.settled(GROUP, 0, 9)
    seat = holding(bus.seat(GROUP))
    assert seat.committed(0) == 9
    seat.publish(0, [], [], 1)
    assert (seat.committed(0), bus.committed(GROUP, 0)) == (1, 1)


def test_a_mark_is_kept_with_its_offset(bus: Bus) -> None:
    seat = settle(bus, 3)
    assert (seat.mark(0), bus.mark(GROUP, 0)) == (None, None)
    mark = Mark(bus.source(0).topic, 1, "p1", 7)
    seat.publish(0, [], [], 3, mark)
    assert (seat.mark(0), bus.mark(GROUP, 0), bus.committed(GROUP, 0)) == (mark, mark, 3)
    seat.publish(0, messages("event"), [], None)
    assert bus.mark(GROUP, 0) == mark
    seat.publish(0, [], [], 3)
    assert bus.mark(GROUP, 0) is None
    assert bus.mark("others", 0) is None


def test_the_next_holder_finds_the_mark(rig: Rig, bus: Bus) -> None:
    seat = settle(bus, 3)
    mark = Mark(bus.source(0).topic, 2, "p2")
    seat.publish(0, [], [], 3, mark)
    bus.close()
    assert holding(rig.again().seat(GROUP)).mark(0) == mark


def test_an_offset_that_somebody_else_moved_has_no_mark(rig: Rig, bus: Bus) -> None:
    """As an older release moves it, which knows of no marks."""
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    seat.publish(0, [], [], 2, Mark(bus.source(0).topic, 1, "b"))
    seat.close()
    rig.settled(GROUP, 0, 3)
    assert bus.mark(GROUP, 0) is None


def test_an_offset_is_set_back_though_the_log_goes_on_beyond_it(bus: Bus) -> None:
    seat = settle(bus, 3)
    mark = Mark(bus.source(0).topic, -1, "")
    seat.set_back(0, 1, mark)
    assert (seat.committed(0), bus.committed(GROUP, 0), seat.mark(0)) == (1, 1, mark)
    seat.publish(0, [], [], 2)
    assert bus.committed(GROUP, 0) == 2


def test_nobody_sets_back_what_another_holds(rig: Rig, bus: Bus) -> None:
    seat = settle(bus, 3)
    rig.supplant(GROUP)
    with pytest.raises(Fenced):
        seat.set_back(0, 0, None)
    assert bus.committed(GROUP, 0) == 3


def test_of_a_publish_that_is_refused_nothing_happens(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    with pytest.raises(BusError):
        seat.publish(0, [message("good")], [message(bytes(MAX_MESSAGE_BYTES))], 2)
    assert bus.committed(GROUP, 0) is None
    seat.publish(0, [message("later")], [], None)
    assert bodies(all_of(bus, EVENTS, 1)) == ["later"]


def test_an_offset_is_never_committed_before_its_events_can_be_read(rig: Rig, bus: Bus) -> None:
    rounds, events_each = 20, 3
    bus.append(PROPOSALS, [message(key=key_in(bus, 0)) for _ in range(rounds)])
    seat = seat_at(bus)
    watching = rig.again()
    watching_events = watching.reader(EVENTS, dict.fromkeys(range(watching.partitions(EVENTS)), 0))
    done = threading.Event()

    def publish_all() -> None:
        try:
            for number in range(rounds):
                seat.publish(0, messages(*(f"{number}.{index}" for index in range(events_each))), [], number + 1)
        finally:
            done.set()

    seen = 0
    with ThreadPoolExecutor(1) as threads:
        publishing = threads.submit(publish_all)
        finished = False
        while not finished:
            finished = done.is_set()
            committed = watching.committed(GROUP, 0) or 0
            seen += len(read_until(watching_events, committed * events_each - seen))
        publishing.result()
    assert seen == rounds * events_each


def test_of_a_publish_a_reader_sees_all_or_nothing(rig: Rig, bus: Bus) -> None:
    rounds, events_each = 20, 5
    seat = seat_at(bus)
    watching = rig.again().reader(EVENTS, dict.fromkeys(range(bus.partitions(EVENTS)), 0))

    def publish_all() -> None:
        for number in range(rounds):
            seat.publish(0, messages(*(f"{number}.{index}" for index in range(events_each))), [], None)

    with ThreadPoolExecutor(1) as threads:
        publishing = threads.submit(publish_all)
        found = read_until(watching, rounds * events_each)
        publishing.result()
    assert bodies(found) == [f"{number}.{index}" for number in range(rounds) for index in range(events_each)]
