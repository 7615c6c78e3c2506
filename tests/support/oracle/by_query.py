"""Drawn SQL: `headgate query` finds the rows that DataFusion finds in the same rows in memory, where nothing is skipped."""

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

from headgate.query.running import run_query
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.errors import VersionNotRetained
from headgate_table.table import Table
from support.oracle.engines import arrow_columns
from support.oracle.failure import Disagreement
from support.oracle.values.cells import Cell
from support.oracle.values.columns import COMPARED, FLOATS, INTEGERS, TIMES, Column, Kind
from support.oracle.values.pools import DAYS, day_text, draw_value, moment_text, shortest
from support.oracle.world import World

_OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
_LONG_AGO = DAYS[3] * 86_400_000_000


def judge(random: Random, world: World) -> None:
    """The newest version, or another one."""
    version = random.choice(sorted(each for each in world.model.versions if each >= world.model.floor))
    columns = world.model.versions[version].columns
    rows = as_read(world.model.rows(version), world.model.partition)
    query = draw_query(random, columns, rows)
    world.count("query")
    try:
        compare(query, f"{quoted(world.uri)} VERSION AS OF {version}", columns, rows)
    except VersionNotRetained:
        return  # judged elsewhere


def compare(query: str, table: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]]) -> None:
    """`{t}` stands for the table in the query, which selects numbers only. Raises `Disagreement`."""
    arrays = arrow_columns(columns, {column.name: [row[column.name] for row in rows] for column in columns})
    plain = _by_datafusion(query.format(t="t"), pa.table(arrays))
    text = query.format(t=table)
    try:
        found = sorted(map(str, _numbers(run_query(text, Table.open).batches())))
    except VersionNotRetained:
        raise
    except (InvalidInput, HeadgateError) as error:
        if plain is None:
            return
        raise Disagreement("query", f"{text}: {error}; DataFusion has {plain}") from error
    if plain is not None and found != plain:
        raise Disagreement("query", f"{text}: found {found}, DataFusion has {plain}")


def as_read(rows: Sequence[Mapping[str, Cell]], partition: Sequence[str]) -> list[Mapping[str, Cell]]:
    """A NaN that was a partition value has no sign, and an empty text is null there."""
    return [dict(row) | {name: _in_a_folder(row[name]) for name in partition} for row in rows]


def _in_a_folder(cell: Cell) -> Cell:
    if isinstance(cell, float) and math.isnan(cell):
        return math.nan
    return None if cell == "" else cell


def _by_datafusion(text: str, rows: pa.Table) -> list[str] | None:
    """None where it fails. Where rows are skipped, fewer of them may fail."""
    from datafusion import SessionContext

    context = SessionContext()
    batches = rows.to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    context.register_record_batches("t", [batches])
    try:
        return sorted(map(str, _numbers(context.sql(text).to_arrow_table().to_batches())))
    except Exception:  # noqa: BLE001  # DataFusion has no class of its own for its errors
        return None


def _numbers(batches: Any) -> list[Any]:
    return [value for batch in batches for value in batch.column(0).to_pylist()]


def draw_query(random: Random, columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]]) -> str:
    """A query for numbers from the table `{t}`, whose first column is `id`."""
    where = braced(draw_where(random, columns, rows))
    other = braced(draw_where(random, columns, rows))
    constant = random.choice(("1", "'tue'", "true", "NULL", "1.5", "DATE '2024-01-01'"))
    value = random.choice((constant, constant, "2", "'wed'", "NULL"))
    return random.choice(
        (
            *(f"SELECT id FROM {{t}} WHERE {where}",) * 4,
            f"SELECT count(*) FROM {{t}} AS q WHERE {where}",
            f"SELECT id FROM (SELECT *, {constant} AS one FROM {{t}}) q WHERE one = {value} AND ({where})",
            f"SELECT id FROM (SELECT id, {constant} AS one, 2 AS two FROM {{t}}) q WHERE one = {value} AND two = 2",
            f"WITH w AS (SELECT *, {constant} AS one FROM {{t}}) SELECT count(*) FROM w WHERE one = {value} OR ({where})",
            f"WITH w AS (SELECT * FROM {{t}} WHERE {other}) SELECT id FROM w WHERE {where}",
            f"SELECT id FROM {{t}} WHERE {where} UNION ALL SELECT id FROM {{t}} WHERE {other}",
            f"SELECT a.id FROM {{t}} a LEFT JOIN (SELECT id AS k FROM {{t}} WHERE {where}) b ON a.id = b.k WHERE b.k IS NULL",
            f"SELECT a.id FROM {{t}} a, (SELECT id AS k FROM {{t}} WHERE {where}) b WHERE a.id = b.k",
            f"SELECT id FROM {{t}} WHERE id IN (SELECT id FROM {{t}} WHERE {where}) AND ({other})",
            f"SELECT id FROM {{t}} WHERE id >= (SELECT min(id) FROM {{t}} WHERE {where}) OR {other}",
            f"SELECT max(id) FROM {{t}} WHERE {where} AND {constant} IS NOT NULL",
            f"SELECT id FROM {{t}} /* 'x' */ WHERE 'it''s' IS DISTINCT FROM 'FROM' AND ({where}) -- FROM 'y'",
            f"SELECT id FROM {{t}} WHERE EXTRACT(year FROM DATE '2020-01-01') = 2020 AND ({where})",
            f"SELECT id FROM {{t}} WHERE substring('abc' FROM 2) = 'bc' AND trim(BOTH 'x' FROM 'xax') = 'a' AND ({where})",
        )
    )


def braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def draw_where(random: Random, columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]], depth: int = 2) -> str:
    if depth and random.random() < 0.35:
        first, second = (draw_where(random, columns, rows, depth - 1) for _ in range(2))
        return random.choice(
            (f"({first}) AND ({second})", f"({first}) OR ({second})", f"NOT ({first})", f"({first}) IS NOT TRUE")
        )
    column = random.choice([column for column in columns if column.kind in COMPARED])
    name = '"' + column.name.replace('"', '""') + '"'

    def literal() -> str:
        return draw_literal(random, column, [row[column.name] for row in rows])

    match random.choice(("compare",) * 4 + ("in", "in", "long", "between", "null", "constant", "computed", "like")):
        case "in":
            members = [literal() for _ in range(random.randint(1, 3))] + ["NULL"] * (random.random() < 0.2)
            return f"{name} {random.choice(('', 'NOT '))}IN ({', '.join(members)})"
        case "long":
            return f"{name} {random.choice(('', 'NOT '))}IN ({', '.join(literal() for _ in range(6))})"
        case "between":
            return f"{name} {random.choice(('', 'NOT '))}BETWEEN {literal()} AND {literal()}"
        case "null":
            return f"{name} IS {random.choice(('', 'NOT '))}NULL"
        case "constant":
            return random.choice(("TRUE", "FALSE", "NULL", "1 = 1", "1 = 0", "1 = NULL", f"{name} = NULL"))
        case "computed":
            return f"coalesce({name}, {literal()}) = {literal()}"
        case "like" if column.kind is Kind.STRING:
            prefix = str(random.choice([row[column.name] for row in rows] or ["a"]))[: random.randint(0, 3)]
            return f"{name} {random.choice(('', 'NOT '))}LIKE {quoted(prefix + random.choice(('%', '_', '%b')))}"
        case _ if column.kind is Kind.BOOLEAN and random.random() < 0.5:
            return f"{random.choice(('', 'NOT '))}{name}"
        case _:
            sides = (name, literal()) if random.random() < 0.85 else (literal(), name)
            return f"{sides[0]} {random.choice(_OPERATORS)} {sides[1]}"


def draw_literal(random: Random, column: Column, near: Sequence[Cell]) -> str:
    """Often of a value that is there, in one of the ways to write it; sometimes of another type."""
    known = [cell for cell in near if cell is not None]
    cell: Any = random.choice(known) if known and random.random() < 0.6 else draw_value(random, column)
    if random.random() < 0.05:
        return random.choice(("1", "'1'", "1.5", "-7", "'x'", "TRUE"))
    kind = column.kind
    if kind in FLOATS:
        if not math.isfinite(cell):
            return quoted("NaN" if math.isnan(cell) else "Infinity" if cell > 0 else "-Infinity")
        beside = math.nextafter(cell, random.choice((-math.inf, math.inf)))
        number = random.choice(
            (shortest(kind, cell), repr(cell), repr(beside), "0.1", "16777217", "1e39", "1e-50", "0")
        )
        return random.choice((number, number, quoted(number), f"CAST({number} AS FLOAT)"))
    if kind in INTEGERS or kind is Kind.DECIMAL:
        return random.choice(
            (f"{cell:f}", f"{cell:f}", quoted(f"{cell:f}"), f"{cell:f}.5" if kind in INTEGERS else "0.5")
        )
    if kind is Kind.BOOLEAN:
        return str(cell).upper()
    if kind is Kind.DATE:
        text = day_text(max(cell, DAYS[2]))
        year, month, day = text.split("-")
        short = f"{year}-{int(month)}-{int(day)}"
        return random.choice((f"DATE '{text}'", quoted(text), quoted(short), quoted(f"{text} 12:00:00")))
    if kind in TIMES:
        text = moment_text(max(cell, _LONG_AGO))
        return random.choice((f"TIMESTAMP '{text}'", quoted(text), quoted(text[:10])))
    return quoted(cell)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
