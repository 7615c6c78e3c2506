"""A place for a process that serves until it is told to stop: who starts it again when it dies, and what its group is told."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from headgate_schemas.errors import HeadgateError
from support.simulation.world.ambient import SimulatedAmbient
from support.simulation.world.scheduler import Process
from support.simulation.world.simulated_bus import SimulatedBus
from support.simulation.world.world import World

SESSION_MS = 10_000
"""After it, the cluster takes a silent member of a group for dead."""


@dataclass
class Seat(ABC):
    """`start` begins a life; `keep_alive` begins the next after each death."""

    world: World
    name: str
    skew_ms: int = 0
    """How wrong the clock of its machine is."""
    process: Process | None = None
    bus: SimulatedBus | None = None
    stopping: bool = False
    """Whether it is told to stop for good."""
    retiring: Process | None = None
    """The life that is told to stop, as by SIGTERM; the next one begins after it."""
    endings: list[str] = field(default_factory=list)
    """Why its lives ended, by the name of the error."""

    @abstractmethod
    def serve(self, process: Process, bus: SimulatedBus, ambient: SimulatedAmbient) -> None:
        """One life, until `is_told_to_stop`."""

    @abstractmethod
    def is_expected(self, error: HeadgateError) -> bool:
        """Whether a life may end by this."""

    def is_told_to_stop(self, process: Process) -> bool:
        return self.stopping or self.retiring is process

    @property
    def is_running(self) -> bool:
        return self.process is not None and not self.process.is_over

    def start(self) -> Process:
        world = self.world
        process = world.process(self.name)
        world.ambient(process, self.skew_ms)
        self.process = process
        self.bus = bus = world.bus(process)
        process.start(lambda: self._live(process, bus))
        return process

    def keep_alive(self) -> None:
        """Look every second whether it needs a new life."""
        scheduler = self.world.scheduler
        if not self.is_running:
            if self.process is not None:
                self.expire_later()
            if not self.stopping:
                self.start()
        scheduler.at(scheduler.now_ms + 1_000, self.keep_alive)

    def retire(self) -> None:
        self.retiring = self.process

    def expire_later(self) -> None:
        """What the dead one held is given away when its session ends."""
        bus = self.bus
        scheduler = self.world.scheduler
        if bus is not None:
            after = round(SESSION_MS * self.world.random.random())
            scheduler.at(scheduler.now_ms + after, bus.inner.expire)

    def _live(self, process: Process, bus: SimulatedBus) -> None:
        try:
            self.serve(process, bus, self.world.ambient(process))
            self.endings.append("stopped")
        except HeadgateError as error:
            self.world.scheduler.note(process.name, f"ends: {type(error).__name__} {error}")
            name = type(error).__name__
            self.endings.append(name if self.is_expected(error) else f"unexpected {name}")
        # A process that ends leaves nothing running.
        process.kill()
