"""The steps of a history: each draws what it does from its own random numbers, does it to the table, and tells the model."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import headgate
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Isolation
from support.oracle import upkeep
from support.oracle.commands import run
from support.oracle.engines import arrow_columns
from support.oracle.failure import Disagreement
from support.oracle.files import MISFITS, Made, draw_file, draw_partition, lay
from support.oracle.model import DataFile, Expected, counted
from support.oracle.values.cells import Cell
from support.oracle.values.columns import Column, draw_column
from support.oracle.values.conditions import Condition, draw_condition
from support.oracle.world import Again, Done, Refused, World

Step = Callable[[Random, World, str], None]
"""The text is a name that no other step has, for its files."""


def append(random: Random, world: World, name: str) -> None:
    made = _draw_files(random, world, name, random.randint(1, 3))
    terms = _draw_terms(random, world, name)
    world.tell("append", f"{_told(made)}{' by a writer' if terms else ''}")
    _commit_files(random, world, "append", made, world.model.append, terms=terms)


def overwrite(random: Random, world: World, name: str) -> None:
    where = _draw_where(random, world) if world.model.partition and random.random() < 0.7 else None
    made = _draw_files(random, world, name, random.randint(0, 2), inside=where)
    world.tell("overwrite", f"where {where and where.text} by {_told(made)}")
    _commit_files(
        random,
        world,
        "overwrite",
        made,
        lambda files: world.model.overwrite(files, where),
        where=None if where is None else where.text,
    )


def delete_where(random: Random, world: World, name: str) -> None:
    if not world.model.partition and random.random() < 0.7:
        delete_paths(random, world, name)  # nothing else can be deleted
        return
    where = _draw_where(random, world)
    world.tell("delete", f"where {where.text}")
    expected = world.model.delete_where(where)
    world.settle(expected, world.propose(random, "delete", where=where.text))


def drop_partitions(random: Random, world: World, name: str) -> None:
    if not world.model.partition:
        delete_where(random, world, name)
        return
    where = draw_condition(random, world.model.partition_columns, world.near())
    world.tell("drop partitions", f"where {where.text}")
    live = world.model.delete_where(where).live
    world.table.drop_partitions(where.text)
    _expect_live(world, live, f"after {world.log[-1]}")


def delete_paths(random: Random, world: World, name: str) -> None:
    live = sorted(world.model.live)
    chosen = random.sample(live, min(len(live), random.randint(1, 2)))
    if not chosen or random.random() < 0.1:
        chosen.append(random.choice([f"{name}-never.parquet", *sorted(world.model.files)]))
    world.tell("delete", f"paths {chosen}")
    world.settle(world.model.delete_paths(chosen), world.propose(random, "delete", paths=chosen))


def restore(random: Random, world: World, name: str) -> None:
    version = random.randint(0, world.model.newest) if random.random() < 0.95 else world.model.newest + 3
    world.tell("restore", str(version))
    world.settle(world.model.restore(version), world.propose(random, "restore", version))


def rewrite(random: Random, world: World, name: str) -> None:
    """Files of one partition, written again as one by another engine."""
    live = sorted(world.model.live)
    if not live:
        append(random, world, name)
        return
    first = world.model.files[random.choice(live)]
    alike = [path for path in live if _same(world, world.model.files[path].partition, first.partition)]
    sources = random.sample(alike, min(len(alike), random.randint(1, 3)))
    columns = [column for column in world.model.columns if column.name not in world.model.partition]
    rows = [row for path in sources for row in world.model.files[path].rows(world.model.columns)]
    short = bool(rows) and random.random() < 0.08
    cells = {column.name: [row[column.name] for row in (rows[1:] if short else rows)] for column in columns}
    made = lay(random, world, name, arrow_columns(columns, cells), first.partition)
    world.tell("rewrite", f"{sources} as {_told([made])}{', a row short' if short else ''}")
    expected = world.model.rewrite(sources, [made.known])
    if isinstance(made.told, Refused):
        raise Disagreement("refused", f"{made.known.path} was refused as {made.told}")
    outcome = world.propose(random, "rewrite", sources, [made.told])
    world.model.knows([made.known])
    before = counted(world.model.rows(world.model.newest), world.model.columns)
    if world.settle(expected, outcome) and counted(world.model.rows(world.model.newest), world.model.columns) != before:
        raise Disagreement("driver", f"a rewrite changed rows: {world.log}")


def add_column(random: Random, world: World, name: str) -> None:
    columns = [draw_column(random, f"c{name}")]
    if random.random() < 0.2:
        columns = [
            Column(
                random.choice(world.model.columns).name.swapcase(),
                columns[0].kind,
                columns[0].precision,
                columns[0].scale,
            )
        ]
    expected = world.model.add_columns(columns)
    ddl = ", ".join(column.ddl for column in (*world.model.columns, *columns))
    world.tell("add a column", ", ".join(column.ddl for column in columns))
    try:
        outcome = world.propose(random, "alter", schema=ddl)
    except HeadgateError as error:
        outcome = Refused(type(error).__name__, str(error))
    world.settle(expected, outcome)


def configure(random: Random, world: World, name: str) -> None:
    configuration = draw_configuration(random)
    world.tell("configure", str(configuration))
    world.settle(Expected(world.model.live), world.propose(random, "alter", configuration=configuration))


def repeat(random: Random, world: World, name: str) -> None:
    """A proposal with a writer, proposed again: told where it is."""
    if world.producer is None:
        append(random, world, name)
        return
    made = _draw_files(random, world, name, 1, misfits=False)
    writer = headgate.Writer(f"app {random.choice(('a', 'b'))}", world.model.newest + 1)
    world.tell("repeat", _told(made))
    told = [each.told for each in made]
    terms = {"writer": writer}
    first = world.propose(random, "append", told, terms=terms)
    world.model.knows(each.known for each in made)
    if world.settle(world.model.append([each.known for each in made]), first):
        again = world.propose(random, "append", told, terms=terms)
        if not (isinstance(again, Again) and isinstance(first, Done) and again.version == first.version):
            raise Disagreement("repeat", f"{writer} was {first}, and is told {again} the second time")
        world.catch_up()


def serializable(random: Random, world: World, name: str) -> None:
    """An append that has read some earlier version: refused if rows that match have come or gone since."""
    if world.producer is None:
        append(random, world, name)
        return
    based_on = random.randint(max(0, world.model.newest - 3), world.model.newest)
    reads = draw_condition(random, world.model.columns, world.near())
    made = _draw_files(random, world, name, 1, misfits=False)
    world.tell("serializable append", f"{_told(made)} based on {based_on}, reads {reads.text}")
    expected = world.model.append([each.known for each in made])
    changed = _has_changed(world, based_on, reads)
    world.model.knows(each.known for each in made)
    terms = {"based_on": based_on, "reads": reads.text, "isolation": Isolation.SERIALIZABLE}
    outcome = world.propose(random, "append", [each.told for each in made], terms=terms)
    must = changed and world.model.floor <= based_on
    world.settle(Expected(expected.live, frozenset(("read_conflict",)), must=must), outcome)


def append_by_command(random: Random, world: World, name: str) -> None:
    """`headgate propose`, for a file whose folders tell its partition."""
    if world.bus is None:
        append(random, world, name)
        return
    made = draw_file(random, world, name, draw_partition(random, world), in_folders=True)
    if world.model.partition and "=" not in made.known.path:
        return  # a folder would have too long a name
    world.tell("append by the command", _told([made]))
    expected = world.model.append([made.known])
    ended = run(
        "propose",
        world.uri,
        "append",
        "--file",
        made.known.path,
        "--wait",
        "30s",
        "--bus",
        world.bus,
        "--format",
        "json",
    )
    world.log.append(f"  -> {ended}"[:1500])
    world.model.knows([made.known])
    if ended.code == 0:
        if made.hopeless:
            raise Disagreement("accepted", f"{world.log[-2]} was committed, and had to be refused")
        world.model.committed(world.model.newest + 1, expected)
        world.odd |= {made.known.path} if made.misfit else set()
    elif not made.misfit:
        raise Disagreement("command", f"{world.log[-2]} was refused: {ended}")
    world.catch_up()


def _has_changed(world: World, based_on: int, reads: Condition) -> bool:
    model = world.model
    numbers = sorted(version for version in model.versions if version >= based_on)
    for before, after in pairwise(numbers):
        columns = model.versions[before].columns
        if any(name not in {column.name for column in columns} for name in reads.columns):
            continue
        held, then = (
            counted((row for row in model.rows(version) if reads.holds(row)), columns) for version in (before, after)
        )
        if held != then:
            return True
    return False


def add_again(random: Random, world: World, name: str) -> None:
    """A path that was live before, or is."""
    known = [path for path in sorted(world.model.added) if (world.root / path).exists()]
    if not known:
        append(random, world, name)
        return
    path = random.choice(known)
    file = world.model.files[path]
    stored = {column.name: _text(world, path, column) for column in world.model.partition_columns}
    world.tell("append again", path)
    try:
        told = headgate.DataFile.of_parquet(path, store=world.table.store, partition_values=stored)
    except HeadgateError as error:
        raise Disagreement("refused", f"{path}: {error}") from error
    expected = world.model.append([file])
    world.settle(expected, world.propose(random, "append", [told]))


def _text(world: World, path: str, column: Column) -> str | None:
    from support.oracle.values.pools import partition_text

    return partition_text(Random(path), column, world.model.files[path].partition[column.name])


WEIGHTS: Mapping[Step, int] = {
    append: 30,
    overwrite: 8,
    delete_where: 8,
    drop_partitions: 3,
    delete_paths: 5,
    restore: 12,
    rewrite: 5,
    add_column: 4,
    configure: 3,
    upkeep.compact: 6,
    upkeep.checkpoint: 2,
    upkeep.merge: 14,
    upkeep.purge: 3,
    upkeep.truncate: 2,
    upkeep.work: 3,
    upkeep.repair: 2,
    upkeep.rebuild: 2,
    repeat: 3,
    append_by_command: 3,
    serializable: 4,
    add_again: 3,
}


def draw_step(random: Random) -> Step:
    return random.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]


def draw_configuration(random: Random) -> dict[str, str]:
    configuration = {"checkpoint.interval": random.choice(("1", "2", "3", "10"))}
    if random.random() < 0.3:
        configuration["state.format"] = random.choice(("json", "avro"))
    if random.random() < 0.15:
        configuration["state.entriesPerManifest"] = "1"
    if random.random() < 0.1:
        configuration["transaction.compression.enabled"] = "false"
    if random.random() < 0.1:
        configuration |= {"mergeOnWrite.enabled": "true", "mergeOnWrite.async.enabled": "false"}
    if random.random() < 0.1:
        configuration["state.compression"] = random.choice(("zstd", "none"))
    return configuration


# ---- the parts of steps


def _draw_files(
    random: Random, world: World, name: str, count: int, *, inside: Condition | None = None, misfits: bool = True
) -> list[Made]:
    files = []
    for index in range(count):
        partition = draw_partition(random, world)
        for _ in range(10):
            if inside is None or inside.columns - set(partition) or inside.holds(partition):
                break
            partition = draw_partition(random, world)
        files.append(draw_file(random, world, f"{name}-{index}", partition, misfits=misfits))
    return files


def _commit_files(
    random: Random,
    world: World,
    operation: str,
    made: Sequence[Made],
    expect: Callable[[Sequence[DataFile]], Expected],
    *,
    terms: Mapping[str, Any] | None = None,
    **named: Any,
) -> None:
    for each in made:
        if isinstance(each.told, Refused):
            if not each.misfit or each.told.code not in MISFITS:
                raise Disagreement("refused", f"{world.log[-1]}: {each.told}")
            world.count(f"refused beforehand: {each.told.code}")
    told = [each.told for each in made if not isinstance(each.told, Refused)]
    kept = [each for each in made if not isinstance(each.told, Refused)]
    known = [each.known for each in kept]
    expected = expect(known)
    hopeless = any(each.hopeless for each in kept)
    if hopeless:
        # What is no value lies outside of every predicate.
        expected = Expected(expected.live, expected.refusals | MISFITS | {"outside_where"}, must=True)
    lawful = MISFITS if any(each.misfit for each in kept) else frozenset[str]()
    world.model.knows(known)
    if world.settle(expected, world.propose(random, operation, told, terms=terms, **named), lawful=lawful):
        world.odd |= {each.known.path for each in kept if each.misfit}


def _draw_terms(random: Random, world: World, name: str) -> dict[str, Any]:
    if world.producer is None or random.random() < 0.7:
        return {}
    return {"writer": headgate.Writer(f"writer {name}", 1)}


def _draw_where(random: Random, world: World) -> Condition:
    """On partition columns, but for a few that have to be refused."""
    columns: Sequence[Column] = world.model.partition_columns
    if not columns or random.random() < 0.05:
        columns = world.model.columns
    return draw_condition(random, columns, world.near(), depth=1)


def _same(world: World, left: Mapping[str, Cell], right: Mapping[str, Cell]) -> bool:
    return counted([left], world.model.partition_columns) == counted([right], world.model.partition_columns)


def _told(made: Sequence[Made]) -> str:
    return "; ".join(
        f"{each.known.path} {dict(each.known.partition)} {dict(each.known.columns)}{f' MISFIT {each.misfit}' if each.misfit else ''}"
        for each in made
    )


def _expect_live(world: World, live: frozenset[str], when: str) -> None:
    """The next version, if there is one, has these files; without one they are live already."""
    table = headgate.Table.open(world.uri)
    if table.version > world.model.newest:
        world.model.upkeep(world.model.newest + 1, live)
    if set(table.snapshot().paths()) != set(live):
        raise Disagreement("paths", f"{when}: live are {table.snapshot().paths()}, expected {sorted(live)}")
    world.catch_up()
