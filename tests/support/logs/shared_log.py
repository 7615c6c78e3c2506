"""Tables to which Headgate and a writer that knows no states commit in turns."""

import random

from headgate_table.indextables.format.names import version_key
from support.cleaning import World
from support.writers.handmade import add, file, remove
from support.writers.log_folder import lines, rust_gzip


def foreign_version(world: World, *actions: object) -> int:
    """Another writer commits the next version: it knows no states and names no predecessor."""
    number = max(world.versions()) + 1
    world.store.put(version_key(number), rust_gzip(lines(actions)))
    world.clock.advance(hours=24)
    return number


def shared_table(seed: int) -> World:
    """Both writers commit in turns: adds, removals, paths that come back as they were or changed, and compactions."""
    draw = random.Random(seed)
    world = World(interval=draw.choice((1, 2, 3)), store=None, compaction__maxManifests=draw.choice(("2", "100")))
    live = {each.path: each.size for each in world.appends(3)}
    gone: dict[str, int] = {}
    for step in range(14):
        match draw.randrange(6):
            case 0 | 1:
                made = world.append()
                live[made.path] = made.size
            case 2 if live:
                path = draw.choice(sorted(live))
                gone[path] = live.pop(path)
                foreign_version(world, remove(path), remove("never.parquet"))
            case 3 if gone:
                path = draw.choice(sorted(gone))
                live[path] = gone.pop(path) + draw.randrange(2)
                foreign_version(world, add(file(path.removesuffix(".parquet"), live[path])))
            case 4:
                path = draw.choice([*sorted(live), f"theirs-{step}.parquet"])
                live[path] = live.get(path, 1_000)
                foreign_version(world, add(file(path.removesuffix(".parquet"), live[path])))
            case _:
                world.reopened(seed=f"compactor {step}").compact()
        for path, size in live.items():
            world.store.put(path, bytes(size))
    return world
