"""The play of proposals: producers propose all kinds of changes of files that need not exist, and every decision is judged."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_committer.committer import DEFAULT_GROUP
from headgate_schemas.ambient import SystemAmbient
from headgate_table.table import Table
from support.logs.raw_log import LOG
from support.torture.faults import Fault
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
from support.torture.outcome import Outcome
from support.torture.play import Cast, new_child, weights_on
from support.torture.stage.children import Child, committer_command
from support.torture.stage.proposing import Proposing
from support.torture.stage.scenes import Scene
from support.torture.workload import COLUMNS

COMMITTERS = 2
TABLES = 3
WEIGHTS = {
    Fault.COMMITTER: 6,
    Fault.PRODUCER: 5,
    Fault.STORE: 4,
    Fault.BROKER: 2,
    Fault.ZOMBIE: 3,
    Fault.RIVAL: 1,
    Fault.RESTART: 2,
    Fault.CUT: 2,
    Fault.SLOW: 1,
    Fault.TORN: 2,
    Fault.FULL: 2,
    Fault.CLOCK: 2,
}
"""A broker takes seconds to come back, and a rival costs every other committer its place."""
AMBIENT = SystemAmbient()


class ProposalsPlay:
    def __init__(self, scene: Scene, seed: int, stack: ExitStack, *, producers: int) -> None:
        self._scene = scene
        self._tables = self._new_tables()
        self._watch = VersionWatch(self._tables)
        self._counted = dict.fromkeys(self._tables, 0)
        self._journals = [scene.folder / f"producer-{each}.journal" for each in range(producers)]
        committers = [
            new_child(
                scene,
                f"committer-{each}",
                committer_command(scene.bus, scene.root, name=f"committer-{each}", blind=True),
                stack,
            )
            for each in range(COMMITTERS)
        ]
        rival = committer_command(scene.bus, scene.root, name="rival", group="rivals", blind=True)
        self._cast = Cast(
            tables=self._tables,
            committers=committers,
            producers=[self._producer(each, seed, stack) for each in range(producers)],
            rival=new_child(scene, "rival", rival, stack),
        )

    @property
    def cast(self) -> Cast:
        return self._cast

    @property
    def weights(self) -> Mapping[Fault, int]:
        return weights_on(self._scene, WEIGHTS)

    @property
    def pause_s(self) -> tuple[float, float]:
        return (0, 0.8)

    @property
    def clocks_apart_s(self) -> int:
        """No clock decides anything that is proposed here."""
        return 6 * 3600

    def look(self) -> None:
        self._watch.look()

    def versions_of(self, table: str) -> int:
        """Asked often, so it looks for the next ones only."""
        folder = self._tables[table] / LOG
        while (folder / f"{self._counted[table]:020d}.json").exists():
            self._counted[table] += 1
        return self._counted[table]

    def has_shown_enough(self, outcome: Outcome) -> bool:
        return True

    def is_settled(self) -> bool:
        return True

    def judge(self, outcome: Outcome) -> None:
        evidence = self._gathered(had_rivals=outcome.blows[Fault.RIVAL] > 0)
        outcome.violations += judge(evidence)
        asked = [item for items in evidence.asked.values() for item in items]
        ids = {item.id for item in asked}
        told = [evidence.receipts[each][0][0] for each in ids if each in evidence.receipts]
        outcome.proposals, outcome.repeated = len(ids), len(asked) - len(ids)
        outcome.accepted, outcome.rejected = len(told) - told.count("rejected"), told.count("rejected")
        outcome.versions = sum(map(len, evidence.versions.values()))

    def _gathered(self, had_rivals: bool) -> Evidence:
        with closing(open_bus(self._scene.bus, AMBIENT)) as bus:
            events = everything(bus, Topic.EVENTS)
            asked = asked_by_table(everything(bus, Topic.PROPOSALS))
            letters = len(everything(bus, Topic.DEAD_LETTERS))
            unsettled = unsettled_partitions(bus, DEFAULT_GROUP)
        tables = {uri: Table.open(uri, self._scene.stores) for uri in self._tables}
        return Evidence(
            asked=asked,
            receipts=receipts_of(events),
            commits=commits_of(events),
            versions=self._watch.versions(),
            changed_files=self._watch.changed(),
            diaries=[read_journal(path) for path in self._journals],
            live={uri: set(table.snapshot().paths()) for uri, table in tables.items()},
            verified={uri: wrong(table.verify(data_files=False)) for uri, table in tables.items()},
            had_rivals=had_rivals,
            unsettled=unsettled,
            dead_letters=letters,
        )

    def _producer(self, number: int, seed: int, stack: ExitStack) -> Child:
        scene = self._scene
        told = Proposing(
            bus=scene.bus,
            table=list(self._tables)[number % len(self._tables)],
            name=f"producer-{number}",
            seed=seed,
            journal=str(self._journals[number]),
            storage=dict(scene.storage),
        )
        config = told.write(scene.folder / f"producer-{number}.json")
        return new_child(
            scene, told.name, [sys.executable, "-m", "support.torture.stage.proposing", str(config)], stack
        )

    def _new_tables(self) -> dict[str, Path]:
        """So many that every partition of proposals has one."""
        with closing(open_bus(self._scene.bus, AMBIENT)) as bus:
            bus.prepare()
            left = set(range(bus.partitions(Topic.PROPOSALS)))
            tables: list[str] = []
            number = 0
            while len(tables) < TABLES:
                uri = f"{self._scene.root}/table-{number}"
                number += 1
                partition = bus.partition_of(uri)
                if partition in left or len(tables) + len(left) < TABLES:
                    left.discard(partition)
                    tables.append(uri)
        for uri in tables:
            Table.create(uri, COLUMNS, ["part"], storage=self._scene.stores)
        return {uri: self._scene.root_folder / Path(uri).name for uri in tables}
