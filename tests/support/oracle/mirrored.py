"""The Delta mirror of a history's table, read by engines that know nothing of us: each version has the model's rows."""

from collections.abc import Mapping
from random import Random

import pyarrow as pa

import headgate
from headgate_schemas.errors import HeadgateError
from headgate_table.delta.names import FOLDER
from headgate_table.delta.schema import Unmirrorable
from support.mirror_readers.reader import MirrorReader
from support.oracle.engines import arrow_columns
from support.oracle.failure import Disagreement
from support.oracle.judge import rows_of, same_rows
from support.oracle.world import World

MOST_VERSIONS = 4


def publish(random: Random, world: World, name: str) -> None:
    """A step: the mirror catches up."""
    world.tell("mirror")
    try:
        headgate.Table.open(world.uri).mirror()
    except Unmirrorable as error:
        world.count("unmirrorable")
        world.log.append(f"  -> {error}"[:600])
    except HeadgateError as error:
        raise Disagreement("mirror", f"{type(error).__name__}: {error}") from error


def judge_mirror(random: Random, world: World, readers: Mapping[str, MirrorReader]) -> None:
    """The newest version and a few others, by each reader that such a table can be read by."""
    before = world.done.get("unmirrorable", 0)
    publish(random, world, "end")
    if world.done.get("unmirrorable", 0) > before:
        return
    numbers = {int(path.name[:20]) for path in (world.root / FOLDER).glob("*.json")}
    versions = sorted(numbers & set(world.model.versions))
    if not versions or versions[-1] != world.model.newest:
        raise Disagreement(
            "mirror", f"the mirror has {sorted(numbers)}, and the newest version is {world.model.newest}"
        )
    for version in {versions[-1], *random.sample(versions, min(MOST_VERSIONS, len(versions)))}:
        expected = world.model.versions[version]
        if world.odd & expected.live or (version < world.model.floor and world.model.cleaned):
            continue
        for name, reader in readers.items():
            # The folders of a history have any names.
            if reader.believes_folders and world.model.partition:
                continue
            if reader.is_slow and version != versions[-1]:
                continue
            if not all(reader.opens(world.root / path) for path in expected.live):
                world.count(f"mirror with files that {name} can't open")
                continue
            _read(world, version, name, reader)


def _read(world: World, version: int, name: str, reader: MirrorReader) -> None:
    place = f"in the mirror at version {version}, read by {name}"
    columns, rows = world.model.versions[version].columns, world.model.rows(version)
    cells = arrow_columns(columns, {column.name: [row[column.name] for row in rows] for column in columns})
    held = reader.columns(pa.table(cells), world.model.partition)
    schema = pa.schema([(column.name, column.arrow) for column in columns if column.name in held])
    try:
        read = reader.read(world.uri, version, held).select(schema.names).cast(schema)
    except Exception as error:
        raise Disagreement("mirror", f"{place}: {type(error).__name__}: {error}") from error
    compared = [column for column in columns if column.name in held]
    same_rows(place, rows_of(read), [{n: row[n] for n in held} for row in rows], compared)
    world.count(f"mirror read by {name}")
    if len(compared) < len(columns):
        world.count(f"columns of a mirror that {name} can't hold", len(columns) - len(compared))
