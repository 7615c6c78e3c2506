"""The real worker with the real roles as a simulated process; only the merge engine is another."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate_bus.errors import BusError
from headgate_producer.producer import Producer
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_table.caching.resources import ReadResources
from headgate_table.table import Table
from headgate_worker.context import WorkerContext
from headgate_worker.limits import DEFAULT_TERMS, RoleTerms, ScheduleLimits, WorkerLimits
from headgate_worker.loop.worker import Worker
from headgate_worker.merge.plan import MergeLimits
from headgate_worker.merge.role import MergeRole
from headgate_worker.roles.clean import CleanRole
from headgate_worker.roles.compact import CompactRole
from headgate_worker.roles.interface import Role
from headgate_worker.roles.mirror import MirrorRole
from support.simulation.judge.receipts import WORKER
from support.simulation.world.ambient import SimulatedAmbient
from support.simulation.world.executors import Beside, resources_of
from support.simulation.world.merge_engine import SimulatedEngine
from support.simulation.world.scheduler import Process
from support.simulation.world.seats import Seat
from support.simulation.world.simulated_bus import SimulatedBus
from support.simulation.world.world import GROUP

WORKERS = "headgate-worker"
ROLES = ("compact", "merge", "clean")

EAGER = WorkerLimits(
    schedule=ScheduleLimits(first_backoff_ms=500, longest_backoff_ms=8_000),
    terms={
        "compact": RoleTerms(
            after_commits=3, at_once_after=DEFAULT_TERMS["compact"].at_once_after, delay_ms=500, cooldown_ms=2_000
        ),
        "merge": RoleTerms(cooldown_ms=2_000),
        "clean": RoleTerms(cooldown_ms=9_000),
        "mirror": RoleTerms(cooldown_ms=1_000),
    },
    sweep_ms=10_000,
    hold_ms=20_000,
    drain_ms=5_000,
    receipt_s=20.0,
)
"""As patient as a run of a minute needs: with the defaults a worker would do each thing once."""

MIRRORED = {"mirror.formats": "delta", "mirror.checkpointInterval": "5", "mirror.retention.hours": "24"}
"""In the configuration of a table, so that everybody who cleans it knows."""

SMALL_RETENTION = {
    "purge.defaultRetentionHours": "24",
    "purge.txLogRetentionHours": "1",
    "state.retention.hours": "1",
    "state.gc.minManifestAgeHours": "0",
}
"""As small as the rules allow without a switch."""


class WorkerTables:
    """The tables of the world, as one worker opens them: changes are proposed, one producer for each."""

    def __init__(self, seat: "WorkerSeat", process: Process, bus: SimulatedBus, resources: ReadResources) -> None:
        self._seat = seat
        self._world = seat.world
        self._process = process
        self._bus = bus
        self._resources = resources

    def serves(self, uri: str) -> bool:
        return uri in self._world.stores

    def open(self, uri: str) -> Table:
        world = self._world
        store, ambient = world.store(self._process, uri), world.ambient(self._process)

        def commit(operation: Operation) -> Receipt:
            producer = Producer(
                self._bus,
                uri,
                author=f"{WORKER}{self._process.name}",
                ambient=ambient,
                threads=False,
                store=store,
                resources=self._resources,
            )
            receipt = producer.propose(operation).wait(timeout=self._seat.limits.receipt_s)
            world.receipts.seen(receipt, uri)
            return receipt

        return Table(store, ambient, self._resources, self._seat.settings, commit)

    def close(self) -> None:
        return


@dataclass
class WorkerSeat(Seat):
    """A place for a worker."""

    roles: Sequence[str] = ROLES
    limits: WorkerLimits = EAGER
    settings: Mapping[str, str] = field(default_factory=lambda: dict(SMALL_RETENTION))
    min_sources: int = 2
    watched: Sequence[str] = ()
    damaged: float = 0.0
    """The share of files that no merge can read."""

    def serve(self, process: Process, bus: SimulatedBus, ambient: SimulatedAmbient) -> None:
        tables = WorkerTables(self, process, bus, resources_of(ambient))
        identity = f"{process.name}-{ambient.new_id()[:4]}"
        worker = Worker(
            bus,
            tables,
            [self._role(name, tables, process, bus, ambient) for name in self.roles],
            WorkerContext(ambient, identity, Beside(process), self.limits),
            group=WORKERS,
            committer_group=GROUP,
            watched=self.watched,
        )
        worker.run(lambda: self.is_told_to_stop(process))

    def is_expected(self, error: HeadgateError) -> bool:
        return isinstance(error, BusError)

    def is_damaged(self, path: str) -> bool:
        return self.damaged > 0 and random.Random(f"damage/{self.world.seed}/{path}").random() < self.damaged

    def _role(
        self, name: str, tables: WorkerTables, process: Process, bus: SimulatedBus, ambient: SimulatedAmbient
    ) -> Role:
        match name:
            case "compact":
                return CompactRole(tables.open, ambient)
            case "clean":
                return CleanRole(tables.open, bus, ambient, GROUP)
            case "merge":

                def engine(table: Table) -> SimulatedEngine:
                    return SimulatedEngine(self.world.store(process, table.uri), ambient, self.is_damaged)

                return MergeRole(
                    tables.open, engine, ambient, limits=lambda table: MergeLimits(min_sources=self.min_sources)
                )
            case "mirror":
                return MirrorRole(tables.open)
            case _:
                raise AssertionError(f"there is no role {name}")
