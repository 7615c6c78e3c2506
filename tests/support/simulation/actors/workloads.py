"""Authors, with and without a counter: what they propose, and how they go on until they know what became of it.

An author's notes survive its death, as a job's input does; everything else in a process is lost with it.
"""

import json
import random
from collections import deque
from dataclasses import dataclass, field, replace

from headgate_bus.errors import BusError
from headgate_bus.interface import Message, Topic
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.operations import (
    Append,
    Isolation,
    Operation,
    Overwrite,
    Rewrite,
    Writer,
)
from headgate_schemas.messages.proposals import encode_proposal, new_proposal
from support.simulation.actors.operations import Bent, Operations
from support.simulation.judge.asked import ask_of
from support.simulation.world.scheduler import Process
from support.simulation.world.simulated_bus import SimulatedBus
from support.simulation.world.world import World

SEND_ATTEMPTS = 60
"""An author that hears nothing for minutes gives up its life, and goes on with the same proposal in the next."""


@dataclass(frozen=True, slots=True)
class Note:
    """One proposal as its author means it."""

    id: str
    operation: Operation
    writer: Writer | None
    based_on: int | None = None
    isolation: Isolation = Isolation.SNAPSHOT
    created_ms: int = 0


def message_of(note: Note, table: str, author: str) -> Message:
    proposal = new_proposal(
        note.operation,
        proposal_id=note.id,
        table=table,
        created_ms=note.created_ms,
        author=author,
        writer=note.writer,
        based_on=note.based_on,
        isolation=note.isolation,
    )
    headers = attributes(kind=PROPOSAL, event_id=note.id, source=author, subject=note.id, time_ms=note.created_ms)
    return Message(table, headers, encode_proposal(proposal))


def written_by(message: Message, writer: Writer | None) -> Message:
    """The same proposal, in the name of another writer or of none."""
    body = {name: value for name, value in json.loads(message.body).items() if name != "writer"}
    if writer is not None:
        body["writer"] = {"app": writer.app, "seq": writer.seq}
    return Message(message.key, message.headers, json.dumps(body).encode())


@dataclass
class Author:
    """Proposes one thing after the other, with or without waiting for receipts. Sends again whatever it isn't sure about."""

    world: World
    name: str
    table: str
    count: int
    app: str | None = None
    bent: Bent = Bent.MIXED
    drawn: random.Random = field(init=False)
    notes: deque[Note] = field(default_factory=deque)
    """Begun, and not known to be settled."""
    sent: list[Note] = field(default_factory=list)
    made: int = 0
    seq: int = 0
    passed_over: list[int] = field(default_factory=list)
    """Seqs that were left out."""
    other_runs: set[str] = field(default_factory=set)
    """Ids of proposals whose seq another id had first."""

    def __post_init__(self) -> None:
        self.drawn = random.Random(f"author/{self.world.seed}/{self.name}")
        self._operations = Operations(self.drawn, self.world, self.table, self.bent)
        self._now_ms = self.world.clock.now_ms

    @property
    def is_done(self) -> bool:
        return self.made >= self.count and not self.notes

    def live(self, process: Process) -> None:
        """One life."""
        self._now_ms = self.world.ambient(process).now_ms
        bus = self.world.bus(process)
        while not self.is_done:
            if not self.notes:
                self.notes.append(self._begin())
            note = self.notes[0]
            self._write_files(process, note)
            if not self._send(process, bus, note):
                return
            if note.writer is not None or self.drawn.random() < 0.3:
                self._wait(process, note)
            self.notes.popleft()
            if self.drawn.random() < 0.08 and self.sent:
                self.notes.append(self._repetition())
            process.sleep(self.drawn.random() ** 2 * 2)

    def _begin(self) -> Note:
        self.made += 1
        writer = None
        if self.app is not None:
            before, self.seq = self.seq, self.seq + self.drawn.choice((1, 1, 3))
            self.passed_over += range(before + 1, self.seq)
            writer = Writer(self.app, self.seq)
        # One that counts proposes data only: maintenance has nobody's records to count.
        operation = self._operations.append() if writer is not None else self._operations.draw()
        serializable = self.drawn.random() < 0.1
        newest = self.world.models[self.table].newest
        note = Note(
            f"{self.name}-{self.made}",
            operation,
            writer,
            based_on=max(0, newest - self.drawn.choice((0, 0, 2))) if serializable else None,
            isolation=Isolation.SERIALIZABLE if serializable else Isolation.SNAPSHOT,
            created_ms=self._now_ms(),
        )
        is_new_data = not serializable and self._operations.is_new_data(operation)
        self.world.asks.add(ask_of(note.id, self.table, operation, writer, is_new_data=is_new_data))
        return note

    def _repetition(self) -> Note:
        """The same again, after a while; of a counter's, sometimes by another run, with another id and other files, or with a
        seq that was passed over; or with the same id in the name of another writer, or of none.
        """
        note = self.drawn.choice(self.sent)
        if self.app is not None and self.passed_over and self.drawn.random() < 0.3:
            return self._other_run(Writer(self.app, self.drawn.choice(self.passed_over)))
        if note.writer is None or self.drawn.random() < 0.5:
            return note
        if self.drawn.random() < 0.4 and note.id not in self.other_runs:
            # What an id was given by its seq alone, the table doesn't remember by that id.
            return replace(note, writer=self.drawn.choice((None, Writer(f"{note.writer.app}-other", note.writer.seq))))
        return self._other_run(note.writer)

    def _other_run(self, writer: Writer) -> Note:
        self.made += 1
        again = Note(
            f"{self.name}-{self.made}-again",
            self._operations.append(),
            writer,
            created_ms=self._now_ms(),
        )
        self.other_runs.add(again.id)
        self.world.asks.add(ask_of(again.id, self.table, again.operation, again.writer))
        return again

    def _write_files(self, process: Process, note: Note) -> None:
        files: tuple[AddFile, ...] = ()
        match note.operation:
            case Append(files) | Overwrite(files) | Rewrite(adds=files):
                pass
            case _:
                return
        model = self.world.models[self.table]
        for file in files:
            if model.store.head(file.path) is None and file.path not in model.deleted_files:
                self.world.put_file(self.table, file.path, file.size)
        process.sleep(0.001)

    def _send(self, process: Process, bus: SimulatedBus, note: Note) -> bool:
        message = message_of(note, self.table, self.name)
        for _ in range(SEND_ATTEMPTS):
            try:
                bus.append(Topic.PROPOSALS, [message])
            except BusError:
                process.sleep(0.5)
                continue
            self.sent.append(note)
            return True
        return False

    def _wait(self, process: Process, note: Note) -> None:
        for _ in range(SEND_ATTEMPTS):
            if note.id in self.world.receipts.announced:
                return
            process.wait(self.world.news, 1.0)
