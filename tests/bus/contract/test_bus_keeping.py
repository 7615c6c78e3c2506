"""What every bus promises of trimming what is settled, and of being prepared and closed."""

import pytest

from headgate_bus.errors import BusError
from headgate_bus.interface import Bus, Extent, MessagePlace, Topic
from support.bus.records import all_of, bodies, key_in, message, messages, read_until, seat_at, settle
from support.bus.rigs import Rig

PROPOSALS = Topic.PROPOSALS


def test_trimming_lets_go_of_what_is_settled(bus: Bus) -> None:
    settle(bus, 5)
    bus.trim(0, 3)
    assert bus.extent(PROPOSALS, 0) == Extent(3, 5)


def test_what_was_not_trimmed_is_still_read(bus: Bus) -> None:
    settle(bus, 5)
    bus.trim(0, 3)
    assert bodies(read_until(bus.reader(PROPOSALS, {0: 3}), 2)) == ["3", "4"]


def test_trimming_never_goes_beyond_what_is_settled(bus: Bus) -> None:
    settle(bus, 3)
    bus.append(PROPOSALS, messages("undecided", key=key_in(bus, 0)))
    bus.trim(0, 4)
    assert bus.extent(PROPOSALS, 0) == Extent(3, 4)


def test_with_nothing_settled_trimming_does_nothing(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    bus.trim(0, 2)
    assert bus.extent(PROPOSALS, 0) == Extent(0, 3)


def test_trimming_back_does_nothing(bus: Bus) -> None:
    settle(bus, 5)
    bus.trim(0, 3)
    bus.trim(0, 1)
    assert bus.extent(PROPOSALS, 0) == Extent(3, 5)


def test_trimming_everything_keeps_the_next_offset(bus: Bus) -> None:
    settle(bus, 3)
    bus.trim(0, 3)
    assert bus.append(PROPOSALS, messages("next", key=key_in(bus, 0))) == [MessagePlace(0, 3)]


def test_a_bus_that_was_never_prepared_refuses_and_says_so(rig: Rig) -> None:
    with pytest.raises(BusError, match="prepare"):
        rig.bus.append(PROPOSALS, [message()])


def test_preparing_again_keeps_everything(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc"))
    source = bus.source(0)
    rig.again().prepare()
    assert bus.source(0) == source
    assert bodies(all_of(bus, PROPOSALS, 3)) == ["a", "b", "c"]


def test_a_closed_bus_refuses(bus: Bus) -> None:
    bus.close()
    with pytest.raises(BusError):
        bus.append(PROPOSALS, [message()])


def test_closing_twice_is_harmless(bus: Bus) -> None:
    bus.close()
    bus.close()


def test_a_closed_seat_refuses(bus: Bus) -> None:
    seat = seat_at(bus)
    seat.close()
    with pytest.raises(BusError):
        seat.publish(0, messages("event"), [], None)
