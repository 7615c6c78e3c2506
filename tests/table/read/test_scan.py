"""Rows of a snapshot: types, partition values, older files, filters in SQL's logic, and files that are not what they should be."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.errors import InvalidInput, PredicateError
from headgate_schemas.messages.operations import Create
from headgate_schemas.predicates.text import parse_predicate
from headgate_schemas.predicates.tree import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
)
from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.resources import ReadResources, new_resources
from headgate_table.data_file import DataFile
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.read.rows.scan import FILES_AHEAD, WHOLE_FILE_BYTES, scan_files
from headgate_table.indextables.write.create import create_table
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.logs.strangers_adds import added_elsewhere
from support.parquet import parquet
from support.processes.isolated import run_isolated
from support.stores.memory import MemoryStore


@cache
def resources() -> ReadResources:
    return new_resources(ObjectCache(SystemAmbient().monotonic_s, max_bytes=0), parallelism=2)


def new_table(store: Store, schema: pa.Schema | str, partition_by: Sequence[str] = ()) -> Table:
    create_table(
        LogReader(store, resources()),
        SystemAmbient(),
        Create(schema_string=schema_string_of(schema), partition_columns=tuple(partition_by)),
    )
    return Table(store, SystemAmbient(), resources())


def add(
    table: Table, path: str, rows: pa.Table, partition: Mapping[str, str | None] | None = None, **options: Any
) -> None:
    data = parquet(rows, **options)
    table.store.put(path, data)
    table.append([DataFile(path=path, size=len(data), modification_time=1, partition_values=partition)])


def table_of(rows: pa.Table, *, schema: pa.Schema | None = None, **options: Any) -> Table:
    table = new_table(MemoryStore(), schema or rows.schema)
    add(table, "a.parquet", rows, **options)
    return table


def listed(table: Table, where: str | None = None, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.snapshot().scan(columns, where).read_all().to_pylist()
    return rows


# ---- shape


def test_rows_come_with_the_schema_of_the_table() -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    table = new_table(MemoryStore(), schema)
    assert table.snapshot().scan().schema == schema


def test_partition_values_are_typed_columns() -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("n", pa.int32()), ("ok", pa.bool_())])
    table = new_table(MemoryStore(), schema, ["day", "n", "ok"])
    add(table, "a.parquet", pa.table({"id": [7]}), {"day": "2024-01-31", "n": "05", "ok": "true"})
    assert listed(table) == [{"id": 7, "day": date(2024, 1, 31), "n": 5, "ok": True}]


@pytest.mark.parametrize("stored", [None, "", "__HIVE_DEFAULT_PARTITION__"])
def test_every_spelling_of_null_is_null(stored: str | None) -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64()), ("n", pa.int32())]), ["n"])
    add(table, "a.parquet", pa.table({"id": [7]}), {"n": stored})
    assert listed(table) == [{"id": 7, "n": None}]


def test_an_escaped_partition_text_is_read_by_its_meaning() -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64()), ("city", pa.string())]), ["city"])
    data = parquet(pa.table({"id": [7]}))
    table.store.put("a.parquet", data)
    table.append([AddFile("a.parquet", {"city": "a%3Ab"}, len(data), 1)])
    assert listed(table) == [{"id": 7, "city": "a:b"}]


def test_a_partition_value_of_the_log_wins_over_a_column_of_the_file() -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64()), ("city", pa.string())]), ["city"])
    add(table, "a.parquet", pa.table({"id": [7], "city": ["wrong"]}), {"city": "right"})
    assert listed(table) == [{"id": 7, "city": "right"}]


def test_rows_of_partition_columns_alone_are_counted_by_the_file() -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64()), ("city", pa.string())]), ["city"])
    add(table, "a.parquet", pa.table({"id": list(range(70_000))}), {"city": "x"})
    assert table.snapshot().scan(["city"]).read_all().column("city").to_pylist() == ["x"] * 70_000


def test_columns_come_in_the_order_asked_for() -> None:
    table = table_of(pa.table({"a": [1], "b": [2], "c": [3]}))
    assert table.snapshot().scan(["c", "a"]).read_all().to_pydict() == {"c": [3], "a": [1]}


def test_a_filter_may_use_columns_that_are_not_returned() -> None:
    table = table_of(pa.table({"a": [1, 2], "b": [10, 20]}))
    assert listed(table, "b > 15", ["a"]) == [{"a": 2}]


def test_files_come_in_the_order_of_their_paths() -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64())]))
    for path in ("c", "a", "b"):
        add(table, f"{path}.parquet", pa.table({"id": [ord(path)]}))
    assert [row["id"] for row in listed(table)] == [ord("a"), ord("b"), ord("c")]


def test_an_empty_table_has_no_rows() -> None:
    assert listed(new_table(MemoryStore(), pa.schema([("id", pa.int64())]))) == []


def test_a_column_name_with_a_dot_is_one_name() -> None:
    assert listed(table_of(pa.table({"a.b": [1], "a": [2]})), "`a.b` = 1") == [{"a.b": 1, "a": 2}]


# ---- evolution


def test_a_column_that_a_file_does_not_have_is_null() -> None:
    table = table_of(pa.table({"a": [1]}), schema=pa.schema([("a", pa.int64()), ("b", pa.list_(pa.string()))]))
    assert listed(table) == [{"a": 1, "b": None}]


def test_a_column_that_a_file_does_not_have_matches_is_null() -> None:
    table = table_of(pa.table({"a": [1]}), schema=pa.schema([("a", pa.int64()), ("b", pa.string())]))
    assert listed(table, "b IS NULL AND a = 1", ["a"]) == [{"a": 1}]


def test_a_narrower_integer_is_widened() -> None:
    rows = pa.table({"a": pa.array([1, None], pa.int32())})
    assert listed(table_of(rows, schema=pa.schema([("a", pa.int64())])), "a < 3000000000") == [{"a": 1}]


def test_a_wider_integer_is_taken_where_its_values_fit() -> None:
    rows = pa.table({"a": pa.array([5], pa.int64())})
    assert listed(table_of(rows, schema=pa.schema([("a", pa.int32())]))) == [{"a": 5}]


def test_a_value_that_does_not_fit_the_table_names_the_file_and_the_column() -> None:
    table = table_of(pa.table({"a": [2**40]}), schema=pa.schema([("a", pa.int32())]))
    with pytest.raises(CorruptTable, match=r"a\.parquet .*'a' as int64"):
        listed(table)


def test_a_text_never_becomes_a_number() -> None:
    table = table_of(pa.table({"a": ["12"]}), schema=pa.schema([("a", pa.int64())]))
    with pytest.raises(CorruptTable, match="holds 'a' as string"):
        listed(table)


def test_times_of_old_spark_files_are_read() -> None:
    moment = datetime(1500, 1, 2, 3, 4, 5, tzinfo=UTC)
    rows = pa.table({"at": pa.array([moment], pa.timestamp("us", "UTC"))})
    assert listed(table_of(rows, use_deprecated_int96_timestamps=True)) == [{"at": moment}]


def test_an_encoded_text_is_read_as_text() -> None:
    rows = pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode()})
    assert listed(table_of(rows, schema=pa.schema([("a", pa.string())])), "a = 'x'") == [{"a": "x"}, {"a": "x"}]


def test_a_null_where_the_schema_says_not_null_names_the_file() -> None:
    schema = pa.schema([("a", pa.int64()), pa.field("b", pa.int64(), nullable=False)])
    with pytest.raises(CorruptTable, match=r"a\.parquet .*NOT NULL"):
        listed(table_of(pa.table({"a": [1]}), schema=schema))


# ---- where


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x > 4.5", [5]),
        ("x < 4.5", [4]),
        ("x = 4.5", []),
        ("x <> 4.5", [4, 5]),
        ("x < 99999999999999999999", [4, 5]),
        ("x <= -99999999999999999999", []),
        ("x IN (4, 4.5, 99999999999)", [4]),
        ("x NOT IN (4)", [5]),
        ("NOT (x = 4)", [5]),
        ("x IS NULL", [None]),
        ("x = 4 OR x IS NULL", [4, None]),
    ],
)
def test_conditions_on_a_32_bit_integer_are_exact(where: str, expected: list[int | None]) -> None:
    rows = pa.table({"x": pa.array([4, 5, None], pa.int32())})
    assert [row["x"] for row in listed(table_of(rows), where)] == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("x > 1", ["NaN"]),
        ("x <= 1", ["0.0", "1.0"]),
        ("x <> 1", ["0.0", "NaN"]),
        ("x = 'NaN'", ["NaN"]),
        ("x < 'NaN'", ["0.0", "1.0"]),
        ("x IN (1, 'NaN')", ["1.0", "NaN"]),
        ("x NOT IN (1)", ["0.0", "NaN"]),
        ("x IN (0)", ["0.0"]),
    ],
)
def test_nan_is_above_everything_and_equals_itself(where: str, expected: list[str]) -> None:
    rows = pa.table({"x": pa.array([-0.0, 1.0, math.nan, None])})
    found = [abs(row["x"]) for row in listed(table_of(rows), where)]
    assert [str(value).replace("nan", "NaN") for value in found] == expected


def test_a_nan_is_found_in_a_row_group_whose_statistics_do_not_show_it() -> None:
    rows = pa.table({"x": pa.array([3.0, math.nan])})
    assert [str(row["x"]) for row in listed(table_of(rows), "x <> 3")] == ["nan"]


@pytest.mark.parametrize(
    ("where", "count"), [("x = 0.1", 0), ("x > 0.1", 1), ("x = 0.10000000149011612", 1), ("x < 0.100000002", 1)]
)
def test_a_32_bit_float_compares_as_the_equal_64_bit_one(where: str, count: int) -> None:
    assert len(listed(table_of(pa.table({"x": pa.array([0.1], pa.float32())})), where)) == count


@pytest.mark.parametrize(("where", "count"), [("x = 1.1", 1), ("x > 1.095", 1), ("x < 1.1001", 1), ("x < 1e30", 1)])
def test_conditions_on_a_decimal_are_exact(where: str, count: int) -> None:
    assert len(listed(table_of(pa.table({"x": pa.array([Decimal("1.10")], pa.decimal128(5, 2))})), where)) == count


def test_a_time_is_like_the_text_that_spark_shows() -> None:
    rows = pa.table({"at": pa.array([datetime(2024, 1, 2, 10, 0, 0, 500_000, UTC)], pa.timestamp("us", "UTC"))})
    table = table_of(rows)
    found = [len(listed(table, f"at LIKE '{text}%'")) for text in ("2024-01-02 10:00:00.5", "2024-01-02 10:00:00.50")]
    assert found == [1, 0]


def test_the_where_of_the_snapshot_filters_rows_as_well() -> None:
    table = table_of(pa.table({"a": [1, 2, 3, 4]}))
    snapshot = table.snapshot(where="a > 1")
    assert snapshot.scan(where="a < 4").read_all().to_pydict() == {"a": [2, 3]}


def test_a_literal_of_the_wrong_kind_is_refused_before_anything_is_read() -> None:
    table = table_of(pa.table({"a": [1]}))
    with pytest.raises(PredicateError, match="'a' is an integer"):
        table.snapshot().scan(where="a = 'x'")


def test_an_unknown_column_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'name'"):
        table_of(pa.table({"name": ["x"]})).snapshot().scan(["nam"])


def test_a_row_group_outside_of_the_filter_is_not_read() -> None:
    store = _Counting()
    table = new_table(store, pa.schema([("a", pa.int64()), ("b", pa.binary())]))
    blob = bytes(1 << 20)
    rows = pa.table({"a": list(range(12)), "b": [blob] * 12})
    add(table, "a.parquet", rows, row_group_size=1, compression="none", use_dictionary=False)
    store.ranges.clear()
    assert listed(table, "a = 3", ["a"]) == [{"a": 3}]
    assert sum(store.ranges) < 1 << 20


class _Counting(MemoryStore):
    """Remembers the length of every range of a data file that was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[int] = []

    def get_range(self, key: str, start: int, length: int) -> bytes:
        data = super().get_range(key, start, length)
        if key.endswith(".parquet"):
            self.ranges.append(len(data))
        return data


# ---- the filter against a filter written apart from it

COLUMNS: Mapping[str, pa.DataType] = {
    "part": pa.string(),
    "day": pa.date32(),
    "n": pa.int32(),
    "big": pa.int64(),
    "x": pa.float64(),
    "cash": pa.decimal128(8, 2),
    "name": pa.string(),
    "ok": pa.bool_(),
    "at": pa.timestamp("us", "UTC"),
}
_TEXTS = ["", "a", "ab", "abc", "b", "é", "z:z"]
_DAYS = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 2, 1)]
_TIMES = [datetime(2024, 1, 1, 10, 0, 0, micro, UTC) for micro in (0, 1, 500_000)]
_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "part": st.sampled_from(_TEXTS[1:]),
    "day": st.sampled_from(_DAYS),
    "n": st.integers(-3, 3),
    "big": st.sampled_from([-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1]),
    "x": st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.1, 2.0, math.inf, math.nan]),
    "cash": st.decimals(-3, 3, places=2).map(lambda value: value.quantize(Decimal("0.01"))),
    "name": st.sampled_from(_TEXTS),
    "ok": st.booleans(),
    "at": st.sampled_from(_TIMES),
}
_LITERALS: Mapping[str, st.SearchStrategy[Literal]] = {
    "part": st.sampled_from(_TEXTS),
    "day": st.sampled_from([*_DAYS, date(2024, 1, 15)]),
    "n": st.sampled_from([-2, 0, 1, 3, 10**12, Decimal("0.5"), -(10**12)]),
    "big": st.sampled_from([-(2**63), 0, 2**53, 2**53 + 1, 2**63, Decimal("1.5")]),
    "x": st.sampled_from([-1.5, 0, 0.1, 2, Decimal("0.1"), "NaN"]),
    "cash": st.sampled_from([Decimal("0.005"), 0, 1, Decimal("1.10"), 10**9, -(10**9)]),
    "name": st.sampled_from(_TEXTS),
    "ok": st.booleans(),
    "at": st.sampled_from([*_TIMES, datetime(2024, 1, 1, 10, tzinfo=UTC), date(2024, 1, 1)]),
}


def _leaf(column: str) -> st.SearchStrategy[Predicate]:
    literals = _LITERALS[column]
    kinds: list[st.SearchStrategy[Predicate]] = [
        st.builds(Comparison, st.just(column), st.sampled_from(Op), literals),
        st.builds(In, st.just(column), st.lists(literals, min_size=1, max_size=3).map(tuple)),
        st.builds(NotIn, st.just(column), st.lists(literals, min_size=1, max_size=3).map(tuple)),
        st.sampled_from([IsNull(column), IsNotNull(column)]),
    ]
    if column in ("part", "name"):
        kinds.append(st.builds(StartsWith, st.just(column), st.sampled_from(_TEXTS)))
        kinds.append(st.builds(NotStartsWith, st.just(column), st.sampled_from(_TEXTS)))
    return st.one_of(kinds)


PREDICATES = st.recursive(
    st.one_of(st.sampled_from(sorted(COLUMNS)).flatmap(_leaf), st.sampled_from([AlwaysTrue(), AlwaysFalse()])),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=5,
)


def truth(predicate: Predicate, row: Mapping[str, Any]) -> bool | None:
    """SQL's three-valued logic, as a textbook has it."""
    match predicate:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case Not(operand):
            inner = truth(operand, row)
            return None if inner is None else not inner
        case And(operands):
            found = [truth(operand, row) for operand in operands]
            return False if False in found else None if None in found else True
        case Or(operands):
            found = [truth(operand, row) for operand in operands]
            return True if True in found else None if None in found else False
        case IsNull(column):
            return row[column] is None
        case IsNotNull(column):
            return row[column] is not None
    value = row[predicate.column]
    if value is None:
        return None
    match predicate:
        case Comparison(_, op, literal):
            return _compared(op, value, literal)
        case In(_, values):
            return any(_compared(Op.EQ, value, each) for each in values)
        case NotIn(_, values):
            return not any(_compared(Op.EQ, value, each) for each in values)
        case StartsWith(_, prefix):
            return str(value).startswith(prefix)
        case NotStartsWith(_, prefix):
            return not str(value).startswith(prefix)


def _compared(op: Op, value: Any, literal: Any) -> bool:
    if isinstance(value, float):
        left, right = (math.isnan(value), value), (literal == "NaN", 0.0 if literal == "NaN" else float(literal))
        if left[0] or right[0]:
            return op.holds(left[0] - right[0])
        value, literal = left[1], right[1]
    elif isinstance(value, datetime) and not isinstance(literal, datetime):
        literal = datetime(literal.year, literal.month, literal.day, tzinfo=UTC)
    return op.holds((value > literal) - (value < literal))


_ROW = st.fixed_dictionaries({name: st.none() | _VALUES[name] for name in COLUMNS if name not in ("part", "day")})
_FILE = st.tuples(st.none() | _VALUES["part"], st.none() | _VALUES["day"], st.lists(_ROW, min_size=1, max_size=6))


def _shown(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows as texts, in which one NaN equals another."""
    return [str(dict(row)) for row in rows]


@settings(max_examples=60)
@given(files=st.lists(_FILE, min_size=1, max_size=3), predicate=PREDICATES, row_group=st.integers(1, 3))
def test_a_filtered_scan_equals_a_scan_filtered_afterwards(
    files: list[tuple[str | None, date | None, list[dict[str, Any]]]], predicate: Predicate, row_group: int
) -> None:
    store = MemoryStore()
    table = new_table(store, pa.schema(list(COLUMNS.items())), ["part", "day"])
    data = pa.schema([(name, type_) for name, type_ in COLUMNS.items() if name not in ("part", "day")])
    added = []
    for number, (part, day, rows) in enumerate(files):
        path = f"{number}.parquet"
        store.put(path, parquet(pa.Table.from_pylist(rows, schema=data), row_group_size=row_group))
        partition = {"part": part, "day": None if day is None else day.isoformat()}
        added.append(DataFile.of_parquet(path, store=store, partition_values=partition))
    table.append(added)
    everything = table.snapshot().scan().read_all().to_pylist()
    assert len(everything) == sum(len(rows) for _, _, rows in files)
    expected = [row for row in everything if truth(predicate, row) is True]
    found = table.snapshot().scan(where=predicate).read_all().to_pylist()
    assert _shown(found) == _shown(expected)


# ---- files that are not what they should be


def _after(change: Callable[[Store], None]) -> Table:
    table = table_of(pa.table({"a": [1]}))
    change(table.store)
    return table


def test_a_missing_data_file_is_named() -> None:
    table = _after(lambda store: store.delete(["a.parquet"]))
    with pytest.raises(CorruptTable, match=r"the data file a\.parquet of memory://test is missing"):
        listed(table)


@pytest.mark.parametrize("data", [b"", b"PAR1 no more", b"\0" * 1000])
def test_a_file_that_is_no_parquet_is_named(data: bytes) -> None:
    table = _after(lambda store: store.put("a.parquet", data))
    with pytest.raises(CorruptTable, match=r"the data file a\.parquet of memory://test can't be read as Parquet"):
        listed(table)


def test_a_damaged_page_is_named() -> None:
    rows = pa.table({"a": [f"{number}" for number in range(5000)]})
    data = bytearray(parquet(rows, compression="zstd"))
    data[50:4000] = bytes(3950)
    table = table_of(rows)
    table.store.put("a.parquet", bytes(data))
    with pytest.raises(CorruptTable, match=r"the data file a\.parquet of memory://test can't be read as Parquet"):
        listed(table)


def test_a_missing_local_file_is_named(tmp_path: Path) -> None:
    table = new_table(LocalStore(str(tmp_path), SystemAmbient(), durable=False), pa.schema([("a", pa.int64())]))
    table.append([AddFile("a.parquet", {}, 1, 1)])
    with pytest.raises(CorruptTable, match=r"a\.parquet of .* is missing"):
        listed(table)


_NO_MORE_FILES = """
import resource, sys
from headgate_table.errors import StoreError
from headgate_table.table import Table
batches = iter(Table.open(sys.argv[1]).snapshot().scan())
next(batches)
# Files that are open stay so; the three numbers below the limit are taken.
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    list(batches)
except StoreError as error:
    print("told:", error)
"""


def test_trouble_of_the_system_is_not_told_as_a_damaged_file(tmp_path: Path) -> None:
    """Break: `_unread` takes every `OSError` for damage, and advises to remove a file that is fine."""
    table = new_table(LocalStore(str(tmp_path), SystemAmbient(), durable=False), pa.schema([("a", pa.int64())]))
    for number in range(FILES_AHEAD + 2):
        add(table, f"{number:02d}.parquet", pa.table({"a": [number]}))
    printed = run_isolated(_NO_MORE_FILES, str(tmp_path))
    assert "told: could not read" in printed
    assert "Too many open files" in printed


@pytest.mark.parametrize(("kind", "text"), [(pa.int8(), "300"), (pa.date32(), "2024-1-5"), (pa.int32(), "x")])
def test_a_partition_value_that_does_not_fit_names_the_file(kind: pa.DataType, text: str) -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64()), ("p", kind)]), ["p"])
    data = parquet(pa.table({"id": [7]}))
    table.store.put("a.parquet", data)
    added_elsewhere(table.store, 1, "a.parquet", len(data), {"p": text})
    with pytest.raises(CorruptTable, match=rf"a\.parquet .*'{text}' for 'p'"):
        listed(table)


def test_split_files_are_refused_and_files_still_works() -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64())]))
    table.append([AddFile("a.split", {}, 1, 1)])
    with pytest.raises(UnsupportedTable, match=r"holds \.split files.*snapshot\.files\(\) still works"):
        table.snapshot().scan()
    assert table.snapshot().files(["path"]).to_pydict() == {"path": ["a.split"]}


def test_a_table_of_the_index_provider_is_refused_even_when_empty() -> None:
    table = new_table(MemoryStore(), pa.schema([("id", pa.int64())]))
    metadata = replace(table.metadata, format_provider="indextables")
    files = table.snapshot().files(["path", "partition_values", "size"])
    with pytest.raises(UnsupportedTable, match=r"holds \.split files"):
        scan_files(table.store, resources(), metadata, files, None, None)


# ---- where files lie


def test_a_large_file_is_read_by_ranges_and_never_whole() -> None:
    store = _Counting()
    table = new_table(store, pa.schema([("a", pa.int64()), ("b", pa.binary())]))
    rows = pa.table({"a": [1], "b": [bytes(WHOLE_FILE_BYTES + 1)]})
    add(table, "a.parquet", rows, compression="none", use_dictionary=False, write_statistics=False)
    store.ranges.clear()
    assert listed(table, columns=["a"]) == [{"a": 1}]
    assert sum(store.ranges) < WHOLE_FILE_BYTES // 2


def test_a_file_larger_than_the_log_says_is_read_all_the_same() -> None:
    store = MemoryStore()
    table = new_table(store, pa.schema([("a", pa.int64())]))
    store.put("a.parquet", parquet(pa.table({"a": [1]})))
    table.append([AddFile("a.parquet", {}, 10, 1)])
    assert listed(table) == [{"a": 1}]


def test_a_scan_reads_only_a_few_files_ahead() -> None:
    store = _Counting()
    table = new_table(store, pa.schema([("a", pa.int64())]))
    data = parquet(pa.table({"a": [1]}))
    for number in range(40):
        store.put(f"{number:02}.parquet", data)
    table.append([AddFile(f"{number:02}.parquet", {}, len(data), 1) for number in range(40)])
    reader = table.snapshot().scan()
    reader.read_next_batch()
    reader.close()
    assert len(store.ranges) <= 10


def test_predicates_in_text_and_as_values_select_the_same_rows() -> None:
    table = table_of(pa.table({"a": [1, 2]}))
    text = "a > 1"
    by_value = table.snapshot().scan(where=parse_predicate(text)).read_all()
    assert by_value.equals(table.snapshot().scan(where=text).read_all())
