"""A store that ignores conditions: it creates what is there already, and replaces what has changed since. Nobody may be told that
something was committed there.
"""

import random

from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Append
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome
from support.simulation.actors.operations import REGIONS, added_file
from support.simulation.judge.broken import InvariantBroken
from support.simulation.troubles.outsiders import receipt_counts
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World
from support.stores.memory import MemoryStore

CARELESS = "memory://lake/careless"
OVERWRITES = "store: overwrites what it was asked to create"
KINDS = (OVERWRITES,)
"""By this name it is counted."""
CHANCE = 0.2
"""Of a run to have such a store."""
WRITERS = 3


class CarelessStore(MemoryStore):
    """As some servers are that speak S3. It belongs to a server of its own, which a process asks before it trusts it."""

    def __init__(self, world: World, uri: str, *, denies: bool) -> None:
        """`denies`: it says that the object was there, and has overwritten it all the same."""
        super().__init__(world.clock, uri=uri)
        self._world = world
        self._denies = denies
        self.is_careless = False

    @property
    def server(self) -> str | None:
        # Nobody remembers it from another run.
        return f"{self.uri} of world {id(self._world)}" if self.is_careless else None

    def create(self, key: str, data: bytes) -> CreateOutcome:
        return self._written_anyway(key, data) if self.is_careless else super().create(key, data)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        return self._written_anyway(key, data) if self.is_careless else super().swap(key, data, etag)

    def _written_anyway(self, key: str, data: bytes) -> CreateOutcome:
        was_there = self.head(key) is not None
        self._world.faults.injected[OVERWRITES] += was_there
        self.put(key, data)
        if was_there and self._denies:
            return AlreadyExists()
        return Created(self.get_with_etag(key)[1])


def add_careless_table(world: World, *, denies: bool) -> None:
    """A table that came from a better store."""
    objects = CarelessStore(world, CARELESS, denies=denies)
    world.add_store(CARELESS, objects)
    world.make_table(CARELESS)
    objects.is_careless = True


def careless_writer(world: World, process: Process, *, count: int) -> None:
    """Commits directly, and must be refused."""
    drawn = random.Random(f"careless/{world.seed}/{process.name}")
    for _ in range(count):
        process.sleep(drawn.random() * 4)
        region = drawn.choice(REGIONS)
        path = world.file_name(region)
        world.put_file(CARELESS, path, 10)
        try:
            receipt = world.table(process, CARELESS).commit(Append((added_file(path, region),)))
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
            continue
        if receipt_counts(receipt):
            broken = InvariantBroken(f"{process.name} was told {receipt} by a store that overwrites (rule 2)")
            world.scheduler.stop(broken)
            raise broken
