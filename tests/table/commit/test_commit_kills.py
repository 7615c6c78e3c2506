"""A writer killed at every step of its I/O leaves a table that reads correctly and that the next writer continues."""

import pytest

from headgate_schemas.messages.operations import Committed
from headgate_table.store.interface import Store
from support.stores.kills import Death, deaths
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, new_table, opened

BEFORE = [f"f{number}.parquet" for number in range(3)]


def table_with_three_files(interval: int) -> MemoryStore:
    store = MemoryStore()
    table = new_table(store, interval=interval, configuration={"checkpoint.interval": str(interval)})
    for number in range(3):
        table.append([add_file(f"f{number}")])
    return store


def check_next_write(death: Death, interval: int) -> None:
    table = opened(death.store, interval=interval)
    version = table.version
    receipt = table.append([add_file("next")])
    assert isinstance(receipt, Committed)
    assert receipt.version == version + 1
    assert "next.parquet" in opened(death.store).snapshot().paths()
    table.checkpoint()
    assert opened(death.store).snapshot().paths() == table.snapshot().paths()


@pytest.mark.spec("testPartialManifestWrite")
@pytest.mark.parametrize("interval", [1, 2, 10])
def test_a_killed_append_happened_whole_or_not_at_all(interval: int) -> None:
    def append(store: Store) -> None:
        opened(store, interval=interval).append([add_file("a"), add_file("b")])

    outcomes = set()
    for death in deaths(lambda: table_with_three_files(interval), append):
        paths = opened(death.store).snapshot().paths()
        assert paths in (BEFORE, ["a.parquet", "b.parquet", *BEFORE]), death.step
        outcomes.add(len(paths))
        check_next_write(death, interval)
    assert outcomes == {3, 5}


def test_a_killed_overwrite_happened_whole_or_not_at_all() -> None:
    def overwrite(store: Store) -> None:
        opened(store, interval=2).overwrite([add_file("new")])

    outcomes = set()
    for death in deaths(lambda: table_with_three_files(2), overwrite):
        paths = opened(death.store).snapshot().paths()
        assert paths in (BEFORE, ["new.parquet"]), death.step
        outcomes.add(len(paths))
        check_next_write(death, 2)
    assert outcomes == {3, 1}


def test_a_killed_checkpoint_changes_no_file() -> None:
    def checkpoint(store: Store) -> None:
        opened(store).checkpoint()

    for death in deaths(lambda: table_with_three_files(10), checkpoint):
        assert opened(death.store).snapshot().paths() == BEFORE, death.step
        check_next_write(death, 10)


def test_a_killed_compaction_changes_no_file() -> None:
    def tombstoned() -> MemoryStore:
        store = table_with_three_files(1)
        opened(store, interval=1).delete(paths=["f1.parquet"])
        return store

    def compact(store: Store) -> None:
        opened(store).compact()

    for death in deaths(tombstoned, compact):
        assert opened(death.store).snapshot().paths() == ["f0.parquet", "f2.parquet"], death.step
        check_next_write(death, 1)


def test_a_killed_restore_happened_whole_or_not_at_all() -> None:
    def with_a_removed_file() -> MemoryStore:
        store = table_with_three_files(2)
        store.put("f0.parquet", b"rows")
        store.put("f1.parquet", b"rows")
        opened(store, interval=2).delete(paths=["f0.parquet"])
        return store

    def restore(store: Store) -> None:
        opened(store, interval=2).restore(2)

    outcomes = set()
    for death in deaths(with_a_removed_file, restore):
        paths = opened(death.store).snapshot().paths()
        assert paths in (["f1.parquet", "f2.parquet"], ["f0.parquet", "f1.parquet"]), death.step
        outcomes.add(tuple(paths))
        check_next_write(death, 2)
    assert len(outcomes) == 2


def test_a_killed_creation_can_be_repeated() -> None:
    def create(store: Store) -> None:
        new_table(store, ambient=SteadyAmbient())

    for death in deaths(MemoryStore, create):
        if not any(death.store.list("_transaction_log/")):
            new_table(death.store)
        assert opened(death.store).version == 0, death.step
