"""One random run: a world of a seed, a workload, faults for as long as it works, then calm, and what must be true after it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from headgate_bus.errors import BusError
from headgate_bus.interface import Message, Topic
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import HeadgateError
from headgate_schemas.operations import Create
from headgate_schemas.table_schema import schema_string_of
from headgate_table.indextables.cleaner import Cleaner
from headgate_table.indextables.cleaning import Protected
from headgate_table.indextables.truncate import Truncation
from support.simulation.asked import ask_of
from support.simulation.broken import InvariantBroken, must
from support.simulation.committers import SETTINGS, CommitterSeat
from support.simulation.faults import CALM, Rates
from support.simulation.maintenance import Maintenance, check_reads
from support.simulation.nemesis import Nemesis
from support.simulation.producers import Job
from support.simulation.scheduler import Process
from support.simulation.seats import Seat
from support.simulation.workloads import (
    Author,
    Note,
    compactor,
    direct_writer,
    foreign_writer,
    message_of,
    reader,
    rubbish_writer,
)
from support.simulation.world import COLUMNS, PARTITION_BY, World

WORK_S = 600
"""Simulated seconds that the workload may take under faults; what is left is sent when all is calm."""
CALM_S = 900
"""Simulated seconds after the last fault, within which everybody has an answer."""
STOP_S = 60
"""Simulated seconds in which a committer that is told to stop leaves, when all is calm."""
WEATHER = (Rates(), Rates(), Rates(0.02, 0.03, 0.05, 0.03, 0.006), Rates(0.002, 0.002, 0.004, 0.004, 0.001), CALM)
LIMITS = (
    CommitterLimits(),
    CommitterLimits(),
    CommitterLimits(group_proposals=1),
    CommitterLimits(group_proposals=3, queue_proposals=3, linger_ms=50),
)
SKEWS_MS = (0, 0, -5_000, 60_000)
"""How wrong a committer's clock is."""
LOOK_EVERY = 50
"""Turns between two looks at whether all is done."""
STEPS_SHOWN = 120
FIRST, SECOND, NOWHERE = "memory://lake/first", "memory://lake/second", "memory://lake/empty"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    seed: int
    digest: str
    steps: int
    versions: int
    states: int
    proposals: int
    receipts: int
    rejected: int
    merges: int
    swaps: int
    cleaned: int
    simulated_s: float


class Failure(AssertionError):
    """A run that went wrong: what, the command that replays it, and the last steps."""

    def __init__(self, seed: int, error: BaseException, trace: str, kind: str = "") -> None:
        self.seed = seed
        super().__init__(
            f"seed {seed}: {type(error).__name__}: {error}\n\nreplay: make simulate {kind}SEEDS=1 FIRST={seed}\n\n"
            f"the last steps:\n{trace}"
        )


@dataclass
class _Work:
    """A process that is started again, whatever happens to it, until its work is done."""

    name: str
    live: Callable[[Process], None]
    is_done: Callable[[], bool]
    process: Process | None = None


def simulate(seed: int) -> Outcome:
    """One run. Raises `Failure`."""
    with World(seed) as world:
        try:
            return _Run(world).outcome()
        except (Exception, InvariantBroken) as error:  # whatever it is, the seed has to be told
            raise Failure(seed, error, world.trace.last(STEPS_SHOWN)) from error


@dataclass
class _Run:
    world: World
    uris: list[str] = field(default_factory=list)
    work: list[_Work] = field(default_factory=list)
    committers: list[CommitterSeat] = field(default_factory=list)
    maintenance: Maintenance = field(init=False)

    def __post_init__(self) -> None:
        self.maintenance = Maintenance(self.world)

    def outcome(self) -> Outcome:
        world = self.world
        drawn = random.Random(f"run/{world.seed}")
        self._prepare(drawn)
        nemesis = Nemesis(world, self.committers, self.maintenance.seats)
        for seat in self._seats:
            seat.keep_alive()
        world.faults.rates = drawn.choice(WEATHER)
        nemesis.start()
        self._tend(nemesis)
        for seconds, hours in self.maintenance.pauses:
            self._work(seconds)
            world.let_pass(hours)
        self._work(WORK_S)
        nemesis.stop()
        self._calm()
        self._settle()
        self.maintenance.look_after()
        self._settle()
        self._check_end(drawn)
        return self._told()

    @property
    def _seats(self) -> list[Seat]:
        return [*self.committers, *self.maintenance.seats]

    def _work(self, seconds: float) -> None:
        world = self.world
        world.scheduler.run(self._is_done, world.scheduler.now_ms + round(seconds * 1000), every=LOOK_EVERY)

    def _prepare(self, drawn: random.Random) -> None:
        world = self.world
        self.uris = [FIRST] if drawn.random() < 0.7 else [FIRST, SECOND]
        world.new_table(FIRST)
        world.add_store(NOWHERE)
        if SECOND in self.uris:
            world.add_store(SECOND)
            self._create_by_proposal(SECOND)
        settings = {**SETTINGS, "checkpoint.interval": drawn.choice(("1", "2", "4", "4", "10"))}
        limits = drawn.choice(LIMITS)
        self.committers = [
            CommitterSeat(
                world, f"committer-{number}", limits=limits, settings=settings, skew_ms=drawn.choice(SKEWS_MS)
            )
            for number in range(drawn.choice((1, 2, 2, 3)))
        ]
        self.maintenance.prepare(drawn, self.uris)
        bent = self.maintenance.bent
        for uri in self.uris:
            place = uri.rpartition("/")[2]
            for number in range(drawn.choice((1, 2, 3))):
                self._add_author(Author(world, f"author-{place}-{number}", uri, drawn.randrange(3, 10), bent=bent))
            self._add_author(Author(world, f"counter-{place}", uri, drawn.randrange(2, 8), app=f"app-{place}"))
            job = Job(world, f"job-{place}", uri, drawn.randrange(2, 7), app=drawn.choice((None, f"job-{place}")))
            self._add_job(job)
            self._maybe(drawn, 0.4, f"direct-{place}", partial(direct_writer, world, table=uri, count=6))
            self._maybe(drawn, 0.35, f"foreign-{place}", partial(foreign_writer, world, table=uri, count=4))
            self._maybe(drawn, 0.4, f"compactor-{place}", partial(compactor, world, table=uri, count=4))
            hurry = 0.2 if self.maintenance.is_there else 0.5
            if not self._maybe(drawn, hurry, f"cleaner-{place}", partial(self._clean, uri=uri)):
                self.maintenance.set_floors(uri)
            self._maybe(drawn, 0.3, f"reader-{place}", partial(reader, world, table=uri, count=4))
            self._maybe(drawn, 0.3, f"rubbish-{place}", partial(rubbish_writer, world, table=uri, count=4))

    def _create_by_proposal(self, uri: str) -> None:
        """Two rivals create the same table; one is told that it exists."""
        for rival in ("a", "b"):
            note = Note(
                f"create-{rival}",
                Create(schema_string_of(COLUMNS), PARTITION_BY, name=rival),
                None,
                created_ms=self.world.scheduler.now_ms,
            )
            self.world.asks.add(ask_of(note.id, uri, note.operation))
            self.world.cluster.append(Topic.PROPOSALS, [message_of(note, uri, "setup")])

    def _add_author(self, author: Author) -> None:
        self.work.append(_Work(author.name, author.live, lambda: author.is_done))

    def _add_job(self, job: Job) -> None:
        self.work.append(_Work(job.name, job.live, lambda: job.is_done))

    def _maybe(self, drawn: random.Random, chance: float, name: str, live: Callable[[Process], None]) -> bool:
        """Work that may be left undone, if its process dies; whether there is any."""
        if drawn.random() >= chance:
            return False
        begun: list[Process] = []

        def once(process: Process) -> None:
            begun.append(process)
            live(process)

        self.work.append(_Work(name, once, lambda: bool(begun) and begun[0].is_over))
        return True

    def _clean(self, process: Process, *, uri: str) -> None:
        """Truncates history, and purges, as an operator who is in a hurry does; what may have to be announced again stays."""
        world = self.world
        drawn = random.Random(f"cleaner/{world.seed}/{process.name}")
        for _ in range(4):
            process.sleep(4 + drawn.random() * 15)
            settings = {**SETTINGS, "purge.retentionCheckEnabled": "false"}
            table = world.table(process, uri, settings)
            protected = Protected(versions_from=self._needed_from(uri))
            try:
                if drawn.random() < 0.5:
                    truncation = Truncation(
                        table.reader, world.ambient(process), table.options, table._committer.checkpoint, protected
                    )
                    truncation.run()
                else:
                    cleaner = Cleaner(
                        table.reader, world.ambient(process), table.options, table._committer.commit, protected
                    )
                    cleaner.purge(0, 0)
            except HeadgateError as error:
                world.scheduler.note(process.name, f"{type(error).__name__}: {error}")

    def _needed_from(self, uri: str) -> int | None:
        """The oldest version whose receipts may have to be announced again."""
        offset = self.world.committed_offset()
        later = [
            decided.version
            for decided in self.world.models[uri].decided.values()
            if decided.offset is not None and decided.offset >= offset
        ]
        return min(later, default=None)

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
        world = self.world
        world.scheduler.note("simulation", "from here on, all is well")
        world.faults.rates = CALM
        for fiber in world.scheduler.fibers:
            fiber.process.thaw()
            fiber.process.slowness = 1.0

    def _settle(self) -> None:
        """Everybody gets an answer, and the committed offset reaches the end."""
        world = self.world

        def settled() -> bool:
            end = world.cluster.partition(Topic.PROPOSALS, 0).next_offset
            return self._is_done() and not world.receipts.unanswered() and world.committed_offset() == end

        deadline_ms = world.scheduler.now_ms + CALM_S * 1000
        if not world.scheduler.run(settled, deadline_ms, every=LOOK_EVERY):
            undone = [work.name for work in self.work if not work.is_done()]
            end = world.cluster.partition(Topic.PROPOSALS, 0).next_offset
            raise InvariantBroken(
                f"after {CALM_S} s without faults, {world.receipts.unanswered()[:5]} have no answer, the committed offset is "
                f"{world.committed_offset()} of {end}, and {undone} are not done (liveness)"
            )

    def _check_end(self, drawn: random.Random) -> None:
        world = self.world
        for seat in self._seats:
            bad = [ending for ending in seat.endings if ending.startswith("unexpected")]
            must(not bad, f"{seat.name} ended by {bad}")
        self._ask_again(drawn)
        for uri in self.uris:
            self.maintenance.check_left(world.models[uri])
        self._stop_seats()
        for uri in self.uris:
            world.models[uri].check_files()
            check_reads(world, uri, drawn)

    def _stop_seats(self) -> None:
        """Told to stop, each one leaves by itself, soon."""
        world = self.world
        running = [seat for seat in self._seats if seat.is_running]
        for seat in self._seats:
            seat.stopping = True
        deadline_ms = world.scheduler.now_ms + STOP_S * 1000
        world.scheduler.run(lambda: all(seat.process.is_over for seat in running if seat.process), deadline_ms)
        ended = [seat.endings[-1:] for seat in running]
        must(
            ended == [["stopped"]] * len(running),
            f"committers and workers that were told to stop ended by {ended} within {STOP_S} s",
        )

    def _ask_again(self, drawn: random.Random) -> None:
        """Some proposals come once more: their answers must agree with the first (invariant 5)."""
        world = self.world
        ids = [identity for identity in world.receipts.proposals.values() if identity in world.asks.by_id]
        again = set(drawn.sample(ids, min(8, len(ids))))
        log = world.cluster.partition(Topic.PROPOSALS, 0)
        for record in list(log.records):
            identity = world.receipts.proposals.get(record.offset)
            if identity in again:
                again.discard(identity)
                world.cluster.append(Topic.PROPOSALS, [Message(record.key, record.headers, record.body)])
        told = world.receipts.count
        self._settle()
        must(world.receipts.count >= told, "receipts were lost")

    def _told(self) -> Outcome:
        world = self.world
        models = [world.models[uri] for uri in self.uris]
        return Outcome(
            world.seed,
            world.trace.digest(),
            world.trace.count,
            sum(len(model.versions) for model in models),
            sum(len(model.states) for model in models),
            len(world.receipts.proposals),
            world.receipts.count,
            sum(not decided.accepted for model in models for decided in model.decided.values()),
            sum(model.merges for model in models),
            sum(model.swaps for model in models),
            sum(model.cleaned for model in models),
            (world.scheduler.now_ms - 1_780_000_000_000) / 1000,
        )


def _live(work: _Work, process: Process) -> None:
    try:
        work.live(process)
    except (HeadgateError, BusError) as error:
        process.scheduler.note(process.name, f"ends: {type(error).__name__}: {error}")
