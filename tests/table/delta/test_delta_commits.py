"""A version as a commit of a Delta log, by hand-made actions: what it says, byte for byte, and what it refuses."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile, CommitInfo, Metadata, RemoveFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.errors import HeadgateError
from headgate_table.delta.commit import VersionToMirror, commit_bytes, identity_of
from headgate_table.delta.schema import Unmirrorable, delta_columns
from headgate_table.delta.values import delta_path, partition_texts, statistics_text

URI = "s3://lake/events"
SCHEMA = schema_string_of("id BIGINT, text STRING, p STRING, d DATE, at TIMESTAMP, x DOUBLE, n DECIMAL(20, 2)")
METADATA = Metadata("11111111-2222", SCHEMA, ("p", "d"), created_time=7)
COLUMNS = delta_columns(METADATA)
INFO = CommitInfo(
    {
        "timestamp": 1_700_000_000_000,
        "operation": "Append",
        "nonce": "abc",
        "decisions": [
            {"id": "1", "accepted": True, "writer": {"app": "job", "seq": 4}},
            {"id": "2", "accepted": True, "writer": {"app": "job", "seq": 3}},
            {"id": "3", "accepted": False, "writer": {"app": "job", "seq": 9}, "code": "conflict"},
        ],
    }
)


def add(path: str = "p=a/f.parquet", **fields: Any) -> AddFile:
    values: dict[str, Any] = {
        "partition_values": {"p": "a", "d": "2024-01-01"},
        "size": 3,
        "modification_time": 5,
    } | fields
    return AddFile(path, **values)


def lines_of(*actions: Any, first: bool = False, metadata: Metadata = METADATA) -> list[dict[str, Any]]:
    version = VersionToMirror(URI, 3, [*actions, INFO], metadata, is_first=first)
    return [json.loads(line) for line in commit_bytes(version, delta_columns(metadata)).splitlines()]


def test_a_commit_is_these_bytes_whoever_writes_it() -> None:
    """They may change only together with `commit.ENGINE`."""
    version = VersionToMirror(
        URI, 3, [RemoveFile("p=a/old.parquet", data_change=False), add(num_records=1), INFO], METADATA
    )
    assert commit_bytes(version, COLUMNS).decode() == (
        '{"commitInfo":{"timestamp":1700000000000,"operation":"WRITE","operationParameters":{"mode":"Append"},'
        '"engineInfo":"headgate-mirror/2","headgate":{"table":"11111111-2222","version":3,"mark":"abc","operation":"Append"}}}\n'
        '{"txn":{"appId":"job","version":4,"lastUpdated":1700000000000}}\n'
        '{"remove":{"path":"p=a/old.parquet","deletionTimestamp":1700000000000,"dataChange":false}}\n'
        '{"add":{"path":"p=a/f.parquet","partitionValues":{"p":"a","d":"2024-01-01"},"size":3,"modificationTime":5,'
        '"dataChange":true,"stats":"{\\"numRecords\\":1,\\"minValues\\":{},\\"maxValues\\":{}}"}}\n'
    )


def test_a_version_without_files_is_an_empty_commit() -> None:
    [info, transaction] = lines_of()
    assert (list(info), list(transaction)) == (["commitInfo"], ["txn"])


def test_the_first_commit_says_what_the_columns_are() -> None:
    protocol, metadata = lines_of(first=True)[1:3]
    assert protocol == {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    body = metadata["metaData"]
    assert (body["id"], body["partitionColumns"], body["createdTime"]) == ("11111111-2222", ["p", "d"], 7)
    assert [field["name"] for field in json.loads(body["schemaString"])["fields"]] == list(COLUMNS.kinds)


def test_a_path_is_named_once_by_its_last_action() -> None:
    names = [next(iter(line)) for line in lines_of(add(), RemoveFile("p=a/f.parquet"), RemoveFile("x"), add("x"))]
    assert names == ["commitInfo", "txn", "remove", "add"]


def test_a_commit_is_known_as_ours_and_others_are_not() -> None:
    version = VersionToMirror(URI, 3, [INFO], METADATA)
    assert identity_of(commit_bytes(version, COLUMNS)) == version.identity
    for foreign in (b"", b"{}", b"nonsense", b'{"commitInfo":{}}', b'{"commitInfo":{"headgate":{"table":1}}}'):
        assert identity_of(foreign) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a b/é%20+.parquet", "a%20b/%C3%A9%2520%2B.parquet"),
        (f"{URI}/f.parquet", "f.parquet"),
        ("s3://other/a b", "s3://other/a%20b"),
        ("p=x:y/f", "p=x%3Ay/f"),
    ],
)
def test_paths_are_escaped_as_addresses_are(path: str, expected: str) -> None:
    assert delta_path(path, URI) == expected


def texts(**values: str) -> dict[str, str | None]:
    return partition_texts(values, COLUMNS, "f")


def test_partition_values_are_null_or_in_deltas_spelling() -> None:
    assert texts(p="__HIVE_DEFAULT_PARTITION__", d="") == {"p": None, "d": None}
    assert texts(p="a%3Ab") == {"p": "a:b", "d": None}
    with pytest.raises(Unmirrorable, match="which is a date"):
        texts(d="tomorrow")
    at = delta_columns(
        Metadata("1", schema_string_of("at TIMESTAMP, b BOOLEAN, x DOUBLE, i INT, f INT"), ("at", "b", "x", "i"))
    )
    assert partition_texts({"at": "2024-01-01T10%3A00%3A00+02:00", "b": "TRUE", "x": "1e3", "i": "+07"}, at, "f") == {
        "at": "2024-01-01T08:00:00.000000Z",
        "b": "true",
        "x": "1000.0",
        "i": "7",
    }
    with pytest.raises(Unmirrorable, match=r"'one'.*partition column 'i'"):
        partition_texts({"i": "one"}, at, "f")


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("2024-01-01 12:00:00", "2024-01-01 12:00:00"),
        ("2024-01-01T12%3A00%3A00.5", "2024-01-01 12:00:00.500000"),
        ("0001-01-01", "0001-01-01 00:00:00"),
    ],
)
def test_a_local_time_has_no_zone_where_delta_reads_it(stored: str, expected: str) -> None:
    """Break: readers of Delta fail at a table that is partitioned by local times."""
    metadata = Metadata("1", schema_string_of("id INT, at TIMESTAMP_NTZ, p TIMESTAMP_NTZ"), ("p",))
    assert partition_texts({"p": stored}, delta_columns(metadata), "f") == {"p": expected}
    micros = "1700000000000001"
    file = add(partition_values={}, num_records=2, min_values={"at": micros}, max_values={"at": micros})
    told = json.loads(statistics_text(file, delta_columns(metadata)) or "{}")
    assert (told["minValues"], told["maxValues"]) == (
        {"at": "2023-11-13T22:13:20.000"},
        {"at": "2023-11-15T22:13:20.001"},
    )


def bounds(column: str, low: str, high: str) -> tuple[Any, Any]:
    file = add(num_records=2, min_values={column: low}, max_values={column: high})
    told = json.loads(statistics_text(file, COLUMNS) or "{}")
    return told["minValues"].get(column), told["maxValues"].get(column)


@pytest.mark.parametrize(
    ("column", "low", "high", "expected"),
    [
        ("id", "-5", "7", (-5, 7)),
        ("id", "7", "-5", (None, None)),
        ("id", "x", "7", (None, None)),
        ("text", "a", "abc", ("a", "abd")),
        ("text", "a", "a\U0001f600", (None, None)),
        ("x", "-0.5", "1.5", (-0.5, 1.5)),
        ("x", "1.0", "Infinity", (None, None)),
        ("x", "NaN", "1.0", (None, None)),
        ("n", "1.05", "123456789012345678.01", (None, None)),
        ("n", "1.05", "2.00", (1.05, 2.0)),
        ("p", "a", "b", (None, None)),
        ("at", "1700000000000001", "1700000000000001", ("2023-11-13T22:13:20.000Z", "2023-11-15T22:13:20.001Z")),
        ("at", "-100000000000000000", "0", (None, None)),
    ],
)
def test_statistics_are_widened_or_left_out(column: str, low: str, high: str, expected: tuple[Any, Any]) -> None:
    assert bounds(column, low, high) == expected


def test_a_file_of_unknown_rows_has_no_statistics() -> None:
    assert statistics_text(add(min_values={"id": "1"}, max_values={"id": "2"}), COLUMNS) is None


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5), st.integers(1, 40))
def test_bounds_of_texts_hold_every_text_however_they_were_cut(values: list[str], cut: int) -> None:
    low, high = bounds("text", min(values)[:cut], max(values)[:cut])
    if low is not None:
        assert all(low <= value <= high for value in values)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ('{"type":"struct","fields":[{"name":"v","type":"variant","nullable":true,"metadata":{}}]}', "'variant'"),
        (
            (
                '{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"void","containsNull":true},'
                '"nullable":true,"metadata":{}}]}'
            ),
            "column 'a'.element has the type 'void'",
        ),
        (
            '{"type":"struct","fields":[{"name":"v","type":"long","nullable":true,"metadata":{"EXISTS_DEFAULT":"7"}}]}',
            "has the default 7",
        ),
        ("", "doesn't tell its columns"),
    ],
)
def test_what_delta_does_not_have_is_refused_by_name(schema: str, why: str) -> None:
    with pytest.raises(Unmirrorable, match=why):
        delta_columns(Metadata("1", schema))


def test_split_files_and_other_formats_are_refused_by_name() -> None:
    with pytest.raises(Unmirrorable, match=r"part\.split is a \.split file"):
        lines_of(add("part.split"))
    with pytest.raises(HeadgateError, match="'tantivy4spark'"):
        delta_columns(Metadata("1", SCHEMA, format_provider="tantivy4spark"))


def test_local_times_need_a_newer_protocol_wherever_they_are() -> None:
    columns = delta_columns(Metadata("1", schema_string_of("a ARRAY<STRUCT<t: TIMESTAMP_NTZ>>")))
    assert columns.protocol == {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["timestampNtz"],
        "writerFeatures": ["timestampNtz"],
    }


@pytest.mark.parametrize(
    "required", ["a BIGINT NOT NULL", "a STRUCT<b: BIGINT NOT NULL>", "a MAP<STRING, ARRAY<STRUCT<b: INT NOT NULL>>>"]
)
def test_the_newer_protocol_lists_that_columns_are_never_null(required: str) -> None:
    """Break: Spark refuses the whole table."""
    protocol = delta_columns(Metadata("1", schema_string_of(f"{required}, t TIMESTAMP_NTZ"))).protocol
    assert protocol["readerFeatures"] == ["timestampNtz"]
    assert protocol["writerFeatures"] == ["invariants", "timestampNtz"]
    assert "writerFeatures" not in delta_columns(Metadata("1", schema_string_of(required))).protocol
