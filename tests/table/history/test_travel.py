"""Which version was the newest at a time: how times are read, and what is refused."""

import json
from pathlib import Path

import pytest

from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import VersionNotRetained
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.version_file import decode_actions
from headgate_table.indextables.history.travel import log_at, version_before
from headgate_table.interface.times import format_time, parse_time
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.logs.foreign_log import build_on
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore
from support.tables import START_MS, add_file, new_table, opened
from support.writers.handmade import HandMade, add, file, metadata, protocol
from support.writers.scala import ScalaTable

NOON_MS = 1_704_110_400_000  # 2024-01-01 12:00 UTC


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NOON_MS, NOON_MS),
        (str(NOON_MS), NOON_MS),
        ("2024-01-01T12:00:00Z", NOON_MS),
        ("2024-01-01T12:00:00", NOON_MS),
        (" 2024-01-01 12:00:00 ", NOON_MS),
        ("2024-01-01T13:30:00+01:30", NOON_MS),
        ("2024-01-01T12:00:00.123456", NOON_MS + 123),
        ("2024-01-01", NOON_MS - 12 * 3_600_000),
        ("1969-12-31T23:59:59.9995", -1),
    ],
)
def test_a_time_is_read_as_epoch_milliseconds(text: int | str, expected: int) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01", "12:00", True, "1" * 30])
def test_what_is_no_time_is_refused_by_name(text: int | str) -> None:
    with pytest.raises(InvalidInput, match="is no time"):
        parse_time(text)


def test_a_time_beyond_the_calendar_is_shown_as_a_number() -> None:
    assert format_time(10**18) == f"{10**18} ms"


def _committed(store: MemoryStore, version: int) -> int:
    key = version_key(version)
    info = next(action for action in decode_actions(store.get(key), key) if isinstance(action, CommitInfo))
    return int(info.body["timestamp"])


def _appended(count: int, *, interval: int = 10, store: MemoryStore | None = None) -> tuple[MemoryStore, Table]:
    store = store or MemoryStore()
    table = new_table(store, interval=interval)
    for number in range(count):
        table.append([add_file(f"f{number}")])
    return store, table


def test_a_snapshot_at_a_time_is_the_newest_version_then() -> None:
    store, table = _appended(5, interval=2)
    found = {
        offset: table.snapshot(timestamp=_committed(store, 3) + offset).version
        for offset in (-1, 0, 1, _committed(store, 4) - _committed(store, 3) - 1)
    }
    assert list(found.values()) == [2, 3, 3, 3]


def test_a_time_after_the_newest_version_is_the_newest_version() -> None:
    _, table = _appended(3)
    assert table.snapshot(timestamp="2999-01-01").version == 3


def test_a_time_before_the_table_names_the_range_and_its_time() -> None:
    store, table = _appended(3)
    first = format_time(_committed(store, 0))
    with pytest.raises(VersionNotRetained, match=rf"earliest version left is 0, of {first}; retained: 0 to 3"):
        table.snapshot(timestamp=_committed(store, 0) - 1)


def test_a_time_in_a_cleaned_part_names_what_is_retained() -> None:
    store, table = _appended(7, interval=3)
    cleaned_ms = _committed(store, 2)
    store.delete([version_key(version) for version in range(6)] + [state_key(3)])
    with pytest.raises(VersionNotRetained, match=r"earliest version left is 6, .*retained: 6 to 7"):
        table.snapshot(timestamp=cleaned_ms)


def test_a_time_in_a_gap_between_retained_versions_is_refused() -> None:
    store, table = _appended(7, interval=3)
    before_ms, gone_ms = _committed(store, 3), _committed(store, 4)
    store.delete([version_key(4), version_key(5)])
    assert table.snapshot(timestamp=before_ms).version == 3
    with pytest.raises(
        VersionNotRetained, match=r"between 3 .* and 6 .* are gone: .*00000004.json to .*00000005.json are lost"
    ):
        table.snapshot(timestamp=gone_ms)


def test_a_version_whose_clock_ran_ahead_makes_later_ones_as_late(tmp_path: Path) -> None:
    """Commit times 0, 300, 200, 400 count as 0, 300, 300, 400."""
    made = HandMade(tmp_path)
    made.version(0, protocol(), metadata("t"), {"commitInfo": {"timestamp": START_MS}})
    for version, offset in ((1, 300), (2, 200), (3, 400)):
        made.version(version, add(file(f"f{version}")), {"commitInfo": {"timestamp": START_MS + offset}})
    reader = Table.open(str(tmp_path)).reader
    assert [log_at(reader, START_MS + offset).version for offset in (0, 250, 300, 399, 400)] == [0, 0, 2, 2, 3]


def test_states_tell_the_time_where_no_version_file_does(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    times = {0: table.metadata["metaData"]["createdTime"]}
    for _ in range(4):
        version = table.commit(table.invented.files(1))
        times[version] = table.invented.clock_ms
    reader = Table.open(str(tmp_path)).reader
    # A state's own time lies between the start of its commit and the next tick of the writer's clock.
    assert {version: log_at(reader, time_ms).version for version, time_ms in times.items()} == {v: v for v in times}


def test_a_late_state_under_an_early_number_does_not_tell_the_time(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    created_ms = table.metadata["metaData"]["createdTime"]
    for _ in range(3):
        table.append(1)
    table.checkpoint(at=0)
    reader = Table.open(str(tmp_path)).reader
    assert log_at(reader, created_ms).version == 0
    assert log_at(reader, table.invented.clock_ms).version == 3


def test_version_files_without_any_time_go_by_when_they_were_written() -> None:
    store = MemoryStore()
    for version in range(3):
        lines = [protocol(), metadata("t", createdTime=None)] if version == 0 else [add(file(f"f{version}"))]
        store.put(version_key(version), "\n".join(json.dumps(line) for line in lines).encode())
    reader = opened(store).reader
    written = reader.full_listing().version_objects
    assert [log_at(reader, written[version].modified_ms).version for version in range(3)] == [0, 1, 2]


def test_a_damaged_version_file_below_a_state_does_not_stop_time_travel() -> None:
    # Bytes that rot keep the time at which their file was written.
    store, _ = _appended(6, interval=3, store=MemoryStore(FakeAmbient(time_ms=START_MS)))
    asked_ms = _committed(store, 6)
    store.put(version_key(2), b"\x01\x01 damaged")
    assert opened(store).snapshot(timestamp=asked_ms).version == 6


def test_of_a_long_log_few_version_files_are_read() -> None:
    store, _ = _appended(300, interval=100)
    counted = FaultyStore(store)
    reader = opened(counted).reader
    assert log_at(reader, _committed(store, 117)).version == 117
    assert counted.count("get") <= 9 + 33


def test_before_the_first_version_of_a_whole_log_there_is_nothing() -> None:
    store, table = _appended(2)
    assert version_before(table.reader, _committed(store, 0) - 1) == -1
    assert version_before(table.reader, _committed(store, 1)) == 1


def test_a_snapshot_is_taken_by_version_or_time_not_both() -> None:
    _, table = _appended(1)
    with pytest.raises(InvalidInput, match="not by both"):
        table.snapshot(version=1, timestamp=START_MS)


def _by_states_alone(*times: int) -> Table:
    """States 1, 2, … of a writer that keeps no version files, made at these times."""

    def build(made: HandMade) -> None:
        for number, time in enumerate(times, start=1):
            made.state(number, [made.manifest([file(f"f{number}")])], createdAt=START_MS + time)
        made.pointer(len(times))

    return opened(build_on(MemoryStore(), build))


@pytest.mark.parametrize(
    ("times", "history"),
    [
        ((1, 2, 3), [1, 2, 3]),
        ((9, 2, 3), [2, 3]),
        ((8, 9, 3), [3]),  # each is older than the next, and none than the last
        ((8, 9, 3, 4), [3, 4]),
        ((1, 9, 9, 4), [1, 4]),
    ],
    ids=str,
)
def test_numbers_that_were_used_late_are_neither_listed_nor_read(times: tuple[int, ...], history: list[int]) -> None:
    """Break: `_is_reused` compares with the next state only."""
    table = _by_states_alone(*times)
    reader = table.reader
    assert list(reader.states_in_order(reader.full_listing())) == history
    for number in range(1, len(times) + 1):
        if number in history:
            assert table.snapshot(version=number).paths() == [f"f{number}.parquet"]
        else:
            with pytest.raises(VersionNotRetained):
                table.snapshot(version=number)
