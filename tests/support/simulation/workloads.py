"""What simulated processes do: authors with and without a counter, direct and foreign writers, compactors, writers of rubbish.

An author's notes survive its death, as a job's input does; everything else in a process is lost with it.
"""

import random
from collections import deque
from dataclasses import dataclass, field

from headgate_bus.errors import BusError
from headgate_bus.interface import Message, Topic
from headgate_schemas.actions import AddFile
from headgate_schemas.cloud_events import PROPOSAL, attributes
from headgate_schemas.errors import HeadgateError
from headgate_schemas.operations import Append, Isolation, Operation, Overwrite, Receipt, Restore, Rewrite, Writer
from headgate_schemas.proposals import encode_proposal, new_proposal
from headgate_table.errors import CorruptTable, VersionNotRetained
from headgate_table.indextables.compactor import Compactor
from support.simulation import foreign
from support.simulation.asked import ask_of
from support.simulation.broken import must
from support.simulation.data_files import RECORDS
from support.simulation.operations import REGIONS, Bent, Operations
from support.simulation.scheduler import Process
from support.simulation.simulated_bus import SimulatedBus
from support.simulation.world import World

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

    def __post_init__(self) -> None:
        self.drawn = random.Random(f"author/{self.world.seed}/{self.name}")
        self._operations = Operations(self.drawn, self.world, self.table, self.bent)

    @property
    def is_done(self) -> bool:
        return self.made >= self.count and not self.notes

    def live(self, process: Process) -> None:
        """One life."""
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
            self.seq += self.drawn.choice((1, 1, 3))
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
            created_ms=self.world.scheduler.now_ms,
        )
        is_new_data = not serializable and self._operations.is_new_data(operation)
        self.world.asks.add(ask_of(note.id, self.table, operation, writer, is_new_data=is_new_data))
        return note

    def _repetition(self) -> Note:
        """The same again, after a while; of a counter's, sometimes by another run, with another id and other files."""
        note = self.drawn.choice(self.sent)
        if note.writer is None or self.drawn.random() < 0.5:
            return note
        self.made += 1
        again = Note(
            f"{self.name}-{self.made}-again",
            self._operations.append(),
            note.writer,
            created_ms=self.world.scheduler.now_ms,
        )
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


def direct_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """A tool that commits by itself, by the same rules."""
    drawn = random.Random(f"direct/{world.seed}/{process.name}")
    operations = Operations(drawn, world, table)
    for _ in range(count):
        process.sleep(drawn.random() * 6)
        operation = operations.draw()
        for file in getattr(operation, "files", ()) or getattr(operation, "adds", ()):
            if world.models[table].store.head(file.path) is None:
                world.put_file(table, file.path, file.size)
        try:
            receipt = world.table(process, table).commit(operation)
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
            continue
        if receipt_counts(receipt):
            world.receipts.seen(receipt, table)


def receipt_counts(receipt: Receipt) -> bool:
    """A direct commit that is refused leaves no trace in the log."""
    return hasattr(receipt, "version")


def foreign_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """Another program's commits, now and then with a state."""
    drawn = random.Random(f"foreign/{world.seed}/{process.name}")
    model = world.models[table]
    store = world.store(process, table)
    ambient = world.ambient(process)
    for _ in range(count):
        process.sleep(drawn.random() * 8)
        if model.newest < 0:
            continue  # the table isn't there yet
        region = drawn.choice(REGIONS)
        live = sorted(model.live())
        # Now and then it adds what is there already, as it is.
        again = model.live()[drawn.choice(live)] if live and drawn.random() < 0.15 else None
        path = world.file_name(region) if again is None else str(again["path"])
        region = path.partition("/")[0].removeprefix("region=")
        removes = [item for item in drawn.sample(live, min(1, len(live))) if item != path]
        size, records = 7, RECORDS
        if again is None:
            world.put_file(table, path, size)
        else:
            size, records = again["size"], again.get("numRecords", RECORDS)
        adds = [foreign.add(path, size, region, ambient.now_ms()) | {"numRecords": records}]
        try:
            number = foreign.commit(store, adds, removes if drawn.random() < 0.3 else [], ambient.now_ms())
            if number is not None and drawn.random() < 0.6:
                version = model.versions[number]
                kept = foreign.newest_state_metadata(store, age=drawn.choice((0, 0, 1))) or {}
                metadata = dict(version.metadata)
                old = {
                    key: text for key, text in (kept.get("configuration") or {}).items() if key.startswith("headgate.")
                }
                metadata["configuration"] = {**(metadata.get("configuration") or {}), **old}
                foreign.write_state(store, number, version.live, metadata, ambient.new_id(), ambient.now_ms())
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")


def compactor(world: World, process: Process, *, table: str, count: int) -> None:
    """Proposes to swap manifests."""
    drawn = random.Random(f"compactor/{world.seed}/{process.name}")
    for number in range(count):
        process.sleep(3 + drawn.random() * 10)
        opened = world.table(process, table)
        try:
            log = opened.reader.latest()
            if log.state is None:
                continue
            work = Compactor(opened.reader, world.ambient(process), opened.options)
            plan = work.plan(log.state, full=drawn.random() < 0.5)
            if not plan.is_needed:
                continue
            operation = work.prepare(log.state, plan, opened.metadata)
            note = Note(f"{process.name}-{number}", operation, None, created_ms=world.scheduler.now_ms)
            world.asks.add(ask_of(note.id, table, operation))
            world.bus(process).append(Topic.PROPOSALS, [message_of(note, table, process.name)])
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")


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
        try:
            snapshot = world.table(process, table).snapshot(version)
            version = snapshot.version
            process.sleep(drawn.random() ** 2 * 4)
            paths = snapshot.paths()
        except HeadgateError as error:
            world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
            if isinstance(error, CorruptTable | VersionNotRetained):
                must(
                    version is not None and model.base_of(version) is None,
                    f"{table}: version {version} can't be read though all of it is there: {error} (invariant 7)",
                )
            continue
        meant = model.versions[version].live
        must(
            sorted(paths) == sorted(meant),
            f"{table}: version {version} reads as {sorted(paths)[:5]}…, but it holds {sorted(meant)[:5]}… (invariant 4)",
        )


def rubbish_writer(world: World, process: Process, *, table: str, count: int) -> None:
    """Messages that nobody can decide."""
    drawn = random.Random(f"rubbish/{world.seed}/{process.name}")
    bus = world.bus(process)
    for number in range(count):
        process.sleep(drawn.random() * 5)
        identity = f"{process.name}-{number}"
        headers = attributes(kind=PROPOSAL, event_id=identity, source="x", subject=identity, time_ms=0)
        note = Note(identity, Restore(1), None)
        bodies: list[tuple[str, bytes]] = [
            (table, b"\x00\xffnot json"),
            (table, b'{"format":1,"id":"' + identity.encode() + b'"}'),
            (table, b"{}"),
            ("memory://lake/nowhere", message_of(note, "memory://lake/nowhere", "x").body),
            (table, message_of(note, table, "x").body.replace(b'"restore"', b'"invented"')),
        ]
        key, body = drawn.choice(bodies)
        try:
            bus.append(Topic.PROPOSALS, [Message(key, headers, body)])
        except BusError as error:
            world.scheduler.note(process.name, str(error))
