"""Who reads while others write."""

import random

from headgate_schemas.errors import HeadgateError
from headgate_table.errors import CorruptTable, VersionNotRetained
from support.simulation.judge.broken import must
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World


def reader(world: World, process: Process, *, table: str, count: int) -> None:
    """Reads whole versions, the newest and earlier ones, slowly: what it began, it must be able to end."""
    drawn = random.Random(f"reader/{world.seed}/{process.name}")
    model = world.models[table]
    for _ in range(count):
        process.sleep(drawn.random() * 8)
        earlier = model.readable()
        if not earlier:
            continue  # the table isn't there yet
        version = drawn.choice((None, drawn.choice(earlier)))
        told = model.acknowledged
        try:
            asked_for = version
            snapshot = world.table(process, table).snapshot(version)
            version = snapshot.version
            process.sleep(drawn.random() ** 2 * 4)
            paths = snapshot.paths()
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
            if isinstance(error, CorruptTable | VersionNotRetained):
                must(
                    version is not None and not model.is_surely_readable(version),
                    f"{table}: version {version} can't be read though all of it is there: {error} (invariant 7)",
                )
            continue
        must(
            version in model.versions and (asked_for is not None or version >= told),
            f"{table}: reads as version {version} after somebody was told of version {told} (real-time order)",
        )
        meant = model.versions[version].live
        must(
            sorted(paths) == sorted(meant),
            f"{table}: version {version} reads as {sorted(paths)[:5]}…, but it holds {sorted(meant)[:5]}… (invariant 4)",
        )
