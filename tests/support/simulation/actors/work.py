"""The work of a random run: processes that are started again, whatever befalls them, until what they have to do is done."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from headgate_bus.errors import BusError
from headgate_schemas.errors import HeadgateError
from support.simulation.troubles.nemesis import Nemesis
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World


class Work(Protocol):
    """What one process does in each of its lives, and what survives its deaths."""

    @property
    def name(self) -> str: ...

    @property
    def is_done(self) -> bool: ...

    def live(self, process: Process) -> None:
        """One life."""
        ...


@dataclass
class Once:
    """Work that may be left undone, if its process dies."""

    name: str
    do: Callable[[Process], None]
    process: Process | None = None

    @property
    def is_done(self) -> bool:
        return self.process is not None and self.process.is_over

    def live(self, process: Process) -> None:
        self.process = process
        self.do(process)


@dataclass
class Crew:
    """All of them."""

    world: World
    work: list[Work] = field(default_factory=list)
    processes: dict[str, Process] = field(default_factory=dict)

    def maybe(self, drawn: random.Random, chance: float, name: str, do: Callable[[Process], None]) -> bool:
        """Work that is there in a share of the runs; whether in this one."""
        if drawn.random() >= chance:
            return False
        self.work.append(Once(name, do))
        return True

    @property
    def is_done(self) -> bool:
        return all(work.is_done for work in self.work)

    @property
    def undone(self) -> list[str]:
        return [work.name for work in self.work if not work.is_done]

    def tend(self, nemesis: Nemesis) -> None:
        """Start what is not running and not done, now and every second."""
        world = self.world
        for work in self.work:
            before = self.processes.get(work.name)
            if not work.is_done and (before is None or before.is_over):
                process = world.process(work.name)
                self.processes[work.name] = process
                nemesis.others = [other for other in nemesis.others if not other.is_over] + [process]
                process.start(partial(_live, work, process))
        world.scheduler.at(world.scheduler.now_ms + 1_000, lambda: self.tend(nemesis))


def _live(work: Work, process: Process) -> None:
    try:
        work.live(process)
    except (HeadgateError, BusError) as error:
        process.scheduler.note(process.name, f"ends: {type(error).__name__}: {error}")
