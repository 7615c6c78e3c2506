"""The real committer as a simulated process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate_bus.errors import BusError, Fenced
from headgate_committer.committer import Committer
from headgate_committer.context import CommitterContext
from headgate_committer.errors import Overtaken, RivalDeployment
from headgate_committer.limits import CommitterLimits
from headgate_committer.tables import NotServed, OutsideRoots
from headgate_schemas.errors import HeadgateError
from headgate_table.caching.resources import ReadResources
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import TableOptions, table_options
from headgate_table.store.addresses import lies_below
from support.simulation.world.ambient import SimulatedAmbient
from support.simulation.world.executors import Beside, resources_of
from support.simulation.world.scheduler import Process
from support.simulation.world.seats import Seat
from support.simulation.world.simulated_bus import SimulatedBus
from support.simulation.world.world import GROUP, World

SETTINGS = {"checkpoint.interval": "4"}


class SimulatedTables:
    """The tables of the world, as one committer opens them."""

    def __init__(
        self,
        world: World,
        process: Process,
        resources: ReadResources,
        settings: Mapping[str, str],
        roots: Sequence[str] = (),
    ) -> None:
        self._roots = roots
        self._world = world
        self._process = process
        self._resources = resources
        self._settings = settings

    def reader(self, uri: str) -> LogReader:
        if uri not in self._world.stores:
            raise NotServed(f"{uri} lies outside of the world")
        if self._roots and not lies_below(uri, self._roots):
            raise OutsideRoots(f"{uri} lies outside of the roots that this committer serves")
        return LogReader(self._world.store(self._process, uri), self._resources)

    def options(self, configuration: Mapping[str, str]) -> TableOptions:
        return table_options(configuration, self._settings)


@dataclass
class CommitterSeat(Seat):
    """A place for a committer."""

    group: str = GROUP
    roots: Sequence[str] = ()
    limits: CommitterLimits = field(default_factory=CommitterLimits)
    settings: Mapping[str, str] = field(default_factory=lambda: dict(SETTINGS))
    committer: Committer | None = None
    """Of its present or last life."""

    @property
    def refused(self) -> frozenset[str]:
        """Tables that it leaves alone until an operator has looked."""
        return frozenset() if self.committer is None or not self.is_running else frozenset(self.committer.refused)

    def serve(self, process: Process, bus: SimulatedBus, ambient: SimulatedAmbient) -> None:
        tables = SimulatedTables(self.world, process, resources_of(ambient), self.settings, self.roots)
        bus.is_leaving = lambda: self.is_told_to_stop(process)
        self.committer = None
        beside = Beside(process)
        context = CommitterContext(ambient, f"{process.name}-{ambient.new_id()[:4]}", beside, beside, self.limits)
        self.committer = committer = Committer(bus, tables, context, group=self.group, roots=self.roots)
        committer.run(lambda: self.is_told_to_stop(process))

    def is_expected(self, error: HeadgateError) -> bool:
        # One of another deployment may have come while nobody else was there.
        return isinstance(error, Overtaken | Fenced | BusError | RivalDeployment)
