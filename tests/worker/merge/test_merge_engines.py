"""What every merge engine does: the output holds the sources' rows, in order, in the table's types; what it refuses, and why.

The Arrow engine runs on a store in memory, the Spark engine on a local folder that its executors see as well.
"""

import decimal
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StructType

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import CODECS, ArrowEngine
from headgate_worker.merge.engines.spark import SparkEngine
from headgate_worker.merge.orders import Gone, MergeEngine, MergeOutcome, NotMerged, Unreadable
from support.merging import (
    append_small,
    counted,
    data_files,
    merge_order,
    merged,
    new_parquet_table,
    put_file,
    rows_table,
)
from support.parquet import parquet
from support.stores import MemoryStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTPUT = "merged.parquet"


class UnderTest:
    """One engine, and tables where it can merge."""

    def __init__(self, new_store: Callable[[], Store], engine_for: Callable[[Table], MergeEngine]) -> None:
        self._new_store = new_store
        self._engine_for = engine_for

    def new_table(self, **options: Any) -> Table:
        return new_parquet_table(self._new_store(), **options)

    def merge(self, table: Table, *sources: AddFile, **options: Any) -> MergeOutcome:
        return self._engine_for(table).merge(merge_order(table, *sources, output=OUTPUT, **options))

    def merge_rows(self, schema: pa.Schema | str, *parts: pa.Table, **options: Any) -> pa.Table:
        """What becomes of files with these rows in a table of this schema."""
        table = self.new_table(columns=schema)
        files = [put_file(table, f"{number}.parquet", rows, **options) for number, rows in enumerate(parts)]
        merged(self.merge(table, *files))
        return written(table)

    def refused(self, schema: pa.Schema | str, rows: pa.Table, **options: Any) -> str:
        """Why a file with these rows isn't merged into a table of this schema."""
        table = self.new_table(columns=schema)
        # Described by hand: who reads the footer is told of much of this before.
        data = parquet(rows, **options)
        table.store.put("bad.parquet", data)
        bad = AddFile("bad.parquet", {}, len(data), 0, num_records=rows.num_rows)
        outcome = self.merge(table, bad, bad)
        assert isinstance(outcome, NotMerged)
        assert OUTPUT not in data_files(table.store)
        found = outcome.problems[0]
        assert isinstance(found, Unreadable)
        return found.reason


def arrow_under_test() -> UnderTest:
    return UnderTest(MemoryStore, lambda table: ArrowEngine(table.store, table.reader.resources))


def spark_under_test(session: "SparkSession", folder: Path) -> UnderTest:
    ambient = SystemAmbient()
    places = iter(range(100))
    engine = SparkEngine(session, StoreSettings(local_durable=False), ambient)
    return UnderTest(
        lambda: LocalStore(str(folder / f"table-{next(places)}"), ambient, durable=False), lambda table: engine
    )


@pytest.fixture(params=["arrow", "spark"])
def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> UnderTest:
    if request.param == "arrow":
        return arrow_under_test()
    return spark_under_test(request.getfixturevalue("spark"), tmp_path)


def problem(outcome: MergeOutcome) -> Unreadable | Gone:
    assert isinstance(outcome, NotMerged), outcome
    (found,) = outcome.problems
    return found


def reason(outcome: MergeOutcome) -> str:
    found = problem(outcome)
    assert isinstance(found, Unreadable)
    return found.reason


def written(table: Table) -> pa.Table:
    return pq.read_table(pa.BufferReader(table.store.get(OUTPUT)))


def stored(table: Table) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(table.store.get(OUTPUT)))


def test_rows_are_written_in_the_order_of_the_sources(under_test: UnderTest) -> None:
    table = under_test.new_table()
    files = append_small(table, 3)
    merged(under_test.merge(table, files[2], files[0], files[1]))
    expected = pa.concat_tables([rows_table(20), rows_table(0), rows_table(10)])
    assert written(table).select(["id", "text"]).equals(expected)


def test_the_add_tells_the_log_what_is_in_the_output(under_test: UnderTest) -> None:
    table = under_test.new_table()
    first, second = append_small(table, 2)
    add = merged(under_test.merge(table, first, second))
    assert (add.path, add.size, add.num_records) == (OUTPUT, len(table.store.get(OUTPUT)), 20)
    assert (add.min_values or {})["id"] == "0"
    assert (add.max_values or {})["id"] == "19"
    assert not add.data_change


def test_merges_are_counted_from_the_source_that_went_through_most(under_test: UnderTest) -> None:
    table = under_test.new_table()
    first, second = append_small(table, 2)
    often = AddFile(second.path, {}, second.size, 0, num_records=10, num_merge_ops=4)
    assert merged(under_test.merge(table, first, often)).num_merge_ops == 5


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read_and_written(under_test: UnderTest, codec: str) -> None:
    table = under_test.new_table()
    files = [put_file(table, f"{number}.parquet", rows_table(number * 10), compression=codec) for number in range(2)]
    merged(under_test.merge(table, *files))
    assert counted(written(table).select(["id", "text"])) == counted(rows_table(0, 20))
    kept = {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert stored(table).metadata.row_group(0).column(0).compression == kept


def test_a_codec_that_is_asked_for_wins(under_test: UnderTest) -> None:
    table = under_test.new_table()
    files = append_small(table, 2)
    merged(under_test.merge(table, *files, codec="brotli"))
    assert stored(table).metadata.row_group(0).column(0).compression == "BROTLI"


def test_an_unknown_codec_is_refused(under_test: UnderTest) -> None:
    table = under_test.new_table()
    files = append_small(table, 2)
    with pytest.raises(InvalidInput, match="zstd"):
        under_test.merge(table, *files, codec="rar")


def with_default(sql: str) -> StructType:
    """`note` came after `id`, with that default."""
    return StructType().add("id", "long").add("note", "string", nullable=False, metadata={"EXISTS_DEFAULT": sql})


NESTED = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field(
            "list", pa.list_(pa.field("element", pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.string())])))
        ),
        pa.field("map", pa.map_(pa.string(), pa.list_(pa.field("element", pa.float64())))),
        pa.field("struct", pa.struct([pa.field("inner", pa.struct([pa.field("deep", pa.binary())]))])),
    ]
)


def nested_rows(first: int) -> pa.Table:
    rows = [
        {
            "id": number,
            "list": [None, {"x": number, "y": None}, {"x": None, "y": "ü"}][: number % 4] if number % 5 else None,
            "map": [(f"k{index}", [1.5, None]) for index in range(number % 3)] if number % 4 else None,
            "struct": {"inner": {"deep": bytes([number % 256])} if number % 2 else None} if number % 7 else None,
        }
        for number in range(first, first + 50)
    ]
    return pa.Table.from_pylist(rows, NESTED)


def test_nested_columns_are_kept(under_test: UnderTest) -> None:
    assert under_test.merge_rows(NESTED, nested_rows(0), nested_rows(50)).equals(
        pa.concat_tables([nested_rows(0), nested_rows(50)])
    )


def test_columns_that_came_later_are_null_in_rows_from_before(under_test: UnderTest) -> None:
    old = pa.table({"id": pa.array([1, 2], pa.int64())})
    new = pa.table({"id": pa.array([3], pa.int64()), "note": ["here"]})
    found = under_test.merge_rows("id BIGINT, note STRING", old, new)
    assert found.to_pydict() == {"id": [1, 2, 3], "note": [None, None, "here"]}


def test_columns_that_came_later_with_a_default_hold_it_in_rows_from_before(under_test: UnderTest) -> None:
    old = pa.table({"id": pa.array([1, 2], pa.int64())})
    new = pa.table({"id": pa.array([3], pa.int64()), "note": ["here"]})
    found = under_test.merge_rows(with_default("'none yet'"), old, new)
    assert found.to_pydict() == {"id": [1, 2, 3], "note": ["none yet", "none yet", "here"]}


def test_fields_of_a_struct_that_came_later_are_null(under_test: UnderTest) -> None:
    old = pa.table({"s": pa.array([{"a": 1}], pa.struct([("a", pa.int64())]))})
    new = pa.table({"s": pa.array([{"a": 2, "b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())]))})
    schema = pa.schema([("s", pa.struct([("a", pa.int64()), ("b", pa.string())]))])
    assert under_test.merge_rows(schema, old, new).column("s").to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_dictionaries_become_plain_values(under_test: UnderTest) -> None:
    plain = pa.table({"text": ["a", None, "b"]})
    encoded = pa.table({"text": pa.array(["b", None, "c"]).dictionary_encode()})
    found = under_test.merge_rows("text STRING", plain, encoded)
    assert found.schema.field("text").type == pa.string()
    assert found.column("text").to_pylist() == ["a", None, "b", "b", None, "c"]


def test_files_without_rows_add_none(under_test: UnderTest) -> None:
    assert (
        under_test.merge_rows("id BIGINT, text STRING", rows_table(0, 0), rows_table(0, 3), rows_table(0, 0)).num_rows
        == 3
    )


def test_files_without_rows_alone_become_one_without_rows(under_test: UnderTest) -> None:
    assert under_test.merge_rows("id BIGINT, text STRING", rows_table(0, 0), rows_table(0, 0)).num_rows == 0


def test_a_file_without_any_column_of_the_table_counts_its_rows(under_test: UnderTest) -> None:
    table = under_test.new_table(columns="day STRING, id BIGINT", partition_by=["day"])
    rows = pa.table({"day": ["1", "1"]})
    files = [put_file(table, f"day=1/{number}.parquet", rows, {"day": "1"}) for number in range(2)]
    assert merged(under_test.merge(table, *files, partition_values={"day": "1"})).num_records == 4


def test_narrower_types_are_widened(under_test: UnderTest) -> None:
    narrow = pa.table(
        {"n": pa.array([1], pa.int16()), "f": pa.array([0.5], pa.float32()), "t": pa.array(["a"], pa.large_string())}
    )
    wide = pa.table({"n": pa.array([2**40], pa.int64()), "f": pa.array([0.1], pa.float64()), "t": ["b"]})
    found = under_test.merge_rows("n BIGINT, f DOUBLE, t STRING", narrow, wide)
    assert found.to_pydict() == {"n": [1, 2**40], "f": [0.5, 0.1], "t": ["a", "b"]}


def test_a_finer_time_unit_is_taken_where_nothing_is_lost(under_test: UnderTest) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    fine = pa.table({"at": pa.array([moment], pa.timestamp("ns", tz="UTC"))})
    found = under_test.merge_rows("at TIMESTAMP", fine, fine)
    assert found.column("at").to_pylist() == [moment, moment]


def test_the_old_96_bit_timestamps_are_instants(under_test: UnderTest) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    rows = pa.table({"at": pa.array([moment.replace(tzinfo=None)], pa.timestamp("us"))})
    found = under_test.merge_rows("at TIMESTAMP", rows, rows, use_deprecated_int96_timestamps=True)
    assert found.column("at").to_pylist() == [moment, moment]


def test_decimals_keep_every_digit(under_test: UnderTest) -> None:
    value = decimal.Decimal("12345678901234567890.123456789")
    rows = pa.table({"d": pa.array([value], pa.decimal128(38, 9))})
    assert under_test.merge_rows("d DECIMAL(38,9)", rows, rows).column("d").to_pylist() == [value, value]


@pytest.mark.parametrize("stored_in_files", [True, False], ids=["in-files", "in-folders"])
def test_partition_columns_are_in_the_output_as_they_were_in_the_sources(
    under_test: UnderTest, stored_in_files: bool
) -> None:
    table = under_test.new_table(partition_by=["day"])
    rows = [rows_table(number * 10) for number in range(2)]
    if stored_in_files:
        rows = [one.append_column("day", pa.array(["1"] * 10)) for one in rows]
    files = [put_file(table, f"day=1/{number}.parquet", one, {"day": "1"}) for number, one in enumerate(rows)]
    add = merged(under_test.merge(table, *files, partition_values={"day": "1"}))
    assert ("day" in written(table).column_names) is stored_in_files
    assert add.partition_values == {"day": "1"}


def test_a_partition_column_that_only_some_sources_hold_is_left_to_the_log(under_test: UnderTest) -> None:
    table = under_test.new_table(partition_by=["day"])
    without = rows_table(0)
    with_day = rows_table(10).append_column("day", pa.array(["1"] * 10))
    files = [
        put_file(table, f"day=1/{number}.parquet", one, {"day": "1"}) for number, one in enumerate([without, with_day])
    ]
    merged(under_test.merge(table, *files, partition_values={"day": "1"}))
    assert "day" not in written(table).column_names


STRUCT = pa.struct([("a", pa.int64()), ("b", pa.int64())])


@pytest.mark.parametrize(
    ("schema", "rows", "why"),
    [
        ("id BIGINT", pa.table({"id": [1], "more": [2]}), "'more'"),
        (pa.schema([("s", pa.struct([("a", pa.int64())]))]), pa.table({"s": pa.array([{"a": 1, "b": 2}], STRUCT)}), "'b'"),
        ("id BIGINT", pa.table({"id": ["one"]}), "string"),
        ("n INT", pa.table({"n": pa.array([2**40], pa.int64())}), "out of bounds|not in range"),
        ("f FLOAT", pa.table({"f": pa.array([0.1], pa.float64())}), "loses digits"),
        ("at TIMESTAMP", pa.table({"at": pa.array([0], pa.timestamp("us"))}), "local time"),
        ("at TIMESTAMP_NTZ", pa.table({"at": pa.array([0], pa.timestamp("us", tz="UTC"))}), "local time"),
        ("at TIMESTAMP", pa.table({"at": pa.array([1], pa.timestamp("ns", tz="UTC"))}), "finer than a microsecond"),
        ("id BIGINT NOT NULL", pa.table({"id": pa.array([None], pa.int64())}), "NOT NULL"),
        ("id BIGINT, x BIGINT NOT NULL", pa.table({"id": [1]}), "NOT NULL"),
        (with_default("current_user()"), pa.table({"id": [1]}), "no plain literal"),
    ],
)  # fmt: skip
def test_what_a_merge_would_lose_or_change_is_refused(
    under_test: UnderTest, schema: pa.Schema | str, rows: pa.Table, why: str
) -> None:
    assert re.search(why, under_test.refused(schema, rows))


def test_a_source_that_is_not_there_is_gone(under_test: UnderTest) -> None:
    table = under_test.new_table()
    first, second = append_small(table, 2)
    table.store.delete([second.path])
    assert problem(under_test.merge(table, first, second)) == Gone(second.path)


def test_a_source_with_other_rows_than_the_log_says_is_unreadable(under_test: UnderTest) -> None:
    table = under_test.new_table()
    first, second = append_small(table, 2)
    wrong = AddFile(second.path, {}, second.size, 0, num_records=11)
    assert "the log says 11" in reason(under_test.merge(table, first, wrong))


def test_every_source_whose_footer_is_damaged_is_told_at_once(under_test: UnderTest) -> None:
    table = under_test.new_table()
    files = append_small(table, 4)
    table.store.put(files[1].path, b"no Parquet at all")
    table.store.delete([files[3].path])
    outcome = under_test.merge(table, *files)
    assert isinstance(outcome, NotMerged)
    assert [found.path for found in outcome.problems] == [files[1].path, files[3].path]


def test_a_damaged_page_is_found_and_nothing_is_left_behind(under_test: UnderTest) -> None:
    table = under_test.new_table()
    first, second = append_small(table, 2)
    body = bytearray(table.store.get(second.path))
    body[40:60] = bytes(20)
    table.store.put(second.path, bytes(body))
    assert problem(under_test.merge(table, first, second)).path == second.path
    assert OUTPUT not in data_files(table.store)


def test_changed_values_are_found_where_pages_carry_checksums(under_test: UnderTest) -> None:
    """Break: the pages' checksums aren't verified."""
    table = under_test.new_table(columns="id BIGINT")
    rows = pa.table({"id": pa.array(range(1000), pa.int64())})
    files = [
        put_file(
            table,
            f"{number}.parquet",
            rows,
            compression="none",
            use_dictionary=False,
            write_page_checksum=True,
        )
        for number in range(2)
    ]
    body = bytearray(table.store.get(files[1].path))
    body[4000] ^= 1
    table.store.put(files[1].path, bytes(body))
    assert "CRC" in reason(under_test.merge(table, *files))


def test_statistics_and_checksums_are_written(under_test: UnderTest) -> None:
    table = under_test.new_table()
    files = append_small(table, 2)
    merged(under_test.merge(table, *files))
    column = stored(table).metadata.row_group(0).column(0)
    assert (column.statistics.min, column.statistics.max, column.statistics.null_count) == (0, 19, 3)
    assert column.has_column_index


@pytest.mark.parametrize(
    ("values", "has_dictionary"), [(range(2000), False), ([1, 2] * 1000, True)], ids=["all-different", "few"]
)
def test_a_dictionary_is_written_where_values_repeat(under_test: UnderTest, values: Any, has_dictionary: bool) -> None:
    table = under_test.new_table(columns="id BIGINT")
    parts = [pa.table({"id": pa.array(values[start : start + 1000], pa.int64())}) for start in (0, 1000)]
    files = [put_file(table, f"{number}.parquet", part) for number, part in enumerate(parts)]
    merged(under_test.merge(table, *files))
    assert stored(table).metadata.row_group(0).column(0).has_dictionary_page is has_dictionary


def identified(first: int, second: int) -> pa.Table:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), metadata={"PARQUET:field_id": str(first)}),
            pa.field("s", pa.struct([pa.field("a", pa.int64(), metadata={"PARQUET:field_id": str(second)})])),
        ]
    )
    return pa.table({"id": [1], "s": [{"a": 1}]}, schema=schema)


def field_ids(table: pa.Table) -> list[bytes | None]:
    inner = table.schema.field("s").type.field("a")
    return [(field.metadata or {}).get(b"PARQUET:field_id") for field in (table.schema.field("id"), inner)]


PLAIN_STRUCT = pa.schema([("id", pa.int64()), ("s", pa.struct([("a", pa.int64())]))])


def test_field_ids_that_the_sources_agree_about_are_kept(under_test: UnderTest) -> None:
    assert field_ids(under_test.merge_rows(PLAIN_STRUCT, identified(7, 8), identified(7, 8))) == [b"7", b"8"]


def test_field_ids_that_contradict_each_other_are_left_out(under_test: UnderTest) -> None:
    assert b"8" not in field_ids(under_test.merge_rows(PLAIN_STRUCT, identified(7, 8), identified(7, 9)))


def test_metadata_that_all_sources_share_are_kept_and_spark_is_told_of_added_columns(under_test: UnderTest) -> None:
    spark = {"org.apache.spark.sql.parquet.row.metadata": '{"type":"struct","fields":[]}'}
    parts = [
        pa.table({"id": [1]}).replace_schema_metadata({"app": "x", "run": str(number), "pandas": "{}", **spark})
        for number in range(2)
    ]
    found = under_test.merge_rows("id BIGINT, note STRING", *parts).schema.metadata
    assert found[b"app"] == b"x"
    assert b"run" not in found
    assert b"pandas" not in found
    assert b'"note"' in found[b"org.apache.spark.sql.parquet.row.metadata"]
