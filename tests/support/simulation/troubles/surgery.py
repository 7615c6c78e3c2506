"""What is done to the bus's log itself: it loses its end and grows again, is trimmed too early, or is made anew. And the operator who
does then what docs/operating.md says: binds the tables again that are refused, and has proposed once more what was lost.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from headgate_bus.interface import Message, Record, Topic
from headgate_committer.rebind.rebind import rebind
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Append
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import table_options
from support.simulation.actors.committers import CommitterSeat
from support.simulation.actors.operations import added_file
from support.simulation.actors.workloads import Note, message_of
from support.simulation.judge.asked import ask_of
from support.simulation.world.ambient import SimulatedAmbient
from support.simulation.world.executors import resources_of
from support.simulation.world.scheduler import Process
from support.simulation.world.seats import Seat
from support.simulation.world.simulated_bus import SimulatedBus
from support.simulation.world.world import World

TAIL_LOST = "log: loses its newest proposals"
GROWN = "log: grows over what it lost"
MADE_ANEW = "log: the topic is made anew"
REFILLED = "log: the new topic is filled from a copy"
TRIMMED = "log: trimmed before it was decided"
REBOUND = "operator: binds a table again"
KINDS = (TAIL_LOST, GROWN, MADE_ANEW, REFILLED, TRIMMED, REBOUND)
"""What happens to logs, by the names that it is counted by."""
CHANCE = 0.3
"""Of a run to have surgery."""
LONGEST_TAIL = 12
"""Proposals that are lost at once."""
FIRST_AFTER_S = 8.0
"""Within so many simulated seconds it begins, while there is work."""


class Surgeon:
    """Strikes a few times, until it is told to stop."""

    def __init__(
        self,
        world: World,
        committers: Callable[[], Sequence[Seat]],
        new: Callable[[str], Message] | None = None,
    ) -> None:
        """`committers`: all that may be there at this moment. `new`: what only a copy of the log holds, for a table; by default an
        append.
        """
        self._world = world
        self._committers = committers
        self._new = new or self._append
        self._random = random.Random(f"surgery/{world.seed}")
        self._left = self._random.choice((1, 1, 2, 3))
        self._stopped = False

    def start(self) -> None:
        self._later(FIRST_AFTER_S, self._strike)

    def stop(self) -> None:
        self._stopped = True

    def _later(self, within_s: float, what: Callable[[], None]) -> None:
        scheduler = self._world.scheduler
        scheduler.at(scheduler.now_ms + round(1000 * within_s * self._random.random()), what)

    def _strike(self) -> None:
        if self._stopped or not self._left:
            return
        if self._world.cluster.available:
            operation = self._random.choice((self._lose_tail, self._lose_tail, self._trim, self._make_anew))
            lost = operation()
            if lost is not None:
                self._left -= 1
                self._propose_again(lost)
        self._later(FIRST_AFTER_S, self._strike)

    def _count(self, kind: str, what: str) -> None:
        self._world.faults.injected[kind] += 1
        self._world.scheduler.note("surgeon", what)

    def _lose_tail(self) -> list[Record] | None:
        """At times it has grown over what it lost before anybody looks."""
        world = self._world
        number = self._random.randrange(world.partitions)
        log = world.cluster.partition(Topic.PROPOSALS, number)
        there = log.next_offset - log.first
        if not there:
            return None
        count = self._random.randrange(1, min(there, LONGEST_TAIL) + 1)
        end = log.next_offset - count
        self._count(TAIL_LOST, f"partition {number} loses what lies from {end} on")
        lost = world.lose_tail(end, number)
        if self._random.random() < 0.6:
            self._grow(number, count)
        return lost

    def _grow(self, number: int, count: int) -> None:
        """By what was proposed before, and comes again in another order."""
        world = self._world
        known = [record for record in world.receipts.asked if world.home_of(record.key) == number]
        again = [self._random.choice(known) for _ in range(count + self._random.randrange(3))] if known else []
        if again:
            self._count(GROWN, f"partition {number} grows by {len(again)}")
            world.cluster.append(Topic.PROPOSALS, [_message(record) for record in again])

    def _trim(self) -> list[Record] | None:
        """None where nothing waits."""
        world = self._world
        number = self._random.randrange(world.partitions)
        log = world.cluster.partition(Topic.PROPOSALS, number)
        settled = world.committed_offset(number)
        if settled >= log.next_offset:
            return None
        before = self._random.randrange(settled, log.next_offset) + 1
        self._count(TRIMMED, f"partition {number} loses what lies before {before}")
        return world.lose_beginning(before, number)

    def _make_anew(self) -> list[Record]:
        """Empty, or filled from a copy in which something else lies in one place; then groups still know their offsets.

        Nobody is told that it becomes empty. Committers end before it is filled, as docs/operating.md demands.
        """
        world = self._world
        self._count(MADE_ANEW, "the topic of proposals is made anew")
        if self._random.random() < 0.5:
            return world.recreate_topic(forgets=self._random.random() < 0.5)
        held = [world.receipts.records[place] for place in sorted(world.receipts.records)]
        for seat in self._committers():
            if seat.process is not None:
                seat.process.kill()
        world.recreate_topic(forgets=False)
        self._refill(held)
        return []

    def _refill(self, held: Sequence[Record]) -> None:
        world = self._world
        own = [
            record for record in held if self._takes_new(record.key) and world.home_of(record.key) == record.partition
        ]
        other = self._random.choice(own) if own else None
        self._count(REFILLED, f"it is filled from a copy of {len(held)} proposals")
        for record in held:
            message = self._new(record.key) if record is other else _message(record)
            world.cluster.append_at(Topic.PROPOSALS, record.partition, message)

    def _takes_new(self, uri: str) -> bool:
        """Whether anybody may append there: nobody makes money."""
        return uri in self._world.models and self._world.models[uri].balance is None

    def _append(self, uri: str) -> Message:
        """What only this log holds."""
        world = self._world
        path = world.file_name("eu")
        file = added_file(path, "eu")
        world.put_file(uri, path, file.size)
        note = Note(f"only-there-{path}", Append((file,)), None, created_ms=world.scheduler.now_ms)
        world.asks.add(ask_of(note.id, uri, note.operation))
        return message_of(note, uri, "surgeon")

    def _propose_again(self, lost: Sequence[Record]) -> None:
        """Some are found out to be missing, and are proposed again; others' authors do it by themselves, or never."""
        for record in lost:
            if self._is_needed(record) or self._random.random() < 0.5:
                self._later(30.0, partial(self._propose, record))

    def _propose(self, record: Record) -> None:
        if self._world.cluster.available:
            self._world.cluster.append(Topic.PROPOSALS, [_message(record)])
        else:
            self._later(5.0, partial(self._propose, record))

    def _is_needed(self, record: Record) -> bool:
        """Whether others wait for the table that it makes."""
        return self._world.models[record.key].newest < 0 if record.key in self._world.models else False


@dataclass
class OperatorSeat(Seat):
    """Looks at what committers say of the tables that they leave alone, and after a while binds those again."""

    committers: Sequence[CommitterSeat] = field(default=())

    def serve(self, process: Process, bus: SimulatedBus, ambient: SimulatedAmbient) -> None:
        drawn = random.Random(f"operator/{self.world.seed}/{process.name}")
        while not self.is_told_to_stop(process):
            process.sleep(2 + drawn.random() * 6)
            for uri in sorted({uri for seat in self.committers for uri in seat.refused}):
                self._rebind(process, bus, ambient, uri)

    def is_expected(self, error: HeadgateError) -> bool:
        return False

    def _rebind(self, process: Process, bus: SimulatedBus, ambient: SimulatedAmbient, uri: str) -> None:
        reader = LogReader(self.world.store(process, uri), resources_of(ambient))
        try:
            report = rebind(bus, reader, ambient, table_options)
        except HeadgateError as error:
            self.world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
            return
        self.world.scheduler.note(process.name, f"rebound {uri}: {report.version}, {report.reason}")
        self.world.faults.injected[REBOUND] += report.version is not None


def _message(record: Record) -> Message:
    return Message(record.key, record.headers, record.body)
