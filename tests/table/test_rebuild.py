"""REPAIR where nothing of a log is left: a new log of the Parquet files that lie below the table."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.spark_types import Atomic
from headgate_schemas.table_schema import column_kinds
from headgate_table.data_file import DataFile
from headgate_table.errors import CorruptTable, StoreError, TableExists, TableNotFound
from headgate_table.indextables import footers, version_spool
from headgate_table.indextables.cache import ObjectCache
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.names import LOG, POINTER, checkpoint_key, state_key, version_key
from headgate_table.indextables.rebuild import RebuildResult, Wishes, rebuild_into, rebuild_log
from headgate_table.indextables.resources import ReadResources
from headgate_table.store.interface import Store
from headgate_table.store.local import LocalStore
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.parquet import parquet
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore
from support.tables import new_table, opened
from support.writers.handmade import HandMade

NULL = "__HIVE_DEFAULT_PARTITION__"


class InLog:
    """The folder of the log as a store of its own, as `open_store` gives it, over the store of the table."""

    def __init__(self, table: Store) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    @property
    def uri(self) -> str:
        return f"{self._table.uri}/{LOG}"

    def list(self, prefix: str = "", *, after: str = "") -> Any:
        return self._table.list(f"{LOG}/{prefix}")

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        return self._table.get(f"{LOG}/{key}", max_bytes=max_bytes)

    def create(self, key: str, data: bytes) -> Any:
        return self._table.create(f"{LOG}/{key}", data)


def rows(**columns: Any) -> pa.Table:
    return pa.table(columns or {"id": pa.array([1, 2, 3], pa.int64())})


def stored(files: Mapping[str, pa.Table | bytes] | None = None, store: Store | None = None) -> Store:
    """A store with these files; those that are tables are Parquet."""
    place = store or MemoryStore(FakeAmbient())
    for path, content in (files or {}).items():
        place.put(path, content if isinstance(content, bytes) else parquet(content))
    return place


def rebuilt(store: Store, wishes: Wishes | None = None, **options: Any) -> RebuildResult:
    """Rebuild the log of the table in its place."""
    reader = LogReader(store, options.pop("resources", one_thread()))
    return rebuild_into(reader, InLog(store), wishes or Wishes(), FakeAmbient("rebuild"), **options)


def table_of(store: Store) -> Table:
    return opened(store, resources=one_thread())


def types_of(table: Table) -> Mapping[str, str]:
    return column_kinds(table.metadata.schema_string)


def partitions(table: Table) -> list[dict[str, str]]:
    files = table.snapshot().files(("path", "partition_values")).sort_by("path").to_pylist()
    return [dict(row["partition_values"] or ()) for row in files]


# --- what comes of it -------------------------------------------------------------------------------------------------


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


# --- it is careful ----------------------------------------------------------------------------------------------------


def test_the_first_thing_it_says_is_that_removed_files_come_back() -> None:
    note = rebuilt(stored({"a.parquet": rows()})).notes[0]
    assert "don't say whether they were removed" in note
    assert "never committed" in note


def test_files_that_merges_wrote_are_pointed_out() -> None:
    result = rebuilt(stored({f"merged-{'0' * 32}.parquet": rows(), "a.parquet": rows()}))
    assert any("1 of the files were written by merges" in note for note in result.notes)


@pytest.mark.parametrize("piece", ["version", "state", "checkpoint"])
def test_a_log_that_still_says_something_is_refused(tmp_path: Path, piece: str) -> None:
    made = HandMade(tmp_path)
    made.start()
    if piece != "version":
        made.log.delete(f"{0:020d}.json")
    if piece == "state":
        made.state(3, [])
    if piece == "checkpoint":
        made.log.put(f"{3:020d}.checkpoint.json", b'{"metaData":{"id":"a","schemaString":"","partitionColumns":[]}}')
    store = stored({"a.parquet": rows()}, LocalStore(str(tmp_path), FakeAmbient(), durable=False))
    with pytest.raises(InvalidInput, match="still says something"):
        rebuild_into(LogReader(store, one_thread()), MemoryStore(), Wishes(), FakeAmbient())


def test_a_state_of_a_newer_format_still_says_something_to_somebody(tmp_path: Path) -> None:
    HandMade(tmp_path).state(3, [], formatVersion=99)
    store = stored({"a.parquet": rows()}, LocalStore(str(tmp_path), FakeAmbient(), durable=False))
    with pytest.raises(InvalidInput, match="still says something"):
        rebuild_into(LogReader(store, one_thread()), MemoryStore(), Wishes(), FakeAmbient())


def test_a_log_of_which_nothing_can_be_read_may_be_rebuilt_elsewhere() -> None:
    damaged = {version_key(0): b"{", version_key(1): b"", state_key(1): b"Obj", checkpoint_key(1): b"x", POINTER: b"?"}
    store = stored({"a.parquet": rows(), **damaged})
    target = MemoryStore()
    result = rebuild_into(LogReader(store, one_thread()), target, Wishes(), FakeAmbient())
    assert (result.valid_splits, result.ignored["log"]) == (1, 5)
    assert [info.key for info in target.list()] == [f"{0:020d}.json", f"{1:020d}.json"]


def test_a_target_that_is_not_empty_is_refused() -> None:
    store = stored({"a.parquet": rows(), POINTER: b"?"})
    with pytest.raises(TableExists, match="_last_checkpoint"):
        rebuilt(store)


def test_a_store_that_doesn_t_answer_counts_as_no_damage() -> None:
    table = new_table()
    store = FaultyStore(table.store, on("get", Fault.REFUSED, key=version_key(0)))
    with pytest.raises(StoreError):
        rebuild_into(LogReader(store, one_thread()), MemoryStore(), Wishes(), FakeAmbient())


def test_without_a_file_there_is_nothing_to_rebuild() -> None:
    with pytest.raises(TableNotFound, match="no Parquet file"):
        rebuilt(stored({"readme.txt": b"hello"}))


def test_a_dry_run_tells_the_same_and_writes_nothing() -> None:
    files = {"day=1/a.parquet": rows(), "day=2/b.parquet": rows(), "notes.txt": b"-", "bad.parquet": b"-"}
    store = stored(files)
    before = {info.key for info in store.list()}
    dry = rebuilt(store, dry_run=True)
    assert {info.key for info in store.list()} == before
    real = rebuilt(store)
    assert (dry.status, real.status) == ("DRY_RUN", "PARTIAL_SUCCESS")
    assert (dry.schema_string, dry.partition_columns, dry.ignored, dry.damage, dry.valid_splits) == (
        real.schema_string,
        real.partition_columns,
        real.ignored,
        real.damage,
        real.valid_splits,
    )


def test_files_that_don_t_go_together_leave_nothing_behind() -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows(id=pa.array(["text"]))})
    with pytest.raises(InvalidInput, match=r"long in a\.parquet and string in b\.parquet"):
        rebuilt(store)
    assert [info.key for info in store.list()] == ["a.parquet", "b.parquet"]


def test_a_death_at_any_step_leaves_the_whole_table_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.new_log.ADDS_PER_VERSION", 2)
    files = {f"{name}.parquet": rows() for name in "abcde"}
    finished = 0
    for death in deaths(lambda: stored(files), rebuilt):
        try:
            paths = table_of(death.store).snapshot().paths()
        except (TableNotFound, CorruptTable):
            continue
        finished += 1
        assert paths == list(files), death.step
    assert finished == 1  # after the effect of the last step, and no earlier


def test_nothing_is_written_before_every_file_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.new_log.ADDS_PER_VERSION", 1)
    store = FaultyStore(stored({f"{name}.parquet": rows() for name in "abcde"}))
    rebuilt(store)
    order = [step.operation for step in store.steps if step.operation in ("get_range", "create")]
    assert order == ["get_range"] * 5 + ["create"] * 6


def test_of_two_at_the_same_place_one_gives_up_before_it_has_written(monkeypatch: pytest.MonkeyPatch) -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows()})

    class Meanwhile(InLog):
        def create(self, key: str, data: bytes) -> Any:
            if not list(store.list(f"{LOG}/")):
                rebuild_into(LogReader(store, one_thread()), InLog(store), Wishes(), FakeAmbient("other"))
            return super().create(key, data)

    with pytest.raises(TableExists, match="another program"):
        rebuild_into(LogReader(store, one_thread()), Meanwhile(store), Wishes(), FakeAmbient("this"))
    assert table_of(store).snapshot().paths() == ["a.parquet", "b.parquet"]


def test_a_lost_answer_is_asked_for_again() -> None:
    store = FaultyStore(stored({"a.parquet": rows()}), on("create", Fault.LOST_ANSWER, times=2))
    rebuilt(store)
    assert table_of(store).snapshot().paths() == ["a.parquet"]


# --- which files ------------------------------------------------------------------------------------------------------


def test_what_is_no_data_file_is_ignored_and_counted() -> None:
    ignored = {
        "_SUCCESS": b"",
        "_metadata": b"PAR1",
        ".hidden/a.parquet": b"-",
        "_old/a.parquet": b"-",
        "_temporary/0/a.parquet": b"-",
        "a.parquet.tmp": b"-",
        "b.parquet~": b"-",
        "#staged.parquet": b"-",
        "_headgate/claims/1.json.zst": b"-",
        "_headgate/quarantine/a.parquet": b"-",
        "readme.md": b"-",
        "README": b"no magic here at all",
        "x.split": b"-",
        "inner/A.parquet": b"-",
        f"inner/{LOG}/{0:020d}.json": b"{}",
        "delta/deep/b.parquet": b"-",
        "delta/_delta_log/0.json": b"{}",
    }
    store = stored({"a.parquet": rows(), **ignored})
    result = rebuilt(store)
    assert table_of(store).snapshot().paths() == ["a.parquet"]
    assert dict(result.ignored) == {
        "hidden": 4,
        "temporary": 4,
        "headgate": 2,
        "not_parquet": 3,
        "other_table": 4,
    }
    assert (result.status, result.total_splits) == ("SUCCESS", 1)


def test_inner_tables_are_named() -> None:
    store = stored({"a.parquet": rows(), "b/a.parquet": rows(), f"b/{LOG}/{0:020d}.json": b"{}"})
    assert any("were left alone: b" in note for note in rebuilt(store).notes)


def test_a_delta_log_beside_the_files_is_pointed_out() -> None:
    store = stored({"a.parquet": rows(), f"_delta_log/{0:020d}.json": b"{}"})
    assert any("_delta_log" in note for note in rebuilt(store).notes)


def test_files_without_an_extension_are_taken_if_they_are_parquet() -> None:
    store = stored({"000000_0": rows(), "000001_0": b"something else that is long enough"})
    result = rebuilt(store)
    assert table_of(store).snapshot().paths() == ["000000_0"]
    assert (result.total_splits, result.ignored["not_parquet"]) == (1, 1)


def test_a_cut_off_file_without_an_extension_that_ends_like_parquet_is_damage() -> None:
    result = rebuilt(stored({"000000_0": rows(), "000001_0": b"PAR1 much too long \xff\xff\xff\x7fPAR1"}))
    assert (result.missing_splits, result.status) == (1, "PARTIAL_SUCCESS")


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"PAR1",
        parquet(rows())[:-20],
        parquet(rows())[:-4] + b"PARE",
        parquet(rows())[:-8] + b"\xff\xff\xff\x7fPAR1",
        b"PAR1" + bytes(100) + b"\x20\x00\x00\x00PAR1",
    ],
    ids=["empty", "magic only", "cut off", "encrypted", "absurd length", "zeros"],
)
def test_a_file_that_can_t_be_read_is_left_out_and_named(damaged: bytes) -> None:
    store = stored({"a.parquet": rows(), "b.parquet": damaged})
    result = rebuilt(store)
    assert table_of(store).snapshot().paths() == ["a.parquet"]
    assert (result.status, result.missing_splits) == ("PARTIAL_SUCCESS", 1)
    (damage,) = result.damage
    assert damage.startswith("b.parquet: ")


def test_of_many_that_can_t_be_read_the_first_are_named_and_all_are_counted() -> None:
    store = stored({"z.parquet": rows(), **{f"{number:04d}.parquet": b"" for number in range(150)}})
    result = rebuilt(store)
    assert (result.missing_splits, len(result.damage)) == (150, 100)


def test_a_file_that_is_deleted_meanwhile_is_left_out() -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows()})

    class Vanishing(FaultyStore):
        def get_range(self, key: str, start: int, length: int) -> bytes:
            if key == "b.parquet":
                self.inner.delete([key])
            return super().get_range(key, start, length)

    result = rebuilt(Vanishing(store))
    assert result.damage == ("b.parquet: it was deleted while the files were read",)


def test_a_store_that_fails_ends_the_rebuild_and_nothing_is_written() -> None:
    store = stored({f"{name}.parquet": rows() for name in "abc"})
    with pytest.raises(StoreError):
        rebuilt(FaultyStore(store, on("get_range", Fault.REFUSED, key="b.parquet")))
    assert not list(store.list(f"{LOG}/"))


# --- columns ----------------------------------------------------------------------------------------------------------


def test_a_column_that_came_later_is_nullable_and_reads_as_null() -> None:
    required = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    later = pa.schema([*required, pa.field("text", pa.string(), nullable=False)])
    store = stored(
        {
            "a.parquet": pa.table({"id": [1]}, schema=required),
            "b.parquet": pa.table({"id": [2], "text": ["x"]}, schema=later),
        }
    )
    rebuilt(store)
    table = table_of(store)
    assert [row["text"] for row in table.snapshot().scan().read_all().to_pylist()] == [None, "x"]
    assert ['"nullable":false' in part for part in table.metadata.schema_string.split("},{")] == [True, False]


def test_types_are_widened_so_that_every_file_still_reads() -> None:
    wide = pa.table(
        {
            "whole": pa.array([2**40]),
            "real": pa.array([0.1], pa.float64()),
            "price": pa.array([None], pa.decimal128(12, 4)),
            "place": pa.array([{"x": 2**40, "y": 1}]),
            "tags": pa.array([[2**40]]),
            "nothing": pa.array(["text"]),
        }
    )
    narrow = pa.table(
        {
            "whole": pa.array([1], pa.int8()),
            "real": pa.array([3], pa.int32()),
            "price": pa.array([5], pa.int32()),
            "place": pa.array([{"x": 7}], pa.struct([pa.field("x", pa.int32())])),
            "tags": pa.array([[8]], pa.list_(pa.int16())),
            "nothing": pa.nulls(1),
        }
    )
    store = stored({"a.parquet": narrow, "b.parquet": wide})
    rebuilt(store)
    table = table_of(store)
    assert dict(types_of(table)) == {
        "whole": "long",
        "real": "double",
        "price": "decimal(14,4)",
        "place": "struct",
        "tags": "array",
        "nothing": "string",
    }
    first, second = table.snapshot().scan().read_all().to_pylist()
    assert (first["whole"], first["real"], int(first["price"]), first["place"], first["tags"], first["nothing"]) == (
        *(1, 3.0, 5, {"x": 7, "y": None}, [8]),
        None,
    )
    assert (second["whole"], second["place"], second["tags"]) == (2**40, {"x": 2**40, "y": 1}, [2**40])


def test_bounds_of_a_narrower_file_still_find_its_rows() -> None:
    store = stored(
        {"a.parquet": rows(x=pa.array([5, 7], pa.int32())), "b.parquet": rows(x=pa.array([0.5, 1.5], pa.float64()))}
    )
    rebuilt(store)
    snapshot = table_of(store).snapshot(where="x = 7")
    assert snapshot.paths() == ["a.parquet"]


def test_a_given_schema_decides_where_files_contradict_each_other() -> None:
    store = stored({"a.parquet": rows(x=pa.array([1])), "b.parquet": rows(x=pa.array([2.5]))})
    rebuilt(
        store,
        Wishes(schema_string='{"type":"struct","fields":[{"name":"x","type":"double","nullable":true,"metadata":{}}]}'),
    )
    assert [row["x"] for row in table_of(store).snapshot().scan().read_all().to_pylist()] == [1.0, 2.5]


def test_a_column_that_no_table_holds_may_be_left_out_of_a_given_schema() -> None:
    store = stored({"a.parquet": rows(id=pa.array([1]), at=pa.array([0], pa.time64("us")))})
    with pytest.raises(InvalidInput, match="time of day"):
        rebuilt(store)
    given = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
    result = rebuilt(store, Wishes(schema_string=given))
    assert table_of(store).snapshot().scan().read_all().to_pylist() == [{"id": 1}]
    assert any("'at' (a.parquet)" in note for note in result.notes)


def test_a_schema_and_types_beside_it_are_one_too_many() -> None:
    with pytest.raises(InvalidInput, match="one of the two"):
        Wishes(schema_string="{}", partition_types={"a": Atomic("long")})


# --- partitions -------------------------------------------------------------------------------------------------------


def test_values_come_from_folders_unescaped() -> None:
    store = stored(
        {
            "name=a%3Ab/part%20one=x%2Fy/a.parquet": rows(),
            f"name={NULL}/part%20one=%C3%BC/b.parquet": rows(),
            "name=/part%20one=100%25/c.parquet": rows(),
        }
    )
    result = rebuilt(store)
    assert result.partition_columns == ("name", "part one")
    assert partitions(table_of(store)) == [
        {"name": NULL, "part one": "100%"},
        {"name": NULL, "part one": "ü"},
        {"name": "a:b", "part one": "x/y"},
    ]


def test_a_null_partition_reads_as_null_and_is_found_as_null() -> None:
    store = stored({f"day={NULL}/a.parquet": rows(), "day=2024-01-01/b.parquet": rows()})
    rebuilt(store)
    assert table_of(store).snapshot(where="day IS NULL").paths() == [f"day={NULL}/a.parquet"]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (("1", "20", "-3"), "long"),
        (("1", NULL), "long"),
        (("0",), "long"),
        (("1", "01"), "string"),
        (("007",), "string"),
        (("99999999999999999999",), "string"),
        (("1.5",), "string"),
        (("true", "false"), "string"),
        (("2024-01-01", "2024-12-31"), "date"),
        (("2024-01-01", NULL), "date"),
        (("2024-01-01", "2024-13-01"), "string"),
        (("2024-01-01 00:00:00",), "string"),
        (("1", "2024-01-01"), "string"),
        ((NULL,), "string"),
    ],
)
def test_types_of_partition_columns_are_guessed_only_where_nothing_is_lost(values: tuple[str, ...], type_: str) -> None:
    store = stored({f"p={value}/{number}.parquet": rows() for number, value in enumerate(values)})
    rebuilt(store)
    assert types_of(table_of(store))["p"] == type_


def test_the_type_that_files_have_for_their_partition_column_is_taken_if_the_values_fit() -> None:
    held = {f"p={value}/a.parquet": rows(id=pa.array([1]), p=pa.array([value], pa.int16())) for value in (1, 2)}
    store = stored(held)
    rebuilt(store)
    assert dict(types_of(table_of(store))) == {"id": "long", "p": "short"}


def test_the_type_that_files_have_is_not_taken_if_a_value_doesn_t_fit() -> None:
    store = stored({"p=x/a.parquet": rows(id=pa.array([1]), p=pa.array([1]))})
    rebuilt(store)
    assert types_of(table_of(store))["p"] == "string"


def test_what_files_say_of_partition_columns_may_contradict_itself() -> None:
    store = stored(
        {
            "p=1/a.parquet": rows(id=pa.array([1]), p=pa.array([1])),
            "p=2/a.parquet": rows(id=pa.array([1]), p=pa.array(["2"])),
        }
    )
    rebuilt(store)
    assert types_of(table_of(store))["p"] == "long"


def test_a_given_type_is_taken_for_what_it_fits() -> None:
    store = stored({"month=05/a.parquet": rows(), "month=6/b.parquet": rows()})
    rebuilt(store, Wishes(partition_types={"month": Atomic("integer")}))
    assert table_of(store).snapshot(where="month = 5").paths() == ["month=05/a.parquet"]


@pytest.mark.parametrize(
    ("value", "type_"), [("x", "long"), ("300", "byte"), ("-200", "byte"), ("x", "date"), ("2", "boolean")]
)
def test_a_value_that_doesn_t_fit_a_given_type_is_refused_with_its_file(value: str, type_: str) -> None:
    store = stored({f"p={NULL}/a.parquet": rows(), f"p={value}/b.parquet": rows()})
    with pytest.raises(InvalidInput, match=rf"'{value}' for 'p' of p={value}/b\.parquet is no {type_}"):
        rebuilt(store, Wishes(partition_types={"p": Atomic(type_)}))


def test_a_type_for_what_is_no_partition_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'q', which is no partition column; they are p"):
        rebuilt(stored({"p=1/a.parquet": rows()}), Wishes(partition_types={"q": Atomic("long")}))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a=1/x.parquet", "b=1/x.parquet"),
        ("a=1/b=1/x.parquet", "a=2/x.parquet"),
        ("a=1/b=1/x.parquet", "b=1/a=1/x.parquet"),
        ("a=1/x.parquet", "x.parquet"),
        ("A=1/x.parquet", "a=1/x.parquet"),
    ],
)
def test_folders_that_disagree_are_refused_with_both(first: str, second: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rebuilt(stored({first: rows(), second: rows()}))
    assert first in str(refused.value)
    assert second in str(refused.value)


def test_a_folder_that_says_a_column_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"a=1/a=2/x\.parquet name the partition column 'a' twice"):
        rebuilt(stored({"a=1/a=2/x.parquet": rows()}))


def test_given_partition_columns_decide_what_a_folder_means() -> None:
    store = stored({"a=1/run=7/x.parquet": rows(), "run=8/a=2/x.parquet": rows()})
    rebuilt(store, Wishes(partition_columns=("a",)))
    table = table_of(store)
    assert (table.metadata.partition_columns, partitions(table)) == (("a",), [{"a": "1"}, {"a": "2"}])


def test_no_partition_columns_at_all_may_be_given() -> None:
    store = stored({"a=1/x.parquet": rows()})
    rebuilt(store, Wishes(partition_columns=()))
    assert (table_of(store).metadata.partition_columns, partitions(table_of(store))) == ((), [{}])


def test_a_file_without_a_value_for_a_given_partition_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"no folder of x\.parquet says the value of the partition column 'a'"):
        rebuilt(stored({"x.parquet": rows()}), Wishes(partition_columns=("a",)))


def test_a_partition_column_that_a_given_schema_lacks_is_refused() -> None:
    given = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
    with pytest.raises(InvalidInput, match="can't be partitioned by 'a'"):
        rebuilt(stored({"a=1/x.parquet": rows()}), Wishes(schema_string=given))


def test_a_partition_column_that_files_hold_has_the_folder_s_value_and_no_bounds() -> None:
    store = stored({"p=1/a.parquet": rows(id=pa.array([5]), p=pa.array([9]))})
    rebuilt(store)
    (row,) = table_of(store).snapshot().files(("min_values",)).to_pylist()
    assert dict(row["min_values"]) == {"id": "5"}
    assert table_of(store).snapshot().scan().read_all().to_pylist() == [{"id": 5, "p": 1}]


# --- many files -------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr("headgate_table.indextables.new_log.ADDS_PER_VERSION", 2)
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
