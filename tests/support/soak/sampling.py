"""Takes samples of processes, of the bus and of a table's log, again and again."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from headgate_bus.errors import BusError
from headgate_bus.interface import Bus, Topic
from headgate_committer.committer import DEFAULT_GROUP
from support.logs.raw_log import LOG
from support.soak.processes import MIB, Holding, held_by
from support.soak.samples import Measure, Sample
from support.torture.stage.ageing import files_of_table
from support.torture.stage.children import Child

BUS = "bus"
TABLE = "table"
READ_FIRST_WITHIN_S = 1.0
"""How long the oldest undecided proposal is asked for."""


class Sampler:
    """`take` is called all the time, and takes samples when they are due."""

    def __init__(self, children: Sequence[Child], bus: Bus, table: Path, every_s: float) -> None:
        self._children = children
        self._bus = bus
        self._table = table
        self._every_s = every_s
        self._began_s = time.monotonic()
        self._due_s = 0.0
        self._spent: dict[str, tuple[int, float, float]] = {}
        """By process: its id, when it was looked at last, and its processor time then."""
        self.samples: list[Sample] = []

    def take(self) -> None:
        now_s = time.monotonic() - self._began_s
        if now_s < self._due_s:
            return
        self._due_s = now_s + self._every_s
        values = [*self._of_processes(now_s), *self._of_bus(), *self._of_table()]
        self.samples += [Sample(now_s, who, measure, value) for who, measure, value in values]

    def _of_processes(self, now_s: float) -> Iterator[tuple[str, Measure, float]]:
        for child in self._children:
            if not child.is_running or (holding := held_by(child.pid)) is None:
                continue
            yield child.name, Measure.MEMORY, holding.memory_mib
            yield child.name, Measure.FILES, holding.files
            yield child.name, Measure.THREADS, holding.threads
            yield from self._processor(child, holding, now_s)

    def _processor(self, child: Child, holding: Holding, now_s: float) -> Iterator[tuple[str, Measure, float]]:
        before = self._spent.get(child.name)
        self._spent[child.name] = (child.pid, now_s, holding.cpu_s)
        if before is not None and before[0] == child.pid and before[1] < now_s:
            yield child.name, Measure.CPU, (holding.cpu_s - before[2]) / (now_s - before[1])

    def _of_bus(self) -> Iterator[tuple[str, Measure, float]]:
        """A broker that is away has no lag that anybody could know."""
        try:
            undecided = self._undecided()
            oldest_ms = [time_ms for place in undecided.items() if (time_ms := self._time_of(*place)) is not None]
        except BusError:
            return
        behind = sum(end - first for first, end in undecided.values())
        yield BUS, Measure.LAG, behind
        yield BUS, Measure.LAG_S, max(0.0, time.time() - min(oldest_ms) / 1000) if oldest_ms else 0.0

    def _undecided(self) -> Mapping[int, tuple[int, int]]:
        """By partition of proposals, the first offset that is not settled, and the end."""
        found: dict[int, tuple[int, int]] = {}
        for partition in range(self._bus.partitions(Topic.PROPOSALS)):
            # In this order, so that what is settled between the two looks like lag, and never like less than none.
            first = self._bus.committed(DEFAULT_GROUP, partition) or 0
            end = self._bus.extent(Topic.PROPOSALS, partition).next_offset
            if first < end:
                found[partition] = (first, end)
        return found

    def _time_of(self, partition: int, place: tuple[int, int]) -> int | None:
        with closing(self._bus.reader(Topic.PROPOSALS, {partition: place[0]})) as reader:
            records = reader.read(READ_FIRST_WITHIN_S, 1)
        return records[0].time_ms if records else None

    def _of_table(self) -> Iterator[tuple[str, Measure, float]]:
        sizes = []
        for path in files_of_table(self._table):
            if LOG not in path.relative_to(self._table).parts:
                continue
            try:
                sizes.append(path.stat().st_size)
            except FileNotFoundError:
                continue  # cleaned meanwhile
        yield TABLE, Measure.LOG_FILES, len(sizes)
        yield TABLE, Measure.LOG_BYTES, sum(sizes) / MIB
