"""A mirror of odd names and values, read by engines that know nothing of us: at each version exactly the table's rows."""

import datetime as dt
import math
from collections.abc import Collection
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headgate
from headgate_schemas.predicates.partition_text import escape_partition_text
from support.mirror_readers.reader import MirrorReader, counted

UTC = dt.UTC
SCHEMA = pa.schema(
    [
        ("p q", pa.string()),
        ("day", pa.date32()),
        ("n", pa.int32()),
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("naïve=%20", pa.string()),
        ("amount", pa.decimal128(38, 10)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("nested", pa.struct([("a", pa.int32()), ("l", pa.list_(pa.string()))])),
        ("m", pa.map_(pa.string(), pa.int64())),
    ]
)
PARTITION = ("p q", "day", "n")
PARTITIONS: tuple[tuple[str | None, str | None, str | None], ...] = (
    ("a b", "2024-01-01", "-7"),
    ("a%20b", "1582-10-10", "2147483647"),
    ("ü/=?#+'\"", "0001-01-01", "0"),
    ("", "9999-12-31", None),
    (None, None, None),
)


def row(number: int) -> dict[str, Any]:
    return {
        "id": (number % 5 - 3) * 2**60,
        "x": (math.nan, -0.0, math.inf, -math.inf, 5e-324, None)[number % 6],
        "naïve=%20": (None, "", "\U0001f600" * 40, "z" * 100, "\ud7ff")[number % 5],
        "amount": Decimal("-9999999999999999999999999999.9999999999") if number % 2 else Decimal("0.0000000001"),
        "at": dt.datetime(1, 1, 1, tzinfo=UTC) + dt.timedelta(days=number % 10 * 300_000, microseconds=1),
        "local": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC).replace(tzinfo=None)
        if number % 3
        else None,
        "nested": {"a": number, "l": ["x", None]} if number % 4 else None,
        "m": [("k", number), ("", None)],
    }


def write(folder: Path, number: int, values: tuple[str | None, ...]) -> headgate.DataFile:
    partition = dict(zip(PARTITION, values, strict=True))
    folders = [f"{escape_partition_text(name)}={_folder(value)}" for name, value in partition.items()]
    path = "/".join([*folders, f"file {number} %41+é.parquet"])
    rows = [row(number), row(number + 1)]
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    fields = [field for field in SCHEMA if field.name not in PARTITION]
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), folder / path)
    return headgate.DataFile.of_parquet(path, root=folder, partition_values=partition)


def _folder(value: str | None) -> str:
    return escape_partition_text(value) if value else "__HIVE_DEFAULT_PARTITION__"


MOMENTS = (
    dt.datetime(1, 1, 1, tzinfo=UTC),
    dt.datetime(2024, 1, 1, 12, tzinfo=UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    dt.datetime(1582, 10, 10, 0, 0, 0, 1, tzinfo=UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC),
)


def assert_same_rows(
    reader: MirrorReader, uri: str, version: int, expected: pa.Table, partition: Collection[str]
) -> None:
    """In all columns that the reader's engine can hold, which come in the table's order."""
    names = reader.columns(expected, partition)
    read = reader.read(uri, version, names)
    assert read.column_names == (names if len(read.column_names) == len(names) else expected.column_names)
    wanted = expected.select(names)
    assert counted(read.select(names).cast(wanted.schema), names) == counted(wanted, names), version


@pytest.fixture(scope="module")
def odd_table(tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    folder = tmp_path_factory.mktemp("mirrored")
    configuration = {"mirror.formats": "delta", "mirror.checkpointInterval": "3"}
    table = headgate.Table.create(folder, SCHEMA, PARTITION, configuration)
    files = [write(folder, number, values) for number, values in enumerate(PARTITIONS)]
    table.append(files[:3])
    table.append(files[3:])
    table.mirror()
    table.delete(where="`p q` = 'a b'")
    table.append([write(folder, 9, PARTITIONS[1])])
    table.compact()
    table.restore(1)
    table.alter(schema=SCHEMA.append(pa.field("later", pa.int64())))
    table.append([write(folder, 12, PARTITIONS[0])])
    assert table.mirror().checkpoint is not None
    return table


def test_every_version_is_read_as_it_is(odd_table: headgate.Table, mirror_reader: MirrorReader) -> None:
    for version in range(odd_table.version + 1):
        rows = odd_table.snapshot(version).scan().read_all()
        assert_same_rows(mirror_reader, odd_table.uri, version, rows, PARTITION)


PARTITION_CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "STRING": (pa.string(), ["a/b", "%2F", "é e\N{COMBINING ACUTE ACCENT}", "null", " ", "2024-01-01"]),
    "TINYINT": (pa.int8(), [-128, 0, 127]),
    "SMALLINT": (pa.int16(), [-(2**15), 0, 2**15 - 1]),
    "INT": (pa.int32(), [-(2**31), 0, 2**31 - 1]),
    "BIGINT": (pa.int64(), [-(2**63), 0, 2**53 + 1, 2**63 - 1]),
    "FLOAT": (pa.float32(), [0.5, math.inf, -math.inf, 3.4028234663852886e38, 1e-45]),
    "DOUBLE": (pa.float64(), [0.1, 1e22, -5e-324, math.inf, -math.inf, 1.7976931348623157e308]),
    "DECIMAL(38, 10)": (pa.decimal128(38, 10), [Decimal("-0.0000000001"), Decimal(10**27), Decimal("7.5")]),
    "BOOLEAN": (pa.bool_(), [True, False]),
    "DATE": (pa.date32(), [dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]),
    "TIMESTAMP": (pa.timestamp("us", "UTC"), list(MOMENTS)),
    "TIMESTAMP_NTZ": (pa.timestamp("us"), [moment.replace(tzinfo=None) for moment in MOMENTS]),
}


@pytest.mark.parametrize("kind", PARTITION_CELLS)
def test_partitions_of_every_type_are_read(tmp_path: Path, kind: str, mirror_reader: MirrorReader) -> None:
    """Break: the values of one type are spelled as those of another, and an engine reads nothing of the table."""
    type_, cells = PARTITION_CELLS[kind]
    table = headgate.Table.create(tmp_path, f"id BIGINT, at TIMESTAMP_NTZ, p {kind}", ["p"])
    rows = pa.table(
        {
            "id": range(len(cells) + 1),
            "at": pa.array([MOMENTS[1].replace(tzinfo=None)] * (len(cells) + 1), pa.timestamp("us")),
            "p": pa.array([*cells, None], type_),
        }
    )
    table.write(rows)
    table.mirror()
    assert_same_rows(mirror_reader, table.uri, 1, rows, ["p"])


def test_columns_that_are_never_null_are_read_beside_local_times(tmp_path: Path, mirror_reader: MirrorReader) -> None:
    """Break: the mirror lists the one feature without the other, and Spark refuses the whole table."""
    table = headgate.Table.create(tmp_path, "id BIGINT NOT NULL, at TIMESTAMP_NTZ")
    rows = pa.table({"id": [1, 2], "at": pa.array([0, None], pa.timestamp("us"))})
    table.write(rows)
    table.mirror()
    assert_same_rows(mirror_reader, table.uri, 1, rows, ())


def test_a_table_of_two_thousand_columns_is_read(tmp_path: Path, mirror_reader: MirrorReader) -> None:
    rows = pa.table({f"column {number}": [number, None] for number in range(2_000)})
    table = headgate.Table.create(tmp_path, rows.schema)
    pq.write_table(rows, tmp_path / "f.parquet")
    table.append([headgate.DataFile.of_parquet("f.parquet", root=tmp_path)])
    table.mirror()
    assert mirror_reader.read(table.uri, 1, rows.column_names).to_pydict() == rows.to_pydict()
