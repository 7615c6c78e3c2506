"""What befalls the processes of a random run, apart from the faults of single calls: deaths, long pauses, lost places, outages,
clocks that are set.
"""

import random
from collections.abc import Sequence
from functools import partial

from headgate_bus.interface import Topic
from support.simulation.world.scheduler import Process
from support.simulation.world.seats import Seat
from support.simulation.world.world import World

KILLED = "process: killed"
FROZEN = "process: stands still"
ZOMBIE = "process: stands still until it is replaced"
SLOWED = "process: slow"
RETIRED = "process: told to stop"
EXPELLED = "group: takes a member for dead"
CLOCK_SET = "clock: set to another time"
BUS_CLOCK_SET = "clock: the bus tells another time"
STORE_OUTAGE = "store: answers nobody"
BUS_OUTAGE = "bus: answers nobody"
EVENTS_LOST = "bus: events are lost"
KINDS = (
    KILLED,
    FROZEN,
    ZOMBIE,
    SLOWED,
    RETIRED,
    EXPELLED,
    CLOCK_SET,
    BUS_CLOCK_SET,
    STORE_OUTAGE,
    BUS_OUTAGE,
    EVENTS_LOST,
)
"""The names that strikes are counted by."""
COMMITTER_CLOCKS_MS = (-10_800_000, -3_600_000, -5_000, 0, 60_000, 3_600_000)
"""No committer's clock decides anything, so it may say what it likes."""
BUS_CLOCKS_MS = (0, 0, -3_600_000, 3_600_000, 200 * 3_600_000, 720 * 3_600_000)
"""A broker's clock, or that of a client that stamps its messages by itself."""
WORKER_CLOCKS_MS = (-60_000, 0, 20_000)
"""Workers propose, and whoever does may be ahead of the bus by half a minute at most (`CommitterLimits.clock_skew_ms`)."""


class Nemesis:
    """Strikes every few seconds until it is told to stop."""

    def __init__(self, world: World, committers: Sequence[Seat], workers: Sequence[Seat] = ()) -> None:
        self._world = world
        self._committers = committers
        self._workers = workers
        self._random = random.Random(f"nemesis/{world.seed}")
        self._stopped = False
        self.others: list[Process] = []
        """Processes that may die or stand still, too."""
        self._mean_s = self._random.choice((1.0, 3.0, 10.0))

    def start(self) -> None:
        self._plan()

    def stop(self) -> None:
        self._stopped = True
        self._world.faults.outages.clear()
        self._world.cluster.available = True

    def _plan(self) -> None:
        scheduler = self._world.scheduler
        scheduler.at(scheduler.now_ms + round(1000 * self._random.expovariate(1 / self._mean_s)), self._strike)

    def _strike(self) -> None:
        if self._stopped:
            return
        is_at_workers = bool(self._workers) and self._random.random() < 0.5
        seats = self._workers if is_at_workers else self._committers
        clocks_ms = WORKER_CLOCKS_MS if is_at_workers else COMMITTER_CLOCKS_MS
        strike = self._random.choice(
            (
                partial(self._kill, seats),
                partial(self._freeze, seats),
                partial(self._freeze, seats),
                partial(self._take_place_away, seats),
                self._store_outage,
                self._bus_outage,
                self._kill_other,
                self._freeze_other,
                partial(self._slow_down, seats),
                partial(self._retire, seats),
                partial(self._set_clock, seats, clocks_ms),
                self._lose_events,
                self._set_bus_clock,
            )
        )
        strike()
        self._plan()

    def _count(self, kind: str) -> None:
        self._world.faults.injected[kind] += 1

    def _one_of(self, seats: Sequence[Seat]) -> Seat | None:
        alive = [seat for seat in seats if seat.is_running]
        return self._random.choice(alive) if alive else None

    def _kill(self, seats: Sequence[Seat]) -> None:
        seat = self._one_of(seats)
        if seat is not None and seat.process is not None:
            self._count(KILLED)
            seat.process.kill()

    def _retire(self, seats: Sequence[Seat]) -> None:
        seat = self._one_of(seats)
        if seat is not None:
            self._count(RETIRED)
            self._world.scheduler.note("nemesis", f"{seat.name} is told to stop")
            seat.retire()

    def _freeze(self, seats: Sequence[Seat]) -> None:
        """Some pauses are shorter than the session, others make a zombie."""
        seat = self._one_of(seats)
        if seat is None or seat.process is None or seat.process.frozen:
            return
        seconds = self._random.choice((1, 5, 15, 40))
        seat.process.freeze(seconds * 1000)
        self._count(ZOMBIE if seconds > 10 else FROZEN)
        if seconds > 10:
            seat.expire_later()

    def _take_place_away(self, seats: Sequence[Seat]) -> None:
        seat = self._one_of(seats)
        if seat is not None and seat.bus is not None:
            self._count(EXPELLED)
            self._world.scheduler.note("nemesis", f"{seat.name} loses its place in the group")
            seat.bus.inner.expire()

    def _store_outage(self) -> None:
        scheduler = self._world.scheduler
        uri = self._random.choice(sorted(self._world.stores))
        self._count(STORE_OUTAGE)
        scheduler.note("nemesis", f"{uri} answers nobody")
        self._world.faults.outages.add(uri)
        scheduler.at(
            scheduler.now_ms + round(8_000 * self._random.random()), lambda: self._world.faults.outages.discard(uri)
        )

    def _bus_outage(self) -> None:
        scheduler = self._world.scheduler
        cluster = self._world.cluster
        self._count(BUS_OUTAGE)
        scheduler.note("nemesis", "the bus answers nobody")
        cluster.available = False

        def back() -> None:
            cluster.available = True

        scheduler.at(scheduler.now_ms + round(4_000 * self._random.random()), back)

    def _other(self) -> Process | None:
        alive = [process for process in self.others if not process.is_over]
        return self._random.choice(alive) if alive else None

    def _kill_other(self) -> None:
        process = self._other()
        if process is not None:
            self._count(KILLED)
            process.kill()

    def _freeze_other(self) -> None:
        process = self._other()
        if process is not None and not process.frozen:
            self._count(FROZEN)
            process.freeze(self._random.choice((1_000, 10_000, 30_000)))

    def _lose_events(self) -> None:
        """As a retention does that is shorter than somebody's absence."""
        cluster = self._world.cluster
        if not self._workers or not cluster.available:
            return
        self._count(EVENTS_LOST)
        self._world.scheduler.note("nemesis", "events are lost")
        for number, log in enumerate(cluster.topic(Topic.EVENTS)):
            cluster.truncate(Topic.EVENTS, number, log.next_offset)

    def _slow_down(self, seats: Sequence[Seat]) -> None:
        seat = self._one_of(seats)
        if seat is not None and seat.process is not None:
            seat.process.slowness = self._random.choice((1.0, 1.0, 10.0, 100.0))
            self._count(SLOWED)

    def _set_clock(self, seats: Sequence[Seat], clocks_ms: Sequence[int]) -> None:
        """Forward or back, while it runs and for its later lives."""
        seat = self._one_of(seats)
        if seat is not None and seat.process is not None:
            seat.skew_ms = self._random.choice(clocks_ms)
            self._world.ambient(seat.process).skew_ms = seat.skew_ms
            self._count(CLOCK_SET)
            self._world.scheduler.note("nemesis", f"the clock of {seat.name} is wrong by {seat.skew_ms / 1000:g} s")

    def _set_bus_clock(self) -> None:
        """Forward or back, for a while: then it is right again."""
        world = self._world
        if not world.has_wrong_clocks:
            return
        world.bus_clock.skew_ms = self._random.choice(BUS_CLOCKS_MS)
        self._count(BUS_CLOCK_SET)
        world.scheduler.note("nemesis", f"the bus's clock is wrong by {world.bus_clock.skew_ms / 1000:g} s")

        def right() -> None:
            world.bus_clock.skew_ms = 0

        world.scheduler.at(world.scheduler.now_ms + round(20_000 * self._random.random()), right)
