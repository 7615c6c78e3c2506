"""The Delta mirror of a history's table, read by engines that know nothing of us: each version has the model's rows."""

from random import Random

import pyarrow as pa

import headgate
from headgate_schemas.errors import HeadgateError
from headgate_table.delta.names import FOLDER
from headgate_table.delta.schema import Unmirrorable
from support.delta_readers import by_delta_rs, by_duckdb
from support.oracle.failure import Disagreement
from support.oracle.judge import rows_of, same_rows
from support.oracle.world import World

READERS = {"delta-rs": by_delta_rs, "duckdb": by_duckdb}
"""Polars takes partition values from the names of folders, which a history draws at will."""
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


def judge_mirror(random: Random, world: World) -> None:
    """The newest version and a few others."""
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
        schema = pa.schema([(column.name, column.arrow) for column in expected.columns])
        for reader, read in READERS.items():
            place = f"in the mirror at version {version}, read by {reader}"
            try:
                rows = read(world.uri, version).select(schema.names).cast(schema)
            except Exception as error:
                raise Disagreement("mirror", f"{place}: {type(error).__name__}: {error}") from error
            same_rows(place, rows_of(rows), world.model.rows(version), expected.columns)
            world.count("mirror read")
