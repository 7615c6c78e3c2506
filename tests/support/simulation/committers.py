"""The real committer as a simulated process, and who starts it again when it dies."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate_bus.errors import BusError, Fenced
from headgate_committer.committer import Committer
from headgate_committer.errors import Overtaken
from headgate_committer.limits import CommitterLimits
from headgate_committer.tables import NotServed
from headgate_schemas.errors import HeadgateError
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.options import TableOptions, table_options
from headgate_table.indextables.resources import ReadResources
from support.simulation.executors import Beside, resources_of
from support.simulation.scheduler import Process
from support.simulation.simulated_bus import SimulatedBus
from support.simulation.world import GROUP, World

SESSION_MS = 10_000
"""After it, the cluster takes a silent committer for dead."""
SETTINGS = {"checkpoint.interval": "4"}


class SimulatedTables:
    """The tables of the world, as one committer opens them."""

    def __init__(self, world: World, process: Process, resources: ReadResources, settings: Mapping[str, str]) -> None:
        self._world = world
        self._process = process
        self._resources = resources
        self._settings = settings

    def reader(self, uri: str) -> LogReader:
        if uri not in self._world.stores:
            raise NotServed(f"{uri} lies outside of the world")
        return LogReader(self._world.store(self._process, uri), self._resources)

    def options(self, configuration: Mapping[str, str]) -> TableOptions:
        return table_options(configuration, self._settings)


@dataclass
class CommitterSeat:
    """A place for a committer process. `start` begins a life; `keep_alive` begins the next after each death."""

    world: World
    name: str
    group: str = GROUP
    limits: CommitterLimits = field(default_factory=CommitterLimits)
    settings: Mapping[str, str] = field(default_factory=lambda: dict(SETTINGS))
    skew_ms: int = 0
    process: Process | None = None
    bus: SimulatedBus | None = None
    stopping: bool = False
    """Whether it is told to stop for good."""
    retiring: Process | None = None
    """The life that is told to stop, as by SIGTERM; the next one begins after it."""
    endings: list[str] = field(default_factory=list)
    """Why its lives ended, by the name of the error."""

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
        if self.process is None or self.process.is_over:
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
        world = self.world
        ambient = world.ambient(process)
        resources = resources_of(ambient)
        tables = SimulatedTables(world, process, resources, self.settings)
        try:
            committer = Committer(
                bus,
                tables,
                ambient,
                self.limits,
                identity=f"{process.name}-{ambient.new_id()[:4]}",
                group=self.group,
                executor=Beside(process),
            )
            committer.run(lambda: self.stopping or self.retiring is process)
            self.endings.append("stopped")
        except HeadgateError as error:
            expected = isinstance(error, Overtaken | Fenced | BusError)
            world.scheduler.note(process.name, f"ends: {type(error).__name__} {error}")
            self.endings.append(type(error).__name__ if expected else f"unexpected {type(error).__name__}")
        # A process that ends leaves nothing running.
        process.kill()
