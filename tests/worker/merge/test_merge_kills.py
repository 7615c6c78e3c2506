"""A merge that dies at any step of its store leaves every row readable exactly once, and nothing but orphans."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from headgate_worker.merge.merging import Merging
from headgate_worker.merge.plan import MergeLimits
from support.merging import (
    TARGET_BYTES,
    append,
    append_small,
    data_files,
    merging,
    new_parquet_table,
    put_file,
    rows_of,
    rows_table,
)
from support.processes.isolated import run_isolated
from support.stores import MemoryStore
from support.stores.kills import deaths
from support.tables import opened

PARTITIONS = 2


def small_table() -> Store:
    """Two partitions of two files each; one more file is damaged."""
    table = new_parquet_table(MemoryStore(), partition_by=["day"])
    for number in range(2 * PARTITIONS):
        day = str(number % PARTITIONS)
        append(table, put_file(table, f"day={day}/{number}.parquet", rows_table(number * 10), {"day": day}))
    bad = put_file(table, "day=0/bad.parquet", rows_table(900), {"day": "0"})
    append(table, bad)
    table.store.put(bad.path, b"PAR1 this is no Parquet file PAR1")
    return table.store


def merge_all(store: Store) -> None:
    worker: Merging = merging(opened(store))
    with ThreadPoolExecutor(1) as executor:
        worker.merge(MergeLimits(target_bytes=TARGET_BYTES), executor)


def readable(store: Store) -> dict[str, int]:
    """The rows of the newest version, without the damaged file."""
    table = opened(store)
    table.delete(paths=["day=0/bad.parquet"])
    return dict(rows_of(table))


def test_every_row_is_readable_exactly_once_after_a_death_at_any_step() -> None:
    expected = readable(small_table())
    ended: set[int] = set()
    for death in deaths(small_table, merge_all):
        live = set(opened(death.store).snapshot().paths())
        missing = [path for path in live if death.store.head(path) is None]
        assert not missing, f"{death.step} {death.fault}: {missing} are live and not there"
        ended.add(len(live))
        assert readable(death.store) == expected, f"{death.step} {death.fault}"
    # From before anything was merged to after everything was.
    assert {5, 4, 3} <= ended


def test_a_merge_after_a_death_finishes_the_work() -> None:
    """The second process draws the same ids as the first, which is as bad as ids can be."""
    expected = readable(small_table())
    for death in deaths(small_table, merge_all):
        merge_all(death.store)
        assert opened(death.store).snapshot().num_files == PARTITIONS + 1
        assert readable(death.store) == expected, f"{death.step} {death.fault}"


KILLED = """
import os, sys
from headgate_schemas.ambient import SystemAmbient
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.orders import ArrowLimits
from headgate_worker.merge.merging import Merging
from headgate_worker.merge.plan import MergeGroup, MergeLimits

table = Table.open(sys.argv[1])
seen = 0

def die_in_the_middle():
    global seen
    seen += 1
    if seen == 3:
        print("dying", flush=True)
        os._exit(0)

engine = ArrowEngine(table.store, table.reader.resources, ArrowLimits(row_group_rows=10), give_up=die_in_the_middle)
merging = Merging(table, engine, SystemAmbient())
merging.merge_group(merging.plan(MergeLimits(target_bytes=1 << 20)).groups[0])
print("survived")
"""


def test_a_process_that_ends_while_it_writes_leaves_a_file_that_only_cleaning_sees(tmp_path: Path) -> None:
    root = str(tmp_path / "table")
    table = new_parquet_table(LocalStore(root, SystemAmbient(), durable=False))
    files = append_small(table, 6)
    before = rows_of(table)
    assert run_isolated(KILLED, root).strip() == "dying"
    (orphan,) = set(data_files(table.store)) - {file.path for file in files}
    assert orphan.startswith("merged-")
    assert rows_of(opened(table.store)) == before
