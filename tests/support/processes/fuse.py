"""What ends a process at one of its steps, over all that it speaks to: in tests by an exception, or really, by kill -9."""

import os
import signal
from collections.abc import Callable
from typing import TypeVar

from headgate_table.store.interface import Store
from support.stores.faulty import Fault, FaultyStore, Step, StepKill

T = TypeVar("T")


class Fuse:
    """Counts the steps of a process, over all it speaks to, and ends it before or after the effect of one of them."""

    def __init__(self, at: int | None = None, *, after: bool = False) -> None:
        self.steps: list[str] = []
        self._at = at
        self._after = after
        self._dead = False

    def run(self, what: str, effect: Callable[[], T]) -> T:
        if self._dead:
            raise StepKill(Step(len(self.steps), what, "after its end"))
        self.steps.append(what)
        if len(self.steps) != self._at:
            return effect()
        self._dead = True
        if self._after:
            effect()
        raise self.end(Step(len(self.steps), what, ""))

    def plan(self, step: Step) -> Fault | None:
        """The same for a store."""
        if self._dead:
            return Fault.KILL_BEFORE
        self.steps.append(f"store {step.operation} {step.key}")
        if len(self.steps) != self._at:
            return None
        self._dead = True
        return Fault.KILL_AFTER if self._after else Fault.KILL_BEFORE

    def end(self, step: Step) -> StepKill:
        """How the process ends here: by what this returns being raised, unless it is gone before."""
        return StepKill(step)


class DeadlyFuse(Fuse):
    """Kills the process that it is in. Nothing of it runs on: no handler, no closing, no other thread."""

    def end(self, step: Step) -> StepKill:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().end(step)


class DeadlyStore(FaultyStore):
    """Ends its process where a fuse plans it."""

    def __init__(self, inner: Store, fuse: DeadlyFuse) -> None:
        super().__init__(inner, fuse.plan)
        self._fuse = fuse

    def _kill(self, step: Step) -> None:
        raise self._fuse.end(step)
