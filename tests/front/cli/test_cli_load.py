"""`headgate load`: files of rows and standard input into a table."""

import datetime as dt
import gzip
import io
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headgate as product
from support.processes.command_line import Headgate

ROWS = [{"id": 1, "day": "mon", "x": 1.5}, {"id": 2, "day": "tue", "x": None}]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "events"


def files(folder: Path, rows: list[dict[str, Any]] | None = None) -> dict[str, Path]:
    """The same rows in every format."""
    given = ROWS if rows is None else rows
    parquet, text, lines = folder / "a.parquet", folder / "a.csv", folder / "a.ndjson"
    pq.write_table(pa.Table.from_pylist(given), parquet)
    text.write_text(
        "id,day,x\n" + "".join(f"{row['id']},{row['day']},{'' if row['x'] is None else row['x']}\n" for row in given)
    )
    lines.write_text("".join(json.dumps(row) + "\n" for row in given))
    zipped = folder / "a.csv.gz"
    zipped.write_bytes(gzip.compress(text.read_bytes()))
    return {"parquet": parquet, "csv": text, "ndjson": lines, "csv.gz": zipped}


def rows_of(table: Path) -> list[dict[str, Any]]:
    return sorted(product.read(table).to_arrow().to_pylist(), key=lambda row: row["id"])


@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson", "csv.gz"])
def test_a_file_of_each_format_becomes_a_table(headgate: Headgate, tmp_path: Path, table: Path, form: str) -> None:
    ran = headgate("load", table, files(tmp_path)[form], "--partition-by", "day", "--format", "json")
    assert (ran.code, ran.json["version"], ran.json["rows"], ran.json["files"]) == (0, 1, 2, 2), ran.err
    assert rows_of(table) == [{"id": 1, "day": "mon", "x": 1.5}, {"id": 2, "day": "tue", "x": None}]
    assert product.Table.open(table).metadata.partition_columns == ("day",)


def test_patterns_and_several_files_are_one_version(headgate: Headgate, tmp_path: Path, table: Path) -> None:
    for number in range(3):
        pq.write_table(pa.table({"id": [number]}), tmp_path / f"{number}.parquet")
    ran = headgate("load", table, f"{tmp_path}/*.parquet", "--format", "json")
    assert (ran.json["version"], ran.json["rows"]) == (1, 3)


@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson"])
def test_standard_input_is_a_file_whose_format_is_said(
    headgate: Headgate, tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    data = files(tmp_path)[form].read_bytes()

    class Pipe(io.RawIOBase):
        """Has no place to go back to."""

        buffer = io.BufferedReader(io.BytesIO(data))

    monkeypatch.setattr(sys, "stdin", Pipe())
    assert "give --input-format parquet, csv or ndjson" in headgate("load", table, "-").err
    assert headgate("load", table, "-", "--input-format", form).code == 0
    assert len(rows_of(table)) == 2


def test_types_are_those_of_the_table_where_there_is_one(headgate: Headgate, tmp_path: Path, table: Path) -> None:
    """Break: a code such as 007 becomes the number 7, or a day a text."""
    product.Table.create(table, "id BIGINT, code STRING, day DATE, amount DECIMAL(9,2)")
    place = tmp_path / "a.csv"
    place.write_text('id,code,day,amount\n1,007,2024-01-01,1.50\n2,"",,\n')
    assert headgate("load", table, place).code == 0
    first, second = rows_of(table)
    assert (first["code"], str(first["day"]), str(first["amount"])) == ("007", "2024-01-01", "1.50")
    assert (second["code"], second["day"], second["amount"]) == ("", None, None)


NEW_COLUMNS = {
    "whole": ("7", pa.int64(), 7),
    "beyond 64 bits": ("18446744073709551617", pa.decimal128(38, 0), Decimal("18446744073709551617")),
    "beyond a decimal": ("1" * 39, pa.string(), "1" * 39),
    "fraction": ("0.1", pa.float64(), 0.1),
    "fraction beyond a double": ("0.1234567890123456789", pa.decimal128(38, 19), Decimal("0.1234567890123456789")),
    "code": ("007", pa.string(), "007"),
    "clock": ("10:30:00", pa.string(), "10:30:00"),
    "day": ("2024-02-29", pa.date32(), dt.date(2024, 2, 29)),
    "local time": ("2024-02-29 10:30", pa.timestamp("us"), dt.datetime(2024, 2, 29, 10, 30)),  # noqa: DTZ001
    "instant": ("2024-02-29T10:30:00+02:00", pa.timestamp("us", "UTC"), dt.datetime(2024, 2, 29, 8, 30, tzinfo=dt.UTC)),
    "finer than a microsecond": ("2024-02-29T10:30:00.123456789", pa.string(), "2024-02-29T10:30:00.123456789"),
    "not a number": ("nan", pa.float64(), None),
}


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_new_table_has_types_that_hold_the_texts_exactly(
    headgate: Headgate, tmp_path: Path, table: Path, form: str
) -> None:
    """Break: a whole number becomes a double near it, a code a number, an instant a local time."""
    place = tmp_path / f"a.{form}"
    columns = {name: told for name, told in NEW_COLUMNS.items() if form == "csv" or "beyond a decimal" not in name}
    if form == "csv":
        place.write_text(",".join(columns) + "\n" + ",".join(text for text, _, _ in columns.values()) + "\n")
    else:
        are_numbers = ("whole", "beyond", "fraction", "not")
        cells = [
            f'"{name}": {text.replace("nan", "NaN") if name.startswith(are_numbers) else json.dumps(text)}'
            for name, (text, _, _) in columns.items()
        ]
        place.write_text("{" + ", ".join(cells) + "}\n")
    ran = headgate("load", table, place)
    assert ran.code == 0, ran.err
    rows = product.read(table).to_arrow()
    assert dict(zip(rows.column_names, rows.schema.types, strict=True)) == {
        name: t for name, (_, t, _) in columns.items()
    }
    [row] = rows.to_pylist()
    assert row.pop("not a number") != 0
    assert row == {name: value for name, (_, _, value) in columns.items() if name != "not a number"}


def test_whole_numbers_among_fractions_are_not_rounded(headgate: Headgate, tmp_path: Path, table: Path) -> None:
    for form, text in {"csv": "v\n9007199254740993\n1.5\n", "ndjson": '{"v": 9007199254740993}\n{"v": 1.5}\n'}.items():
        (tmp_path / f"a.{form}").write_text(text)
        assert headgate("load", f"{table}-{form}", tmp_path / f"a.{form}").code == 0
        found = product.read(f"{table}-{form}").to_arrow().column("v").to_pylist()
        assert found == [Decimal(9007199254740993), Decimal("1.5")]


MISFITS = [
    ("BIGINT", "9223372036854775808"),
    ("BIGINT", "0x1F"),
    ("DOUBLE", "9007199254740993"),
    ("DOUBLE", "1e400"),
    ("FLOAT", "16777217"),
    ("DECIMAL(9, 2)", "0.125"),
    ("TIMESTAMP", "2024-01-01T00:00:00"),
    ("TIMESTAMP_NTZ", "2024-01-01T00:00:00Z"),
    ("TIMESTAMP_NTZ", "2024-01-01T00:00:00.0000001"),
]


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize(("kind", "text"), MISFITS)
def test_a_text_that_the_tables_column_does_not_hold_is_refused_with_its_place(
    headgate: Headgate, tmp_path: Path, table: Path, kind: str, text: str, form: str
) -> None:
    product.Table.create(table, f"id INT, v {kind}")
    place = tmp_path / f"a.{form}"
    cell = text if kind.startswith(("BIG", "DOU", "FLO", "DEC")) else f'"{text}"'
    place.write_text(f"id,v\n1,\n2,{text}\n" if form == "csv" else f'{{"id": 1}}\n{{"id": 2, "v": {cell}}}\n')
    ran = headgate("load", table, place)
    assert (ran.code, product.Table.open(table).version) == (1, 0)
    assert place.name in ran.err
    if form == "csv":
        assert "row 3, column 'v'" in ran.err
        assert repr(text) in ran.err


def test_a_dry_run_reads_everything_and_writes_nothing(headgate: Headgate, tmp_path: Path, table: Path) -> None:
    ran = headgate("load", table, files(tmp_path)["csv"], "--partition-by", "day", "--dry-run", "--format", "json")
    assert (ran.code, ran.json["rows"], ran.json["makes_table"], ran.json["new_columns"]) == (0, 2, True, [])
    assert not table.exists()
    product.Table.create(table, "id BIGINT, day STRING")
    assert "no column 'x'" in headgate("load", table, files(tmp_path)["csv"], "--dry-run").err
    ran = headgate("load", table, files(tmp_path)["csv"], "--dry-run", "--schema-evolution", "--format", "json")
    assert ran.json["new_columns"] == ["x"]
    assert product.Table.open(table).version == 0


def test_modes_are_those_of_write(headgate: Headgate, tmp_path: Path, table: Path) -> None:
    given = files(tmp_path)["parquet"]
    headgate("load", table, given, "--partition-by", "day")
    headgate("load", table, given, "--mode", "overwrite")
    assert len(rows_of(table)) == 2
    assert "there is a table" in headgate("load", table, given, "--mode", "error").err
    assert headgate("load", table, given, "--mode", "ignore", "--format", "json").json["outcome"] == "duplicate"


def test_by_a_bus_a_repetition_is_known(
    headgate: Headgate, tmp_path: Path, table: Path, bus: str, committing: None
) -> None:
    given = files(tmp_path)["parquet"]
    first = headgate("load", table, given, "--writer", "nightly:1", "--format", "json")
    again = headgate("load", table, given, "--writer", "nightly:1", "--format", "json")
    assert (first.json["outcome"], again.json["outcome"]) == ("committed", "duplicate"), first.err + again.err
    assert len(rows_of(table)) == 2


REFUSED: list[tuple[list[str], str]] = [
    (["nowhere.csv"], "nowhere.csv can't be read: No such file"),
    (["*.csv"], "no file matches"),
    (["a.txt"], "doesn't tell its format"),
    (["."], "is a folder; name its files"),
    (["bad.parquet"], "bad.parquet can't be read as parquet"),
    (["bad.ndjson"], "bad.ndjson can't be read as ndjson"),
    (["one.csv", "one.csv"], "named twice"),
    (["one.csv", "two.csv"], "two.csv lacks the column 'x', beside one.csv"),
    (["one.csv", "--writer", "job:1"], "set a bus, or leave --writer out"),
    (["one.csv", "--where", "x = 1"], "where says what is overwritten"),
    (["one.csv", "--mode", "merge"], "mode is 'merge'; give one of"),
]


@pytest.mark.parametrize(("words", "told"), REFUSED, ids=lambda each: str(each)[:30])
def test_what_can_not_be_loaded_is_named_and_nothing_is_written(
    headgate: Headgate, tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "a.txt").write_text("a")
    (folder / "bad.parquet").write_bytes(b"PAR1 nothing PAR1")
    (folder / "bad.ndjson").write_text('{"id": 1}\n{"id": \n')
    if words != ["*.csv"]:
        (folder / "one.csv").write_text("x,y\n1,2\n")
        (folder / "two.csv").write_text("y\n2\n")
    ran = headgate("load", table, *words)
    assert (ran.code, ran.out) == (1, "")
    assert told in ran.err
    with pytest.raises(product.TableNotFound):
        product.Table.open(table)


def test_files_of_other_order_and_width_are_one_set_of_rows(headgate: Headgate, tmp_path: Path, table: Path) -> None:
    pq.write_table(pa.table({"id": [1], "day": ["mon"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"day": ["tue"], "id": pa.array([2], pa.int32())}), tmp_path / "b.parquet")
    assert headgate("load", table, tmp_path / "a.parquet", tmp_path / "b.parquet").code == 0
    assert rows_of(table) == [{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}]


def test_a_file_without_rows_has_columns_all_the_same(headgate: Headgate, tmp_path: Path, table: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), tmp_path / "a.parquet")
    assert headgate("load", table, tmp_path / "a.parquet").code == 0
    assert (product.Table.open(table).snapshot().schema.names, rows_of(table)) == (["id"], [])
