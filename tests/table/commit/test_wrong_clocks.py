"""Commits by clocks that are wrong: what they say enters the log only within a bound, and nothing is forgotten for it."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Append, Committed, Duplicate, Purge, RejectCode, Rejected
from headgate_table.coordination.commit_info import commit_record
from headgate_table.indextables.write.commit_times import MARGIN_MS, UNTOLD_MARGIN_MS, bounded_time_ms
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.coordinated import Coordinated
from support.stores.memory import Clockless, MemoryStore, _Held
from support.tables import add_file, committer_of, new_table, opened

_PROCESSES = itertools.count()
DAY_MS = 24 * 3_600_000


def skewed(ambient: FakeAmbient, days: float) -> FakeAmbient:
    other = FakeAmbient(f"skewed-{days}-{next(_PROCESSES)}")
    other.time_ms = ambient.time_ms + int(days * DAY_MS)
    return other


def told_ms(table: Table, version: int) -> int:
    record = commit_record(table.reader.actions(version))
    assert record is not None
    return record.time_ms


def test_a_time_far_from_the_stores_is_brought_into_its_bounds() -> None:
    ambient = FakeAmbient()
    for days in (8, -8):
        store = MemoryStore(ambient)
        new_table(store, ambient=ambient)
        assert isinstance(opened(store, ambient=skewed(ambient, days)).append([add_file("a")]), Committed)
        assert abs(told_ms(opened(store), 1) - ambient.time_ms) <= MARGIN_MS


def test_a_table_made_by_a_wrong_clock_is_dated_by_the_store() -> None:
    ambient = FakeAmbient()
    store = MemoryStore(ambient)
    table = new_table(store, ambient=skewed(ambient, 8))
    assert abs(told_ms(table, 0) - ambient.time_ms) <= MARGIN_MS
    assert abs((table.metadata.created_time or 0) - ambient.time_ms) <= MARGIN_MS


def test_a_committer_with_a_wrong_clock_dates_versions_by_the_store() -> None:
    world = Coordinated()
    wrong = skewed(world.rig.ambient, 8)
    rival = world.rig.committer("rival", ambient=wrong)
    world.rig.depose(world.committer)
    world.rig.append("a")
    world.rig.settle(rival)
    assert abs(told_ms(world.table, world.table.version) - world.rig.ambient.time_ms) <= MARGIN_MS


def test_one_time_in_the_future_is_not_handed_on() -> None:
    """Where the store tells no time, nothing speaks against the clock; the next commit is dated by its own again."""
    ambient = FakeAmbient()
    store = Clockless()
    new_table(store, ambient=ambient, interval=1)
    opened(store, ambient=skewed(ambient, 8), interval=1).append([add_file("ahead")])
    table = opened(store, ambient=ambient, interval=1)
    for number in range(3):
        table.append([add_file(f"f{number}")])
        ambient.advance(hours=1)
    assert told_ms(table, 1) == ambient.time_ms + 8 * DAY_MS - 3 * 3_600_000
    assert [ambient.time_ms - told_ms(table, version) for version in (2, 3, 4)] == [
        hours * 3_600_000 for hours in (3, 2, 1)
    ]
    state = table.reader.latest().state
    assert state is not None
    assert state.created_at <= ambient.time_ms


def test_times_within_the_margin_never_go_back() -> None:
    ambient = FakeAmbient()
    store = MemoryStore(ambient)
    new_table(store, ambient=ambient)
    opened(store, ambient=skewed(ambient, 0.005)).append([add_file("ahead")])
    table = opened(store, ambient=ambient)
    table.append([add_file("a")])
    assert told_ms(table, 2) >= told_ms(table, 1) > ambient.time_ms


def test_one_wrong_clock_makes_nobody_forget_a_purge() -> None:
    """Neither ahead nor behind, neither for those who follow nor for those who read the log anew."""
    for days in (8, 80, -8, -80):
        for store in (Clockless(), MemoryStore(ambient := FakeAmbient())):
            new_table(store, ambient=ambient, interval=2)
            follower = opened(store, ambient=ambient, interval=2)
            assert isinstance(follower.commit(Purge(("old.parquet",))), Committed)
            opened(store, ambient=skewed(ambient, days), interval=2).append([add_file("wrong")])
            for each in (follower, opened(store, ambient=ambient, interval=2)):
                refused = each.append([add_file("old")])
                assert isinstance(refused, Rejected), (days, refused)
                assert refused.code is RejectCode.PATH_IN_USE
            follower.append([add_file(f"right-{days}")])
            assert isinstance(opened(store, ambient=ambient).append([add_file("old")]), Rejected)


def test_a_purge_by_a_clock_that_is_behind_is_remembered_for_the_whole_window() -> None:
    ambient = FakeAmbient()
    store = Clockless()
    table = new_table(store, ambient=ambient)
    opened(store, ambient=skewed(ambient, -8)).commit(Purge(("old.parquet",)))
    for number in range(4):
        assert isinstance(table.append([add_file(f"f{number}")]), Committed)
        ambient.advance(hours=24)
        assert isinstance(table.append([add_file("old")]), Rejected)


def test_one_wrong_clock_makes_nobody_forget_the_id_of_a_direct_commit() -> None:
    ambient = FakeAmbient()
    for store in (Clockless(), MemoryStore(ambient)):
        table = new_table(store, ambient=ambient)
        operation = Append((add_file("a"),))
        assert committer_of(table).commit(operation, "x") == Committed(1, "x")
        opened(store, ambient=skewed(ambient, 80)).append([add_file("wrong")])
        opened(store, ambient=skewed(ambient, -80)).append([add_file("wrong again")])
        assert committer_of(opened(store, ambient=ambient)).commit(operation, "x") == Duplicate(1, "x")


def test_what_was_purged_is_forgotten_when_the_window_is_over() -> None:
    ambient = FakeAmbient()
    table = new_table(MemoryStore(ambient), ambient=ambient)
    table.commit(Purge(("old.parquet",)))
    ambient.advance(hours=8 * 24)
    table.append([add_file("a")])
    table.append([add_file("b")])
    assert isinstance(table.append([add_file("old")]), Committed)


def test_travel_by_time_is_not_led_astray_by_a_time_that_the_store_contradicts() -> None:
    """Of a release that believed its clock: the store knows when the file was written."""
    ambient = FakeAmbient()
    store = MemoryStore(ambient)
    new_table(store, ambient=ambient)
    ambient.advance(hours=1)
    believing = Clockless(skewed(ambient, 8))
    believing._held = store._held
    opened(believing, ambient=skewed(ambient, 8)).append([add_file("ahead")])
    store._held[f"_transaction_log/{1:020d}.json"] = store_now(store, ambient)
    for number in range(2):
        ambient.advance(hours=1)
        opened(store, ambient=ambient).append([add_file(f"f{number}")])
    assert opened(store).snapshot(timestamp=ambient.time_ms).version == 3
    assert opened(store).snapshot(timestamp=ambient.time_ms - 1).version == 2


def store_now(store: MemoryStore, ambient: FakeAmbient) -> _Held:
    key = f"_transaction_log/{1:020d}.json"
    data = store.get(key)
    store.delete([key])
    store.create(key, data)
    return store._held[key]


_TIMES = st.integers(0, 2**50)


@settings(max_examples=200)
@given(own=_TIMES, server=st.none() | _TIMES, told=_TIMES)
def test_a_time_is_near_the_clock_that_counts_and_goes_back_only_from_what_is_beyond_belief(
    own: int, server: int | None, told: int
) -> None:
    found = bounded_time_ms(own, server, told)
    counts, margin = (own, UNTOLD_MARGIN_MS) if server is None else (server, MARGIN_MS)
    assert abs(found - counts) <= 3 * margin
    assert found >= told or told > counts + margin
    assert found in (own, told) or server is not None


@settings(max_examples=50, deadline=None)
@given(
    days=st.lists(st.sampled_from((0, 0, 0, 1, 8, 400, -1, -8, -400)), min_size=1, max_size=8),
    tells=st.booleans(),
    interval=st.sampled_from((1, 3, 100)),
)
def test_a_purge_stands_as_long_as_no_two_wrong_clocks_agree(days: list[int], tells: bool, interval: int) -> None:
    ambient = FakeAmbient()
    store: MemoryStore = MemoryStore(ambient) if tells else Clockless()
    table = new_table(store, ambient=ambient, interval=interval)
    table.commit(Purge(("old.parquet",)))
    is_wrong = False
    for number, off in enumerate(days):
        off = 0 if is_wrong and not tells else off  # never two in a row, where nobody tells the time
        is_wrong = off != 0
        writer = opened(store, ambient=skewed(ambient, off), interval=interval)
        assert isinstance(writer.append([add_file(f"f{number}")]), Committed)
        assert isinstance(writer.append([add_file("old")]), Rejected)
