"""REPAIR where nothing of a log is left: a new log of the Parquet files that lie below the table."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.resources import ReadResources
from headgate_table.data_file import DataFile
from headgate_table.indextables.format.names import LOG
from headgate_table.indextables.repair import footers, version_spool
from headgate_table.indextables.repair.rebuild import rebuild_log
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.logs.rebuilding import rebuilt, rows, stored, table_of, types_of
from support.parquet import parquet
from support.stores.faulty import FaultyStore


def test_the_rows_of_all_files_can_be_read_again() -> None:
    store = stored({f"day=2024-01-0{day}/a.parquet": rows(id=pa.array([day, day + 10])) for day in (1, 2)})
    rebuilt(store)
    found = table_of(store).snapshot().scan().read_all()
    assert sorted((row["id"], row["day"].isoformat()) for row in found.to_pylist()) == [
        (1, "2024-01-01"),
        (2, "2024-01-02"),
        (11, "2024-01-01"),
        (12, "2024-01-02"),
    ]


def test_the_entries_are_those_that_an_append_of_the_same_files_makes() -> None:
    files = {
        f"month={month}/a.parquet": rows(id=pa.array([month, 7]), text=pa.array(["x" * 50, "y"])) for month in (1, 2)
    }
    store, other = stored(files), stored(files)
    rebuilt(store)
    appended = [DataFile.of_parquet(path, store=other) for path in files]
    columns = ("path", "partition_values", "size", "num_records", "min_values", "max_values", "modification_time")
    found = table_of(store).snapshot().files(columns).sort_by("path").to_pylist()
    assert [{key: dict(row[key]) if "values" in key else row[key] for key in columns} for row in found] == [
        {
            "path": file.path,
            "partition_values": file.partition_values,
            "size": file.size,
            "num_records": file.num_records,
            "min_values": file.min_values,
            "max_values": file.max_values,
            "modification_time": file.modification_time,
        }
        for file in appended
    ]


def test_the_rebuilt_table_verifies_without_a_finding() -> None:
    store = stored({f"{name}.parquet": rows() for name in "abc"})
    rebuilt(store)
    assert table_of(store).verify().findings == ()


def test_the_rebuilt_table_takes_commits() -> None:
    store = stored({"a.parquet": rows()})
    rebuilt(store)
    stored({"b.parquet": rows()}, store)
    table = table_of(store)
    table.append([DataFile.of_parquet("b.parquet", store=store)])
    assert table_of(store).snapshot().paths() == ["a.parquet", "b.parquet"]


def test_the_result_counts_files_rows_and_bytes() -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows(), "c.parquet": b"PAR1 no PAR1"})
    result = rebuilt(store)
    sizes = sum(info.size for info in store.list() if info.key in ("a.parquet", "b.parquet"))
    assert (result.total_splits, result.valid_splits, result.missing_splits) == (3, 2, 1)
    assert (result.num_records, result.total_bytes) == (6, sizes)


def test_an_address_is_enough_and_the_log_comes_into_its_place(tmp_path: Path) -> None:
    stored({"a.parquet": rows()}, LocalStore(str(tmp_path / "t"), FakeAmbient(), durable=False))
    result = rebuild_log(f"{tmp_path}/t/{LOG}", resources=one_thread())
    assert (result.source_path, result.target_path) == (f"{tmp_path}/t/{LOG}",) * 2
    assert Table.open(str(tmp_path / "t"), resources=one_thread()).snapshot().paths() == ["a.parquet"]


def test_another_place_may_be_given_for_the_new_log(tmp_path: Path) -> None:
    stored({"a.parquet": rows()}, LocalStore(str(tmp_path / "t"), FakeAmbient(), durable=False))
    rebuild_log(f"{tmp_path}/t/{LOG}", f"{tmp_path}/new/{LOG}", resources=one_thread())
    assert not (tmp_path / "t" / LOG).exists()
    assert [path.name for path in sorted((tmp_path / "new" / LOG).iterdir())][-2:] == [
        f"{0:020d}.json",
        f"{1:020d}.json",
    ]


def test_a_schema_and_types_may_be_given_in_sql(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path / "t"), FakeAmbient(), durable=False)
    stored({"month=05/a.parquet": rows()}, store)
    rebuild_log(f"{tmp_path}/t/{LOG}", f"{tmp_path}/a/{LOG}", partition_types="month INT", resources=one_thread())
    rebuild_log(
        f"{tmp_path}/t/{LOG}",
        f"{tmp_path}/b/{LOG}",
        schema="id DECIMAL(20,0), month SMALLINT",
        partition_by=["month"],
        resources=one_thread(),
    )
    found = [Table.open(str(tmp_path / name), resources=one_thread()) for name in "ab"]
    assert [dict(types_of(table)) for table in found] == [
        {"id": "long", "month": "integer"},
        {"id": "decimal(20,0)", "month": "short"},
    ]


def test_a_path_that_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=LOG):
        rebuild_log(f"{tmp_path}/t", resources=one_thread())


def test_each_file_costs_one_request(tmp_path: Path) -> None:
    store = FaultyStore(stored({f"{number}.parquet": rows() for number in range(50)}))
    rebuilt(store, dry_run=True)
    assert (store.count("get_range"), store.count("head", "get", "get_with_etag")) == (50, 0)


def test_no_more_than_the_end_of_a_file_is_read() -> None:
    data = parquet(rows(id=pa.array(range(200_000))), compression="none", use_dictionary=False)
    store = FaultyStore(stored({"a.parquet": data}))
    rebuilt(store, dry_run=True)
    assert store.byte_count("get_range") == 64 * 1024 < len(data)


def test_footers_are_read_side_by_side_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "FOOTERS_AHEAD", 4)
    together = threading.Barrier(4, timeout=30)
    started: list[str] = []

    class Slow(FaultyStore):
        def get_range(self, key: str, start: int, length: int) -> bytes:
            started.append(key)
            together.wait()  # four readers at once, or this breaks
            return super().get_range(key, start, length)

    store = Slow(stored({f"{number:02d}.parquet": rows() for number in range(8)}))
    with ThreadPoolExecutor(8) as pool:
        found = rebuilt(store, resources=ReadResources(ObjectCache(lambda: 0.0), pool, pool), dry_run=True)
    assert found.valid_splits == 8
    assert sorted(started[:4]) == [f"{number:02d}.parquet" for number in range(4)]


def test_large_footers_are_read_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "LARGE_FOOTER_BYTES", 70_000)
    inside, most = 0, 0
    guard = threading.Lock()

    class Watched(FaultyStore):
        def get_range(self, key: str, start: int, length: int) -> bytes:
            nonlocal inside, most
            with guard:
                inside += length > 70_000
                most = max(most, inside)
            data = super().get_range(key, start, length)
            with guard:
                inside -= length > 70_000
            return data

    wide = parquet(pa.table({f"column {number:04d}": [number] for number in range(1500)}))
    store = Watched(stored({f"{number}.parquet": wide for number in range(8)}))
    with ThreadPoolExecutor(8) as pool:
        found = rebuilt(store, resources=ReadResources(ObjectCache(lambda: 0.0), pool, pool), dry_run=True)
    assert (found.valid_splits, most) == (8, 1)


def test_many_files_are_spread_over_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.repair.new_log.ADDS_PER_VERSION", 2)
    store = stored({f"{number}.parquet": rows() for number in range(5)})
    rebuilt(store)
    table = table_of(store)
    assert (table.version, table.snapshot().num_files) == (3, 5)


def test_a_version_ends_when_its_text_is_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_spool, "VERSION_TEXT_BYTES", 1)
    store = stored({f"{number}.parquet": rows() for number in range(3)})
    rebuilt(store)
    assert table_of(store).version == 3


def test_history_says_who_wrote_the_versions() -> None:
    store = stored({"a.parquet": rows()})
    rebuilt(store)
    assert [entry.operation for entry in table_of(store).history()] == ["Rebuild", "Rebuild"]


def test_every_error_is_one_of_ours() -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows(**{"bad\nname": pa.array([1])})})
    with pytest.raises(HeadgateError, match=r"the columns of b\.parquet"):
        rebuilt(store)
