"""A table that is dropped, and another one made in its place: nobody may see a mixture, or what is gone."""

import pytest

from headgate_schemas.messages.operations import Committed
from headgate_table.errors import TableNotFound
from headgate_table.indextables.format.names import version_key
from headgate_table.store.interface import Store
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, fresh_resources, new_table, opened


def _drop(store: Store) -> None:
    store.delete([info.key for info in list(store.list())])


def test_what_a_process_remembers_of_a_dropped_table_is_not_taken_for_the_new_one() -> None:
    """Break: `_read` doesn't compare the listing with what was seen before."""
    store, resources = MemoryStore(), fresh_resources()
    new_table(store)
    opened(store, resources=resources).append([add_file("old")])
    _drop(store)
    new_table(store).append([add_file("new")])
    found = opened(store, resources=resources)
    assert found.snapshot().paths() == ["new.parquet"]
    assert found.metadata == opened(store).metadata


def test_a_remembered_state_of_a_dropped_table_is_not_taken_for_the_new_one() -> None:
    """Break: `_read` looks at the version files above the base only."""
    store, resources = MemoryStore(), fresh_resources()
    new_table(store, interval=1).append([add_file("old")])
    opened(store, resources=resources).snapshot().paths()
    _drop(store)
    new_table(store, interval=1).append([add_file("new")])
    assert opened(store, resources=resources).snapshot().paths() == ["new.parquet"]


def test_an_open_table_follows_to_a_new_one_with_fewer_versions() -> None:
    """Break: `advance` returns what it has when nothing newer is listed."""
    store = MemoryStore()
    table = new_table(store)
    for number in range(4):
        table.append([add_file(f"old-{number}")])
    _drop(store)
    new_table(store).append([add_file("new")])
    assert table.snapshot().paths() == ["new.parquet"]


def test_an_open_table_does_not_put_versions_of_a_new_one_on_top_of_its_own() -> None:
    """Break: `advance` applies whatever has a higher number."""
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("old")])
    _drop(store)
    other = new_table(store)
    for number in range(3):
        other.append([add_file(f"new-{number}")])
    assert table.snapshot().paths() == ["new-0.parquet", "new-1.parquet", "new-2.parquet"]


def test_a_commit_to_a_dropped_table_leaves_nothing_behind() -> None:
    """Break: `advance` doesn't notice that the version it knows is gone."""
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("old")])
    _drop(store)
    with pytest.raises(TableNotFound):
        table.append([add_file("late")])
    assert not list(store.list())


def test_paths_removed_from_a_dropped_table_may_be_added_to_the_new_one() -> None:
    """Break: `EvidenceReader` keeps its memory when the table's id changes."""
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("file")])
    table.delete(paths=["file.parquet"])
    table.append([add_file("later")])
    _drop(store)
    other = new_table(store)
    for number in range(3):
        other.append([add_file(f"new-{number}")])
    assert isinstance(table.append([add_file("file")]), Committed)


def test_a_commit_of_ones_own_is_known_again_by_the_version_before_it() -> None:
    """Its own file wasn't listed yet; a file of the same size may have taken its place.

    Break: `advance` compares the newest version only.
    """
    store = MemoryStore()
    new_table(store)
    table = opened(store, ambient=SteadyAmbient("same"), settings=_PLAIN)
    table.append([add_file("old")])
    size = _size_of(store, 1)
    _drop(store)
    new_table(store)
    opened(store, ambient=SteadyAmbient("same"), settings=_PLAIN).append([add_file("new")])
    assert _size_of(store, 1) == size
    assert table.snapshot().paths() == ["new.parquet"]


_PLAIN = {"indextables.transaction.compression.enabled": "false"}


def _size_of(store: Store, version: int) -> int:
    found = store.head(version_key(version))
    assert found is not None
    return found.size
