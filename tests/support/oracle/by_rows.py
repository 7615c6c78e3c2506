"""Rows in and out of a table without files in hand: written from PyArrow, pandas, Polars and DuckDB, read as streams and datasets."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import headgate
from headgate_schemas.errors import HeadgateError
from headgate_table.errors import UnsupportedTable, VersionNotRetained
from support.oracle.engines import arrow_columns, read_back
from support.oracle.failure import Disagreement
from support.oracle.files import draw_partition
from support.oracle.judge import rows_of, same_rows
from support.oracle.model import DataFile, Expected
from support.oracle.values.cells import Cell, arrow_array, key_of
from support.oracle.values.columns import INTEGERS, Column, Kind
from support.oracle.values.conditions import draw_condition
from support.oracle.values.pools import draw_cell
from support.oracle.world import RECEIPT_WITHIN_S, Done, World, outcome_of

MOST_FOLDER_BYTES = 80
"""Of a partition value, which takes three times as many characters in a folder's name."""
PRODUCERS = ("table", "batches", "reader", "polars", "pandas", "duckdb")
EQUAL = frozenset((*INTEGERS, Kind.STRING, Kind.DATE, Kind.BOOLEAN))
"""Where Arrow and everybody else mean the same by equal."""


def append(random: Random, world: World, name: str) -> None:
    """Rows of several partitions in one write."""
    rows = draw_rows(random, world)
    columns = world.model.columns
    arrays = arrow_columns(columns, {column.name: [row[column.name] for row in rows] for column in columns})
    producer = random.choice(PRODUCERS)
    by_bus = world.is_coordinated(random)
    world.tell(f"write rows of {producer}", str(rows))
    given = _given(producer, pa.table(arrays))
    size = random.choice((None, 1, "1M"))

    def write() -> headgate.Receipt:
        if by_bus and world.producer is not None:
            return world.producer.write(given, target_file_size=size).wait(RECEIPT_WITHIN_S)
        return world.table.write(given, target_file_size=size)

    world.unfollowed = not by_bus
    outcome = outcome_of(write)
    if not isinstance(outcome, Done):
        world.settle(Expected(world.model.live), outcome)
        return
    new = _learn(world, rows, outcome.version)
    world.settle(Expected(world.model.live | new), outcome)


def draw_rows(random: Random, world: World) -> list[dict[str, Cell]]:
    base = random.randrange(10**9)
    rows: list[dict[str, Cell]] = []
    for index in range(random.randint(1, 6)):
        row = {column.name: draw_cell(random, column) for column in world.model.columns}
        row |= draw_partition(random, world) | {"id": base + index}
        while any(len(str(row[name]).encode()) > MOST_FOLDER_BYTES for name in world.model.partition):
            row |= draw_partition(random, world)
        rows.append(row)
    return rows


def _given(producer: str, table: pa.Table) -> Any:
    match producer:
        case "batches":
            return iter([batch for number in range(table.num_rows) for batch in table.slice(number, 1).to_batches()])
        case "reader":
            return table.to_reader(max_chunksize=2)
        case "polars":
            import polars

            return polars.from_arrow(table)
        case "pandas":
            import pandas

            return table.to_pandas(types_mapper=pandas.ArrowDtype)
        case "duckdb":
            import duckdb

            # Of other times and days it makes infinity.
            plain = all(not pa.types.is_temporal(field.type) for field in table.schema)
            return duckdb.connect().from_arrow(table) if plain else table
        case _:
            return table


def _learn(world: World, rows: Sequence[Mapping[str, Cell]], version: int) -> frozenset[str]:
    """The files of a write, by the numbers of their rows: what they hold is what was given."""
    by_id = {row["id"]: row for row in rows}
    new = [path for path in world.table.snapshot(version=version).paths() if path not in world.model.files]
    held = []
    for path in new:
        cells, count = read_back(world.root / path)
        wanted = [by_id[number] for number in cells["id"]]
        stored = [column for column in world.model.columns if column.name not in world.model.partition]
        found = [{column.name: cells[column.name][index] for column in stored} for index in range(count)]
        same_rows(f"{path}, written by Headgate", found, wanted, stored)
        partition = {name: wanted[0][name] for name in world.model.partition}
        columns = {column.name: [row[column.name] for row in wanted] for column in stored}
        world.model.knows([DataFile(path, columns, count, partition)])
        held += cells["id"]
    if sorted(map(str, held)) != sorted(map(str, by_id)):
        raise Disagreement("rows", f"{world.log[-1]}: {held} were written")
    return frozenset(new)


def judge(random: Random, world: World) -> None:
    """A version by one of the ways that other libraries take."""
    version = random.choice(sorted(each for each in world.model.versions if each >= world.model.floor))
    columns, rows = world.model.versions[version].columns, world.model.rows(version)
    near = {column.name: [row[column.name] for row in rows] for column in columns}
    condition = draw_condition(random, columns, near)
    try:
        snapshot = headgate.Table.open(world.uri).snapshot(version=version)
        place = f"at version {version} where {condition.text}"
        wanted = [row for row in rows if condition.holds(row)]
        asked = snapshot.rows(where=condition.text)
        if asked.count() != len(wanted) or snapshot.count() != len(rows):
            raise Disagreement("row count", f"{place}: {asked.count()} of {snapshot.count()}, expected {len(wanted)}")
        same_rows(f"{place}, as a stream", rows_of(pa.table(asked)), wanted, columns)
        same_rows(f"{place}, by Polars", rows_of(asked.to_polars().to_arrow()), wanted, columns)
        world.count("read as a stream")
        _judge_dataset(random, world, snapshot, f"at version {version}, as a dataset", rows, columns)
    except VersionNotRetained:
        return  # judged elsewhere
    except HeadgateError as error:
        raise Disagreement("damage", f"at version {version}: {type(error).__name__}: {error}") from error


def _judge_dataset(
    random: Random,
    world: World,
    snapshot: headgate.Snapshot,
    place: str,
    rows: Sequence[Mapping[str, Cell]],
    columns: Sequence[Column],
) -> None:
    try:
        data = snapshot.dataset()
    except UnsupportedTable:
        world.count("refused as a dataset")
        return
    same_rows(place, rows_of(data.to_table()), rows, columns)
    world.count("read as a dataset")
    for column in columns:
        if column.kind not in EQUAL:
            continue
        cell = random.choice([*(row[column.name] for row in rows), draw_cell(random, column)])
        field = pc.field(column.name)
        equal = field.is_null() if cell is None else field == arrow_array([cell], column.arrow)[0]
        wanted = [row for row in rows if key_of(row[column.name]) == key_of(cell)]
        same_rows(f"{place}, {column.name} = {cell!r}", rows_of(data.to_table(filter=equal)), wanted, columns)
