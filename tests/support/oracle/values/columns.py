"""The columns that tables of the oracle have: their types in SQL and in Arrow, and how they are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import Any

import pyarrow as pa


class Kind(Enum):
    BYTE = "TINYINT"
    SHORT = "SMALLINT"
    INT = "INT"
    LONG = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    BINARY = "BINARY"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    LIST = "ARRAY<INT>"
    STRUCT = "STRUCT<a: BIGINT, b: STRING>"


INTEGERS = {Kind.BYTE: 8, Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}
"""With how many bits."""
FLOATS = frozenset({Kind.FLOAT, Kind.DOUBLE})
TIMES = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
COMPARED = frozenset(Kind) - {Kind.BINARY, Kind.LIST, Kind.STRUCT}
"""What a predicate can name."""

_ARROW = {
    Kind.BYTE: pa.int8(),
    Kind.SHORT: pa.int16(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
    Kind.LIST: pa.list_(pa.int32()),
    Kind.STRUCT: pa.struct([("a", pa.int64()), ("b", pa.string())]),
}


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    precision: int = 0
    scale: int = 0
    nullable: bool = True

    @property
    def quoted(self) -> str:
        return "`" + self.name.replace("`", "``") + "`"

    @property
    def ddl(self) -> str:
        parameters = f"({self.precision}, {self.scale})" if self.kind is Kind.DECIMAL else ""
        return f"{self.quoted} {self.kind.value}{parameters}{'' if self.nullable else ' NOT NULL'}"

    @property
    def arrow(self) -> Any:
        if self.kind is Kind.DECIMAL:
            return pa.decimal128(self.precision, self.scale)
        return _ARROW[self.kind]


NAMES = (
    "x",
    "y",
    "z",
    "a b",
    "x.y",
    "naïve",
    "e\N{COMBINING ACUTE ACCENT}",
    "k=v",
    "per%20cent",
    "Mixed",
    "a/b",
    "tick`s",
)
DECIMALS = ((38, 18), (38, 0), (9, 2), (18, 18), (1, 0), (5, 5), (20, 3))
_PAYLOADS = (
    *(Kind.DOUBLE, Kind.DOUBLE, Kind.DOUBLE, Kind.FLOAT, Kind.FLOAT, Kind.STRING, Kind.STRING, Kind.DATE, Kind.DATE),
    *(Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.DECIMAL, Kind.LONG, Kind.INT, Kind.SHORT, Kind.BYTE, Kind.BOOLEAN),
    *(Kind.BINARY, Kind.LIST, Kind.STRUCT),
)
_PARTITIONS = (
    *(Kind.STRING, Kind.STRING, Kind.STRING, Kind.LONG, Kind.INT, Kind.DATE, Kind.DOUBLE, Kind.BOOLEAN, Kind.DECIMAL),
    *(Kind.TIMESTAMP, Kind.FLOAT, Kind.BYTE, Kind.TIMESTAMP_NTZ, Kind.SHORT),
)


def draw_column(random: Random, name: str, kinds: Sequence[Kind] = _PAYLOADS) -> Column:
    kind = random.choice(kinds)
    if kind is Kind.DECIMAL:
        precision, scale = random.choice(DECIMALS)
        return Column(name, kind, precision, scale)
    return Column(name, kind)


def draw_table(random: Random) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The columns of a new table, with a number for each row in the first, and its partition columns."""
    names = list(NAMES if random.random() < 0.3 else NAMES[:3])
    random.shuffle(names)
    payload = [draw_column(random, name) for name in names[: random.randint(1, 3)]]
    if random.random() < 0.1:
        payload[0] = replace(payload[0], nullable=False)
    parts = ["p", "q", "part of"][: random.choice((0, 0, 1, 1, 1, 2, 3))]
    if len(parts) == 3 and random.random() < 0.7:
        parts.pop()
    partitions = [draw_column(random, name, _PARTITIONS) for name in parts]
    columns = [Column("id", Kind.LONG), *payload, *partitions]
    tail = columns[1:]
    random.shuffle(tail)
    return (columns[0], *tail), tuple(column.name for column in partitions)
