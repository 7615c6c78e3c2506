"""A scene with one table and processes on it, for tests of single events: who runs is the test's business."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_committer.committer import DEFAULT_GROUP
from headgate_producer.producer import Producer
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.open import open_store
from headgate_table.table import Table
from support.logs.raw_log import RawLog
from support.page.asking import AskingPage
from support.processes.waiting import wait_until
from support.torture.judge.evidence import (
    Evidence,
    VersionWatch,
    asked_by_table,
    commits_of,
    everything,
    receipts_of,
    unsettled_partitions,
)
from support.torture.judge.journal import read_journal
from support.torture.judge.verdict import judge, wrong
from support.torture.stage.children import Child, committer_command, page_command
from support.torture.stage.proposing import Proposing
from support.torture.stage.scenes import Scene
from support.torture.workload import COLUMNS

AMBIENT = SystemAmbient()
START_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Every process that was started here ends with it."""

    scene: Scene
    table: str
    stack: ExitStack
    watch: VersionWatch

    def committer(
        self, name: str = "committer", *, group: str | None = None, environment: Mapping[str, str] | None = None
    ) -> Child:
        """One that has begun; whether it holds a partition yet is another question."""
        blind = group is not None  # a test of two groups is one of what happens once they are at work
        command = committer_command(self.scene.bus, self.scene.root, name=name, group=group, blind=blind)
        child = Child(name, command, self.scene.folder, self.scene.environment | dict(environment or {}))
        self.stack.callback(child.end)
        child.start()
        wait_until(lambda: child.has_said("committer_started") or not child.is_running, f"{name} starts", START_LIMIT_S)
        assert child.is_running, child.said()
        return child

    def proposing(self, name: str, *, steps: int | None, seed: int = 1, pace_s: float = 0.005) -> Child:
        """A process that proposes so many steps, and ends when all are answered; or goes on until it is told to stop."""
        told = Proposing(
            bus=self.scene.bus,
            table=self.table,
            name=name,
            seed=seed,
            journal=str(self._journal(name)),
            storage=dict(self.scene.storage),
            pace_s=pace_s,
            steps=steps,
        )
        config = told.write(self.scene.folder / f"{name}.json")
        child = Child(name, [sys.executable, "-m", "support.torture.stage.proposing", str(config)], self.scene.folder)
        self.stack.callback(child.end)
        child.start()
        return child

    def page(self) -> AskingPage:
        """One that shows what there is below the root, in a process of its own."""
        command = page_command(self.scene.bus, self.scene.root)
        child = Child("page", command, self.scene.folder, self.scene.environment)
        self.stack.callback(child.end)
        child.start()
        told: list[str] = []

        def is_served() -> bool:
            told.extend(event["url"] for event in child.listen() if event["event"] == "page_is_served")
            return bool(told) or not child.is_running

        wait_until(is_served, "the page starts", START_LIMIT_S)
        assert told, child.said()
        return AskingPage(told[0])

    def answered(self, name: str) -> int:
        """Proposals of that process that have their receipt."""
        return len(read_journal(self._journal(name)).receipts)

    def producer(self) -> Producer:
        """One in this process."""
        return self.stack.enter_context(Producer(self.scene.bus, self.table, storage=self.scene.stores))

    def opened(self) -> Table:
        return Table.open(self.table, self.scene.stores)

    def raw_log(self) -> RawLog:
        store = open_store(self.table, self.scene.stores, AMBIENT)
        self.stack.callback(store.close)
        return RawLog(store)

    def problems(self, *, had_rivals: bool = False) -> list[str]:
        """What the versions, the events and the journals say against the promises, once everybody has left."""
        self.watch.look()
        with closing(open_bus(self.scene.bus, AMBIENT)) as bus:
            events = everything(bus, Topic.EVENTS)
            asked = asked_by_table(everything(bus, Topic.PROPOSALS))
            letters = len(everything(bus, Topic.DEAD_LETTERS))
            unsettled = [] if had_rivals else unsettled_partitions(bus, DEFAULT_GROUP)
        table = self.opened()
        return judge(
            Evidence(
                asked=asked,
                receipts=receipts_of(events),
                commits=commits_of(events),
                versions=self.watch.versions(),
                changed_files=self.watch.changed(),
                diaries=[read_journal(path) for path in self.scene.folder.glob("*.journal")],
                live={self.table: set(table.snapshot().paths())},
                verified={self.table: wrong(table.verify(data_files=False))},
                had_rivals=had_rivals,
                unsettled=unsettled,
                dead_letters=letters,
            )
        )

    def _journal(self, name: str) -> Path:
        return self.scene.folder / f"{name}.journal"


@contextmanager
def stage_on(scene: Scene) -> Iterator[Stage]:
    """A table that is new and empty."""
    uri = f"{scene.root}/events"
    with closing(open_bus(scene.bus, AMBIENT)) as bus:
        bus.prepare()
    Table.create(uri, COLUMNS, ["part"], storage=scene.stores)
    with ExitStack() as stack:
        yield Stage(scene, uri, stack, VersionWatch({uri: scene.root_folder / "events"}))


def a_file(name: str, part: str = "a") -> AddFile:
    return AddFile(f"part={part}/{name}.parquet", {"part": part}, 1_000, 1_700_000_000_000, num_records=10)


def all_end_well(*children: Child, within_s: float = 120.0) -> None:
    """Each by itself, with 0."""
    for child in children:
        wait_until(lambda child=child: not child.is_running, f"{child.name} ends", within_s)  # type: ignore[misc]  # bound per turn
        assert child.code() == 0, f"{child.name} ended with {child.code()}:\n{child.said()[-2000:]}"


def stopped(*children: Child) -> None:
    """Each told to stop, and gone with 0."""
    for child in children:
        child.tell_to_stop()
    all_end_well(*children)
