"""How often a read asks the store, counted; and that whatever happened between opening and reading, the answer is that of now."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from headgate_table import table as table_module
from headgate_table.errors import CorruptTable, TableNotFound
from headgate_table.indextables.format.names import POINTER, state_key, version_key
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.lives import Trace, Tracing
from support.stores import FaultyStore, MemoryStore
from support.tables import add_file, fresh_resources, new_table, opened

SETTINGS = {"checkpoint.interval": "10"}
WRITING = (".write.", ".rules.", ".compaction.", ".cleaning.", ".repair.", ".recovery.")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> FaultyStore:
    """What `Table.open` opens, whatever the address."""
    counting = FaultyStore(MemoryStore())
    monkeypatch.setattr(table_module, "open_store", lambda *_: counting)
    return counting


def by_address() -> Table:
    return Table.open("memory://table", settings=SETTINGS, resources=fresh_resources())


def written(store: FaultyStore, appends: int) -> None:
    table = new_table(store.inner)
    for number in range(appends):
        table.append([add_file(f"f{number}")])


def requests(store: FaultyStore, read: Callable[[], object]) -> Counter[str]:
    before = len(store.steps)
    read()
    return Counter(step.operation for step in store.steps[before:])


# ---- how many


def test_to_open_a_table_its_pointer_is_read_and_nothing_else(store: FaultyStore) -> None:
    """Break: `open` reads the newest version."""
    written(store, 12)
    assert requests(store, by_address) == {"get": 1}


def test_a_young_table_is_found_by_its_first_version(store: FaultyStore) -> None:
    """Break: `find` lists the log where there is no pointer."""
    written(store, 3)
    assert requests(store, by_address) == {"get": 1, "head": 1}


@pytest.mark.parametrize("where", [None, "date = '2024-01-01'", "id > 5"])
def test_the_newest_version_takes_one_listing_and_one_look_at_the_pointer(
    store: FaultyStore, where: str | None
) -> None:
    """Break: `latest` reads a pointer again that `open` has read; or `snapshot` lists again what `open` has listed."""
    written(store, 12)
    found = requests(store, lambda: by_address().snapshot(where=where).paths())
    # The pointer, the state, two versions above it, and the manifests of the state.
    manifests = len(opened(store.inner).snapshot().log.state.manifests)  # type: ignore[union-attr]
    assert found == {"get": 4 + manifests, "list_folder": 1}


def test_a_young_table_is_listed_once(store: FaultyStore) -> None:
    written(store, 3)
    assert requests(store, lambda: by_address().snapshot()) == {"get": 5, "head": 1, "list_folder": 1}


def test_an_earlier_version_takes_one_listing_and_nothing_of_the_newest(store: FaultyStore) -> None:
    """Break: `open` reads the newest version first."""
    written(store, 25)
    found = requests(store, lambda: by_address().snapshot(version=2))
    assert found == {"get": 1 + 3, "list_folder": 1}


def test_a_time_takes_one_listing(store: FaultyStore) -> None:
    """Break: `log_at` finds the number by one listing, and reads the version by another."""
    written(store, 25)
    time_ms = opened(store.inner).history()[3].time
    assert requests(store, lambda: by_address().snapshot(timestamp=time_ms))["list_folder"] == 1


@pytest.mark.parametrize(
    ("since", "listings"), [(12, 1), (10, 1), (9, 2)], ids=["the last", "from the state", "before"]
)
def test_changes_after_the_newest_state_take_one_listing(store: FaultyStore, since: int, listings: int) -> None:
    """Break: version files are listed again that were read with the newest version."""
    written(store, 13)
    table = by_address()
    for _ in range(2):
        assert requests(store, lambda: table.changes(since))["list_folder"] == listings
    assert table.changes(since).added.column("path").to_pylist() == [
        f"f{number}.parquet" for number in range(since, 13)
    ]


def test_a_second_snapshot_takes_one_listing_even_where_a_state_came(store: FaultyStore) -> None:
    """Break: `advance` lists from the new state on what it has just listed."""
    written(store, 9)
    table = by_address()
    table.snapshot()
    assert requests(store, table.snapshot) == {"list_folder": 1}
    other = opened(store.inner)
    for number in range(5):
        other.append([add_file(f"later-{number}")])
    assert requests(store, table.snapshot)["list_folder"] == 1
    assert table.version == 14


@pytest.mark.parametrize(
    "read",
    [
        lambda table: table.snapshot(where="id > 5").paths(),
        lambda table: table.snapshot(version=3).num_files,
        lambda table: table.snapshot(timestamp="2100-01-01").files(),
        lambda table: (table.version, table.metadata, table.options, table.protocol),
        lambda table: table.changes(since=2),
        lambda table: table.history(),
    ],
)
def test_no_module_that_writes_or_decides_takes_part_in_a_read(
    store: FaultyStore, read: Callable[[Table], object]
) -> None:
    """Break: the table makes its direct committer when it is opened."""
    written(store, 12)
    trace = Trace()
    with Tracing().everywhere() as tracing, tracing.on(trace):
        read(by_address())
    assert "headgate_table.indextables.log.newest" in trace.modules
    dated = {"headgate_table.indextables.write.commit_times"}  # by which clock a time is told
    assert [name for name in trace.modules if any(part in name for part in WRITING) and name not in dated] == []


# ---- and none of the answers is older for that


@contextmanager
def opened_before(store: FaultyStore, appends: int) -> Iterator[tuple[Table, Store]]:
    written(store, appends)
    yield by_address(), store.inner


def test_what_was_committed_after_opening_is_read(store: FaultyStore) -> None:
    """Break: the first read is answered by what `open` saw."""
    with opened_before(store, 3) as (table, inner):
        opened(inner).append([add_file("meanwhile")])
        assert "meanwhile.parquet" in table.snapshot().paths()


def test_a_state_and_a_pointer_that_came_after_opening_are_no_obstacle(store: FaultyStore) -> None:
    with opened_before(store, 12) as (table, inner):
        other = opened(inner)
        for number in range(10):
            other.append([add_file(f"later-{number}")])
        other.truncate_history()
        assert (table.version, table.snapshot().num_files) == (22, 22)


def test_a_pointer_whose_state_was_cleaned_after_opening_is_read_again(store: FaultyStore) -> None:
    """Break: a listing from the state on that the earlier pointer names is taken for whole."""
    with opened_before(store, 12) as (table, inner):
        other = opened(inner, interval=1)
        for number in range(3):
            other.append([add_file(f"later-{number}")])
        inner.delete([info.key for info in inner.list("_transaction_log/state-v00000000000000000010/")])
        inner.delete([version_key(number) for number in range(14)])
        assert table.snapshot().paths() == opened(inner).snapshot().paths()


def test_a_table_that_was_dropped_after_opening_is_not_found(store: FaultyStore) -> None:
    with opened_before(store, 12) as (table, inner):
        inner.delete([info.key for info in inner.list()])
        with pytest.raises(TableNotFound, match="there is no table"):
            table.snapshot()


def test_a_shorter_table_in_the_place_of_the_one_that_was_opened_is_read(store: FaultyStore) -> None:
    """Break: the pointer of the table before says that the new one has lost versions."""
    with opened_before(store, 22) as (table, inner):
        inner.delete([info.key for info in inner.list()])
        new_table(inner).append([add_file("new")])
        assert table.snapshot().paths() == ["new.parquet"]


def test_a_pointer_beyond_the_log_is_damage_that_a_read_names(store: FaultyStore) -> None:
    """A table whose newest versions are lost can be opened, and an earlier version be read."""
    with opened_before(store, 12) as (_, inner):
        inner.put(POINTER, inner.get(POINTER).replace(b'"version":10', b'"version":40'))
        table = by_address()
        with pytest.raises(CorruptTable, match="names version 40"):
            table.snapshot()
        assert table.snapshot(version=11).num_files == 11


def test_a_pointer_without_a_log_is_told_by_the_first_read(store: FaultyStore) -> None:
    with opened_before(store, 12) as (_, inner):
        inner.delete([info.key for info in inner.list() if info.key != POINTER])
        with pytest.raises(TableNotFound, match="headgate table repair --from-files"):
            by_address().snapshot()


def test_a_log_of_states_alone_is_found(store: FaultyStore) -> None:
    """Other writers keep neither a pointer nor version 0."""
    with opened_before(store, 12) as (_, inner):
        inner.delete([POINTER, *(version_key(number) for number in range(13))])
        assert by_address().version == 10
        inner.delete([state_key(10)])
        with pytest.raises(TableNotFound):
            by_address()
