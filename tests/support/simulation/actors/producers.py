"""The real producer, without threads, as a simulated job: it dies, starts again, and proposes what it isn't sure about once more."""

import random
from collections import deque
from dataclasses import dataclass, field

from headgate_producer.delivery.ticket import Ticket
from headgate_producer.errors import NotSent
from headgate_producer.producer import Producer
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Rejected, Writer
from headgate_table.errors import OutcomeUnknown
from headgate_table.indextables.log.reader import LogReader
from support.simulation.actors.operations import Bent, Operations
from support.simulation.actors.workloads import Note
from support.simulation.judge.asked import ask_of
from support.simulation.world.executors import resources_of
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World


@dataclass
class Job:
    """Proposes through `Producer`. Its notes survive its deaths; the producer doesn't."""

    world: World
    name: str
    table: str
    count: int
    app: str | None = None
    bent: Bent = Bent.MIXED
    drawn: random.Random = field(init=False)
    notes: deque[Note] = field(default_factory=deque)
    made: int = 0

    def __post_init__(self) -> None:
        self.drawn = random.Random(f"job/{self.world.seed}/{self.name}")
        self._operations = Operations(self.drawn, self.world, self.table, self.bent)

    @property
    def is_done(self) -> bool:
        return self.made >= self.count and not self.notes

    def live(self, process: Process) -> None:
        world = self.world
        ambient = world.ambient(process)
        store = world.store(process, self.table)
        bus = world.bus(process)
        producer = Producer(
            bus,
            self.table,
            author=self.name,
            ambient=ambient,
            threads=False,
            store=store,
            answer_within_s=20.0,
            max_in_flight=5,
        )
        # Its own would read with threads.
        producer.reader = LogReader(store, resources_of(ambient))
        tickets: dict[str, Ticket] = {}
        while not self.is_done:
            while len(self.notes) < 3 and self.made < self.count:
                self.notes.append(self._begin())
            try:
                self._round(producer, tickets)
            except (OutcomeUnknown, NotSent) as error:
                world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
                process.sleep(1.0)
            process.sleep(self.drawn.random())

    def _round(self, producer: Producer, tickets: dict[str, Ticket]) -> None:
        """Propose all that is open, then wait for each in order: what has a receipt is done."""
        refused: NotSent | None = None
        for note in self.notes:
            self._write_files(note)
            if note.id not in tickets:
                try:
                    tickets[note.id] = producer.propose(
                        note.operation, proposal_id=note.id, writer=note.writer, created=note.created_ms or None
                    )
                except NotSent as error:
                    refused = error  # maybe for one before it that was given up, which its ticket tells
                    break
        while self.notes and self.notes[0].id in tickets:
            ticket = tickets[self.notes[0].id]
            try:
                receipt = ticket.wait(15.0)
            except HeadgateError:
                if ticket.done:
                    del tickets[self.notes[0].id]  # given up: it is proposed again
                raise
            self.world.receipts.seen(receipt, None if _is_undecided(receipt) else self.table)
            self.notes.popleft()
        if refused is not None:
            raise refused

    def _write_files(self, note: Note) -> None:
        model = self.world.models[self.table]
        for file in getattr(note.operation, "files", ()) or getattr(note.operation, "adds", ()):
            if not isinstance(file, AddFile):
                continue
            if model.store.head(file.path) is None and file.path not in model.deleted_files:
                self.world.put_file(self.table, file.path, file.size)

    def _begin(self) -> Note:
        self.made += 1
        writer = None if self.app is None else Writer(self.app, self.made)
        operation = self._operations.append() if writer is not None else self._operations.draw()
        # Some jobs keep nothing but their id.
        created_ms = 0 if self.drawn.random() < 0.2 else self.world.scheduler.now_ms
        note = Note(f"{self.name}-{self.made}", operation, writer, created_ms=created_ms)
        is_new_data = self._operations.is_new_data(operation)
        self.world.asks.add(ask_of(note.id, self.table, operation, writer, is_new_data=is_new_data))
        return note


def _is_undecided(receipt: object) -> bool:
    return isinstance(receipt, Rejected) and receipt.code.value in ("unreadable", "unknown_table", "over_bound")
