"""Predicates as the documentation describes them: their text, and whether a row makes one true, false or unknown.

NaN equals itself and is above every other number, and -0.0 equals 0.0, as in Spark. Texts are ordered by their UTF-8 bytes. A
32-bit float compares as the equal 64-bit one, and every literal for it is a 64-bit one: the column's 0.1 is above the literal 0.1.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from support.oracle.values.cells import Cell
from support.oracle.values.columns import COMPARED, FLOATS, INTEGERS, TIMES, Column, Kind
from support.oracle.values.pools import DAYS, TEXTS, day_text, draw_value, moment_text, number_texts, shortest

Row = Mapping[str, Cell]
Truth = bool | None
_HOLDS: Mapping[str, Callable[[int], bool]] = {
    "=": lambda sign: sign == 0,
    "<>": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DAY_MICROS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate's text and its meaning."""

    text: str
    columns: frozenset[str]
    truth: Callable[[Row], Truth]

    def holds(self, row: Row) -> bool:
        return self.truth(row) is True


@dataclass(frozen=True, slots=True)
class Literal:
    text: str
    value: Any
    """As `comparable` gives it for cells of the column."""


def comparable(column: Column, cell: Cell) -> Any:
    """What a cell that isn't null compares by."""
    if column.kind in FLOATS:
        assert isinstance(cell, float)
        if math.isnan(cell):
            return (1, 0.0)
        return (0, cell + 0.0)
    if column.kind is Kind.STRING:
        assert isinstance(cell, str)
        return cell.encode("utf-8")
    if column.kind in INTEGERS or column.kind is Kind.DECIMAL:
        assert isinstance(cell, int | Decimal)
        return Decimal(cell)
    return cell


def draw_literal(random: Random, column: Column, near: Sequence[Cell] = ()) -> Literal:
    """A literal for a column, often one of the cells `near`."""
    known = [cell for cell in near if cell is not None]
    cell = random.choice(known) if known and random.random() < 0.6 else draw_value(random, column)
    if column.kind in FLOATS and random.random() < 0.15:
        cell = math.nan
    kind = column.kind
    if kind is Kind.STRING:
        assert isinstance(cell, str)
        return Literal(quoted(cell), comparable(column, cell))
    if kind is Kind.BOOLEAN:
        return Literal("TRUE" if cell else "FALSE", cell)
    if kind in FLOATS:
        assert isinstance(cell, float)
        return _floating_literal(random, column, cell)
    if kind is Kind.DATE:
        assert isinstance(cell, int)
        day = cell if cell >= DAYS[2] else DAYS[2]
        text = day_text(day)
        return Literal(random.choice((f"DATE '{text}'", f"'{text}'")), day)
    if kind in TIMES:
        assert isinstance(cell, int)
        return _time_literal(random, max(cell, DAYS[2] * _DAY_MICROS))
    assert isinstance(cell, int | Decimal)
    return _exact_literal(random, Decimal(cell))


def _floating_literal(random: Random, column: Column, cell: float) -> Literal:
    if math.isnan(cell) or math.isinf(cell):
        return Literal(quoted(number_texts(column.kind, cell)[0]), comparable(column, cell))
    digits = random.choice((shortest(column.kind, cell), repr(cell)))
    if random.random() < 0.1:
        digits = random.choice(("1e39", "1e400", "-1e400", "0.1", "3.5e38", "16777217", "1e-50", "-0.0"))
    if column.kind is Kind.FLOAT and random.random() < 0.2:
        digits = repr(math.nextafter(cell, random.choice((-math.inf, math.inf))))
    value = float(digits)
    spellings = [quoted(digits)]
    if not math.isinf(value):
        spellings += [digits, f"{digits}D"]
    return Literal(random.choice(spellings), (0, value + 0.0))


def _exact_literal(random: Random, cell: Decimal) -> Literal:
    if random.random() < 0.2:
        beyond = (Decimal("0.5"), Decimal("1e-30"), Decimal(10) ** 40, -(Decimal(10) ** 40), Decimal(2) ** 63)
        exact = random.choice(beyond)
        cell = exact if abs(exact) > 1 else Decimal(int(cell) % 1000) + exact
    text = f"{cell:f}"
    return Literal(text if random.random() < 0.8 or not re.fullmatch(r"-?[0-9]{1,18}", text) else quoted(text), cell)


def _time_literal(random: Random, micros: int) -> Literal:
    if random.random() < 0.15:
        day = micros // _DAY_MICROS
        return Literal(f"DATE '{day_text(day)}'", day * _DAY_MICROS)
    safe = DAYS[3] * _DAY_MICROS < micros < 253_402_200_000_000_000
    offset = random.choice((0, 330, -480, 845)) if safe and random.random() < 0.4 else None
    text = moment_text(micros, offset)
    return Literal(random.choice((f"TIMESTAMP '{text}'", f"'{text}'")), micros)


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def draw_condition(
    random: Random, columns: Sequence[Column], near: Mapping[str, Sequence[Cell]], depth: int = 2
) -> Condition:
    """A predicate on some of these columns."""
    if depth and random.random() < 0.35:
        word = random.choice(("AND", "OR", "NOT"))
        first = draw_condition(random, columns, near, depth - 1)
        if word == "NOT":
            return Condition(f"NOT ({first.text})", first.columns, lambda row: _negated(first.truth(row)))
        second = draw_condition(random, columns, near, depth - 1)
        both = _and if word == "AND" else _or
        return Condition(
            f"({first.text}) {word} ({second.text})",
            first.columns | second.columns,
            lambda row: both(first.truth(row), second.truth(row)),
        )
    column = random.choice([column for column in columns if column.kind in COMPARED])
    return _draw_leaf(random, column, near.get(column.name, ()))


def _draw_leaf(random: Random, column: Column, near: Sequence[Cell]) -> Condition:
    name, only = column.quoted, frozenset((column.name,))
    form = random.choice(("compare", "compare", "compare", "in", "in", "between", "null", "safe", "like"))
    if form == "like" and column.kind is Kind.STRING:
        return _draw_like(random, column, near)
    if form == "null":
        wanted = random.random() < 0.5
        text = f"{name} IS {'' if wanted else 'NOT '}NULL"
        return Condition(text, only, lambda row: (row[column.name] is None) is wanted)
    if form == "in":
        members = [draw_literal(random, column, near) for _ in range(random.randint(1, 4))]
        wanted = random.random() < 0.7
        text = f"{name} {'' if wanted else 'NOT '}IN ({', '.join(each.text for each in members)})"
        values = [each.value for each in members]
        return Condition(text, only, lambda row: _unless_null(column, row, lambda value: (value in values) is wanted))
    first = draw_literal(random, column, near)
    if form == "between":
        last = draw_literal(random, column, near)
        text = f"{name} BETWEEN {first.text} AND {last.text}"
        return Condition(
            text, only, lambda row: _unless_null(column, row, lambda value: first.value <= value <= last.value)
        )
    if form == "safe":
        return Condition(
            f"{name} <=> {first.text}",
            only,
            lambda row: row[column.name] is not None and comparable(column, row[column.name]) == first.value,
        )
    operator = random.choice(tuple(_HOLDS))
    holds = _HOLDS[operator]
    flip = random.random() < 0.15
    text = f"{first.text} {_FLIPPED[operator]} {name}" if flip else f"{name} {operator} {first.text}"
    return Condition(
        text,
        only,
        lambda row: _unless_null(column, row, lambda value: holds((value > first.value) - (value < first.value))),
    )


def _draw_like(random: Random, column: Column, near: Sequence[Cell]) -> Condition:
    known = [cell for cell in near if isinstance(cell, str)]
    source = random.choice(known or TEXTS)
    prefix = source[: random.randint(0, min(len(source), 40))]
    wanted = random.random() < 0.7
    pattern = re.sub(r"([\\%_])", r"\\\1", prefix) + "%"
    text = f"{column.quoted} {'' if wanted else 'NOT '}LIKE {quoted(pattern)}"

    def truth(row: Row) -> Truth:
        cell = row[column.name]
        return None if cell is None else str(cell).startswith(prefix) is wanted

    return Condition(text, frozenset((column.name,)), truth)


def _unless_null(column: Column, row: Row, test: Callable[[Any], bool]) -> Truth:
    cell = row[column.name]
    return None if cell is None else test(comparable(column, cell))


def _negated(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _and(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Truth, right: Truth) -> Truth:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False
