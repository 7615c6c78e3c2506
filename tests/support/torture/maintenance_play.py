"""The play of maintenance: writers and an overwriter on one table that workers compact, merge and clean, all the time."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_committer.committer import DEFAULT_GROUP
from headgate_schemas.ambient import SystemAmbient
from headgate_table.table import Table
from support.logs.raw_log import LOG
from support.torture.faults import Fault
from support.torture.judge.evidence import (
    VersionWatch,
    asked_by_table,
    commits_of,
    everything,
    receipts_of,
    unsettled_partitions,
    version_files,
    version_of,
)
from support.torture.judge.journal import Diary, read_journal
from support.torture.judge.keeping import Keeping
from support.torture.judge.upkeep_verdict import ExpectedRows, Row, Upkeep, judge_upkeep, kind_of
from support.torture.judge.verdict import decisions_of, wrong
from support.torture.outcome import Outcome
from support.torture.play import Cast, new_child, weights_on
from support.torture.rows import OVERWRITER, OVERWRITTEN_FILES, PlannedStep, planned_step, text_of
from support.torture.stage.ageing import Ageing
from support.torture.stage.children import Child, committer_command, logged_events, worker_command
from support.torture.stage.proposing import Proposing
from support.torture.stage.scenes import Scene
from support.torture.upkeep_table import HOUR_LASTS_S, ORPHANS, new_table, plant

WRITERS = 4
WRITING = frozenset({"writer", "overwriter"})
"""What the names of their files begin with, and their own."""
WORKERS = 2
WRITER_PACE_S = 0.25
OVERWRITER_PACE_S = 1.5
WEIGHTS = {
    Fault.WORKER: 14,
    Fault.COMMITTER: 2,
    Fault.PRODUCER: 1,
    Fault.STORE: 1,
    Fault.RESTART: 2,
    Fault.CUT: 1,
    Fault.SLOW: 1,
    Fault.TORN: 1,
    Fault.FULL: 1,
    Fault.CLOCK: 2,
}
LIMITS = {
    "compact-after-commits": 5,
    "compact-delay-ms": 300,
    "compact-cooldown-ms": 1_000,
    "merge-cooldown-ms": 1_000,
    "clean-cooldown-ms": 2_500,
    "sweep-ms": 3_000,
    "hold-ms": 20_000,
    "first-backoff-ms": 500,
    "longest-backoff-ms": 2_000,
    "drain-ms": 10_000,
}
"""Of workers that act many times in a minute."""
ENOUGH = {
    "compactions": 3,
    "merges": 4,
    "purges": 2,
    "cleanings": 4,
    "files appended": 300,
    "files overwritten": 10 * OVERWRITTEN_FILES,
    "data files cleaned": ORPHANS + 1,
    "states cleaned": 1,
    "versions cleaned": 10,
}
"""A run goes on until all of it was done, however slow the machine is."""
ENOUGH_KILLS = 6
"""Of workers."""
LOOK_CLOSELY_EVERY_S = 1.5
QUIET_S = 4.0
"""Without a new version: longer than workers leave a table alone that has something to do."""
READ_VERSIONS = 3
"""At so many versions the rows are read in the end."""
AMBIENT = SystemAmbient()


class MaintenancePlay:
    def __init__(
        self,
        scene: Scene,
        seed: int,
        stack: ExitStack,
        *,
        committers: int = 1,
        spared: frozenset[str] = frozenset(),
        hour_lasts_s: float = HOUR_LASTS_S,
        writer_pace_s: float = WRITER_PACE_S,
        enough: Mapping[str, int] = MappingProxyType(ENOUGH),
        enough_kills: int = ENOUGH_KILLS,
        table_settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._scene = scene
        self._seed = seed
        with closing(open_bus(scene.bus, AMBIENT)) as bus:
            bus.prepare()
        self._uri, self._folder = new_table(scene, table_settings)
        self._planted = plant(self._folder)
        self._watch = VersionWatch({self._uri: self._folder})
        self._ageing = Ageing(self._folder, hour_lasts_s)
        self._keeping = Keeping(self._folder)
        self._writer_pace_s = writer_pace_s
        self._enough = Counter(enough)
        self._enough_kills = enough_kills
        self._looked_s = 0.0
        self._newest = -1
        self._committed_s = 0.0
        """When a new version was last seen."""
        self._is_clean = False
        self._names = [*(f"writer-{each}" for each in range(WRITERS)), OVERWRITER]
        self._cast = Cast(
            tables={self._uri: self._folder},
            committers=[
                new_child(
                    scene,
                    f"committer-{each}",
                    committer_command(scene.bus, scene.root, name=f"committer-{each}"),
                    stack,
                )
                for each in range(committers)
            ],
            producers=[self._writer(name, stack) for name in self._names],
            workers=[
                new_child(
                    scene, f"worker-{each}", worker_command(scene.bus, scene.root, f"worker-{each}", LIMITS), stack
                )
                for each in range(WORKERS)
            ],
            spared=spared,
        )

    @property
    def cast(self) -> Cast:
        return self._cast

    @property
    def weights(self) -> Mapping[Fault, int]:
        return weights_on(self._scene, WEIGHTS)

    @property
    def pause_s(self) -> tuple[float, float]:
        """A worker that is killed before it has begun shows little."""
        return (0.5, 2.5)

    @property
    def clocks_apart_s(self) -> int:
        """Less than the age below which nothing is cleaned: a file that is on its way must not look as old as that."""
        return 600

    def look(self) -> None:
        self._watch.look()
        now_s = time.monotonic()
        if self._watch.newest(self._uri) > self._newest:
            self._newest, self._committed_s = self._watch.newest(self._uri), now_s
        if now_s - self._looked_s >= LOOK_CLOSELY_EVERY_S:
            self._looked_s = now_s
            self._keeping.look()
            self._is_clean = (
                self._keeping.has_expired() and not self._keeping.unnamed() and not self._planted.problems()
            )
            self._ageing.let_time_pass(self._is_under_way)

    def _is_under_way(self, name: str) -> bool:
        """No job takes an hour between writing a file and proposing it, and no state is written for so long."""
        if name.startswith("manifest-"):
            return not self._keeping.was_named(name)
        return name.partition("-")[0] in WRITING and name not in self._watch.added_names

    def versions_of(self, table: str) -> int:
        return self._watch.newest(table) + 1

    def has_shown_enough(self, outcome: Outcome) -> bool:
        return outcome.blows[Fault.WORKER] >= self._enough_kills and self._done >= self._enough

    @property
    def _done(self) -> Counter[str]:
        """What was done so far, by the log and by what workers said."""
        versions = self._watch.versions()[self._uri]
        done = Counter(kind for actions in versions.values() for kind in _kinds_of_upkeep(actions))
        done += _logged(self._cast.workers)
        done["cleanings"] = sum(worker.heard["table_purged"] for worker in self._cast.workers)
        done["versions cleaned"] = len(versions) - len(version_files(self._folder / LOG))
        by_whom = Counter(name.partition("-")[0] for name in self._watch.added_names)
        done["files appended"], done["files overwritten"] = by_whom["writer"], by_whom["overwriter"]
        return done

    def is_settled(self) -> bool:
        """Whether workers have nothing left to merge, and everything is cleaned that ever can be."""
        return self._is_clean and time.monotonic() - self._committed_s >= QUIET_S

    def judge(self, outcome: Outcome) -> None:
        self._keeping.look()
        evidence = self._gathered()
        outcome.violations += judge_upkeep(evidence)
        ids = {item.id for item in evidence.asked}
        told = [evidence.receipts[each][0][0] for each in ids if each in evidence.receipts]
        outcome.proposals, outcome.repeated = len(ids), len(evidence.asked) - len(ids)
        outcome.accepted, outcome.rejected = len(told) - told.count("rejected"), told.count("rejected")
        outcome.versions = len(evidence.versions)
        outcome.deeds += self._done + _decided(evidence)
        outcome.deeds["looks for files that are named"] = self._keeping.looks
        outcome.deeds["rows read"] = len(evidence.rows[max(evidence.versions)])

    def _gathered(self) -> Upkeep:
        with closing(open_bus(self._scene.bus, AMBIENT)) as bus:
            events = everything(bus, Topic.EVENTS)
            asked = asked_by_table(everything(bus, Topic.PROPOSALS)).get(self._uri, [])
            letters = len(everything(bus, Topic.DEAD_LETTERS))
            problems = [f"not settled: {each}" for each in unsettled_partitions(bus, DEFAULT_GROUP)]
        if letters:
            problems.append(f"{letters} messages were set aside as dead letters")
        table = Table.open(self._uri, self._scene.stores)
        problems += [f"verify finds: {problem}" for problem in wrong(table.verify())]
        problems += [f"a version file changed: {path}" for path in self._watch.changed(may_be_gone=True)]
        problems += [*self._planted.problems(), *self._leftovers()]
        versions = self._watch.versions()[self._uri]
        diaries = {name: read_journal(self._journal(name)) for name in self._names}
        return Upkeep(
            asked=asked,
            receipts=receipts_of(events),
            commits=commits_of(events).get(self._uri, {}),
            versions=versions,
            left=[version_of(path) for path in version_files(self._folder / LOG)],
            diaries=list(diaries.values()),
            rows={version: _rows(table, version) for version in self._to_read(max(versions))},
            expected=_expected(self._seed, diaries),
            lost=self._keeping.lost,
            unnamed=self._keeping.unnamed(),
            other_problems=problems,
        )

    def _to_read(self, newest: int) -> set[int]:
        """From the oldest that a state still makes readable."""
        oldest = min(self._keeping.states())
        step = max(1, (newest - oldest) // max(1, READ_VERSIONS - 1))
        return {newest, *range(oldest, newest, step)}

    def _leftovers(self) -> Iterator[str]:
        """What was begun and never ended."""
        for path in self._folder.rglob("*"):
            if path.is_file() and (path.name.endswith(".tmp") or "#" in path.name):
                yield f"{path.relative_to(self._folder)} is a temporary file that was left"

    def _journal(self, name: str) -> Path:
        return self._scene.folder / f"{name}.journal"

    def _writer(self, name: str, stack: ExitStack) -> Child:
        scene = self._scene
        told = Proposing(
            bus=scene.bus,
            table=self._uri,
            name=name,
            seed=self._seed,
            journal=str(self._journal(name)),
            storage=dict(scene.storage),
            in_flight=4,
            pace_s=OVERWRITER_PACE_S if name == OVERWRITER else self._writer_pace_s,
            writes_rows=True,
        )
        config = told.write(scene.folder / f"{name}.json")
        return new_child(scene, name, [sys.executable, "-m", "support.torture.stage.proposing", str(config)], stack)


def _kinds_of_upkeep(actions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What workers did in one version."""
    if any("/merged-" in action["add"]["path"] for action in actions if "add" in action):
        yield "merges"
    for info in (action["commitInfo"] for action in actions if "commitInfo" in action):
        if "swap" in info:
            yield "compactions"
        if "purged" in info:
            yield "purges"


def _expected(seed: int, diaries: Mapping[str, Diary]) -> ExpectedRows:
    """By the steps that journals know; the judge asks which of them were accepted."""
    appended: dict[str, list[Row]] = {}
    overwritten: dict[str, list[Row]] = {}
    for name, diary in diaries.items():
        for identity, step in diary.intents.items():
            plan = planned_step(seed, name, step)
            (overwritten if plan.overwrites else appended)[identity] = list(_rows_of(plan))
    return ExpectedRows(appended, overwritten)


def _rows_of(plan: PlannedStep) -> Iterator[Row]:
    for file in plan.files:
        for number in file.ids:
            yield number, text_of(number), file.part


def _rows(table: Table, version: int) -> list[Row]:
    read = table.snapshot(version=version).scan(["id", "text", "part"]).read_all()
    return list(zip(*(read.column(name).to_pylist() for name in ("id", "text", "part")), strict=True))


def _decided(evidence: Upkeep) -> Counter[str]:
    """How often each kind of operation was accepted, and those of workers refused."""
    kinds = {item.id: kind_of(item) for item in evidence.asked}
    return Counter(
        f"{kinds.get(each.id)} {'accepted' if each.accepted else f'refused as {each.code}'}"
        for each in decisions_of(evidence.versions)
    )


def _logged(workers: Sequence[Child]) -> Counter[str]:
    """What workers say that they did, over all their runs."""
    deeds: Counter[str] = Counter()
    for worker in workers:
        for event in (event for line in worker.said().splitlines() for event in logged_events(line)):
            match event["event"]:
                case "task_started":
                    deeds[f"{event['role']} begun"] += 1
                case "task_done":
                    deeds[f"{event['role']} done"] += 1
                case "task_failed" | "task_abandoned" as ended:
                    deeds[f"{event['role']}: {ended}"] += 1
                case "table_purged":
                    deeds["data files cleaned"] += event["files"]
                    deeds["log files cleaned"] += event["log_files"]
                    deeds["states cleaned"] += event["states"]
    return deeds
