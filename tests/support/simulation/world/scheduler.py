"""Simulated processes in one thread: each is a set of greenlets that give way at every I/O, sleep and wait.

Who goes on, and when, is drawn from the seed. Time moves only when nobody can go on. What the processes do is not known here.
"""

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from greenlet import getcurrent, greenlet

from support.simulation.world.trace import Trace

MAX_TURNS = 400_000
"""A run of random processes takes some ten thousand; more means that something goes round in a circle."""

MAX_LAST_WORDS = 100
"""Each time that a dying fiber gives way it is told again that it is dead."""


class Died(BaseException):
    """The process was killed. Not an `Exception`, so that no handler of failures survives it; all its later I/O dies, too."""


class SimulationStuck(AssertionError):
    """Nobody can go on, or somebody goes on for ever."""


@dataclass(frozen=True, slots=True)
class Step:
    """One I/O of a process, about to happen or just done."""

    process: str
    operation: str
    """Such as `store.create` or `bus.publish`."""
    key: str
    done: bool

    def __str__(self) -> str:
        return f"{self.operation} {self.key}{' (done)' if self.done else ''}"


Match = Callable[[Step], bool]


def whole_ms(seconds: float) -> int:
    """Rounded up: a pause, however short, lets time pass."""
    return max(0, math.ceil(seconds * 1000))


class Signal:
    """Something that fibers wait for."""

    def __init__(self) -> None:
        self.waiting: list[Fiber] = []


class Fiber:
    """One line of work of a process: what would be a thread."""

    def __init__(self, process: "Process", name: str, run: Callable[[], object], home: greenlet) -> None:
        self.process = process
        self.name = name
        self.wake_ms = process.scheduler.now_ms
        self.waits_for: Signal | None = None
        self.stamp = 0
        """Grows whenever it is given another time to wake: earlier plans are void."""
        self._greenlet = greenlet(self._main, parent=home)
        self._run = run
        self.failure: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return bool(self._greenlet.dead)

    def go_on(self) -> None:
        if self.waits_for is not None:
            self.waits_for.waiting.remove(self)
            self.waits_for = None
        self._greenlet.switch()

    def _main(self) -> None:
        try:
            self.process.check_alive()
            self._run()
        except Died:
            pass
        except BaseException as failure:  # noqa: BLE001  # the scheduler ends the run with it
            self.failure = failure


class Process:
    """A simulated process. `halt_at` stops it, for scripted scenarios, when a step matches; `thaw` lets it go on."""

    def __init__(self, scheduler: "Scheduler", name: str) -> None:
        self.scheduler = scheduler
        self.name = name
        self.fibers: list[Fiber] = []
        self.is_dead = False
        self.frozen = False
        self._freezes = 0
        self._parked: list[Fiber] = []
        self.halt_at: Match | None = None
        self.halted_at: Step | None = None
        self.slowness = 1.0
        """How long its I/O takes, in relation to others'."""

    @property
    def is_over(self) -> bool:
        return not self.fibers

    def start(self, run: Callable[[], object], name: str = "") -> Fiber:
        fiber = Fiber(self, name or self.name, run, self.scheduler.home)
        self.fibers.append(fiber)
        self.scheduler.add(fiber)
        return fiber

    def freeze(self, for_ms: int | None = None) -> None:
        """Stand still, as a process does in a long pause; without a time, until `thaw`."""
        self.frozen = True
        self._freezes += 1
        if for_ms is not None:
            self.scheduler.at(self.scheduler.now_ms + for_ms, partial(self._thaw_from, self._freezes))
        self.scheduler.note(self.name, "stands still" + ("" if for_ms is None else f" for {for_ms / 1000:.1f} s"))

    def park(self, fiber: Fiber) -> None:
        """Its turn has come while the process stands still."""
        self._parked.append(fiber)

    def thaw(self) -> None:
        if self.frozen:
            self.frozen = False
            self.halted_at = None
            self.scheduler.note(self.name, "goes on")
            self._unpark()

    def _thaw_from(self, freeze: int) -> None:
        """The end of one pause; another may have begun since."""
        if self._freezes == freeze:
            self.thaw()

    def _unpark(self) -> None:
        parked, self._parked = self._parked, []
        for fiber in parked:
            self.scheduler.wake(fiber, self.scheduler.now_ms)

    def kill(self) -> None:
        """End it as `kill -9` does: what it does next, whatever that is, raises `Died`."""
        if self.is_dead:
            return
        self.is_dead = True
        self.frozen = False
        self.scheduler.note(self.name, "is killed")
        self._parked.clear()
        for fiber in self.fibers:
            self.scheduler.wake(fiber, self.scheduler.now_ms)

    def check_alive(self) -> None:
        if self.is_dead:
            raise Died(self.name)

    def io(self, operation: str, key: str, *, done: bool) -> None:
        """Give way at an I/O. Raises `Died` when the process was killed meanwhile."""
        self.check_alive()
        step = Step(self.name, operation, key, done)
        self.scheduler.on_step(self, step)
        if self.halt_at is not None and self.halt_at(step):
            self.halt_at = None
            self.halted_at = step
            self.frozen = True
            self._freezes += 1
            self.scheduler.note(self.name, f"halts at {step}")
        self.scheduler.give_way(self.scheduler.latency_ms(self))
        self.check_alive()

    def sleep(self, seconds: float) -> None:
        self.check_alive()
        self.scheduler.give_way(whole_ms(seconds))
        self.check_alive()

    def wait(self, signal: Signal, timeout_s: float) -> None:
        """Until somebody sends the signal, or the time is over."""
        self.check_alive()
        fiber = self.scheduler.current()
        fiber.waits_for = signal
        signal.waiting.append(fiber)
        self.scheduler.give_way(whole_ms(timeout_s))
        self.check_alive()


class Scheduler:
    """Says by the seed who goes on when."""

    def __init__(self, seed: int, start_ms: int, trace: Trace) -> None:
        self.random = random.Random(f"scheduler/{seed}")
        self.trace = trace
        self.now_ms = start_ms
        self.home = getcurrent()
        self.fibers: list[Fiber] = []
        self.turns = 0
        self.slowest_io_ms = 6
        self.on_step: Callable[[Process, Step], None] = lambda process, step: None
        self._queue: list[tuple[int, float, int, Fiber]] = []
        """By time, then by lot: who wakes, and the stamp that the plan is valid for."""
        self._timers: list[tuple[int, int, Callable[[], object]]] = []
        self._timer_count = 0
        self._current: Fiber | None = None
        self._stopped: BaseException | None = None

    def process(self, name: str) -> Process:
        return Process(self, name)

    def current(self) -> Fiber:
        assert self._current is not None, "only a simulated process can do this"
        return self._current

    def current_name(self) -> str:
        return "simulation" if self._current is None else self._current.name

    def note(self, who: str, what: str) -> None:
        self.trace.add(self.now_ms, who, what)

    def add(self, fiber: Fiber) -> None:
        self.fibers.append(fiber)
        self.wake(fiber, self.now_ms)

    def wake(self, fiber: Fiber, at_ms: int) -> None:
        """It goes on at that time, whatever was planned before."""
        fiber.wake_ms = at_ms
        fiber.stamp += 1
        heapq.heappush(self._queue, (at_ms, self.random.random(), fiber.stamp, fiber))

    def latency_ms(self, process: Process) -> int:
        return int(self.random.random() * (self.slowest_io_ms + 1) * process.slowness)

    def give_way(self, pause_ms: int) -> None:
        fiber = self.current()
        assert getcurrent() is not self.home
        self.wake(fiber, self.now_ms + pause_ms)
        self.home.switch()

    def send(self, signal: Signal) -> None:
        for fiber in signal.waiting:
            if fiber.wake_ms > self.now_ms and not fiber.process.frozen:
                self.wake(fiber, self.now_ms)

    def at(self, time_ms: int, action: Callable[[], object]) -> None:
        """Something that nobody does: an effect that arrives late, the end of an outage."""
        self._timer_count += 1
        heapq.heappush(self._timers, (time_ms, self._timer_count, action))

    def stop(self, error: BaseException) -> None:
        """End the run with this error, whoever catches it where it was raised."""
        if self._stopped is None:
            self._stopped = error
            self.note("simulation", f"stops: {error}")

    def run(self, until: Callable[[], bool], deadline_ms: int | None = None, *, every: int = 1) -> bool:
        """Go on until the condition holds (True), or until the time is over or nobody can go on (False).

        The condition is looked at after `every` turns.
        """
        assert getcurrent() is self.home
        while not until():
            for _ in range(every):
                went_on = self._turn(deadline_ms)
                if self._stopped is not None:
                    raise self._stopped
                if not went_on:
                    return until()
        return True

    def end(self) -> None:
        """Kill what is left, so that no greenlet outlives the run."""
        for fiber in self.fibers:
            fiber.process.is_dead, fiber.process.frozen = True, False
        for fiber in list(self.fibers):
            self._current = fiber
            for _ in range(MAX_LAST_WORDS):
                if fiber.is_over:
                    break
                fiber.go_on()
            else:
                raise SimulationStuck(f"{fiber.name} doesn't die: something in it catches everything")
        self._current = None
        self.fibers.clear()
        self._queue.clear()
        self._timers.clear()

    def _turn(self, deadline_ms: int | None) -> bool:
        self.turns += 1
        if self.turns > MAX_TURNS:
            raise SimulationStuck(f"{MAX_TURNS} turns have not been enough: something goes round in a circle")
        fiber = self._next(deadline_ms)
        if fiber is None:
            return False
        self._current = fiber
        fiber.go_on()
        self._current = None
        if fiber.is_over:
            self.fibers.remove(fiber)
            fiber.process.fibers.remove(fiber)
            if fiber.failure is not None:
                self.note(fiber.name, f"fails: {type(fiber.failure).__name__} {fiber.failure}")
                self.stop(fiber.failure)
        return True

    def _next(self, deadline_ms: int | None) -> Fiber | None:
        """Who goes on; None when the time is over, or nobody can."""
        queue, timers = self._queue, self._timers
        while True:
            planned_ms = queue[0][0] if queue else None
            if planned_ms is None and not timers:
                return None
            is_timer = bool(timers) and (planned_ms is None or timers[0][0] <= planned_ms)
            soonest = timers[0][0] if is_timer else queue[0][0]
            if soonest > self.now_ms:
                if deadline_ms is not None and soonest > deadline_ms:
                    self.now_ms = max(self.now_ms, deadline_ms)
                    return None
                self.now_ms = soonest
            if is_timer:
                heapq.heappop(timers)[2]()
                continue
            _, _, stamp, fiber = heapq.heappop(queue)
            if stamp != fiber.stamp or fiber.is_over:
                continue
            if fiber.process.frozen:
                fiber.process.park(fiber)
                continue
            return fiber
