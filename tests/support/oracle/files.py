"""Data files of a history: well-made ones by several writers, and such as no table should take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pyarrow as pa

import headgate
from headgate_schemas.errors import HeadgateError
from support.oracle.engines import arrow_columns, draw_engine, read_back, write
from support.oracle.model import DataFile
from support.oracle.values.cells import Cell
from support.oracle.values.columns import INTEGERS, TIMES, Column, Kind
from support.oracle.values.pools import (
    DEFAULT_PARTITION,
    TEXTS,
    draw_bad_text,
    draw_cell,
    draw_value,
    partition_text,
    partition_value,
)
from support.oracle.world import Refused, World

MISFITS = frozenset(("InvalidInput", "invalid", "schema_mismatch", "partition_mismatch"))
"""How a file that doesn't fit its table may be refused: before it is proposed, or by the committer."""
_MOST_FOLDER = 200


@dataclass(frozen=True, slots=True)
class Made:
    """A file on disk: what the log is told of it, what the model knows of it, and what is wrong with it."""

    told: headgate.DataFile | Refused
    known: DataFile
    misfit: str = ""
    """In words; a table may refuse it, or else has to read it as it is."""
    hopeless: bool = False
    """No reading of it is right, so that it has to be refused."""


def draw_partition(random: Random, world: World) -> dict[str, Cell]:
    """Partition values, often those of a file that is live."""
    live = sorted(world.model.live)
    if live and random.random() < 0.5:
        return dict(world.model.files[random.choice(live)].partition)
    return {
        column.name: partition_value(column, draw_cell(random, column, early=False))
        for column in world.model.partition_columns
    }


def draw_file(
    random: Random,
    world: World,
    name: str,
    partition: Mapping[str, Cell],
    *,
    misfits: bool = True,
    in_folders: bool = False,
) -> Made:
    """A file of random rows in a partition."""
    columns = [column for column in world.model.columns if column.name not in world.model.partition]
    count = random.choice((0, 1, 1, 2, 2, 3, 4, 6))
    cells = {column.name: [draw_cell(random, column) for _ in range(count)] for column in columns}
    base = random.randrange(10**6)
    cells["id"] = [base + index for index in range(count)]
    arrays = arrow_columns(columns, cells)
    misfit = ""
    if misfits and random.random() < world.misfits:
        misfit = _spoil(random, columns, arrays, count)
    elif random.random() < 0.3:
        _vary(random, columns, arrays)
    return lay(random, world, name, arrays, partition, misfit, misfits=misfits, in_folders=in_folders)


def lay(
    random: Random,
    world: World,
    name: str,
    arrays: Mapping[str, Any],
    partition: Mapping[str, Cell],
    misfit: str = "",
    *,
    misfits: bool = False,
    in_folders: bool = False,
) -> Made:
    """Write a file with these columns, and look at it as a user would."""
    engine = "pyarrow" if misfit else draw_engine(random)
    world.count(f"file by {engine}")
    texts = {
        column.name: partition_text(random, column, partition[column.name]) for column in world.model.partition_columns
    }
    hopeless = False
    if misfits and texts and random.random() < world.misfits / 2:
        column = random.choice(world.model.partition_columns)
        bad = draw_bad_text(random, column)
        if bad is not None:
            texts[column.name], misfit, hopeless = bad, f"{column.ddl} in partition {bad!r}", True
    folders = _folders(random, texts)
    fits = max(map(len, folders.split("/"))) < _MOST_FOLDER
    in_folders = bool(texts) and fits and (in_folders or random.random() < 0.5)
    path = (folders if in_folders else random.choice(("", "", "deep/folder/"))) + f"{name}-{engine}.parquet"
    place = world.root / path
    write(random, engine, place, arrays)
    cells, count = read_back(place)
    columns = _by_table_names(world.model.columns, cells)
    known = DataFile(path, {key: item for key, item in columns.items() if key not in partition}, count, dict(partition))
    told = _look(world, path, None if in_folders else texts, checked=random.random() < 0.3)
    return Made(told, known, misfit, hopeless)


def _look(
    world: World, path: str, texts: Mapping[str, str | None] | None, *, checked: bool
) -> headgate.DataFile | Refused:
    """As a user reads a footer; `checked`, against the table's columns at once."""
    schema = ", ".join(column.ddl for column in world.model.columns) if checked else None
    try:
        return headgate.DataFile.of_parquet(path, store=world.table.store, partition_values=texts, schema=schema)
    except HeadgateError as error:
        return Refused(type(error).__name__, str(error))


def _by_table_names(table: Sequence[Column], cells: Mapping[str, Sequence[Cell]]) -> dict[str, Sequence[Cell]]:
    """A column that differs in case from one of the table holds its values: nobody may read nulls for them."""
    folded = {column.name.casefold(): column.name for column in table}
    named = {column.name for column in table}
    return {name if name in named else folded.get(name.casefold(), name): values for name, values in cells.items()}


def _folders(random: Random, texts: Mapping[str, str | None]) -> str:
    """`key=value` folders, spelled as Arrow does or as Spark does."""
    safe = random.choice(("", " +-_.~é"))
    return "".join(
        f"{quote(key, safe=safe)}={DEFAULT_PARTITION if text in (None, '') else quote(text or '', safe=safe)}/"
        for key, text in texts.items()
    )


def _vary(random: Random, columns: Sequence[Column], arrays: dict[str, Any]) -> None:
    """Other Arrow types that hold the same values, as engines have them."""
    column = random.choice(columns)
    array = arrays[column.name]
    if column.kind is Kind.STRING:
        arrays[column.name] = array.cast(pa.large_string()) if random.random() < 0.5 else array.dictionary_encode()
    elif column.kind in INTEGERS and column.kind is not Kind.BYTE and column.name != "id":
        narrow = pa.int8()
        arrays[column.name] = pa.array([None if cell is None else cell % 100 for cell in array.to_pylist()], narrow)
    elif column.kind in TIMES:
        moments = [random.choice((0, 1_000, None if column.nullable else 2_000)) for _ in array]
        arrays[column.name] = pa.array(moments, pa.timestamp("ns", array.type.tz))
    elif column.kind is Kind.DOUBLE and random.random() < 0.5:
        arrays[column.name] = array.cast(pa.float32(), safe=False)
    elif column.nullable and column.name != "id" and len(columns) > 1:
        del arrays[column.name]


def _spoil(random: Random, columns: Sequence[Column], arrays: dict[str, Any], count: int) -> str:
    """Make a file one that doesn't fit its table; in words, what is wrong with it."""
    column = random.choice([column for column in columns if column.name != "id"] or list(columns))
    array = arrays[column.name]
    twin = column.name.swapcase()
    if random.random() < 0.35 and twin != column.name and twin.casefold() == column.name.casefold():
        del arrays[column.name]
        arrays[twin] = array
        return f"{column.ddl} is called {twin!r}"
    if column.kind is Kind.FLOAT and random.random() < 0.8:
        wide = Column(column.name, Kind.DOUBLE)
        arrays[column.name] = pa.array([draw_cell(random, wide) for _ in range(count)], pa.float64())
        return f"{column.ddl} holds doubles"
    if column.kind in INTEGERS and random.random() < 0.7:
        arrays[column.name] = pa.array(
            [draw_value(random, Column("wide", Kind.LONG)) for _ in range(count)], pa.int64()
        )
        return f"{column.ddl} holds longs"
    if not column.nullable and random.random() < 0.5:
        arrays[column.name] = pa.nulls(count, column.arrow)
        return f"{column.ddl} holds nulls"
    if column.kind in (Kind.STRING, Kind.BINARY):
        arrays[column.name] = pa.array([7] * count, pa.int64())
        return f"{column.ddl} holds numbers"
    arrays[column.name] = pa.array([random.choice(TEXTS[:20]) for _ in range(count)], pa.string())
    return f"{column.ddl} holds texts"


def renamed(known: DataFile, path: str) -> DataFile:
    return replace(known, path=path)


def place_of(world: World, path: str) -> Path:
    return world.root / path
