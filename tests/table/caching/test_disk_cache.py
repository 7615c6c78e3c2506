"""Manifests remembered on disk: the same results with and without, in bounded space, whatever happens to the files."""

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Create
from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.disk_cache import DiskCache
from headgate_table.caching.resources import ReadResources, new_resources, process_resources
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.table import Table
from support.stores.memory import MemoryStore

URI, KEY = "memory://test", "_transaction_log/manifests/manifest-0.avro"
ENTRIES = pa.table(
    {
        "path": ["a", "b", None],
        "size": [1, 2, 3],
        "partition_values": pa.array([[("k", "v")], [], None], pa.map_(pa.string(), pa.string())),
    }
)


def disk(folder: Path, **options: int) -> DiskCache:
    return DiskCache(folder, SystemAmbient(), **options)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def filled(folder: Path) -> DiskCache:
    cache = disk(folder)
    cache.put(URI, KEY, ENTRIES)
    return cache


# ---- by itself


def test_what_was_put_is_found_by_another_process(tmp_path: Path) -> None:
    filled(tmp_path)
    found = disk(tmp_path).get(URI, KEY, ENTRIES.column_names)
    assert found is not None
    assert found.equals(ENTRIES)


def test_only_the_columns_that_are_there_are_found(tmp_path: Path) -> None:
    found = filled(tmp_path).get(URI, KEY, ["size", "num_records"])
    assert found is not None
    assert found.column_names == ["size"]


@pytest.mark.parametrize(("table", "key"), [("memory://other", KEY), (URI, "other.avro")])
def test_another_table_or_manifest_is_not_found(tmp_path: Path, table: str, key: str) -> None:
    assert filled(tmp_path).get(table, key, ["path"]) is None


def test_what_is_found_is_mapped_and_not_copied(tmp_path: Path) -> None:
    rows = pa.table({"size": list(range(500_000))})
    cache = disk(tmp_path)
    cache.put(URI, KEY, rows)
    before = pa.total_allocated_bytes()
    found = cache.get(URI, KEY, ["size"])
    assert found is not None
    assert found.nbytes >= 4_000_000
    assert pa.total_allocated_bytes() - before < 100_000


def test_what_is_found_holds_no_file_open(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    before = len(os.listdir("/dev/fd"))
    found = cache.get(URI, KEY, ENTRIES.column_names)
    assert found is not None
    assert len(os.listdir("/dev/fd")) == before


def test_what_was_found_stays_readable_after_its_file_is_gone(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    found = cache.get(URI, KEY, ENTRIES.column_names)
    cache.invalidate()
    assert found is not None
    assert found.equals(ENTRIES)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def replaced_by_other_bytes(path: Path) -> None:
    path.write_bytes(b"x" * 5000)


@pytest.mark.parametrize("damage", [truncated, emptied, flipped, replaced_by_other_bytes])
def test_a_damaged_file_is_not_taken_and_removed(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    cache = disk(tmp_path)
    cache.put(URI, KEY, ENTRIES.select(["path"]))
    [path] = files(tmp_path)
    damage(path)
    assert (cache.get(URI, KEY, ["path"]), files(tmp_path)) == (None, [])


def test_a_column_of_another_number_of_rows_is_not_taken_and_removed(tmp_path: Path) -> None:
    cache = disk(tmp_path)
    cache.put(URI, KEY, ENTRIES.select(["path"]))
    assert (cache.get(URI, KEY, ["path"], 4), files(tmp_path)) == (None, [])


def test_the_bound_holds_and_what_was_used_last_stays(tmp_path: Path) -> None:
    one = pa.table({"size": list(range(10_000))})
    cache = disk(tmp_path, max_bytes=500_000)
    for number in range(10):
        cache.put(URI, f"{number}", one)
        for age, path in enumerate(sorted(files(tmp_path), key=lambda path: path.stat().st_mtime_ns, reverse=True)):
            os.utime(path, (1_000_000 - age, 1_000_000 - age))  # file times are too coarse for a fast test
        cache.get(URI, "0", ["size"])
    there = [number for number in range(10) if cache.get(URI, f"{number}", ["size"]) is not None]
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 500_000
    assert there[0] == 0
    assert there[1:] == list(range(11 - len(there), 10))


def test_a_process_counts_what_was_there_before_it(tmp_path: Path) -> None:
    one = pa.table({"size": list(range(10_000))})
    for number in range(20):
        disk(tmp_path, max_bytes=850_000).put(URI, f"{number}", one)
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 850_000


def test_a_manifest_larger_than_half_of_the_bound_is_not_kept(tmp_path: Path) -> None:
    cache = disk(tmp_path, max_bytes=10_000)
    cache.put(URI, KEY, pa.table({"size": list(range(10_000))}))
    assert files(tmp_path) == []


def test_what_a_dead_process_left_half_written_is_removed_in_time(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    [folder] = {path.parent for path in files(tmp_path)}
    old, young = folder / ".writing-old", folder / ".writing-young"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    disk(tmp_path).put(URI, "another", ENTRIES)
    assert (old.exists(), young.exists()) == (False, True)
    assert cache.get(URI, KEY, ["path"]) is not None


def test_invalidating_one_table_leaves_the_others(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    cache.put("memory://other", KEY, ENTRIES)
    assert cache.invalidate(URI) == 3
    assert cache.get(URI, KEY, ["path"]) is None
    assert cache.get("memory://other", KEY, ["path"]) is not None


def test_invalidating_all_leaves_nothing(tmp_path: Path) -> None:
    filled(tmp_path).invalidate()
    assert files(tmp_path) == []


def test_a_disk_that_refuses_costs_nothing_but_the_cache(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_bytes(b"")
    cache = disk(in_the_way / "cache")
    cache.put(URI, KEY, ENTRIES)
    assert cache.get(URI, KEY, ["path"]) is None


def test_writers_readers_and_evictions_at_once_never_see_a_wrong_table(tmp_path: Path) -> None:
    tables = {f"{number}": pa.table({"size": [number] * 5_000}) for number in range(8)}
    wrong: list[str] = []

    def work() -> None:
        cache = disk(tmp_path, max_bytes=200_000)  # each thread as a process of its own
        for _ in range(5):
            for key, table in tables.items():
                cache.put(URI, key, table)
                found = cache.get(URI, key, ["size"])
                if found is not None and not found.equals(table):
                    wrong.append(key)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(files(tmp_path)) > 0


# ---- under a table


@functools.cache
def store() -> MemoryStore:
    """A table with two states, tombstones and later versions."""
    made = MemoryStore()
    create_table(
        LogReader(made, resources(None)),
        SystemAmbient(),
        Create(
            schema_string='{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
            '{"name":"day","type":"string","nullable":true,"metadata":{}}]}',
            partition_columns=("day",),
            configuration={},
        ),
    )
    table = Table(made, SystemAmbient(), resources(None))
    for number in range(4):
        table.append([_file(number, each) for each in range(50)])
        if number < 3:
            table.checkpoint()
    table.delete(paths=["1-1.parquet", "3-2.parquet"])
    return made


def _file(number: int, each: int) -> AddFile:
    ends = {"id": str(each)}
    return AddFile(
        f"{number}-{each}.parquet", {"day": f"d{number % 2}"}, each, 1, min_values=ends, max_values=ends, num_records=1
    )


@functools.cache
def threads() -> ReadResources:
    return new_resources(ObjectCache(SystemAmbient().monotonic_s), parallelism=2)


def resources(disk_cache: DiskCache | None, memory_bytes: int = 1 << 20) -> ReadResources:
    return replace(threads(), cache=ObjectCache(SystemAmbient().monotonic_s, memory_bytes), disk=disk_cache)


_READINGS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(ALL_COLUMNS), min_size=1, max_size=4, unique=True),
        st.sampled_from([None, "day = 'd1'", "id < 10", "day = 'd0' AND id > 45", "day IS NULL"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40)
@given(readings=_READINGS, memory_bytes=st.sampled_from([0, 1 << 20]))
def test_files_are_the_same_with_and_without_the_cache(
    tmp_path_factory: pytest.TempPathFactory,
    readings: Sequence[tuple[list[str], str | None, bool]],
    memory_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    cached = resources(disk(folder), memory_bytes)
    for columns, where, forgets in readings:
        if forgets:
            cached.cache.invalidate()
        with_cache = Table(store(), SystemAmbient(), cached).snapshot(where=where).files(columns)
        without = Table(store(), SystemAmbient(), resources(None, 0)).snapshot(where=where).files(columns)
        assert with_cache.equals(without)


def test_a_second_process_fetches_no_manifest(tmp_path: Path) -> None:
    Table(store(), SystemAmbient(), resources(disk(tmp_path))).snapshot().files()
    second = Table(store(), SystemAmbient(), resources(disk(tmp_path))).snapshot()
    second.files()
    assert (second.statistics.manifests_read, second.statistics.bytes_fetched) == (0, 0)


def test_only_columns_not_yet_on_disk_are_decoded_again(tmp_path: Path) -> None:
    Table(store(), SystemAmbient(), resources(disk(tmp_path))).snapshot().files(["path", "size"])
    before = {path: path.stat().st_ino for path in files(tmp_path)}
    Table(store(), SystemAmbient(), resources(disk(tmp_path))).snapshot().files(["path", "num_records"])
    after = {path: path.stat().st_ino for path in files(tmp_path)}
    assert before.items() <= after.items()
    assert all(path.name.endswith("num_records.column") for path in set(after) - set(before))


def test_invalidating_the_resources_clears_memory_and_disk(tmp_path: Path) -> None:
    shared = resources(disk(tmp_path))
    Table(store(), SystemAmbient(), shared).snapshot().files()
    before = shared.invalidate(store().uri)
    assert before.entries > 0
    assert shared.cache.statistics().entries == 0
    assert files(tmp_path) == []


def test_a_table_opened_with_a_folder_keeps_its_manifests_there(tmp_path: Path) -> None:
    address = str(tmp_path / "table")
    table = Table.create(address, "id BIGINT", settings={"checkpoint.interval": "1"})
    table.append([AddFile(path="a.parquet", partition_values={}, size=1, modification_time=1)])
    folder = tmp_path / "cache"
    process_resources().invalidate(table.uri)
    opened = Table.open(address, settings={"transaction.cache.diskFolder": str(folder)})
    assert opened.snapshot().paths() == ["a.parquet"]
    assert any(path.is_file() for path in folder.rglob("*"))


def test_a_file_that_vanishes_while_its_folder_is_looked_at_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: `_stored` ends the scan of a folder at the first file that another process has removed."""
    cache = filled(tmp_path)
    look = os.scandir

    @contextlib.contextmanager
    def scandir(folder: Path) -> Iterator[list[os.DirEntry[str]]]:
        with look(folder) as found:
            entries = list(found)
        first = next((entry for entry in entries if entry.name.endswith(".column")), None)
        if first is not None:
            os.unlink(first.path)
        yield entries

    monkeypatch.setattr(os, "scandir", scandir)
    assert cache.invalidate() == len(ENTRIES.column_names) - 1
    monkeypatch.undo()
    assert files(tmp_path) == []
