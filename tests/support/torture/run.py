"""A run: real processes at work, blows that fall on them, a quiet end, and the evidence of it all."""

import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_committer.committer import DEFAULT_GROUP
from headgate_schemas.ambient import SystemAmbient
from headgate_table.table import Table
from support.raw_log import LOG
from support.torture.children import Child, committer_command
from support.torture.evidence import (
    Evidence,
    VersionWatch,
    asked_by_table,
    commits_of,
    everything,
    receipts_of,
    unsettled_partitions,
)
from support.torture.faults import Blow, Fault, blows
from support.torture.journal import read_journal
from support.torture.proposing import Proposing
from support.torture.scenes import Scene
from support.torture.verdict import judge, wrong
from support.torture.waiting import LOOK_S, Overdue
from support.torture.workload import COLUMNS

COMMITTERS = 2
TABLES = 3
RECOVERY_LIMIT_S = 90.0
"""How long the system may take to commit again after a blow."""
TAKE_OVER_LIMIT_S = 30.0
RIVAL_LIMIT_S = 15.0
FROZEN_S = 1.0
"""Where nobody takes over from a committer that is frozen."""
QUIET_LIMIT_S = 180.0
RESTART_PAUSE_S = 0.3
WATCH_EVERY_S = 0.25
AMBIENT = SystemAmbient()
_READY = {"committer": "committer_started", "producer": "proposing"}
"""What a process says when it has begun, and knows what to do when it is told to stop."""


@dataclass(slots=True)
class Outcome:
    """What a run did, and what it broke."""

    blows: Counter[Fault] = field(default_factory=Counter)
    ended_by_themselves: Counter[str] = field(default_factory=Counter)
    """By the first words of what they said."""
    slowest_recovery_s: dict[Fault, float] = field(default_factory=dict)
    """From the blow until every table was committed to again; of those that were waited for."""
    took_s: float = 0.0
    proposals: int = 0
    accepted: int = 0
    rejected: int = 0
    repeated: int = 0
    versions: int = 0
    violations: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Limit:
    """Until so many blows have fallen, or the time is over."""

    kills: int | None = None
    seconds: float | None = None


def torture(scene: Scene, seed: int, limit: Limit, producers: int, tell: Callable[[str], None]) -> Outcome:
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        run = Run(scene, seed, producers, tell, stack)
        try:
            run.begin()
            for blow in blows(seed, run.possible):
                if run.is_over(limit, time.monotonic() - began):
                    break
                run.strike(blow)
            run.end_quietly()
            run.judge()
        except (Overdue, subprocess.TimeoutExpired) as error:
            run.outcome.violations.append(str(error))
            run.outcome.violations += run.last_words()
    run.outcome.took_s = time.monotonic() - began
    return run.outcome


class Run:
    def __init__(
        self, scene: Scene, seed: int, producers: int, tell: Callable[[str], None], stack: contextlib.ExitStack
    ) -> None:
        self.outcome = Outcome()
        self._scene = scene
        self._tell = tell
        self._tables = self._new_tables()
        self._watch = VersionWatch({uri: scene.root_folder / Path(uri).name for uri in self._tables})
        self._watched_s = 0.0
        self._counted = dict.fromkeys(self._tables, 0)
        self._committers = [
            self._child(f"committer-{each}", committer_command(scene.bus, scene.root, name=f"committer-{each}"), stack)
            for each in range(COMMITTERS)
        ]
        rival = committer_command(scene.bus, scene.root, name="rival", group="rivals")
        self._rival = self._child("rival", rival, stack)
        self._journals = [scene.folder / f"producer-{each}.journal" for each in range(producers)]
        self._producers = [self._producer(each, seed, stack) for each in range(producers)]
        self._down: dict[Child, float] = {}
        """Until when a child that was killed, or ended, stays away."""
        self._is_stopping = False

    @property
    def possible(self) -> list[Fault]:
        missing = {Fault.BROKER: "broker", Fault.STORE: "store"}
        return [fault for fault in Fault if fault not in missing or missing[fault] in self._scene.servers]

    def is_over(self, limit: Limit, elapsed_s: float) -> bool:
        if limit.kills is not None and sum(self.outcome.blows.values()) >= limit.kills:
            return True
        return limit.seconds is not None and elapsed_s >= limit.seconds

    # ---- the parts

    def _child(self, name: str, command: list[str], stack: contextlib.ExitStack) -> Child:
        child = Child(name, command, self._scene.folder, self._scene.environment)
        stack.callback(child.end)
        return child

    def _producer(self, number: int, seed: int, stack: contextlib.ExitStack) -> Child:
        scene = self._scene
        told = Proposing(
            bus=scene.bus,
            table=self._tables[number % len(self._tables)],
            name=f"producer-{number}",
            seed=seed,
            journal=str(self._journals[number]),
            storage=dict(scene.storage),
        )
        config = told.write(scene.folder / f"producer-{number}.json")
        return self._child(told.name, [sys.executable, "-m", "support.torture.proposing", str(config)], stack)

    def _new_tables(self) -> list[str]:
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
        return tables

    # ---- at work

    def begin(self) -> None:
        for child in [*self._committers, *self._producers]:
            child.start()
        self._wait(lambda: all(self._versions_of(uri) > 2 for uri in self._tables), "every table has versions")

    def strike(self, blow: Blow) -> None:
        until_s = time.monotonic() + blow.after_s
        self._wait(lambda: time.monotonic() >= until_s, "the moment of the next blow")
        self.outcome.blows[blow.fault] += 1
        self._tell(f"{sum(self.outcome.blows.values())}. {blow.fault.value}")
        struck_s = time.monotonic()
        match blow.fault:
            case Fault.COMMITTER:
                self._kill_child(self._committers, blow)
            case Fault.PRODUCER:
                self._kill_child(self._producers, blow)
            case Fault.BROKER:
                self._kill_server("broker", blow)
            case Fault.STORE:
                self._kill_server("store", blow)
            case Fault.ZOMBIE:
                self._freeze(blow)
            case Fault.RIVAL:
                self._let_rival_work()
        if blow.waits_for_recovery:
            self._wait_for_recovery()
            slowest = self.outcome.slowest_recovery_s
            slowest[blow.fault] = max(slowest.get(blow.fault, 0.0), time.monotonic() - struck_s)

    def _kill_child(self, children: list[Child], blow: Blow) -> None:
        running = [child for child in children if child.is_running] or children
        victim = running[int(blow.victim * len(running))]
        victim.kill()
        self._down[victim] = time.monotonic() + blow.down_s

    def _kill_server(self, name: str, blow: Blow) -> None:
        server = self._scene.servers[name]
        server.kill()
        until_s = time.monotonic() + blow.down_s
        self._wait(lambda: time.monotonic() >= until_s, f"the {name} stays away")
        server.start()

    def _freeze(self, blow: Blow) -> None:
        """Long enough that another takes over what the frozen one held, so that it wakes up as a zombie."""
        self._wait(lambda: any(self._holds(child) for child in self._committers), "a committer holds a partition")
        holders = [child for child in self._committers if self._holds(child)]
        victim = holders[int(blow.victim * len(holders))]
        others = [child for child in self._committers if child is not victim]
        before = sum(child.heard["partition_taken"] for child in others)
        began_s = time.monotonic()
        victim.freeze()
        if self._scene.frozen_lose_their_place:
            self._wait(
                lambda: sum(child.heard["partition_taken"] for child in others) > before,
                f"another committer takes over from {victim.name}, which is frozen",
                TAKE_OVER_LIMIT_S,
            )
        else:
            self._wait(lambda: time.monotonic() - began_s >= FROZEN_S, "it is frozen for a while")
        victim.thaw()

    @staticmethod
    def _holds(child: Child) -> bool:
        return child.is_running and child.this_run["partition_taken"] > child.this_run["partition_lost"]

    def _let_rival_work(self) -> None:
        """A committer of another group decides the same proposals: a mistake that must do no harm."""
        before = self._gave_way
        self._rival.start()
        # It begins with all that was ever decided, so the longer the run, the later it meets the others.
        until_s = time.monotonic() + RIVAL_LIMIT_S
        self._wait(
            lambda: not self._rival.is_running or self._gave_way > before or time.monotonic() > until_s,
            "the rival has its time",
        )
        if self._rival.is_running:
            self._rival.kill()
        else:
            self._note_end(self._rival)

    @property
    def _gave_way(self) -> int:
        """How often a committer ended by itself."""
        return sum(count for what, count in self.outcome.ended_by_themselves.items() if what.startswith("committer"))

    def _wait_for_recovery(self) -> None:
        """Until every table has a version that none of the processes that were hit has written before."""
        before = {uri: self._versions_of(uri) for uri in self._tables}
        waiting = list(before)

        def is_over() -> bool:
            waiting[:] = [uri for uri in waiting if self._versions_of(uri) <= before[uri]]
            return not waiting

        try:
            self._wait(is_over, "every table is committed to again")
        except Overdue as error:
            raise Overdue(f"{error}; these are not: {', '.join(waiting)}") from None

    def _versions_of(self, uri: str) -> int:
        """How many there are; asked often, so only for the next ones."""
        folder = self._scene.root_folder / Path(uri).name / LOG
        while (folder / f"{self._counted[uri]:020d}.json").exists():
            self._counted[uri] += 1
        return self._counted[uri]

    # ---- meanwhile

    def _wait(self, condition: Callable[[], bool], what: str, within_s: float = RECOVERY_LIMIT_S) -> None:
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > within_s:
                raise Overdue(f"{what}: not within {within_s:g} s")
            self._tend()
            time.sleep(LOOK_S)

    def _tend(self) -> None:
        """Start again what was killed or ended by itself, as a deployment does, and look at the new versions."""
        now_s = time.monotonic()
        for child in self._committers:
            child.listen()
        for child in [*self._committers, *self._producers]:
            if child.is_running or self._is_stopping:
                continue
            if child not in self._down:
                self._note_end(child)
                self._down[child] = now_s + RESTART_PAUSE_S
            elif now_s >= self._down[child]:
                del self._down[child]
                child.start()
        if now_s - self._watched_s >= WATCH_EVERY_S:
            self._watched_s = now_s
            self._watch.look()

    def _note_end(self, child: Child) -> None:
        """It may give up its place, or find no bus or store; it must say so in one line and end with 1."""
        last, kind = child.last_line(), child.name.partition("-")[0]
        if child.code() == 1 and last.startswith("Error: ") and "should not happen" not in last:
            self.outcome.ended_by_themselves[f"{kind}: {_reason(last)}"] += 1
        else:
            self.outcome.violations.append(f"{child.name} ended with {child.code()} and said {last[:500]!r}")

    # ---- the end

    def end_quietly(self) -> None:
        """No more blows: everything that was proposed is answered, then everybody leaves when told to."""
        self._tell("quiet: waiting until everything is answered")
        children = [*self._committers, *self._producers]
        self._wait_until_at_work(children)
        self._wait_for_recovery()
        for child in self._producers:
            child.tell_to_stop()
        producers = self._producers
        self._producers = []
        self._wait(
            lambda: not any(child.is_running for child in producers), "every producer has its receipts", QUIET_LIMIT_S
        )
        self._producers = producers
        self._wait_until_at_work(self._committers)
        self._is_stopping = True
        for child in self._committers:
            child.tell_to_stop()
        for child in self._committers:
            child.ended()
        for child in children:
            if child.code() != 0:
                self.outcome.violations.append(
                    f"{child.name} ended with {child.code()} when it was told to stop, and said {child.last_line()[:500]!r}"
                )

    def _wait_until_at_work(self, children: Sequence[Child]) -> None:
        """From then on each knows what to do when it is told to stop."""
        self._wait(
            lambda: all(
                child.is_running and child.has_said(_READY[child.name.partition("-")[0]]) for child in children
            ),
            "everybody is at work",
        )

    def judge(self) -> None:
        self._watch.look()
        evidence = self._gathered()
        outcome = self.outcome
        outcome.violations += judge(evidence)
        asked = [item for items in evidence.asked.values() for item in items]
        ids = {item.id for item in asked}
        told = [evidence.receipts[each][0][0] for each in ids if each in evidence.receipts]
        outcome.proposals, outcome.repeated = len(ids), len(asked) - len(ids)
        outcome.accepted, outcome.rejected = len(told) - told.count("rejected"), told.count("rejected")
        outcome.versions = sum(map(len, evidence.versions.values()))

    def _gathered(self) -> Evidence:
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
            had_rivals=self.outcome.blows[Fault.RIVAL] > 0,
            unsettled=unsettled,
            dead_letters=letters,
        )

    def last_words(self) -> Iterator[str]:
        for child in [*self._committers, *self._producers]:
            yield f"{child.name} (code {child.code()}) said last: {child.last_line()[:500]}"


def _reason(line: str) -> str:
    for words in (
        "is worked on by committer",
        "isn't held",
        "fenced",
        "taken over",
        "took",
        "isn't reachable",
        "answer",
    ):
        if words in line:
            return f"… {words} …"
    return line[7:80]
