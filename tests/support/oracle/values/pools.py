"""Wicked values: what a cell, a partition value or a literal of each type is drawn from."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random

import numpy as np

from support.oracle.values.cells import Cell
from support.oracle.values.columns import FLOATS, INTEGERS, TIMES, Column, Kind

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MICROS = 86_400_000_000

TEXTS = (
    *(
        "",
        " ",
        "a",
        "A",
        "b",
        "a b",
        "a%20b",
        "a%2520b",
        "a+b",
        "a/b",
        "a%2Fb",
        "a%2fb",
        "a=b",
        "p=a",
        "%",
        "%%",
        "%zz",
        "%2",
    ),
    *(
        "é",
        "e\N{COMBINING ACUTE ACCENT}",
        "É",
        "ß",
        "ss",
        "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}",
        "\N{KELVIN SIGN}",
        "K",
        "k",
    ),
    *(
        "it's",
        'quote"d',
        "back\\slash",
        "a:b",
        "a%3Ab",
        "a?b#c",
        "{a}",
        "[a]",
        "^",
        "~",
        "*",
        "a\tb",
        "\N{ZERO WIDTH SPACE}",
    ),
    *("null", "NULL", "NaN", "0", "00", "-0", "1", "01", "1.0", "1e0", "true", "2024-01-01", "9", "10", "1a"),
    *("\U0001f600", "\uffff", "\ud7ff", "z" * 31, "z" * 32 + "a", "z" * 33, "zz" + "\U0010ffff" * 40, "long " * 60),
    *(DEFAULT_PARTITION, ".", "..", ".hidden", "_under", " a", "a "),
)
DAYS = tuple(
    (date.fromisoformat(text) - _EPOCH_DAY).days
    for text in (
        *("1970-01-01", "1969-12-31", "0001-01-01", "0001-01-02", "0999-12-31", "1000-01-01", "1200-02-29"),
        *(
            "1582-10-04",
            "1582-10-05",
            "1582-10-09",
            "1582-10-14",
            "1582-10-15",
            "1500-02-28",
            "1500-03-01",
            "1899-12-31",
        ),
        *("1900-01-01", "2000-02-29", "2024-01-01", "2024-02-29", "2038-01-19", "9999-12-31", "0099-06-15"),
    )
)
EARLY_DAYS = (-719_163, -719_529, -800_000, -1_200_000)
"""Before the year 1, which no literal can say."""
_MOMENTS = (
    *(
        0,
        -1,
        1,
        999,
        -1_000_001,
        1_700_000_000_123_456,
        253_402_300_799_999_999,
        4_102_444_800_000_000,
        2**31 * 1_000_000,
    ),
    *(day * _DAY_MICROS + micros for day in DAYS for micros in (0, 43_200_000_000, 86_399_999_999)),
)
_DOUBLES = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 1.5, math.nan, -math.nan, math.inf, -math.inf, 1e39, -1e39, 5e-324, -5e-324),
    *(1.7976931348623157e308, -1.7976931348623157e308, 2.2250738585072014e-308, 3.4028234663852886e38, 2.0**53 + 2),
    *(1e-45, 16777217.0, 1e22, 1e23, 0.30000000000000004, 123456789.125),
)
_FLOATS = tuple(
    float(np.float32(value))
    for value in (
        *(
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.1,
            1.5,
            math.nan,
            -math.nan,
            math.inf,
            -math.inf,
            1e-45,
            -1e-45,
            3.4028234663852886e38,
        ),
        *(-3.4028234663852886e38, 1.1754943508222875e-38, 16777216.0, 0.3, 3.3),
    )
)


def draw_cell(random: Random, column: Column, *, early: bool = True) -> Cell:
    """A cell, null now and then. `early`: also dates before the year 1."""
    if column.nullable and random.random() < 0.12:
        return None
    return draw_value(random, column, early=early)


def draw_value(random: Random, column: Column, *, early: bool = False) -> Cell:
    kind = column.kind
    if kind in INTEGERS:
        limit = 1 << (INTEGERS[kind] - 1)
        if random.random() < 0.6:
            return random.randint(-3, 11)
        wide = [-limit, 1 - limit, limit - 1, limit - 2, limit // 2]
        return random.choice([*wide, 2**53, 2**53 + 1] if kind is Kind.LONG else wide)
    if kind is Kind.DOUBLE:
        return random.choice(_DOUBLES) if random.random() < 0.7 else float(random.randint(-5, 5)) / 2
    if kind is Kind.FLOAT:
        return random.choice(_FLOATS) if random.random() < 0.7 else float(random.randint(-5, 5)) / 2
    if kind is Kind.DECIMAL:
        limit = 10**column.precision
        unscaled = random.choice((0, 1, -1, limit - 1, 1 - limit, limit // 3, random.randrange(limit)))
        return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -column.scale))
    if kind is Kind.STRING:
        return random.choice(TEXTS)
    if kind is Kind.BINARY:
        return random.choice(TEXTS).encode() + random.choice((b"", b"\x00", b"\xff"))
    if kind is Kind.BOOLEAN:
        return random.random() < 0.5
    if kind is Kind.DATE:
        if early and random.random() < 0.05:
            return random.choice(EARLY_DAYS)
        return random.choice(DAYS) if random.random() < 0.7 else random.randint(19_700, 19_712)
    if kind in TIMES:
        return random.choice(_MOMENTS)
    if kind is Kind.LIST:
        return tuple(random.choice((None, 0, 1, -(2**31))) for _ in range(random.randrange(4)))
    assert kind is Kind.STRUCT
    return (("a", random.choice((None, 0, 2**63 - 1))), ("b", random.choice((None, *TEXTS[:6]))))


def partition_text(random: Random, column: Column, value: Cell) -> str | None:
    """One of the texts that stand for a partition value."""
    if value is None:
        return random.choice((None, "", DEFAULT_PARTITION))
    if isinstance(value, bool):
        return random.choice(("true", "TRUE") if value else ("false", "False"))
    if isinstance(value, str):
        return value
    if column.kind is Kind.DATE:
        assert isinstance(value, int)
        return day_text(value)
    if column.kind in TIMES:
        assert isinstance(value, int)
        return moment_text(value)
    if column.kind in FLOATS:
        assert isinstance(value, float)
        return random.choice(number_texts(column.kind, value))
    if column.kind in INTEGERS:
        assert isinstance(value, int)
        return random.choice((str(value), f"{value:+d}", f"{value:04d}")) if random.random() < 0.3 else str(value)
    assert isinstance(value, Decimal)
    return f"{value:f}"


def partition_value(column: Column, value: Cell) -> Cell:
    """What it is read as: two texts are null."""
    return None if value in ("", DEFAULT_PARTITION) else value


def number_texts(kind: Kind, value: float) -> tuple[str, ...]:
    """Spellings of a floating point number, none of which loses any of it."""
    if math.isnan(value):
        return ("NaN",)
    if math.isinf(value):
        return ("Infinity",) if value > 0 else ("-Infinity",)
    digits = shortest(kind, value)
    return (digits, digits.replace("e", "E"), repr(value))


def shortest(kind: Kind, value: float) -> str:
    """The digits that people write for it: of a 32-bit float those that tell it from its neighbours."""
    return repr(value) if kind is Kind.DOUBLE else str(np.float32(value))


def day_text(day: int) -> str:
    return (_EPOCH_DAY + timedelta(days=day)).isoformat()


def moment_text(micros: int, offset_minutes: int | None = None) -> str:
    """In UTC without saying so, or in a zone."""
    moment = _EPOCH + timedelta(microseconds=micros)
    if offset_minutes is None:
        return moment.replace(tzinfo=None).isoformat(sep=" ")
    return moment.astimezone(timezone(timedelta(minutes=offset_minutes))).isoformat(sep=" ")


def draw_bad_text(random: Random, column: Column) -> str | None:
    """A text that is no value of the column, or more than it can hold; None where every text is one."""
    if column.kind in INTEGERS:
        bits = INTEGERS[column.kind]
        return random.choice(("abc", "1.5", "0x10", "1_000", " 1", str(2 ** (bits - 1)), str(-(2 ** (bits - 1)) - 1)))
    if column.kind is Kind.DOUBLE:
        return random.choice(("abc", "1_0", "0x1p3"))
    if column.kind is Kind.FLOAT:
        return random.choice(("abc", "1e39", "-1e39", "1_0"))
    if column.kind is Kind.DECIMAL:
        too_large = str(10 ** (column.precision - column.scale))
        return random.choice(("abc", too_large, f"0.{'0' * column.scale}1", "NaN"))
    if column.kind is Kind.DATE:
        return random.choice(("abc", "2024-02-30", "2024-1-1", "20240101", "10000-01-01", "0000-01-01"))
    if column.kind in TIMES:
        return random.choice(("abc", "2024-02-30 00:00:00", "2024-01-01 25:00:00", "noon"))
    if column.kind is Kind.BOOLEAN:
        return random.choice(("yes", "1", "t", "abc"))
    return None
