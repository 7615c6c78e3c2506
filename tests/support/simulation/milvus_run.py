"""One random run on a Milvus table: committers, authors and strangers under faults, then calm, and what must be true after it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from headgate_bus.errors import BusError
from headgate_bus.interface import Message, Topic
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import HeadgateError
from headgate_schemas.milvus import Resolver, Updates
from headgate_schemas.operations import Milvus, Writer
from headgate_table.milvus.transaction import Transaction
from support.committing.transactions import adding, deleting, stat
from support.simulation.asked import ask_of
from support.simulation.broken import InvariantBroken, must
from support.simulation.committers import CommitterSeat
from support.simulation.faults import CALM
from support.simulation.milvus_model import MilvusModel, names_of
from support.simulation.nemesis import Nemesis
from support.simulation.run import (
    CALM_S,
    LIMITS,
    LOOK_EVERY,
    SKEWS_MS,
    STEPS_SHOWN,
    STOP_S,
    WEATHER,
    WORK_S,
    Failure,
    Outcome,
)
from support.simulation.scheduler import Process
from support.simulation.workloads import SEND_ATTEMPTS, Note, message_of
from support.simulation.world import START_MS, JudgingWitness, World

PLACE = "memory://lake/segment"


def simulate_milvus(seed: int) -> Outcome:
    """One run. Raises `Failure`."""
    with World(seed) as world:
        try:
            return _Run(world).outcome()
        except (Exception, InvariantBroken) as error:  # whatever it is, the seed has to be told
            raise Failure(seed, error, world.trace.last(STEPS_SHOWN), "KIND=milvus ") from error


@dataclass
class _Work:
    """A process that is started again, whatever happens to it, until its work is done."""

    name: str
    live: Callable[[Process], None]
    is_done: Callable[[], bool]
    process: Process | None = None


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
                self.notes.append(self.drawn.choice(self.sent))
            process.sleep(self.drawn.random() ** 2 * 2)

    def _begin(self) -> Note:
        self.made += 1
        identity = f"{self.name}-{self.made}"
        updates = self.drawn.choice((adding, adding, deleting))(identity)
        newest = self.model.newest
        read = max(0, newest - self.drawn.choice((0, 0, 0, 1, 3)))
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
    work: list[_Work] = field(default_factory=list)
    committers: list[CommitterSeat] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = MilvusModel(PLACE)
        self.world.add_store(PLACE)
        self.world.stores[PLACE].witness = JudgingWitness(self.world.scheduler, self.model)
        self.world.receipts.tables = {PLACE: self.model}

    def outcome(self) -> Outcome:
        world = self.world
        drawn = random.Random(f"run/{world.seed}")
        self._prepare(drawn)
        nemesis = Nemesis(world, self.committers)
        for seat in self.committers:
            seat.keep_alive()
        world.faults.rates = drawn.choice(WEATHER)
        nemesis.start()
        self._tend(nemesis)
        world.scheduler.run(self._is_done, world.scheduler.now_ms + WORK_S * 1000, every=LOOK_EVERY)
        nemesis.stop()
        self._calm()
        self._settle()
        self._ask_again(drawn)
        self._stop()
        self.model.check_end()
        rejected = sum(not decided.accepted for decided in self.model.decided.values())
        return Outcome(
            world.seed,
            world.trace.digest(),
            world.trace.count,
            self.model.newest,
            0,
            len(world.receipts.proposals),
            world.receipts.count,
            rejected,
            0,
            0,
            0,
            (world.scheduler.now_ms - START_MS) / 1000,
        )

    def _prepare(self, drawn: random.Random) -> None:
        world = self.world
        limits: CommitterLimits = drawn.choice(LIMITS)
        self.committers = [
            CommitterSeat(world, f"committer-{number}", limits=limits, skew_ms=drawn.choice(SKEWS_MS))
            for number in range(drawn.choice((1, 2, 2, 3)))
        ]
        for number in range(drawn.choice((2, 3, 4))):
            app = drawn.choice((None, None, f"app-{number}"))
            author = _Author(world, self.model, f"author-{number}", drawn.randrange(3, 12), app)
            self.work.append(_Work(author.name, author.live, lambda author=author: author.is_done))  # type: ignore[misc]  # bound per turn
        if drawn.random() < 0.5:
            self._once("stranger", partial(_stranger, world, self.model))
        if drawn.random() < 0.6:
            self._once("echo", partial(_echo, world, self.model))

    def _once(self, name: str, live: Callable[[Process], None]) -> None:
        """Work that may be left undone, if its process dies."""
        begun: list[Process] = []

        def once(process: Process) -> None:
            begun.append(process)
            live(process)

        self.work.append(_Work(name, once, lambda: bool(begun) and begun[0].is_over))

    def _tend(self, nemesis: Nemesis) -> None:
        """Start what is not running and not done, every second."""
        scheduler = self.world.scheduler
        for work in self.work:
            if not work.is_done() and (work.process is None or work.process.is_over):
                process = self.world.process(work.name)
                work.process = process
                nemesis.others = [other for other in nemesis.others if not other.is_over] + [process]
                process.start(partial(_live, work, process))
        scheduler.at(scheduler.now_ms + 1_000, lambda: self._tend(nemesis))

    def _is_done(self) -> bool:
        return all(work.is_done() for work in self.work)

    def _calm(self) -> None:
        self.world.faults.rates = CALM
        for fiber in self.world.scheduler.fibers:
            fiber.process.thaw()
            fiber.process.slowness = 1.0

    def _settle(self) -> None:
        """Everybody gets an answer, and the committed offset reaches the end."""
        world = self.world

        def settled() -> bool:
            end = world.cluster.partition(Topic.PROPOSALS, 0).next_offset
            return self._is_done() and not world.receipts.unanswered() and world.committed_offset() == end

        if not world.scheduler.run(settled, world.scheduler.now_ms + CALM_S * 1000, every=LOOK_EVERY):
            raise InvariantBroken(
                f"after {CALM_S} s without faults, {world.receipts.unanswered()[:5]} have no answer, the committed offset is "
                f"{world.committed_offset()}, and {[work.name for work in self.work if not work.is_done()]} are not done"
            )

    def _ask_again(self, drawn: random.Random) -> None:
        """Some proposals come once more: their answers must agree with the first (invariant 5)."""
        world = self.world
        log = world.cluster.partition(Topic.PROPOSALS, 0)
        for record in drawn.sample(list(log.records), min(8, len(log.records))):
            world.cluster.append(Topic.PROPOSALS, [Message(record.key, record.headers, record.body)])
        self._settle()

    def _stop(self) -> None:
        """Told to stop, each committer leaves by itself, soon."""
        world = self.world
        running = [seat for seat in self.committers if seat.is_running]
        for seat in self.committers:
            seat.stopping = True
        deadline_ms = world.scheduler.now_ms + STOP_S * 1000
        world.scheduler.run(lambda: all(seat.process.is_over for seat in running if seat.process), deadline_ms)
        endings = {seat.name: seat.endings for seat in self.committers}
        must(all(seat.endings[-1] == "stopped" for seat in running), f"committers ended by {endings}")
        bad = [ending for ends in endings.values() for ending in ends if ending.startswith("unexpected")]
        must(not bad, f"committers ended by {bad}")


def _live(work: _Work, process: Process) -> None:
    try:
        work.live(process)
    except (HeadgateError, BusError) as error:
        process.scheduler.note(process.name, f"ends: {type(error).__name__}: {error}")


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
