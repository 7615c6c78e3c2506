"""A table with two addresses, and writers who use both, or a spelling that is none. It is served by one of them at a time; who sends to
the other is told nothing that the next committer would contradict.
"""

import random
from dataclasses import dataclass
from functools import partial

from headgate_bus.errors import BusError
from headgate_bus.interface import Topic
from headgate_schemas.messages.operations import Append
from support.simulation.actors.operations import REGIONS, added_file
from support.simulation.actors.work import Crew
from support.simulation.actors.workloads import Author, Note, message_of
from support.simulation.judge.asked import ask_of
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World

ADDRESS, OTHER_ADDRESS, NO_SPELLING = "memory://lake/twofold", "memory://pond/twofold", "memory://lake//twofold"
OTHER = "address: a proposal under another address of its table"
MISSPELT = "address: a proposal under another spelling of its table"
KINDS = (OTHER, MISSPELT)
"""By these names it is counted."""
CHANCE = 0.15
"""Of a run with one partition of proposals to have such a table. With more, each address may be on a partition of its own, and an
operator has to see to it that one of them alone is used."""
NOTES = 3
TURNS = 9


def add_twofold_table(world: World, crew: Crew, drawn: random.Random) -> None:
    """One store, one table."""
    world.new_table(ADDRESS)
    world.stores[OTHER_ADDRESS], world.models[OTHER_ADDRESS] = world.stores[ADDRESS], world.models[ADDRESS]
    crew.work.append(Author(world, "author-twofold", ADDRESS, drawn.randrange(2, 6)))
    crew.work.append(_Wanderer(world, "wanderer"))
    crew.maybe(drawn, 0.5, "misspeller", partial(_misspelling_writer, world))


@dataclass
class _Wanderer:
    """Sends the same few proposals again and again, now to one address and now to the other."""

    world: World
    name: str
    turns: int = 0

    def __post_init__(self) -> None:
        self._drawn = random.Random(f"addresses/{self.world.seed}")
        self._notes = [_note(self.world, f"{self.name}-{number}", self._drawn) for number in range(NOTES)]

    @property
    def is_done(self) -> bool:
        return self.turns >= TURNS

    def live(self, process: Process) -> None:
        bus = self.world.bus(process)
        while not self.is_done:
            self.turns += 1
            process.sleep(self._drawn.random() * 4)
            address = self._drawn.choice((ADDRESS, OTHER_ADDRESS))
            try:
                bus.append(Topic.PROPOSALS, [message_of(self._drawn.choice(self._notes), address, self.name)])
            except BusError as error:
                self.world.scheduler.note(process.name, str(error))
                continue
            self.world.faults.injected[OTHER] += address == OTHER_ADDRESS


def _misspelling_writer(world: World, process: Process) -> None:
    """No committer ever serves that spelling, whatever its roots."""
    drawn = random.Random(f"addresses/{world.seed}/{process.name}")
    for number in range(NOTES):
        process.sleep(drawn.random() * 4)
        note = _note(world, f"{process.name}-{number}", drawn)
        world.faults.injected[MISSPELT] += 1
        world.bus(process).append(Topic.PROPOSALS, [message_of(note, NO_SPELLING, process.name)])


def _note(world: World, identity: str, drawn: random.Random) -> Note:
    region = drawn.choice(REGIONS)
    path = world.file_name(region)
    file = added_file(path, region)
    world.put_file(ADDRESS, path, file.size)
    note = Note(identity, Append((file,)), None, created_ms=world.scheduler.now_ms)
    world.asks.add(ask_of(note.id, ADDRESS, note.operation))
    return note
