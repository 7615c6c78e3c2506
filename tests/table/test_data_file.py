"""Files as users hand them over: checked fields, and what a Parquet footer tells."""

import copy
import datetime as dt
import pickle
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate_schemas.actions.action_json import format_action, parse_action
from headgate_schemas.actions.actions import NULL_PARTITION, AddFile
from headgate_schemas.errors import InvalidInput
from headgate_table.data_file import MAX_MAP_ENTRIES, MAX_TEXT_CHARS, DataFile, partition_values_in
from headgate_table.errors import ObjectMissing
from headgate_table.parquet import footer as parquet_footer
from headgate_table.store.interface import ObjectInfo, Store


def _file(**changes: Any) -> DataFile:
    fields: dict[str, Any] = {"path": "a.parquet", "size": 1, "modification_time": 2, "partition_values": {}}
    return DataFile(**(fields | changes))


def test_a_data_file_is_the_same_value_as_the_file_in_the_log() -> None:
    file = _file(partition_values={"d": None}, split_tags=["x"], min_values={"a": "1"})
    add = AddFile("a.parquet", {"d": NULL_PARTITION}, 1, 2, split_tags=("x",), min_values={"a": "1"})
    assert file == add
    assert add == file
    assert file != replace(add, size=3)
    assert parse_action(format_action(file)) == file


def test_a_data_file_can_be_copied_changed_and_sent() -> None:
    file = _file(tags={"k": "v"})
    assert copy.deepcopy(file) == file
    assert pickle.loads(pickle.dumps(file)) == file  # noqa: S301  # our own bytes
    changed = replace(file, size=5)
    assert isinstance(changed, DataFile)
    assert changed.size == 5


def test_a_changed_data_file_is_checked_again() -> None:
    with pytest.raises(InvalidInput, match="size"):
        replace(_file(), size=-1)


def test_a_data_file_cant_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        _file().size = 5  # type: ignore[misc]  # wrong on purpose


def test_partition_values_may_be_left_out() -> None:
    assert DataFile(path="a", size=1, modification_time=2).partition_values == {}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"path": "/a"}, "it is absolute"),
        ({"path": "../a"}, "'..'"),
        ({"path": ""}, "empty"),
        ({"path": 5}, "must be a text"),
        ({"path": "_transaction_log/a"}, "holds the table's log"),
        ({"path": "_Transaction_Log/a"}, "holds the table's log"),
        ({"size": -1}, "size of file 'a.parquet' is -1; it must be from 0"),
        ({"size": 1.0}, "must be a whole number"),
        ({"size": True}, "must be a whole number"),
        ({"size": 2**63}, "from 0 to"),
        ({"modification_time": "now"}, "modification_time of file 'a.parquet' is 'now'"),
        ({"num_records": -1}, "num_records"),
        ({"num_merge_ops": 2**31}, "num_merge_ops"),
        ({"data_change": 1}, "True or False"),
        ({"partition_values": {"d": 5}}, "partition_values['d'] of file 'a.parquet' is 5; it must be a text"),
        ({"partition_values": ["d"]}, "a mapping of texts"),
        ({"min_values": {"d": None}}, "leave the key out"),
        ({"min_values": {5: "x"}}, "a key of min_values"),
        ({"max_values": {"d": "\ud800"}}, "lone surrogate"),
        ({"max_values": {"d": "x" * (MAX_TEXT_CHARS + 1)}}, "MAX_TEXT_CHARS"),
        ({"tags": {str(number): "" for number in range(MAX_MAP_ENTRIES + 1)}}, "MAX_MAP_ENTRIES"),
        ({"split_tags": "abc"}, "a list of texts"),
        ({"stats": {}}, "stats of file"),
    ],
)
def test_a_field_that_no_table_takes_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        _file(**changes)
    assert said in str(caught.value)


# ---- paths


def test_partition_values_come_from_the_folders_of_a_path() -> None:
    path = "data/date=2024-01-01/region=a%3Ab%2Fc/empty=/n=__HIVE_DEFAULT_PARTITION__/x=1=2/k=v.parquet"
    assert partition_values_in(path) == {
        "date": "2024-01-01",
        "region": "a:b/c",
        "empty": "",
        "n": NULL_PARTITION,
        "x": "1=2",
    }


@pytest.mark.parametrize("value", ["a,b", "a+b", "(x)", "x@y", "ü/日本", "100%", "a%2Cb", "a b"])
def test_partition_values_of_folders_that_arrow_wrote_are_the_values_it_was_given(tmp_path: Path, value: str) -> None:
    pq.write_to_dataset(pa.table({"id": [1], "k": [value]}), tmp_path, partition_cols=["k"])
    (written,) = tmp_path.rglob("*.parquet")
    assert partition_values_in(str(written.relative_to(tmp_path))) == {"k": value}


def test_a_folder_whose_escapes_are_no_utf_8_keeps_them() -> None:
    assert partition_values_in("k=%FF%3A/x") == {"k": "%FF:"}


@pytest.mark.parametrize("path", ["a=1/a=2/x", "=1/x"])
def test_a_path_whose_partitions_are_ambiguous_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="give partition_values="):
        partition_values_in(path)


# ---- footers


def _written(folder: Path, table: pa.Table, path: str = "a.parquet", **options: Any) -> str:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, target, **options)
    return path


def _bounds(folder: Path, array: pa.Array, **options: Any) -> tuple[str, str | None] | None:
    file = DataFile.of_parquet(_written(folder, pa.table({"c": array}), **options), root=folder)
    if file.min_values is None and file.max_values is None:
        return None
    assert file.min_values is not None
    return file.min_values["c"], None if file.max_values is None else file.max_values["c"]


def test_size_time_rows_and_partition_values_are_read(tmp_path: Path) -> None:
    path = _written(tmp_path, pa.table({"id": [3, 1, 2]}), "date=2024-01-01/a.parquet")
    status = (tmp_path / path).stat()
    assert DataFile.of_parquet(path, root=tmp_path) == AddFile(
        path=path,
        partition_values={"date": "2024-01-01"},
        size=status.st_size,
        modification_time=status.st_mtime_ns // 1_000_000,
        num_records=3,
        min_values={"id": "1"},
        max_values={"id": "3"},
    )


def test_given_values_win_over_found_ones(tmp_path: Path) -> None:
    path = _written(tmp_path, pa.table({"id": [1]}), "date=x/a.parquet")
    file = DataFile.of_parquet(
        path, root=tmp_path, partition_values={"p": None}, modification_time=7, data_change=False, tags={"k": "v"}
    )
    assert file.partition_values == {"p": NULL_PARTITION}
    assert (file.modification_time, file.data_change, file.tags) == (7, False, {"k": "v"})


def test_without_a_root_the_path_is_that_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _written(tmp_path, pa.table({"id": [1]}), "d=1/a.parquet")
    monkeypatch.chdir(tmp_path)
    assert DataFile.of_parquet("d=1/a.parquet").partition_values == {"d": "1"}


_DAY = dt.date(2024, 1, 1)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([2, -1, None], pa.int8()), ("-1", "2")),
        (pa.array([2**62, -(2**63)]), (str(-(2**63)), str(2**62))),
        (pa.array([1, 2**32 - 1], pa.uint32()), ("1", str(2**32 - 1))),
        (pa.array([1, 2**63 - 1], pa.uint64()), ("1", str(2**63 - 1))),
        (pa.array([1, 2**64 - 1], pa.uint64()), None),
        (pa.array([_DAY, dt.date(1969, 12, 31)]), ("-1", "19723")),
        (pa.array([1_500, -1], pa.timestamp("us", "UTC")), ("-1", "1500")),
        (pa.array([1, 2], pa.timestamp("ms")), ("1000", "2000")),
        (pa.array([1, 2], pa.timestamp("s")), ("1000000", "2000000")),
        (pa.array([-1_000, 2_000], pa.timestamp("ns")), ("-1", "2")),
        (pa.array([True, False]), ("false", "true")),
        (pa.array([1.5, -2.25]), ("-2.25", None)),
        (pa.array([1.5, float("nan"), -2.25]), ("-2.25", None)),
        (pa.array([1e300, float("-inf")]), ("-Infinity", None)),
        (pa.array([0.0, 1.0]), ("-0.0", None)),
        (pa.array([float("nan"), float("nan")]), None),
        (pa.array([1.5], pa.float32()), ("1.5", None)),
        (pa.array([0.1], pa.float32()), ("0.1", None)),
        (pa.array([Decimal("1.50"), Decimal("-0.01")]), ("-0.01", "1.50")),
        (pa.array([Decimal("1"), Decimal("12345678901234567890")], pa.decimal128(38, 2)), ("1.00", "12345678901234567890.00")),
        (pa.array(["pear", "apple"]), ("apple", "pear")),
        (pa.array(["pear", "apple"]).dictionary_encode(), ("apple", "pear")),
        (pa.array(["a" * 50, "b" * 50]), ("a" * 32, "b" * 31 + "c")),
        (pa.array(["7", "apple"]), None),
        (pa.array([b"a"]), None),
        (pa.array([None, None], pa.int32()), None),
        (pa.array([], pa.int32()), None),
        (pa.array([[1], [2]]), None),
        (pa.array([{"x": 1}]), None),
        (pa.array([1], pa.time64("us")), None),
        (pa.array([1.5], pa.float16()), None),
    ],
)  # fmt: skip
def test_bounds_are_the_texts_that_other_readers_read(
    tmp_path: Path, array: pa.Array, expected: tuple[str, str | None] | None
) -> None:
    assert _bounds(tmp_path, array) == expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1.5, -2.25]), ("-2.25", "1.5")),
        (pa.array([1e300, float("-inf")]), ("-Infinity", "1e+300")),
        (pa.array([0.0, 1.0]), ("-0.0", "1.0")),
        (pa.array([-1.0, -0.0]), ("-1.0", "0.0")),
        (pa.array([1.5], pa.float32()), ("1.5", "1.5")),
        (pa.array([0.1], pa.float32()), ("0.1", "0.10000000149011612")),
    ],
)
def test_a_writer_that_tells_of_nan_has_both_bounds_of_floats(
    tmp_path: Path, array: pa.Array, expected: tuple[str, str]
) -> None:
    rows = pa.table({"c": array})
    with pq.ParquetWriter(tmp_path / "a.parquet", rows.schema) as writer:
        writer.add_key_value_metadata({"headgate.statistics": "without-nan", "other": "x" * 5000})
        writer.write_table(rows)
    file = DataFile.of_parquet("a.parquet", root=tmp_path)
    assert (file.min_values, file.max_values) == ({"c": expected[0]}, {"c": expected[1]})


def test_partition_values_are_stored_once_however_often_a_file_is_copied() -> None:
    file = DataFile(path="a", size=1, modification_time=1, partition_values={"p": "a%20b", "q": "a b"})
    stored = {"p": "a%2520b", "q": "a b"}
    logged = parse_action(format_action(file))
    assert isinstance(logged, AddFile)
    again = DataFile(path="b", size=1, modification_time=1, partition_values=logged.partition_values)
    pickled = pickle.loads(pickle.dumps(file))  # noqa: S301  # our own bytes
    for copied in (file, replace(file, size=2), copy.deepcopy(file), pickled, logged, again):
        assert copied.partition_values == stored
        assert replace(copied, size=3).partition_values == stored


def test_decimals_stored_as_integers_have_the_same_bounds(tmp_path: Path) -> None:
    array = pa.array([Decimal("1.50"), Decimal("-0.01")])
    assert _bounds(tmp_path, array, store_decimal_as_integer=True) == ("-0.01", "1.50")


def test_bounds_span_every_row_group(tmp_path: Path) -> None:
    assert _bounds(tmp_path, pa.array([5, 9, None, None, 1, 2]), row_group_size=2) == ("1", "9")


def test_a_column_without_statistics_in_the_file_has_no_bounds(tmp_path: Path) -> None:
    assert _bounds(tmp_path, pa.array([1]), write_statistics=False) is None


def test_columns_are_counted_in_their_order_nested_ones_too(tmp_path: Path) -> None:
    table = pa.table({"s": [{"x": 1, "y": 2}], "a.b": [1], "l": [[1]], "c": [2]})
    path = _written(tmp_path, table)
    assert DataFile.of_parquet(path, root=tmp_path).min_values == {"a.b": "1", "c": "2"}
    assert DataFile.of_parquet(path, root=tmp_path, indexed_columns=3).min_values == {"a.b": "1"}
    assert DataFile.of_parquet(path, root=tmp_path, indexed_columns=1).min_values is None
    assert DataFile.of_parquet(path, root=tmp_path, indexed_columns=-1).min_values == {"a.b": "1", "c": "2"}


def test_partition_columns_in_the_file_have_no_bounds_and_dont_count(tmp_path: Path) -> None:
    path = _written(tmp_path, pa.table({"d": [1], "a": [2]}), "d=1/a.parquet")
    assert DataFile.of_parquet(path, root=tmp_path, indexed_columns=1).min_values == {"a": "2"}


class _OneObject:
    """As much of a store as reading a footer needs; it counts the bytes that were read."""

    uri = "s3://bucket/table"

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.bytes_read = 0

    def head(self, key: str) -> ObjectInfo | None:
        return ObjectInfo(key, len(self._data), 1234, "e") if key == "a.parquet" else None

    def get_range(self, key: str, start: int, length: int) -> bytes:
        assert key == "a.parquet"
        self.bytes_read += length
        return self._data[start : start + length]


def test_only_the_end_of_a_stored_file_is_read(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array(range(200_000), pa.int64())})
    _written(tmp_path, table, compression="none", use_dictionary=False)
    store = _OneObject((tmp_path / "a.parquet").read_bytes())
    file = DataFile.of_parquet("a.parquet", store=cast("Store", store))
    assert (file.modification_time, file.num_records, file.max_values) == (1234, 200_000, {"id": "199999"})
    assert store.bytes_read == 64 * 1024


def test_a_footer_longer_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    table = pa.table({f"column_{number}": [number] for number in range(1500)})
    _written(tmp_path, table)
    file = DataFile.of_parquet("a.parquet", root=tmp_path, indexed_columns=-1)
    assert len(file.min_values or ()) == 1500


def test_a_missing_stored_file_is_named() -> None:
    with pytest.raises(ObjectMissing, match=r"s3://bucket/table/b\.parquet"):
        DataFile.of_parquet("b.parquet", store=cast("Store", _OneObject(b"")))


def test_a_missing_local_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ObjectMissing, match=r"b\.parquet"):
        DataFile.of_parquet("b.parquet", root=tmp_path)


def test_an_address_as_root_is_refused_with_the_way_to_say_it() -> None:
    with pytest.raises(InvalidInput, match="give store= instead"):
        DataFile.of_parquet("a.parquet", root="s3://bucket/table")


def test_a_root_and_a_store_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not both"):
        DataFile.of_parquet("a.parquet", root=tmp_path, store=cast("Store", _OneObject(b"")))


def _valid_bytes(tmp_path: Path) -> bytes:
    _written(tmp_path, pa.table({"id": [1, 2], "t": ["a", "b"]}))
    return (tmp_path / "a.parquet").read_bytes()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "only 0 bytes"),
        (b"PAR1" + b"\0" * 4 + b"PAR1", "footer is damaged"),
        (b"x" * 100, "doesn't end in PAR1"),
        (b"x" * 100 + b"PARE", "encrypted"),
        (b"x" * 100 + b"\xff\xff\xff\x7f" + b"PAR1", "doesn't fit"),
    ],
)
def test_what_is_no_parquet_file_is_refused_by_name(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "a.parquet").write_bytes(data)
    with pytest.raises(InvalidInput) as caught:
        DataFile.of_parquet("a.parquet", root=tmp_path)
    assert said in str(caught.value)
    assert "a.parquet" in str(caught.value)


def test_a_parquet_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    data = _valid_bytes(tmp_path)
    (tmp_path / "a.parquet").write_bytes(data[:-20])
    with pytest.raises(InvalidInput, match="cut short"):
        DataFile.of_parquet("a.parquet", root=tmp_path)


def test_a_footer_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _valid_bytes(tmp_path)
    monkeypatch.setattr(parquet_footer, "MAX_FOOTER_BYTES", 10)
    with pytest.raises(InvalidInput, match="MAX_FOOTER_BYTES"):
        DataFile.of_parquet("a.parquet", root=tmp_path)


def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path: Path) -> None:
    store = _OneObject(_valid_bytes(tmp_path))
    complete = store.get_range
    store.get_range = lambda key, start, length: complete(key, start, length - 1)  # type: ignore[method-assign]  # a fault
    with pytest.raises(InvalidInput, match="being changed"):
        DataFile.of_parquet("a.parquet", store=cast("Store", store))


def test_every_way_to_damage_a_footer_gives_an_answer_or_a_refusal(tmp_path: Path) -> None:
    data = _valid_bytes(tmp_path)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    refused = 0
    for position in range(start, len(data) - 8):
        for byte in (0x00, 0x7F, 0xFF, data[position] ^ 0x10):
            damaged = data[:position] + bytes([byte]) + data[position + 1 :]
            try:
                DataFile.of_parquet("a.parquet", store=cast("Store", _OneObject(damaged)))
            except InvalidInput:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
def test_every_version_of_the_format_gives_the_same_bounds(tmp_path: Path, codec: str, version: Any) -> None:
    table = pa.table({"i": [3, 1], "t": ["b", "a"], "d": [_DAY, _DAY], "u": pa.array([7, 8], pa.uint8())})
    path = _written(tmp_path, table, compression=codec, version=version)
    file = DataFile.of_parquet(path, root=tmp_path)
    assert file.min_values == {"i": "1", "t": "a", "d": "19723", "u": "7"}
    assert file.max_values == {"i": "3", "t": "b", "d": "19723", "u": "8"}


def test_an_old_timestamp_without_an_order_has_no_bounds(tmp_path: Path) -> None:
    array = pa.array([1, 2], pa.timestamp("ns"))
    assert _bounds(tmp_path, array, use_deprecated_int96_timestamps=True) is None
