"""The work of a random run: processes that are started again, whatever befalls them, until what they have to do is done."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from headgate_bus.errors import BusError
from headgate_schemas.errors import HeadgateError
from support.simulation.nemesis import Nemesis
from support.simulation.scheduler import Process
from support.simulation.world import World


@dataclass
class Work:
    """What one of them does in each of its lives."""

    name: str
    live: Callable[[Process], None]
    is_done: Callable[[], bool]
    process: Process | None = None

    def begin(self, process: Process) -> None:
        self.process = process
        process.start(partial(self._live, process))

    def _live(self, process: Process) -> None:
        try:
            self.live(process)
        except (HeadgateError, BusError) as error:
            process.scheduler.note(process.name, f"ends: {type(error).__name__}: {error}")


@dataclass
class Crew:
    """All of them."""

    world: World
    work: list[Work] = field(default_factory=list)

    def add(self, name: str, live: Callable[[Process], None], is_done: Callable[[], bool]) -> None:
        self.work.append(Work(name, live, is_done))

    def add_once(self, name: str, live: Callable[[Process], None]) -> None:
        """Work that may be left undone, if its process dies."""
        begun: list[Process] = []

        def once(process: Process) -> None:
            begun.append(process)
            live(process)

        self.add(name, once, lambda: bool(begun) and begun[0].is_over)

    def maybe(self, drawn: random.Random, chance: float, name: str, live: Callable[[Process], None]) -> bool:
        """The same, in a share of the runs; whether in this one."""
        if drawn.random() >= chance:
            return False
        self.add_once(name, live)
        return True

    @property
    def is_done(self) -> bool:
        return all(work.is_done() for work in self.work)

    @property
    def undone(self) -> list[str]:
        return [work.name for work in self.work if not work.is_done()]

    def tend(self, nemesis: Nemesis) -> None:
        """Start what is not running and not done, now and every second."""
        world = self.world
        for work in self.work:
            if not work.is_done() and (work.process is None or work.process.is_over):
                process = world.process(work.name)
                nemesis.others = [other for other in nemesis.others if not other.is_over] + [process]
                work.begin(process)
        world.scheduler.at(world.scheduler.now_ms + 1_000, lambda: self.tend(nemesis))
