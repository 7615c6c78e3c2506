"""The steps that write by Spark, and its answers: by its own Parquet reader, by the data source, and by its own filters."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

import headgate
import headgate.spark
from headgate_schemas.errors import HeadgateError
from support.oracle.engines import arrow_columns, read_back
from support.oracle.failure import Disagreement
from support.oracle.files import draw_partition
from support.oracle.judge import rows_of, same_rows
from support.oracle.model import DataFile, Expected
from support.oracle.values.cells import Cell
from support.oracle.values.columns import Column, Kind
from support.oracle.values.conditions import Condition, draw_condition
from support.oracle.values.pools import draw_cell
from support.oracle.world import World

FILTERED = frozenset((Kind.DOUBLE, Kind.DATE, Kind.STRING, Kind.LONG, Kind.INT, Kind.BOOLEAN))
"""Where Spark's own comparisons mean what ours do, with every literal that is drawn."""
ODD = frozenset((Kind.DOUBLE, Kind.FLOAT, Kind.DATE, Kind.TIMESTAMP))
"""Where Spark's own ways differ from everybody's."""
MOST_FOLDER_BYTES = 100
"""Of a partition value that Spark makes a folder of."""
_NOT_IN_SPARK = re.compile(r"e400|[0-9]{19}|BD|1582-10-(?:0[5-9]|1[0-4])")
"""What Spark's own filter doesn't take, or takes wrongly in every Parquet file: the days that Java's older calendar lacks."""


def append(random: Random, world: World, name: str, session: Any) -> None:
    """Rows of several partitions, written by Spark itself or through Python."""
    rows = _draw_rows(random, world)
    # Spark's own writer doesn't check NOT NULL.
    native = ("native",) if all(column.nullable for column in world.model.columns) else ()
    way = random.choice(("source", "python", *native))
    world.tell(f"append by Spark ({way})", str(rows))
    arrays = arrow_columns(world.model.columns, {c.name: [row[c.name] for row in rows] for c in world.model.columns})
    types = ", ".join(column.ddl for column in world.model.columns)
    frame = session.createDataFrame(pa.table(arrays), types).coalesce(random.choice((1, 2)))
    if way == "source":
        frame.write.format("headgate").mode("append").save(world.uri)
    else:
        try:
            receipt = headgate.spark.write(frame, world.uri, mode="append", native=way == "native")
        except HeadgateError as error:
            raise Disagreement("Spark", f"{world.log[-1]}: {error}") from error
        world.log.append(f"  -> {receipt}")
    _learn(world, rows)


def _draw_rows(random: Random, world: World) -> list[dict[str, Cell]]:
    base = random.randrange(10**9)
    rows: list[dict[str, Cell]] = []
    for index in range(random.randint(1, 6)):
        row = {column.name: draw_cell(random, column, early=False) for column in world.model.columns}
        row |= draw_partition(random, world) | {"id": base + index}
        while any(len(str(row[name]).encode()) > MOST_FOLDER_BYTES for name in world.model.partition):
            row |= draw_partition(random, world)
        rows.append(row)
    return rows


def _learn(world: World, rows: Sequence[Mapping[str, Cell]]) -> None:
    """The files that Spark has written, by the numbers of their rows."""
    table = headgate.Table.open(world.uri)
    if table.version <= world.model.newest:
        raise Disagreement("Spark", f"{world.log[-1]}: nothing was committed")
    by_id = {row["id"]: row for row in rows}
    new = [path for path in table.snapshot().paths() if path not in world.model.files]
    held = 0
    for path in new:
        cells, count = read_back(world.root / path)
        first = by_id[cells["id"][0]]
        world.model.knows([DataFile(path, cells, count, {name: first[name] for name in world.model.partition})])
        held += count
        for index, number in enumerate(cells["id"]):
            wanted = by_id[number]
            found = {n: cells[n][index] for n in cells}
            same_rows(f"{path}, written by Spark", [{**wanted, **found}], [wanted], world.model.columns)
    if held != len(rows):
        raise Disagreement("Spark", f"{world.log[-1]}: {held} rows were written of {len(rows)}")
    world.model.committed(world.model.newest + 1, Expected(world.model.live | set(new)))
    world.catch_up()


def judge(random: Random, world: World, session: Any) -> None:
    version = random.choice(sorted(each for each in world.model.versions if each >= world.model.floor))
    columns = world.model.versions[version].columns
    rows = world.model.rows(version)
    near = {column.name: [row[column.name] for row in rows] for column in columns}
    odd = [column for column in columns if column.kind in ODD]
    condition = draw_condition(random, odd if odd and random.random() < 0.5 else columns, near)
    for way in ("native", "source"):
        world.count(f"read by Spark ({way})")
        _compare(world, session, way, version, condition)
    filtered = [column for column in columns if column.kind in FILTERED]
    condition = draw_condition(random, filtered, near)
    while _NOT_IN_SPARK.search(condition.text):
        condition = draw_condition(random, filtered, near)
    world.count("filtered by Spark")
    place = f"at version {version}, Spark's own filter {condition.text}"
    frame = headgate.spark.read(session, world.uri, version=version).where(condition.text)
    _compare_rows(world, place, frame, version, condition)


def _compare(world: World, session: Any, way: str, version: int, condition: Condition) -> None:
    place = f"at version {version}, read by Spark ({way}) where {condition.text}"
    try:
        if way == "native":
            frame = headgate.spark.read(session, world.uri, version=version, where=condition.text)
        else:
            options = {"versionAsOf": version, "where": condition.text}
            frame = session.read.format("headgate").options(**options).load(world.uri)
    except HeadgateError as error:
        raise Disagreement("Spark", f"{place}: {error}") from error
    _compare_rows(world, place, frame, version, condition)


def _compare_rows(world: World, place: str, frame: Any, version: int, condition: Condition) -> None:
    from pyspark.errors import PySparkException

    columns: Sequence[Column] = world.model.versions[version].columns
    try:
        found = rows_of(frame.toArrow())
    except PySparkException as error:
        raise Disagreement("Spark", f"{place}: {str(error)[:1500]}") from error
    wanted = [row for row in world.model.rows(version) if condition.holds(row)]
    same_rows(place, found, wanted, columns)
