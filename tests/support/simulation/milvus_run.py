"""One random run on a Milvus table: committers, authors and strangers under faults, then calm, and what must be true after it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from headgate_bus.errors import BusError
from headgate_bus.interface import Message, Topic
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Milvus, Writer
from headgate_schemas.milvus import Resolver, Updates
from headgate_table.milvus.transaction import Transaction
from support.committing.transactions import adding, deleting, stat
from support.simulation.actors.committers import CommitterSeat
from support.simulation.actors.work import Crew
from support.simulation.actors.workloads import SEND_ATTEMPTS, Note, message_of
from support.simulation.judge.asked import ask_of
from support.simulation.judge.broken import InvariantBroken
from support.simulation.judge.milvus_model import TALLY, MilvusModel, names_of
from support.simulation.judge.settling import LOOK_EVERY, ask_again, calm, settle, stop
from support.simulation.outcome import Failure, Outcome, outcome_of
from support.simulation.troubles.nemesis import Nemesis
from support.simulation.troubles.outsiders import FOREIGN_COMMIT
from support.simulation.troubles.surgery import CHANCE as SURGERY
from support.simulation.troubles.surgery import OperatorSeat, Surgeon
from support.simulation.world.scheduler import Process
from support.simulation.world.seats import Seat
from support.simulation.world.weather import LIMITS, SKEWS_MS, STEPS_SHOWN, WEATHER, WORK_S
from support.simulation.world.world import JudgingWitness, World

PLACE = "memory://lake/segment"


def simulate_milvus(seed: int) -> Outcome:
    """One run. Raises `Failure`."""
    with World(seed) as world:
        try:
            return _Run(world).outcome()
        except (Exception, InvariantBroken) as error:  # whatever it is, the seed has to be told
            raise Failure(seed, error, world.trace.last(STEPS_SHOWN), "milvus") from error


@dataclass
class _Author:
    """Proposes transactions one after the other, and sends again whatever it isn't sure about. Its notes survive its death."""

    world: World
    model: MilvusModel
    name: str
    count: int
    app: str | None
    made: int = 0
    notes: list[Note] = field(default_factory=list)
    sent: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.drawn = random.Random(f"author/{self.world.seed}/{self.name}")

    @property
    def is_done(self) -> bool:
        return self.made >= self.count and not self.notes

    def live(self, process: Process) -> None:
        bus = self.world.bus(process)
        while not self.is_done:
            if not self.notes:
                self.notes.append(self._begin())
            note = self.notes[0]
            if not self._send(process, note, lambda message: bus.append(Topic.PROPOSALS, [message])):
                return
            if note.writer is not None or self.drawn.random() < 0.5:
                self._wait(process, note)
            self.notes.pop(0)
            if self.sent and self.drawn.random() < 0.1:
                self.notes.append(self._repetition())
            process.sleep(self.drawn.random() ** 2 * 2)

    def _repetition(self) -> Note:
        """The same again; of a counter's sometimes in the name of another writer, or of none."""
        note = self.drawn.choice(self.sent)
        if note.writer is None or self.drawn.random() < 0.6:
            return note
        return replace(note, writer=self.drawn.choice((None, Writer(f"{note.writer.app}-other", note.writer.seq))))

    def _begin(self) -> Note:
        self.made += 1
        identity = f"{self.name}-{self.made}"
        newest = self.model.newest
        read = max(0, newest - self.drawn.choice((0, 0, 0, 1, 3)))
        kind = self.drawn.random()
        if kind < 0.2:
            # Reads a stat, and sets it anew with one path more.
            updates = stat(TALLY, *self.model.tallies[read], identity)
            operation = Milvus(updates, Resolver.MERGE, read)
        else:
            updates = self.drawn.choice((adding, adding, deleting))(identity)
            asked = [earlier.updates for earlier in self.model.asked.values() if not earlier.updates.added_stats]
            if kind < 0.35 and asked:
                # The same work again, under another id.
                updates = self.drawn.choice(asked)
            resolver = self.drawn.choice((Resolver.MERGE,) * 6 + (Resolver.FAIL,) * 3 + (Resolver.OVERWRITE,))
            operation = Milvus(updates, resolver, None if resolver is Resolver.MERGE else read)
        writer = None if self.app is None else Writer(self.app, self.made)
        self.model.asked[identity] = operation
        self.model.writers[identity] = writer
        self.world.asks.add(ask_of(identity, PLACE, operation, writer))
        return Note(identity, operation, writer, created_ms=self.world.scheduler.now_ms)

    def _send(self, process: Process, note: Note, append: Callable[[Message], object]) -> bool:
        for _ in range(SEND_ATTEMPTS):
            try:
                append(message_of(note, PLACE, self.name))
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


@dataclass
class _Run:
    world: World
    committers: list[CommitterSeat] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.crew = Crew(self.world)
        self.model = MilvusModel(PLACE)
        self.world.add_store(PLACE)
        self.world.stores[PLACE].witness = JudgingWitness(self.world.scheduler, self.model)
        self.model.lost = self.world.receipts.lost
        self.world.receipts.tables = {PLACE: self.model}

    def outcome(self) -> Outcome:
        world, crew = self.world, self.crew
        drawn = random.Random(f"run/{world.seed}")
        self._prepare(drawn)
        seats: list[Seat] = [*self.committers]
        surgeon = Surgeon(world, lambda: self.committers, self._only_there) if drawn.random() < SURGERY else None
        if surgeon is not None:
            seats.append(OperatorSeat(world, "operator", committers=self.committers))
            surgeon.start()
        nemesis = Nemesis(world, self.committers)
        for seat in seats:
            seat.keep_alive()
        world.faults.rates = drawn.choice(WEATHER)
        nemesis.start()
        crew.tend(nemesis)
        world.scheduler.run(lambda: crew.is_done, world.scheduler.now_ms + WORK_S * 1000, every=LOOK_EVERY)
        nemesis.stop()
        if surgeon is not None:
            surgeon.stop()
        calm(world)
        settle(world, crew)
        ask_again(world, crew, drawn)
        stop(world, seats)
        self.model.check_end()
        return outcome_of(world, self.model.newest, self.model.decided.values())

    def _only_there(self, uri: str) -> Message:
        """What only a copy of the log holds."""
        world = self.world
        identity = f"only-there-{len(self.model.asked)}"
        operation = Milvus(adding(identity), Resolver.MERGE, None)
        self.model.asked[identity], self.model.writers[identity] = operation, None
        world.asks.add(ask_of(identity, uri, operation))
        return message_of(Note(identity, operation, None, created_ms=world.scheduler.now_ms), uri, "surgeon")

    def _prepare(self, drawn: random.Random) -> None:
        world = self.world
        limits: CommitterLimits = drawn.choice(LIMITS)
        self.committers = [
            CommitterSeat(world, f"committer-{number}", limits=limits, skew_ms=drawn.choice(SKEWS_MS))
            for number in range(drawn.choice((1, 2, 2, 3)))
        ]
        for number in range(drawn.choice((2, 3, 4))):
            app = drawn.choice((None, None, f"app-{number}"))
            self.crew.work.append(_Author(world, self.model, f"author-{number}", drawn.randrange(3, 12), app))
        self.crew.maybe(drawn, 0.5, "stranger", partial(_stranger, world, self.model))
        self.crew.maybe(drawn, 0.6, "echo", partial(_echo, world, self.model))


def _stranger(world: World, model: MilvusModel, process: Process) -> None:
    """Another program's transactions."""
    drawn = random.Random(f"stranger/{world.seed}")
    for number in range(6):
        process.sleep(drawn.random() * 5)
        name = f"theirs-{number}"
        model.strangers.add(name)
        _commit(world, process, drawn.choice((adding(name), deleting(name), stat("k", name))))


def _echo(world: World, model: MilvusModel, process: Process) -> None:
    """Another program that commits what somebody has just proposed, so that its manifests are those of a committer."""
    drawn = random.Random(f"echo/{world.seed}")
    for _ in range(6):
        process.sleep(drawn.random() * 5)
        undecided = [identity for identity in model.proposed_ms if identity not in model.decided]
        if undecided:
            updates = model.asked[undecided[0]].updates
            model.echoed.update(names_of(updates))
            _commit(world, process, updates)


def _commit(world: World, process: Process, updates: Updates) -> None:
    ambient = world.ambient(process)
    world.faults.injected[FOREIGN_COMMIT] += 1
    try:
        transaction = Transaction.open(world.store(process, PLACE), resolver=Resolver.MERGE, ambient=ambient)
        for append in updates.appended_files:
            transaction.append_files(append)
        for log in updates.added_delta_logs:
            transaction.add_delta_log(log.path, log.num_entries)
        for key, stat_ in updates.added_stats.items():
            transaction.update_stat(key, stat_.paths)
        transaction.commit()
    except HeadgateError as error:
        world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
