"""CSV and NDJSON hold texts. What is loaded is what Python reads in each text, or the file is refused by name."""

import datetime as dt
import io
import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import headgate
from headgate_schemas.errors import InvalidInput
from headgate_table.rows import text_files
from headgate_table.rows.input_files import InputFile, InputFormat, input_rows

NAME = "standard input"
CODE = re.compile(r"-?0[0-9]+(\.[0-9]*)?|\+[0-9]+")
"""No number: it would lose its zeros or its plus."""
QUOTED = set(',"\n')
FLOATS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}

WHOLE = st.one_of(
    st.integers(-200, 200),
    st.sampled_from([2**24, 2**31, 2**53, 2**63, 2**64, 10**38]).flatmap(lambda near: st.integers(near - 2, near + 2)),
    st.integers(-(10**40), 10**40),
).map(str)
DIGITS = st.text("0123456789", min_size=1, max_size=22)
NUMBERS = st.one_of(
    WHOLE,
    st.builds(lambda sign, whole, rest: f"{sign}{whole}.{rest}", st.sampled_from(["", "-", "+"]), WHOLE, DIGITS).filter(
        lambda text: not text.startswith(("--", "+-"))
    ),
    st.floats().map(repr),
    st.floats(width=32).map(lambda value: f"{value:.9g}"),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.17g}"),
    st.builds(lambda digits, exponent: f"{digits[:1]}.{digits}e{exponent}", DIGITS, st.integers(-400, 400)),
)
TIMES = st.one_of(
    st.dates().map(dt.date.isoformat),
    st.datetimes().map(dt.datetime.isoformat),
    st.datetimes().map(lambda moment: moment.isoformat(sep=" ", timespec="microseconds") + "000"),
    st.datetimes().map(lambda moment: moment.isoformat(timespec="microseconds") + "789"),
    st.datetimes(timezones=st.integers(-720, 720).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))).map(
        dt.datetime.isoformat
    ),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.sampled_from(
        [
            "2023-02-29",
            "0000-01-01",
            "9999-12-31T23:30:00-05:00",
            "0001-01-01 00:00:00+05:00",
            "2024-01-01 24:00:00",
            "10:30:00",
            "2024-01-01T00:00:00+02",
        ]
    ),
)
ODD = st.sampled_from(
    (
        *(
            "007",
            "+49123",
            "00.5",
            "-0",
            "0x1F",
            "1_000",
            " 5",
            "5 ",
            ".5",
            "5.",
            "1e5",
            "nan",
            "NaN",
            "inf",
            "-Infinity",
        ),
        *("true", "False", "1e400", "1e-400", "1e99999999999", "\N{ARABIC-INDIC DIGIT THREE}", "", "a,b", 'say "x"'),
        *("two\nlines", "--1", "null"),
    )
)
KINDS = (WHOLE, NUMBERS, st.one_of(NUMBERS, ODD), TIMES, st.one_of(WHOLE, TIMES, ODD, st.text(max_size=5)))
CELLS = st.sampled_from(KINDS).flatmap(lambda kind: st.lists(st.one_of(st.none(), kind), min_size=1, max_size=12))
TYPES = (
    *(pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal128(38, 10)),
    *(pa.string(), pa.bool_(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")),
)


def loaded(text: str, form: InputFormat, types: dict[str, pa.DataType], block: int) -> pa.Table:
    with patch.object(text_files, "BLOCK_BYTES", block):
        source = io.BytesIO(text.encode("utf-8", "surrogatepass"))
        return pa.Table.from_batches(input_rows([InputFile("-", form, 0)], types, source))


def tried(
    text: str, form: InputFormat, types: dict[str, pa.DataType], block: int
) -> tuple[pa.Table, str] | tuple[None, str]:
    """The rows, or the refusal."""
    try:
        return loaded(text, form, types, block), ""
    except InvalidInput as error:
        return None, str(error)


def csv_of(cells: Sequence[str | None]) -> str:
    lines = [f"{number},{'' if cell is None else quoted(cell)}" for number, cell in enumerate(cells)]
    return "\n".join(["n,c", *lines, ""])


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if cell == "" or set(cell) & QUOTED else cell


def agrees(text: str, value: Any, type_: pa.DataType) -> bool:
    """Whether Python reads this value in the text."""
    if pa.types.is_string(type_):
        return bool(value == text)
    plain = text.strip(" \t")
    if pa.types.is_boolean(type_):
        return plain.lower() in (("true", "1") if value else ("false", "0"))
    if pa.types.is_integer(type_):
        return bool(int(plain) == value) and "_" not in plain
    if pa.types.is_decimal(type_):
        return Decimal(plain) == value and "_" not in plain
    if pa.types.is_date(type_):
        return bool(dt.date.fromisoformat(plain) == value)
    if pa.types.is_timestamp(type_):
        head, beyond = re.fullmatch(r"(.*?\.\d{6}|[^.]*|.*?\.\d{1,5})(\d*)(?:Z|[+-][\d:]+)?", plain).groups()  # type: ignore[union-attr]
        assert head
        assert not beyond.strip("0"), f"{text} is finer than a microsecond"
        told = dt.datetime.fromisoformat(plain)
        return (told.tzinfo is None) == (type_.tz is None) and told == value
    assert pa.types.is_floating(type_)
    special = FLOATS.get(plain.lower().removeprefix("+").replace("-nan", "nan"))
    if special is not None:
        return math.isnan(value) if math.isnan(special) else special == value
    if not math.isfinite(value):
        return False
    told_number = Decimal(plain)
    unit = told_number.as_tuple().exponent
    assert isinstance(unit, int)
    return abs(told_number - Decimal(value)) * 2 <= Decimal(10) ** unit


def check(cells: Sequence[str | None], rows: pa.Table) -> None:
    column = rows.column("c")
    assert len(column) == len(cells)
    for text, value in zip(cells, column.to_pylist(), strict=True):
        assert (text is None) == (value is None)
        assert text is None or agrees(text, value, column.type), (text, value, column.type)


def plain_text(cells: Sequence[str | None]) -> None:
    # Arrow ends a row at a lone carriage return, and takes no NUL; both are damage of the file, not of a value.
    assume(not any(set(cell or "") & set("\r\0") or (cell and "\ud800" <= max(cell) <= "\udfff") for cell in cells))


@given(CELLS)
def test_a_new_column_of_csv_has_a_type_that_holds_each_of_its_texts(cells: list[str | None]) -> None:
    plain_text(cells)
    rows = loaded(csv_of(cells), InputFormat.CSV, {}, 1 << 20)
    check(cells, rows)
    if any(CODE.fullmatch(cell or "") for cell in cells):
        assert pa.types.is_string(rows.schema.field("c").type)


@given(CELLS, CELLS)
def test_later_blocks_of_csv_are_read_as_the_first_or_refused(first: list[str | None], then: list[str | None]) -> None:
    plain_text(first + then)
    cells = first * 3 + then
    rows, refusal = tried(csv_of(cells), InputFormat.CSV, {}, 512)
    if rows is None:
        assert re.match(f"{NAME}, row [0-9]+, column 'c': ", refusal)
    else:
        check(cells, rows)


@given(CELLS, st.sampled_from(TYPES))
def test_a_column_of_a_table_takes_what_its_type_holds_and_refuses_the_rest(
    cells: list[str | None], type_: pa.DataType
) -> None:
    plain_text(cells)
    rows, refusal = tried(csv_of(cells), InputFormat.CSV, {"C": type_}, 1 << 20)
    if rows is None:
        assert re.match(f"{NAME}, row [0-9]+, column 'c': ", refusal)
        assert not all(cell is None or is_number_of(cell, type_) for cell in cells)
        return
    assert rows.schema.field("c").type == type_
    check(cells, rows)


def is_number_of(text: str, type_: pa.DataType) -> bool:
    """Whether the type holds the number for certain."""
    if pa.types.is_string(type_):
        return True
    if not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", text):
        return False
    number = Decimal(text)
    if pa.types.is_integer(type_):
        return "." not in text and -(2 ** (type_.bit_width - 1)) <= number < 2 ** (type_.bit_width - 1)
    if pa.types.is_decimal(type_):
        scaled = number * 10**type_.scale if len(text) < 40 else Decimal("0.5")
        return scaled == int(scaled) and abs(scaled) < 10**type_.precision
    return pa.types.is_float64(type_) and len(text) <= 15


JSON_NUMBERS = NUMBERS.filter(
    lambda text: re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text) is not None
)
JSON_CELLS = st.sampled_from(
    [WHOLE, JSON_NUMBERS, TIMES.map(json.dumps), st.one_of(TIMES, st.text(max_size=5)).map(json.dumps)]
)


@given(
    JSON_CELLS.flatmap(lambda kind: st.lists(st.one_of(st.just("null"), kind), min_size=1, max_size=12)),
    st.sampled_from(["%s", "[%s]", '{"x": [%s]}']),
    st.sampled_from([None, None, *TYPES]),
    st.sampled_from([200, 1 << 20]),
)
def test_numbers_and_texts_of_json_are_loaded_as_python_reads_them(
    cells: list[str], shape: str, known: pa.DataType | None, block: int
) -> None:
    told = [json.loads(cell, parse_float=str, parse_int=str) for cell in cells]
    plain_text(told)
    lines = "".join(f'{{"n": {number}, "c": {shape % cell}}}\n' for number, cell in enumerate(cells))
    types = {"c": known} if known is not None and shape == "%s" else {}
    rows, refusal = tried(lines, InputFormat.NDJSON, types, block)
    if rows is None:
        assert NAME in refusal
        assert types or block < 1 << 20 or has_too_many_digits(told)
        return
    column = rows.column("c").combine_chunks()
    if shape != "%s":
        column = (column if shape == "[%s]" else column.field("x")).flatten()
    if not pa.types.is_null(column.type):
        check(told, pa.table({"c": column}))


def has_too_many_digits(texts: Sequence[str | None]) -> bool:
    """More than any number of a table has."""
    try:
        numbers = [Decimal(text) for text in texts if text is not None]
    except InvalidOperation:
        return False
    return any(
        "e" in text.lower() or len(re.sub(r"\D", "", text)) > 30
        for text, _ in zip(filter(None, texts), numbers, strict=True)
    )


def test_a_later_file_is_read_by_the_types_of_the_first(tmp_path: Path) -> None:
    """Break: a code of the second file is a number, whose zeros are lost on the way to the first file's texts."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("c\n007\n")
    second.write_text("c\n1.50\n")
    files = [InputFile(str(path), InputFormat.CSV, 0) for path in (first, second)]
    assert pa.Table.from_batches(input_rows(files, {}, io.BytesIO())).to_pydict() == {"c": ["007", "1.50"]}


def test_a_cell_of_several_lines_is_one_cell_wherever_blocks_end() -> None:
    text = "c\n" + '"a\nb"\n' * 300
    rows = loaded(text, InputFormat.CSV, {}, 512)
    assert rows.to_pydict() == {"c": ["a\nb"] * 300}


def test_a_line_of_json_without_an_end_is_refused() -> None:
    with patch.object(text_files, "MAX_LINE_BYTES", 100), pytest.raises(InvalidInput, match="MAX_LINE_BYTES"):
        loaded('{"c": "' + "x" * 1_000, InputFormat.NDJSON, {}, 50)


def test_a_wide_float_file_does_not_follow_a_narrow_one(tmp_path: Path) -> None:
    """Break: doubles of the second file are rounded to the floats of the first."""
    pq.write_table(pa.table({"c": pa.array([0.5], pa.float32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"c": [0.1]}), tmp_path / "b.parquet")
    files = [InputFile(str(tmp_path / name), InputFormat.PARQUET, 0) for name in ("a.parquet", "b.parquet")]
    with pytest.raises(InvalidInput, match=r"b\.parquet has columns of other types"):
        list(input_rows(files, {}, io.BytesIO()))


def test_unsigned_numbers_of_parquet_are_decimals(tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": pa.array([2**64 - 1], pa.uint64())}), tmp_path / "a.parquet")
    files = [InputFile(str(tmp_path / "a.parquet"), InputFormat.PARQUET, 0)]
    headgate.write(tmp_path / "t", input_rows(files, {}, io.BytesIO()))
    assert headgate.read(tmp_path / "t").to_arrow().to_pydict() == {"c": [Decimal(2**64 - 1)]}
