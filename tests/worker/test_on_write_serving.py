"""Merge-on-write and purge-on-write end to end: a bus file, a real committer, and a worker that would come only in an hour."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from headgate_bus.open import open_bus
from headgate_producer.producer import Producer
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Alter, Committed
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.limits import HOUR_MS, RoleTerms, WorkerLimits
from headgate_worker.serving import serving
from support.committing.threaded import a_committer
from support.merging import COLUMNS, put_file, rows_of, rows_table
from support.parquet import parquet
from support.processes.threads import in_a_thread
from support.processes.waiting import wait_until
from support.tables import fresh_resources

AMBIENT = SystemAmbient()
STORES = StoreSettings(local_durable=False)
PATIENCE_S = 60.0
IN_AN_HOUR = RoleTerms(cooldown_ms=HOUR_MS, eager_cooldown_ms=0)


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/bus.db"


@contextmanager
def maintained(address: str, *roles: str) -> Iterator[None]:
    """A committer and a worker, each in a thread of its own, until the end of the block."""
    limits = WorkerLimits(terms=dict.fromkeys(roles, IN_AN_HOUR))
    with (
        a_committer(address),
        closing(open_bus(address, AMBIENT)) as bus,
        serving(bus, STORES, AMBIENT, limits, roles=roles) as worker,
        in_a_thread(worker.run, "worker"),
    ):
        yield


def reopened(uri: str) -> Table:
    return Table.open(uri, STORES, resources=fresh_resources())


def a_table(place: Path, configuration: Mapping[str, str]) -> Table:
    return Table.create(str(place), COLUMNS, configuration=configuration, storage=STORES)


def write(producer: Producer, table: Table, *numbers: int) -> None:
    for number in numbers:
        file = put_file(table, f"{number}.parquet", rows_table(number * 10))
        assert isinstance(producer.append([file]).wait(PATIENCE_S), Committed)


def test_files_are_merged_when_enough_were_written(tmp_path: Path, address: str) -> None:
    table = a_table(tmp_path / "t", {"mergeOnWrite.enabled": "true", "mergeOnWrite.minSplitsToMerge": "4"})
    with maintained(address, "merge"), Producer(address, table.uri, storage=STORES) as producer:
        for first in (0, 10, 20):
            write(producer, table, *range(first, first + 4))
            wait_until(lambda: reopened(table.uri).snapshot().num_files < 4, "the files are merged")
    assert sum(rows_of(reopened(table.uri)).values()) == 120


def test_it_may_be_turned_on_while_a_worker_runs(tmp_path: Path, address: str) -> None:
    table = a_table(tmp_path / "t", {"merge.minSources": "3"})
    with maintained(address, "merge"), Producer(address, table.uri, storage=STORES) as producer:
        write(producer, table, 0)
        version = reopened(table.uri).version
        receipt = producer.propose(Alter(version, {"indextables.mergeOnWrite.enabled": "true"})).wait(PATIENCE_S)
        assert isinstance(receipt, Committed)
        write(producer, table, 1, 2)
        wait_until(lambda: reopened(table.uri).snapshot().num_files == 1, "the files are merged")


def test_a_table_is_cleaned_when_it_was_written_to(tmp_path: Path, address: str) -> None:
    settings = {"purgeOnWrite.enabled": "true", "purgeOnWrite.triggerAfterWrites": "2"}
    table = a_table(tmp_path / "t", settings)
    with maintained(address, "clean"), Producer(address, table.uri, storage=STORES) as producer:
        write(producer, table, 0)
        first, second = tmp_path / "t" / "lost.parquet", tmp_path / "t" / "lost-too.parquet"
        for orphan in (first, second):
            orphan.write_bytes(parquet(rows_table(0)))
            then = orphan.stat().st_mtime - 30 * 24 * 3600
            os.utime(orphan, (then, then))
            write(producer, table, *(10, 11, 12, 13) if orphan is first else (20, 21, 22, 23))
            wait_until(partial(is_gone, orphan), f"{orphan.name} is gone")


def is_gone(path: Path) -> bool:
    return not path.exists()
