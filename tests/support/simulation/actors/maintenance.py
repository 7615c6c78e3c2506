"""Workers in a random run: how many there are, what they are told to leave alone, and what must be left when all is calm."""

import random
from dataclasses import dataclass, field, replace
from functools import partial

from headgate_table.indextables.history.changes import BEGINNING
from headgate_table.table import Table
from headgate_worker.limits import WorkerLimits
from support.simulation.actors.operations import Bent
from support.simulation.actors.workers import EAGER, ROLES, SMALL_RETENTION, WorkerSeat
from support.simulation.judge.broken import must
from support.simulation.judge.model import HOUR_MS, Floors, TableModel
from support.simulation.world.world import World

CHANCE = 0.3
"""Of a run to have workers."""
DAY_H = 26.0
"""Longer than orphans are kept."""
PAUSES_H = (1.2, 2.5, DAY_H, DAY_H, 60.0)
"""How long a pause takes, in which all the world stands still: longer than states and versions are kept, or than orphans are. Two
of them are shorter than ids are kept: a job that proposes the same once more after that is told nothing of the first time."""
LOOK_AFTER = ((DAY_H, 11.0), (2.5, 5.0))
"""Hours after which everything is due, and simulated seconds that calm workers get for it; then for what they left by that."""
WATCHED_VERSIONS = 3
MIRRORED_WITHIN_S = 45.0
"""More than a sweep, since the event of the newest version may be lost, after a worker's only slot has waited for a receipt that never
comes, of a table that is served under another address now.
"""
MIRRORS = 0.4
"""Of a run with maintenance to have workers that keep mirrors."""
FLOORS = Floors(version_ms=HOUR_MS, state_ms=HOUR_MS, manifest_ms=HOUR_MS // 3, file_ms=24 * HOUR_MS)
"""What `SMALL_RETENTION` means, and for manifests what no setting goes below."""
LIMITS = (
    EAGER,
    EAGER,
    replace(EAGER, schedule=replace(EAGER.schedule, parallel_tasks=1)),
    replace(EAGER, receipt_s=3.0),
)
SKEWS_MS = (0, 0, -60_000, 20_000)
"""Workers propose, and whoever does may be ahead of the bus by half a minute at most (`CommitterLimits.clock_skew_ms`)."""


@dataclass
class Maintenance:
    """Without seats there is none in this run."""

    world: World
    seats: list[WorkerSeat] = field(default_factory=list)
    bent: Bent = Bent.MIXED
    pauses: list[tuple[float, float]] = field(default_factory=list)
    """Seconds of work, and hours of standing still after them."""

    @property
    def is_there(self) -> bool:
        return bool(self.seats)

    @property
    def mirrors(self) -> bool:
        """Whether workers keep mirrors. It is drawn apart, so that other runs stay as they were."""
        return random.Random(f"mirror/{self.world.seed}").random() < MIRRORS

    def check_mirrors(self, model: TableModel) -> None:
        """Readers of a mirror see the newest version in the end."""
        if self.is_there and model.mirror.commits and not self.world.faults.outages:
            if model.mirror.head < model.newest:
                self.world.run_for(MIRRORED_WITHIN_S)
            must(
                model.mirror.head == model.newest,
                f"{model.uri} is at version {model.newest}, and its mirror at {model.mirror.head} (liveness)",
            )

    @property
    def cleans(self) -> bool:
        return self.is_there and "clean" in self.seats[0].roles

    def prepare(self, drawn: random.Random, uris: list[str]) -> None:
        if drawn.random() >= CHANCE:
            return
        self.bent = drawn.choice(list(Bent))
        roles = drawn.choice((ROLES, ROLES, ROLES, ("compact", "clean"), ("merge", "clean"), ("compact", "merge")))
        limits: WorkerLimits = drawn.choice(LIMITS)
        settings = {**SMALL_RETENTION, "state.compaction.maxManifests": drawn.choice(("1", "3", "20"))}
        damaged = drawn.choice((0.0, 0.0, 0.1))
        self.seats = [
            WorkerSeat(
                self.world,
                f"worker-{number}",
                skew_ms=drawn.choice(SKEWS_MS),
                roles=roles,
                limits=limits,
                settings=settings,
                min_sources=drawn.choice((2, 2, 4)),
                watched=tuple(uris),
                damaged=damaged,
            )
            for number in range(drawn.choice((1, 2, 2, 3)))
        ]
        if self.mirrors:
            for seat in self.seats:
                seat.roles = (*seat.roles, "mirror")
        self.pauses = [(2 + drawn.random() * 10, drawn.choice(PAUSES_H)) for _ in range(drawn.choice((0, 1, 1, 2)))]

    def set_floors(self, uri: str) -> None:
        """Nobody else cleans this table, and everybody cleans it by these settings."""
        if self.is_there:
            self.world.models[uri].floors = FLOORS

    def look_after(self) -> None:
        """Let everything come due while all is calm."""
        if not self.is_there:
            return
        for hours, seconds in LOOK_AFTER:
            self.world.let_pass(hours)
            self.world.run_for(seconds)

    def check_left(self, model: TableModel) -> None:
        """What a crash left behind, and no version ever named, is gone."""
        if not self.cleans or self.world.faults.outages:
            return
        wanted = {path for ask in model.undecided() for path in ask.adds}
        left = [
            info.key
            for info in model.store.list()
            if not info.key.startswith("_")
            and info.key not in model.added_in
            and info.key not in wanted
            and info.modified_ms < self.world.scheduler.now_ms - DAY_H * HOUR_MS
        ]
        must(not left, f"{model.uri}: {left[:5]} belong to nothing, and cleaning left them lying about (liveness)")


def check_reads(world: World, uri: str, drawn: random.Random) -> None:
    """The newest version, earlier ones and the changes between them read as the log says, whatever was done to it since."""
    model = world.models[uri]
    table = world.table(world.process("reader"), uri)
    _check_version(world, model, table, model.newest)
    readable = [version for version in sorted(model.readable()) if model.is_surely_readable(version)]
    versions = drawn.sample(readable, min(WATCHED_VERSIONS, len(readable)))
    for version in versions:
        _check_version(world, model, table, version)
    if not any(version.is_foreign for version in model.versions.values()):
        for since in [BEGINNING, *versions]:
            _check_changes(world, model, table, since)


def _check_version(world: World, model: TableModel, table: Table, version: int) -> None:
    paths = world.complete(world.process("reader"), partial(_paths, table, version))
    meant = model.versions[version].live
    must(
        sorted(paths) == sorted(meant),
        f"{model.uri} at version {version} reads as {sorted(paths)[:5]}…, but its log says {sorted(meant)[:5]}… (invariant 4)",
    )


def _check_changes(world: World, model: TableModel, table: Table, since: int) -> None:
    changes = world.complete(world.process("reader"), lambda: table.changes(since))
    added, removed = (set(rows.column("path").to_pylist()) for rows in (changes.added, changes.removed))
    before = set(model.versions[since].live) if since >= 0 else set()
    after = set(model.live())
    must(
        (added - removed, removed - added) == (after - before, before - after),
        f"{model.uri}: the changes after version {since} are {sorted(added - removed)[:3]}… added and "
        f"{sorted(removed - added)[:3]}… removed, but its log says {sorted(after - before)[:3]}… and "
        f"{sorted(before - after)[:3]}… (invariant 4)",
    )


def _paths(table: Table, version: int) -> list[str]:
    return table.snapshot(version).paths()
