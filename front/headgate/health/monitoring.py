"""Collects the facts for the health of a long-running process, and its gauges, for each of its parts.

A part is a committer or a worker. `operator_routes` serves them over HTTP; `judgement` judges them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, assert_never

from headgate.health.judgement import HealthFacts, Healthy, ReasonCode, Unready, Verdict, is_alive, judge
from headgate.health.probes import Watch
from headgate.health.process_parts import ProcessParts
from headgate.settings.health_limits import HealthLimits
from headgate_bus.interface import Bus, Topic
from headgate_committer.committer import Committer
from headgate_committer.status import CommitterStatus
from headgate_schemas import metrics
from headgate_schemas.ambient import Ambient
from headgate_schemas.measures import SILENT, Measures
from headgate_table.errors import StoreError
from headgate_table.store.interface import Store
from headgate_table.store.measured import MeasuredStore
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from headgate_worker.loop.status import WorkerStanding
from headgate_worker.loop.worker import Worker

ASK_EVERY_S = 1.0
MAX_WATCHED_STORES = 8
"""Roots whose stores are asked, the first ones; each has a thread."""
ASKED_KEY = "_headgate/asked-by-health"
"""Of no object: a store says so when it is there."""


class Monitoring(Protocol):
    """The interface that composition roots give to the parts of a process."""

    @property
    def measures(self) -> Measures: ...

    def watching_committer(
        self, committer: Committer, bus: Bus, stores: StoreSettings, roots: Sequence[str]
    ) -> AbstractContextManager[None]:
        """Monitor the committer until the end of the block, which is the end of its loop."""
        ...

    def watching_worker(
        self, worker: Worker, bus: Bus, stores: StoreSettings, roots: Sequence[str]
    ) -> AbstractContextManager[None]: ...


class Unwatched:
    """For a process whose health nobody asks for."""

    measures = SILENT

    def watching_committer(
        self, committer: Committer, bus: Bus, stores: StoreSettings, roots: Sequence[str]
    ) -> AbstractContextManager[None]:
        return nullcontext()

    def watching_worker(
        self, worker: Worker, bus: Bus, stores: StoreSettings, roots: Sequence[str]
    ) -> AbstractContextManager[None]:
        return nullcontext()


UNWATCHED: Monitoring = Unwatched()


@dataclass(slots=True)
class _Part:
    limits: HealthLimits
    began_s: float
    loop: Committer | Worker | None = None
    bus: Watch | None = None
    stores: tuple[Watch, ...] = ()
    has_ended: bool = False
    ends: dict[int, int] = field(default_factory=dict)
    """By partition that is held, the end of it on the bus, as of the last look."""


@dataclass(frozen=True, slots=True)
class PartHealth:
    is_alive: bool
    verdict: Verdict
    facts: HealthFacts


class Monitor:
    """The monitor of one process. Threads share it."""

    def __init__(self, ambient: Ambient, measures: Measures, limits: Mapping[str, HealthLimits]) -> None:
        """`limits` by the parts that the process will have, `committer` or `worker`."""
        self.process = ProcessParts()
        self._ambient = ambient
        self._measures = measures
        self._parts = {name: _Part(each, ambient.monotonic_s()) for name, each in limits.items()}

    @property
    def measures(self) -> Measures:
        return self._measures

    def health(self) -> Mapping[str, PartHealth]:
        """The health of each part, now."""
        found: dict[str, PartHealth] = {}
        for name, part in self._parts.items():
            facts = self._facts(part)
            found[name] = PartHealth(is_alive(facts, part.limits), judge(facts, part.limits), facts)
        return found

    @contextmanager
    def watching_committer(
        self, committer: Committer, bus: Bus, stores: StoreSettings, roots: Sequence[str]
    ) -> Iterator[None]:
        part = self._parts["committer"]

        def ask() -> None:
            lanes = committer.standing.lanes
            if not lanes:
                bus.partitions(Topic.PROPOSALS)
            part.ends = {lane.partition: bus.extent(Topic.PROPOSALS, lane.partition).next_offset for lane in lanes}

        part.bus = Watch(f"the bus {bus.address}", ask, self._ambient, ASK_EVERY_S)
        self.process.began_committer(committer)
        with self._watching(part, committer, stores, roots):
            yield

    @contextmanager
    def watching_worker(self, worker: Worker, bus: Bus, stores: StoreSettings, roots: Sequence[str]) -> Iterator[None]:
        part = self._parts["worker"]

        def ask() -> None:
            bus.partitions(Topic.EVENTS)

        part.bus = Watch(f"the bus {bus.address}", ask, self._ambient, ASK_EVERY_S)
        self.process.began_worker(worker)
        with self._watching(part, worker, stores, roots):
            yield

    @contextmanager
    def _watching(
        self, part: _Part, loop: Committer | Worker, stores: StoreSettings, roots: Sequence[str]
    ) -> Iterator[None]:
        assert part.bus is not None, "the bus is watched before its users"
        with ExitStack() as until_the_end:
            watches = [part.bus]
            for store in _distinct(roots, stores, self._ambient):
                until_the_end.callback(store.close)
                measured = MeasuredStore(store, self._measures, self._ambient.monotonic_s)
                watches.append(Watch(f"the store of {store.uri}", _asking(measured), self._ambient, ASK_EVERY_S))
            part.stores = tuple(watches[1:])
            for watch in watches:
                until_the_end.callback(watch.stop)
                watch.start()
            part.loop = loop
            try:
                yield
            finally:
                part.has_ended = True

    def _facts(self, part: _Part) -> HealthFacts:
        now_s = self._ambient.monotonic_s()
        loop = part.loop
        return HealthFacts(
            now_s,
            self._ambient.now_ms(),
            part.began_s,
            part.began_s if loop is None else loop.round_s,
            None if loop is None else loop.standing,
            None if part.bus is None else part.bus.asked,
            tuple(watch.asked for watch in part.stores),
            part.has_ended,
        )

    # ---- gauges

    def set_gauges(self) -> None:
        """Set the momentary gauges, at each reading of the metrics, so that the age of a stuck loop grows."""
        bus_silent_s = store_silent_s = 0.0
        for name, health in self.health().items():
            facts = health.facts
            self._set_health(name, health)
            bus_silent_s = max(bus_silent_s, 0.0 if facts.bus is None else facts.bus.silent_s(facts.now_s))
            store_silent_s = max(store_silent_s, *(store.silent_s(facts.now_s) for store in facts.stores), 0.0)
            match facts.standing:
                case CommitterStatus() as standing:
                    self._set_committer(standing, facts, self._parts[name].ends)
                case WorkerStanding() as standing:
                    self._set_worker(standing)
                case None:
                    pass
        self._measures.set(metrics.BUS_SILENT_SECONDS, bus_silent_s)
        self._measures.set(metrics.STORE_SILENT_SECONDS, store_silent_s)

    def _set_health(self, name: str, health: PartHealth) -> None:
        match health.verdict:
            case Healthy():
                codes: set[ReasonCode] = set()
            case Unready(reasons):
                codes = {reason.code for reason in reasons}
            case _:
                assert_never(health.verdict)
        self._measures.set(metrics.READY, not codes, name)
        for code in ReasonCode:
            self._measures.set(metrics.UNREADY, code in codes, name, code.value)
        self._measures.set(metrics.ROUND_AGE_SECONDS, max(0.0, health.facts.now_s - health.facts.round_s), name)

    def _set_committer(self, standing: CommitterStatus, facts: HealthFacts, ends: Mapping[int, int]) -> None:
        set_, lanes, tables, oldest = self._measures.set, standing.lanes, standing.tables, standing.oldest
        set_(metrics.PARTITIONS_HELD, len(lanes), "committer")
        # The record was read, but the last look at the end came before it: both are known ends.
        lag = sum(max(ends.get(lane.partition, 0), lane.read_to) - lane.settled_to for lane in lanes)
        set_(metrics.LAG_PROPOSALS, max(0, lag))
        set_(metrics.LAG_SECONDS, 0.0 if oldest is None else max(0, facts.now_ms - oldest.appended_ms) / 1000)
        set_(metrics.QUEUED_PROPOSALS, sum(lane.queued for lane in lanes))
        for condition in ("open", "busy", "waiting", "refused", "spilled"):
            set_(metrics.TABLES, getattr(tables, condition), condition)
        set_(metrics.STATE_TOMBSTONES_NOW, sum(lane.tombstones for lane in lanes))
        ratio = max((lane.tombstone_ratio for lane in lanes), default=0.0)
        set_(metrics.STATE_TOMBSTONE_RATIO_HIGHEST, ratio)

    def _set_worker(self, standing: WorkerStanding) -> None:
        set_ = self._measures.set
        set_(metrics.PARTITIONS_HELD, standing.held, "worker")
        set_(metrics.WORKER_TABLES, standing.tables)
        set_(metrics.WORK_UNDER_WAY, standing.under_way)
        set_(metrics.WORKER_YIELDS, standing.is_yielding)
        set_(metrics.BACKLOG_EVENTS, standing.backlog.events)
        set_(metrics.BACKLOG_SECONDS, standing.backlog.age_ms / 1000)


def _distinct(roots: Sequence[str], settings: StoreSettings, ambient: Ambient) -> Iterator[Store]:
    """One store for each distinct place of the roots: one bucket answers for all of its roots."""
    seen: set[str] = set()
    for root in roots:
        scheme, there, rest = root.partition("://")
        place = root if not there or scheme == "file" else f"{scheme}://{rest.partition('/')[0]}"
        if place not in seen and len(seen) < MAX_WATCHED_STORES:
            seen.add(place)
            yield open_store(root, settings, ambient)


def _asking(store: Store) -> Callable[[], None]:
    def ask() -> None:
        inside = store.local_path("_")
        if inside is not None and not Path(inside).parent.is_dir():
            raise StoreError(f"{store.uri} is no folder any more: is its disk mounted?")
        store.head(ASKED_KEY)

    return ask
