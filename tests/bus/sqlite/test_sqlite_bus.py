"""What the bus in a file promises beyond the contract: retention, durability, processes that die, waiting."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Extent, Message, Topic
from headgate_bus.sqlite import file as sqlite_file
from headgate_bus.sqlite import retention as sqlite_retention
from headgate_bus.sqlite import schema as sqlite_schema
from headgate_bus.sqlite import waiting as sqlite_waiting
from headgate_bus.sqlite.bus import SqliteBus
from headgate_bus.sqlite.retention import Retention
from headgate_bus.sqlite.seat import SqliteSeat
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from support.ambient import FakeAmbient
from support.bus.rigs import AMBIENT, GROUP, PATIENCE_S, holding
from support.bus.sqlite_processes import APPENDING, HOLDING, running

PROPOSALS, EVENTS, DEAD_LETTERS = Topic.PROPOSALS, Topic.EVENTS, Topic.DEAD_LETTERS


@pytest.fixture
def clock() -> FakeAmbient:
    return FakeAmbient()


@pytest.fixture
def bus(tmp_path: Path, clock: FakeAmbient) -> Iterator[SqliteBus]:
    bus = SqliteBus(str(tmp_path / "bus.db"), clock)
    bus.prepare()
    yield bus
    bus.close()


def messages(count: int, size: int = 10) -> list[Message]:
    return [Message("t", {}, bytes(size))] * count


def seated(bus: SqliteBus) -> SqliteSeat:
    seat = bus.seat(GROUP)
    seat.poll(0)
    seat.seek(0, 0)
    return seat


def counted(tmp_path: Path, table: str) -> int:
    with sqlite3.connect(tmp_path / "bus.db") as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return int(count)


def test_a_clock_that_was_set_back_does_not_take_the_time_of_records_back(bus: SqliteBus, clock: FakeAmbient) -> None:
    bus.append(PROPOSALS, messages(1))
    first_ms = clock.time_ms
    clock.advance(hours=-5)
    bus.append(PROPOSALS, messages(1))
    assert [record.time_ms for record in bus.reader(PROPOSALS, {0: 0}).read(0)] == [first_ms, first_ms]


# Retention


def test_trimmed_proposals_leave_the_file(bus: SqliteBus, tmp_path: Path) -> None:
    bus.append(PROPOSALS, messages(20))
    seated(bus).publish(0, [], [], 15)
    bus.trim(0, 15)
    assert counted(tmp_path, "proposals") == 5


def test_one_trim_deletes_a_bounded_number_and_the_next_goes_on(
    bus: SqliteBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_retention, "CHUNK", 3)
    monkeypatch.setattr(sqlite_retention, "TRIM_CHUNKS", 2)
    bus.append(PROPOSALS, messages(20))
    seated(bus).publish(0, [], [], 20)
    bus.trim(0, 20)
    assert (bus.extent(PROPOSALS, 0), counted(tmp_path, "proposals")) == (Extent(20, 20), 14)
    bus.trim(0, 20)
    assert counted(tmp_path, "proposals") == 8


def test_a_group_that_has_settled_nothing_keeps_all_proposals(bus: SqliteBus) -> None:
    bus.append(PROPOSALS, messages(3))
    seated(bus).publish(0, [], [], 3)
    bus.seat("others").poll(0)
    bus.trim(0, 3)
    assert bus.extent(PROPOSALS, 0) == Extent(0, 3)


def test_publishing_lets_go_of_events_older_than_a_week(bus: SqliteBus, clock: FakeAmbient, tmp_path: Path) -> None:
    seat = seated(bus)
    seat.publish(0, messages(10), [], None)
    clock.advance(hours=7 * 24 + 1)
    seat.publish(0, messages(1), [], None)
    assert bus.extent(EVENTS, 0) == Extent(10, 11)
    assert counted(tmp_path, "events") == 1


def test_events_of_a_week_are_kept(bus: SqliteBus, clock: FakeAmbient) -> None:
    seat = seated(bus)
    seat.publish(0, messages(10), [], None)
    clock.advance(hours=7 * 24 - 1)
    seat.publish(0, messages(1), [], None)
    assert bus.extent(EVENTS, 0) == Extent(0, 11)


def test_one_publish_lets_go_of_a_bounded_number_of_events(bus: SqliteBus, clock: FakeAmbient) -> None:
    seat = seated(bus)
    seat.publish(0, messages(100), [], None)
    clock.advance(hours=24 * 30)
    seat.publish(0, messages(4), [], None)
    assert bus.extent(EVENTS, 0).first == 2 * 4 + sqlite_retention.SPARE


def test_preparing_lets_go_of_old_events(bus: SqliteBus, clock: FakeAmbient) -> None:
    seated(bus).publish(0, messages(700), [], None)
    clock.advance(hours=24 * 30)
    bus.prepare()
    assert bus.extent(EVENTS, 0) == Extent(700, 700)


def test_events_beyond_their_size_are_let_go_of(bus: SqliteBus, monkeypatch: pytest.MonkeyPatch) -> None:
    each = 1_000 + 512
    monkeypatch.setattr(sqlite_retention, "RETENTION", {EVENTS: Retention(None, 5 * each)})
    seated(bus).publish(0, messages(8, size=1_000), [], None)
    bus.prepare()
    assert bus.extent(EVENTS, 0) == Extent(3, 8)


def test_the_oldest_events_go_first_whichever_partition_they_are_in(
    bus: SqliteBus, clock: FakeAmbient, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [next(key for key in map(str, range(99)) if bus.partition_of(key, EVENTS) == number) for number in (0, 1)]
    seat = seated(bus)
    for key in (keys[1], keys[0], keys[1], keys[0]):
        seat.publish(0, [Message(key, {}, bytes(1_000))], [], None)
        clock.advance(seconds=1)
    monkeypatch.setattr(sqlite_retention, "RETENTION", {EVENTS: Retention(None, 1_000 + 512)})
    bus.prepare()
    assert [bus.extent(EVENTS, number) for number in (0, 1)] == [Extent(1, 2), Extent(2, 2)]


def test_old_events_go_from_partitions_that_nothing_is_appended_to(bus: SqliteBus, clock: FakeAmbient) -> None:
    keys = [next(key for key in map(str, range(99)) if bus.partition_of(key, EVENTS) == number) for number in (0, 1)]
    seat = seated(bus)
    seat.publish(0, [Message(keys[0], {}, b"old")], [], None)
    clock.advance(hours=24 * 30)
    seat.publish(0, [Message(keys[1], {}, b"new")], [], None)
    assert [bus.extent(EVENTS, number) for number in (0, 1)] == [Extent(1, 1), Extent(0, 1)]


def test_the_size_of_a_topic_stays_known_over_letting_go(bus: SqliteBus, monkeypatch: pytest.MonkeyPatch) -> None:
    each = 1_000 + 512
    monkeypatch.setattr(sqlite_retention, "RETENTION", {EVENTS: Retention(None, 5 * each)})
    seat = seated(bus)
    for _ in range(3):
        seat.publish(0, messages(4, size=1_000), [], None)
        bus.prepare()
    assert bus.extent(EVENTS, 0) == Extent(7, 12)


def test_dead_letters_are_kept_however_old_they_are(bus: SqliteBus, clock: FakeAmbient) -> None:
    seat = seated(bus)
    seat.publish(0, [], messages(3), None)
    clock.advance(hours=24 * 400)
    seat.publish(0, [], messages(1), None)
    bus.prepare()
    assert bus.extent(DEAD_LETTERS, 0) == Extent(0, 4)


def test_a_file_that_is_full_refuses_and_nothing_is_appended(tmp_path: Path) -> None:
    bus = SqliteBus(str(tmp_path / "bus.db"), AMBIENT, max_file_bytes=200_000)
    bus.prepare()
    with pytest.raises(BusUnavailable, match="max_file_bytes"):
        bus.append(PROPOSALS, messages(3, size=100_000))
    assert bus.extent(PROPOSALS, 0) == Extent(0, 0)
    bus.close()


def test_a_file_that_was_full_takes_more_when_proposals_were_trimmed(tmp_path: Path) -> None:
    bus = SqliteBus(str(tmp_path / "bus.db"), AMBIENT, max_file_bytes=300_000)
    bus.prepare()
    bus.append(PROPOSALS, messages(2, size=100_000))
    with pytest.raises(BusUnavailable):
        bus.append(PROPOSALS, messages(1, size=100_000))
    seated(bus).publish(0, [], [], 2)
    bus.trim(0, 2)
    (place,) = bus.append(PROPOSALS, messages(1, size=100_000))
    assert place.offset == 2
    bus.close()


# Durability


class Disk:
    """Counts how often something waited for the disk, and fails when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waits = 0
        self.failing = False
        monkeypatch.setattr(sqlite_file, "_to_disk", self._to_disk)

    def _to_disk(self, descriptor: int) -> None:
        if self.failing:
            raise OSError(5, "Input/output error")
        self.waits += 1


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_an_append_waits_for_the_disk(bus: SqliteBus, disk: Disk) -> None:
    bus.append(PROPOSALS, messages(5))
    assert disk.waits == 1


def test_an_append_that_the_disk_fails_may_or_may_not_have_happened(bus: SqliteBus, disk: Disk) -> None:
    disk.failing = True
    with pytest.raises(BusUnavailable, match="not known"):
        bus.append(PROPOSALS, messages(1))


def test_publishing_waits_for_the_disk(bus: SqliteBus, disk: Disk) -> None:
    seat = seated(bus)
    before = disk.waits
    seat.publish(0, messages(3), messages(2), 0)
    assert disk.waits == before + 1


def test_a_seat_delivers_nothing_that_a_power_cut_could_take(bus: SqliteBus, disk: Disk) -> None:
    bus.append(PROPOSALS, messages(1))
    seat = seated(bus)
    disk.failing = True
    with pytest.raises(BusUnavailable):
        seat.poll(0)
    disk.failing = False
    assert len(seat.poll(0)) == 1


def test_a_bus_goes_on_after_its_disk_has_failed(bus: SqliteBus, disk: Disk) -> None:
    disk.failing = True
    with pytest.raises(BusUnavailable):
        bus.append(PROPOSALS, messages(1))
    disk.failing = False
    assert len(bus.append(PROPOSALS, messages(1))) == 1


@pytest.mark.parametrize("acknowledged", [1, 20, 150])
def test_what_was_acknowledged_survives_the_killing_of_its_appender(tmp_path: Path, acknowledged: int) -> None:
    path = str(tmp_path / "bus.db")
    bus = SqliteBus(path, AMBIENT)
    bus.prepare()
    with running(APPENDING, path) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(acknowledged)]
        process.kill()
        rest, _ = process.communicate()
    told += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    found = bus.reader(PROPOSALS, {0: 0}).read(0, max_records=100_000)
    assert [record.body for record in found] == [str(number).encode() for number in range(len(found))]
    # The last one may have been appended without being told.
    assert len(told) <= len(found) <= len(told) + 1
    bus.close()


# Processes and places


def test_the_place_of_a_killed_holder_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "bus.db")
    bus = SqliteBus(path, AMBIENT)
    bus.prepare()
    with running(HOLDING, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        seat = bus.seat(GROUP)
        seat.poll(0.05)
        assert seat.held() == frozenset()
        process.kill()
        assert holding(seat, 1).held() == {0}
    bus.close()


def test_a_waiting_seat_holds_nothing(bus: SqliteBus, tmp_path: Path) -> None:
    first = seated(bus)
    other = SqliteBus(str(tmp_path / "bus.db"), FakeAmbient())
    waiting = other.seat(GROUP)
    assert list(waiting.poll(3)) == []
    assert (first.held(), waiting.held()) == (frozenset({0}), frozenset())
    other.close()


def test_an_offset_is_never_committed_backwards(bus: SqliteBus) -> None:
    bus.append(PROPOSALS, messages(5))
    seat = seated(bus)
    seat.publish(0, [], [], 4)
    with pytest.raises(BusError, match="4 to 5"):
        seat.publish(0, messages(1), [], 3)
    assert (bus.committed(GROUP, 0), bus.extent(EVENTS, 0)) == (4, Extent(0, 0))


def test_an_offset_is_never_committed_beyond_the_end(bus: SqliteBus) -> None:
    bus.append(PROPOSALS, messages(5))
    with pytest.raises(BusError, match="0 to 5"):
        seated(bus).publish(0, messages(1), [], 6)


@pytest.mark.parametrize("group", ["", "a/b", "../x", ".hidden", "x" * 101, "a b"])
def test_a_group_whose_name_is_no_file_name_is_refused(bus: SqliteBus, group: str) -> None:
    with pytest.raises(InvalidInput, match="group"):
        bus.seat(group)


# Waiting


class CountingAmbient(FakeAmbient):
    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.elapsed_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.elapsed_s += seconds

    def monotonic_s(self) -> float:
        return self.elapsed_s


def test_an_idle_reader_sleeps_nearly_all_of_the_time(tmp_path: Path, bus: SqliteBus) -> None:
    ambient = CountingAmbient()
    waiting = SqliteBus(str(tmp_path / "bus.db"), ambient)
    waiting.reader(EVENTS, {0: 0}).read(10.0)
    assert len(ambient.slept) < 10.0 / sqlite_waiting.LONGEST_PAUSE_S * 1.05
    waiting.close()


def test_a_waiting_reader_looks_at_least_every_ten_milliseconds(tmp_path: Path, bus: SqliteBus) -> None:
    ambient = CountingAmbient()
    waiting = SqliteBus(str(tmp_path / "bus.db"), ambient)
    waiting.reader(EVENTS, {0: 0}).read(10.0)
    assert max(ambient.slept) < 0.010
    waiting.close()


def test_what_waits_ends_when_the_bus_is_closed(tmp_path: Path, bus: SqliteBus) -> None:
    class Closing(CountingAmbient):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if len(self.slept) == 5:
                waiting.close()

    waiting = SqliteBus(str(tmp_path / "bus.db"), Closing())
    reader = waiting.reader(EVENTS, {0: 0})
    with pytest.raises(BusError, match="closed"):
        reader.read(PATIENCE_S)


def test_a_read_of_large_bodies_ends_early(bus: SqliteBus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_bus.sqlite.log.READ_BYTES", 2_500)
    bus.append(PROPOSALS, messages(10, size=1_000))
    reader = bus.reader(PROPOSALS, {0: 0})
    assert [len(reader.read(0)) for _ in range(5)] == [3, 3, 3, 1, 0]


def test_a_full_partition_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    bus = SqliteBus(str(tmp_path / "bus.db"), SystemAmbient(), partitions=2)
    bus.prepare()
    keys = {bus.partition_of(key): key for key in map(str, range(50))}
    bus.append(PROPOSALS, [Message(keys[number], {}, b"x") for number in (0, 1) for _ in range(10)])
    reader = bus.reader(PROPOSALS, {0: 0, 1: 0})
    first, second = ({record.partition for record in reader.read(0, max_records=3)} for _ in range(2))
    assert (first, second) == ({0}, {1})
    bus.close()


def test_text_that_a_strange_hand_wrote_is_replaced(bus: SqliteBus, tmp_path: Path) -> None:
    bus.append(PROPOSALS, messages(1))
    with sqlite3.connect(tmp_path / "bus.db") as connection:
        connection.execute("UPDATE proposals SET key = CAST(x'61ff' AS TEXT), headers = 'no json'")
    connection.close()
    (record,) = bus.reader(PROPOSALS, {0: 0}).read(0)
    assert (record.key, record.headers) == ("a\N{REPLACEMENT CHARACTER}", {})


def test_a_file_that_another_process_makes_a_bus_of_between_two_looks_is_one(tmp_path: Path) -> None:
    path = str(tmp_path / "bus.db")

    def make(statement: str) -> None:
        if "sqlite_master" in statement:
            with closing(SqliteBus(path, FakeAmbient("other"))) as other:
                other.prepare()

    with closing(sqlite3.connect(path)) as connection:
        connection.set_trace_callback(make)
        assert sqlite_schema.is_ours(connection, path)


def test_after_a_failed_sync_the_log_is_written_anew_before_anything_behind_it_is_acknowledged(
    bus: SqliteBus, disk: Disk, tmp_path: Path
) -> None:
    """What the disk dropped stands in the log before everything later: after a power cut nothing behind it would be read."""
    disk.failing = True
    with pytest.raises(BusUnavailable):
        bus.append(PROPOSALS, messages(3))
    disk.failing = False
    reader = sqlite3.connect(tmp_path / "bus.db", isolation_level=None)
    with closing(reader):
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM proposals").fetchall()
        with pytest.raises(BusUnavailable, match="met a failing disk"):
            bus.append(PROPOSALS, messages(1))
        reader.rollback()
    bus.append(PROPOSALS, messages(1))
    # The copy leaves the log out: what the disk refused may be missing there.
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / "bus.db").read_bytes())
    with closing(sqlite3.connect(f"file:{copy}?immutable=1", uri=True)) as kept:
        assert kept.execute("SELECT count(*) FROM proposals").fetchone() == (5,)
