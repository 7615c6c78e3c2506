"""A bus in a file that is full, or on a disk that is: what was decided is settled and announced, and that makes room again."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_bus.interface import Extent, Message, Topic
from headgate_bus.sqlite import bus as sqlite_bus
from headgate_bus.sqlite import seat as sqlite_seat
from headgate_bus.sqlite.bus import SqliteBus
from headgate_bus.sqlite.room import Disk, Filling, NoRoom, check_room, most_pages
from headgate_bus.sqlite.seat import SqliteSeat
from headgate_schemas.ambient import SystemAmbient

PROPOSALS, EVENTS = Topic.PROPOSALS, Topic.EVENTS
AMBIENT = SystemAmbient()
BOUND = 4 << 20
ROOMY = Disk(1 << 40, 1 << 40)


def messages(count: int, size: int = 1_000) -> list[Message]:
    return [Message("lake/events", {}, bytes(size)) for _ in range(count)]


def bus_of(path: Path, max_file_bytes: int = BOUND, partitions: int = 1) -> SqliteBus:
    bus = SqliteBus(str(path), AMBIENT, max_file_bytes=max_file_bytes, partitions=partitions)
    bus.prepare()
    return bus


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[SqliteBus]:
    with closing(bus_of(tmp_path / "bus.db")) as found:
        yield found


def seated(bus: SqliteBus, group: str = "committer") -> SqliteSeat:
    seat = bus.seat(group)
    while not seat.held():
        seat.poll(1.0)
    return seat


def fill(bus: SqliteBus, size: int = 20_000) -> int:
    """Append until the bus is full; how many it took."""
    count, at_once = 0, max(1, 100_000 // size)
    while True:
        try:
            bus.append(PROPOSALS, messages(at_once, size))
        except NoRoom:
            return count
        count += at_once


@pytest.mark.parametrize("size", [3_000, 20_000, 400_000])
def test_what_a_full_bus_holds_is_settled_and_announced_and_then_it_takes_more(bus: SqliteBus, size: int) -> None:
    seat = seated(bus)
    for _ in range(3):
        count = fill(bus, size)
        assert count > 0
        end = bus.extent(PROPOSALS, 0).next_offset
        for settled in range(end - count + 1, end + 1, 10):
            seat.publish(0, messages(20), [], min(settled + 9, end))
        assert bus.committed("committer", 0) == end
    assert bus.extent(PROPOSALS, 0).first > 0


def test_a_full_bus_takes_a_dead_letter_for_each_of_its_proposals(bus: SqliteBus) -> None:
    seat = seated(bus)
    for settled in range(1, fill(bus) + 1, 5):
        seat.publish(0, messages(5), messages(5, 20_000), settled)
    bus.append(PROPOSALS, messages(1, 20_000))


def test_of_settled_proposals_the_last_is_kept_by_which_the_bus_is_known_again(bus: SqliteBus) -> None:
    count = fill(bus)
    seated(bus).publish(0, [], [], count)
    bus.append(PROPOSALS, messages(1, 200_000))
    assert bus.extent(PROPOSALS, 0) == Extent(count - 1, count + 1)


def test_a_full_bus_lets_go_of_nothing_that_a_group_has_not_settled(bus: SqliteBus) -> None:
    count = fill(bus)
    seated(bus).publish(0, [], [], count)
    bus.seat("others").poll(0)
    with pytest.raises(NoRoom, match=r"every group that ever used this bus"):
        bus.append(PROPOSALS, messages(1, 200_000))
    assert bus.extent(PROPOSALS, 0) == Extent(0, count)


def test_room_is_made_in_every_partition(tmp_path: Path) -> None:
    with closing(bus_of(tmp_path / "bus.db", partitions=4)) as bus:
        seat = seated(bus)
        keys = [next(key for key in map(str, range(99)) if bus.partition_of(key) == number) for number in range(4)]
        for number, key in enumerate(keys):
            bus.append(PROPOSALS, [Message(key, {}, bytes(900_000))])
            seat.publish(number, [], [], 1)
            bus.append(PROPOSALS, [Message(key, {}, bytes(10))])
            seat.publish(number, [], [], 2)
        bus.append(PROPOSALS, [Message(keys[0], {}, bytes(900_000))])
        assert [bus.extent(PROPOSALS, number).first for number in range(4)] == [1] * 4


def test_a_file_that_is_beyond_its_bound_already_is_settled_and_announced(tmp_path: Path) -> None:
    """As where the bound was made smaller, or an earlier release let proposals fill it."""
    with closing(bus_of(tmp_path / "bus.db", 16 << 20)) as large:
        count = fill(large, 500_000)
    with closing(bus_of(tmp_path / "bus.db", 2 << 20)) as small:
        seat = seated(small)
        for settled in range(1, count + 1):
            seat.publish(0, messages(2), messages(1, 100_000), settled)
        assert small.append(PROPOSALS, messages(1))[0].offset == count


def test_one_that_is_refused_takes_nobody_with_it_who_shares_its_transaction(bus: SqliteBus) -> None:
    seat = seated(bus)
    fill(bus)
    with pytest.raises(NoRoom, match="max_file_bytes"):
        bus.append(PROPOSALS, messages(1, 500_000))
    seat.publish(0, messages(1), [], 1)
    assert bus.extent(EVENTS, bus.partition_of("lake/events", EVENTS)) == Extent(0, 1)


def test_the_parts_of_a_bound_fit_together() -> None:
    with pytest.raises(NoRoom, match=r"is full: it holds 90 bytes, and 11 more are over its bound of 100"):
        check_room("bus.db", Filling(90, 0), 11, 100, ROOMY)
    check_room("bus.db", Filling(90, 0), 10, 100, ROOMY)
    assert most_pages(1 << 30, 4096, 10) == (5 << 30) // 4 // 4096
    assert most_pages(0, 4096, 10) == 10 + (32 << 20) // 4096


@pytest.mark.parametrize(("size", "kept"), [(1 << 40, 64 << 20), (160 << 20, 40 << 20)])
def test_some_of_the_disk_is_kept_and_less_where_the_file_need_not_grow(size: int, kept: int) -> None:
    check_room("bus.db", Filling(0, 0), 1, 100, Disk(kept + 1, size))
    check_room("bus.db", Filling(0, 1), 1, 100, Disk(kept // 2, size))
    for free_in_file, free in ((0, kept), (1, kept // 2 - 1)):
        with pytest.raises(NoRoom, match=r"the disk is full, where the bus bus\.db lies"):
            check_room("bus.db", Filling(0, free_in_file), 1, 100, Disk(free, size))


Step = tuple[str, int]

SMALL_BOUND = 2 << 20


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("fill"), st.sampled_from([2_000, 60_000, 700_000])),
            st.tuples(st.just("append"), st.integers(1, 100_000)),
            st.tuples(st.just("settle"), st.integers(1, 400)),
            st.tuples(st.just("letter"), st.integers(1, 50_000)),
        ),
        max_size=12,
    ),
)
def test_whatever_is_appended_all_can_be_settled_and_then_there_is_room(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """The model counts the bytes that wait, which are never let go of, nor beyond the bound."""
    with closing(bus_of(tmp_path_factory.mktemp("room") / "bus.db", SMALL_BOUND)) as bus:
        seat = seated(bus)
        waiting: list[int] = []
        for kind, number in [*steps, ("settle", 1_000_000)]:
            match kind:
                case "fill":
                    waiting += [number] * fill(bus, number)
                case "append":
                    waiting += [number] * append_if_there_is_room(bus, number)
                case "letter":
                    seat.publish(0, [], messages(1, number), None)
                case _:
                    settle(bus, seat, waiting, number)
            extent = bus.extent(PROPOSALS, 0)
            assert extent.first <= extent.next_offset - len(waiting), "proposals that wait are gone"
            assert sum(waiting) <= SMALL_BOUND, "proposals take the room of those who settle them"
        bus.append(PROPOSALS, messages(1, 100_000))


@settings(max_examples=4, deadline=None)
@given(
    st.integers(20, 28), st.sampled_from([1_000, 5_000, 40_000]), st.sampled_from([100, 300, 600]), st.integers(20, 60)
)
def test_a_disk_of_any_size_that_proposals_fill_is_left_by_settling_them(
    tmp_path_factory: pytest.TempPathFactory, megabytes: int, size: int, event_size: int, publishes: int
) -> None:
    """The disk is a number, and each byte of the bus's folder counts."""
    folder, disk_bytes = tmp_path_factory.mktemp("disk"), megabytes << 20

    def disk(_: str) -> Disk:
        return Disk(disk_bytes - sum(each.stat().st_size for each in folder.iterdir()), disk_bytes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_bus, "disk_of", disk)
        patch.setattr(sqlite_seat, "disk_of", disk)
        with closing(bus_of(folder / "bus.db", 1 << 30)) as bus:
            count = fill(bus, size)
            assert disk("").free > disk_bytes // 10, "proposals take what is kept for those who settle them"
            seat, at_once = seated(bus), 1 + count // publishes
            for settled in range(0, count, at_once):
                now = min(count, settled + at_once)
                seat.publish(0, messages(now - settled, event_size), [], now)
                assert disk("").free >= 0, f"{now} of {count} are settled, and the disk is full"
            bus.append(PROPOSALS, messages(1, size))


def settle(bus: SqliteBus, seat: SqliteSeat, waiting: list[int], number: int) -> None:
    """So many of those that wait, with two events each."""
    while waiting and number > 0:
        count = min(len(waiting), number, 200)
        del waiting[:count]
        seat.publish(0, messages(2 * count), [], bus.extent(PROPOSALS, 0).next_offset - len(waiting))
        number -= count


def append_if_there_is_room(bus: SqliteBus, size: int) -> bool:
    try:
        bus.append(PROPOSALS, messages(1, size))
    except NoRoom:
        return False
    return True


def test_a_disk_that_proposals_have_filled_is_left_enough_room_to_settle_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "support.bus.full_disk", str(tmp_path / "disk")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("are reserved for its committer") == 4
    assert done.stdout.count("and went on") == 4
