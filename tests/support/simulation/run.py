"""One random run on logs of versions: a world of a seed, workloads, faults for as long as they work, then calm, and what must be
true after it.
"""

import random
from dataclasses import dataclass, field
from functools import partial

from headgate_bus.interface import Topic
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Create
from support.simulation.actors.bank import BANK, Teller, found_bank
from support.simulation.actors.committers import SETTINGS, CommitterSeat
from support.simulation.actors.maintenance import Maintenance, check_reads
from support.simulation.actors.operators import clean_in_a_hurry, compactor
from support.simulation.actors.producers import Job
from support.simulation.actors.readers import reader
from support.simulation.actors.retries import CHANCE as RETRIES
from support.simulation.actors.retries import retry_forgotten
from support.simulation.actors.streams import Stream
from support.simulation.actors.work import Crew
from support.simulation.actors.workers import MIRRORED
from support.simulation.actors.workloads import Author, Note, message_of
from support.simulation.judge.asked import ask_of
from support.simulation.judge.broken import InvariantBroken
from support.simulation.judge.settling import LOOK_EVERY, ask_again, calm, settle, stop
from support.simulation.outcome import Failure, Outcome, outcome_of
from support.simulation.troubles.addresses import ADDRESS, add_twofold_table
from support.simulation.troubles.addresses import CHANCE as ADDRESSES
from support.simulation.troubles.careless import CHANCE as CARELESS
from support.simulation.troubles.careless import WRITERS, add_careless_table, careless_writer
from support.simulation.troubles.copies import CHANCE as COPIES
from support.simulation.troubles.copies import Copies
from support.simulation.troubles.failing_disk import CHANCE as DISKS
from support.simulation.troubles.failing_disk import Machine
from support.simulation.troubles.nemesis import Nemesis
from support.simulation.troubles.outsiders import (
    FEWEST_IDS,
    NOISE_MESSAGES,
    direct_writer,
    foreign_writer,
    misplacing_writer,
    noisy_writer,
    rubbish_writer,
)
from support.simulation.troubles.rivals import CHANCE as RIVALS
from support.simulation.troubles.rivals import ROOTS, Rivalry
from support.simulation.troubles.surgery import CHANCE as SURGERY
from support.simulation.troubles.surgery import OperatorSeat, Surgeon
from support.simulation.world.seats import Seat
from support.simulation.world.weather import LIMITS, SKEWS_MS, STEPS_SHOWN, WEATHER, WORK_S
from support.simulation.world.world import COLUMNS, PARTITION_BY, World

FIRST, SECOND, NOWHERE = "memory://lake/first", "memory://lake/second", "memory://lake/empty"
WRONG_CLOCKS = 0.4
"""Of a run to have machines whose clocks are wrong by up to a month."""
NOISY = 0.2
"""Of a run to have a neighbour who proposes nothing but what is refused."""
TWO_PARTITIONS = 0.35
"""Of a run to have more than one partition of proposals, and perhaps somebody who takes the wrong one."""
MISPLACING = 0.4
"""Of a table to have such a client, where there is more than one."""
FULL = 0.2
"""Of a run to have a bus that takes few proposals at a time. None where rivals come, whose group would keep it full, and none where
the log is harmed: such a bus is one file."""
BANKS = 0.3
"""Of a run to have one."""


def partitions_of(seed: int) -> int:
    """Of the proposals."""
    return 2 if random.Random(f"partitions/{seed}").random() < TWO_PARTITIONS else 1


def simulate(seed: int) -> Outcome:
    """One run. Raises `Failure`."""
    with World(seed, partitions_of(seed)) as world:
        try:
            return _Run(world).outcome()
        except (Exception, InvariantBroken) as error:  # whatever it is, the seed has to be told
            raise Failure(seed, error, world.trace.last(STEPS_SHOWN), "log") from error


@dataclass
class _Run:
    world: World
    uris: list[str] = field(default_factory=list)
    committers: list[CommitterSeat] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    crew: Crew = field(init=False)
    maintenance: Maintenance = field(init=False)
    rivalry: Rivalry | None = None
    machine: Machine | None = None

    def __post_init__(self) -> None:
        self.crew = Crew(self.world)
        self.maintenance = Maintenance(self.world)

    def outcome(self) -> Outcome:
        world, crew = self.world, self.crew
        drawn = random.Random(f"run/{world.seed}")
        self._prepare(drawn)
        seats: list[Seat] = [*self.committers, *self.maintenance.seats]
        surgeon = Surgeon(world, self._all_committers) if drawn.random() < SURGERY else None
        if surgeon is not None:
            seats.append(OperatorSeat(world, "operator", committers=self.committers))
            surgeon.start()
        rivalry = self.rivalry = self._rivalry(drawn)
        if rivalry is None and surgeon is None and drawn.random() < FULL:
            world.cluster.room = drawn.choice((3, 8, 20))
        copies = self._copies(drawn) if rivalry is None and surgeon is None else None
        nemesis = Nemesis(world, self.committers, self.maintenance.seats)
        for seat in seats:
            if rivalry is not None and seat in self.committers:
                rivalry.before(seat)
            else:
                seat.keep_alive()
        if copies is not None:
            seats.append(copies.operator)
            copies.start()
        world.faults.rates = drawn.choice(WEATHER)
        nemesis.start()
        crew.tend(nemesis)
        for seconds, hours in self.maintenance.pauses:
            self._work(seconds)
            world.let_pass(hours)
        self._work(WORK_S)
        nemesis.stop()
        if surgeon is not None:
            surgeon.stop()
        if rivalry is not None:
            rivalry.stop()
        calm(world)
        settle(world, crew)
        self.maintenance.look_after()
        settle(world, crew)
        ask_again(world, crew, drawn)
        for uri in self.uris:
            self.maintenance.check_left(world.models[uri])
            self.maintenance.check_mirrors(world.models[uri])
        if copies is not None:
            copies.play()
        if drawn.random() < RETRIES:
            retry_forgotten(world, [uri for uri in self.uris if uri != BANK], drawn)
        if rivalry is not None:
            rivalry.check_end()
        stop(world, seats)
        for stream in self.streams:
            stream.check_end()
        if self.machine is not None:
            self.machine.cut_power()
        for uri in [*self.uris, *({ADDRESS} & world.models.keys())]:
            world.models[uri].check_files()
            check_reads(world, uri, drawn)
        return self._told()

    def _all_committers(self) -> list[Seat]:
        """Those who are meant to be there, and those of other deployments."""
        return [*self.committers, *(() if self.rivalry is None else self.rivalry.seats)]

    def _rivalry(self, drawn: random.Random) -> Rivalry | None:
        """Now and then, another deployment on the same bus."""
        if drawn.random() >= RIVALS:
            return None
        for seat in self.committers:
            seat.roots = ROOTS
        rivalry = Rivalry(self.world, self.uris, self.committers[0].limits, self.committers[0].settings)
        rivalry.start()
        return rivalry

    def _copies(self, drawn: random.Random) -> Copies | None:
        """Now and then, an older copy of a table that nobody maintains."""
        if self.maintenance.is_there or drawn.random() >= COPIES:
            return None
        uri = drawn.choice([uri for uri in self.uris if uri != BANK])
        return Copies(
            self.world,
            uri,
            self.committers,
            OperatorSeat(self.world, "operator", committers=self.committers),
            may_count=all(stream.table != uri for stream in self.streams),
            settle=partial(settle, self.world, self.crew),
        )

    def _work(self, seconds: float) -> None:
        scheduler = self.world.scheduler
        scheduler.run(lambda: self.crew.is_done, scheduler.now_ms + round(seconds * 1000), every=LOOK_EVERY)

    def _prepare(self, drawn: random.Random) -> None:
        world = self.world
        world.has_wrong_clocks = drawn.random() < WRONG_CLOCKS
        lakes = [FIRST] if drawn.random() < 0.7 else [FIRST, SECOND]
        world.new_table(FIRST, MIRRORED if self.maintenance.mirrors else None)
        world.add_store(NOWHERE)
        if SECOND in lakes:
            world.add_store(SECOND)
            self._create_by_proposal(SECOND)
        self.uris = list(lakes)
        if drawn.random() < BANKS:
            found_bank(world)
            self.uris.append(BANK)
        settings = {**SETTINGS, "checkpoint.interval": drawn.choice(("1", "2", "4", "4", "10"))}
        limits = drawn.choice(LIMITS)
        # A committer that takes few proposals at a time would write hundreds of versions of noise.
        noisy = drawn.random() < NOISY and limits.group_proposals > NOISE_MESSAGES
        if noisy:
            settings["coordinator.dedupe.maxIds"] = str(FEWEST_IDS)
        self.committers = [
            CommitterSeat(
                world, f"committer-{number}", limits=limits, settings=settings, skew_ms=drawn.choice(SKEWS_MS)
            )
            for number in range(drawn.choice((1, 2, 2, 3)))
        ]
        self.maintenance.prepare(drawn, self.uris)
        for uri in self.uris:
            if uri == BANK:
                self._add_tellers(drawn)
            else:
                self._add_jobs(drawn, uri)
            self._add_upkeep(drawn, uri)
        self._add_streams(drawn, lakes)
        if drawn.random() < CARELESS:
            add_careless_table(world, denies=drawn.random() < 0.4)
            for number in range(WRITERS):
                self.crew.maybe(drawn, 1.0, f"careless-{number}", partial(careless_writer, world, count=3))
        if world.partitions == 1 and drawn.random() < ADDRESSES:
            add_twofold_table(world, self.crew, drawn)
        if drawn.random() < DISKS:
            self.machine = Machine(world, self.crew)
        if noisy:
            noise = partial(noisy_writer, world, table=drawn.choice(lakes), count=6)
            self.crew.maybe(drawn, 1.0, "noise", noise)
        world.receipts.may_forget_refusals = noisy
        foreign = any(work.name.startswith("foreign") for work in self.crew.work)
        world.receipts.may_expire = world.has_wrong_clocks or foreign or bool(self.maintenance.pauses)

    def _create_by_proposal(self, uri: str) -> None:
        """Two rivals create the same table; one is told that it exists. A third one sends it to a wrong partition, if there is one."""
        for rival in ("c", "a", "b") if self.world.partitions > 1 else ("a", "b"):
            note = Note(
                f"create-{rival}",
                Create(schema_string_of(COLUMNS), PARTITION_BY, name=rival),
                None,
                created_ms=self.world.scheduler.now_ms,
            )
            self.world.asks.add(ask_of(note.id, uri, note.operation))
            home = self.world.home_of(uri)
            partition = home if rival != "c" else (home + 1) % self.world.partitions
            self.world.cluster.append_at(Topic.PROPOSALS, partition, message_of(note, uri, "setup"))

    def _add_jobs(self, drawn: random.Random, uri: str) -> None:
        """Who proposes, commits by itself, and writes rubbish."""
        world, crew, bent = self.world, self.crew, self.maintenance.bent
        place = uri.rpartition("/")[2]
        authors = [
            Author(world, f"author-{place}-{number}", uri, drawn.randrange(3, 10), bent=bent)
            for number in range(drawn.choice((1, 2, 3)))
        ]
        authors.append(Author(world, f"counter-{place}", uri, drawn.randrange(2, 8), app=f"app-{place}"))
        job = Job(world, f"job-{place}", uri, drawn.randrange(2, 7), app=drawn.choice((None, f"job-{place}")))
        crew.work += [*authors, job]
        crew.maybe(drawn, 0.4, f"direct-{place}", partial(direct_writer, world, table=uri, count=6))
        crew.maybe(drawn, 0.35, f"foreign-{place}", partial(foreign_writer, world, table=uri, count=4))
        crew.maybe(drawn, 0.3, f"rubbish-{place}", partial(rubbish_writer, world, table=uri, count=4))
        if world.partitions > 1:
            crew.maybe(drawn, MISPLACING, f"misplaced-{place}", partial(misplacing_writer, world, table=uri, count=5))

    def _add_tellers(self, drawn: random.Random) -> None:
        for number in range(drawn.choice((2, 3))):
            self.crew.work.append(Teller(self.world, f"teller-{number}", drawn.randrange(2, 8)))

    def _add_upkeep(self, drawn: random.Random, uri: str) -> None:
        """Who reads, compacts and cleans."""
        world, crew = self.world, self.crew
        place = uri.rpartition("/")[2]
        crew.maybe(drawn, 0.4, f"compactor-{place}", partial(compactor, world, table=uri, count=4))
        hurry = 0.2 if self.maintenance.is_there else 0.5
        if not crew.maybe(drawn, hurry, f"cleaner-{place}", partial(clean_in_a_hurry, world, table=uri)):
            self.maintenance.set_floors(uri)
        crew.maybe(drawn, 0.3, f"reader-{place}", partial(reader, world, table=uri, count=4))

    def _add_streams(self, drawn: random.Random, lakes: list[str]) -> None:
        for number in range(drawn.choice((0, 0, 1, 2))):
            stream = Stream(
                self.world,
                f"query{number}",
                drawn.choice(lakes),
                drawn.randrange(2, 8),
                is_complete=drawn.random() < 0.1,
                widens_at=drawn.choice((None, None, 1)),
            )
            self.streams.append(stream)
            self.crew.work.append(stream)

    def _told(self) -> Outcome:
        models = [self.world.models[uri] for uri in self.uris]
        did = {
            "states": sum(len(model.states) for model in models),
            "merges": sum(model.merges for model in models),
            "swaps of manifests": sum(model.swaps for model in models),
            "objects deleted": sum(model.cleaned for model in models),
            "batches of streams": sum(len(stream.acknowledged) for stream in self.streams),
            "attempts at batches": sum(stream.attempts for stream in self.streams),
        }
        decided = [each for model in models for each in model.decided.values()]
        return outcome_of(self.world, sum(len(model.versions) for model in models), decided, did)
