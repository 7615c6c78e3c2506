"""Killing a piece of work at every one of its steps, so that a test can look at what each death leaves behind."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headgate_table.store.interface import Store
from support.stores.faulty import Fault, FaultyStore, Step, StepKill, at


@dataclass(frozen=True, slots=True)
class Death:
    """A store as a process left it that died at this step."""

    step: Step
    fault: Fault
    store: Store


def deaths(make_store: Callable[[], Store], work: Callable[[Store], object]) -> Iterator[Death]:
    """Run `work` on a fresh store once without faults, then once for each step, killed before and after its effect.

    Reads have no effect, so they are killed before only. Fails when a step that was planned to be the last was never
    reached: then `work` doesn't do the same every time, and its steps aren't enumerated.
    """
    rehearsal = FaultyStore(make_store())
    work(rehearsal)
    assert rehearsal.steps, "the work asked nothing of its store"
    for step in rehearsal.steps:
        for fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER) if step.writes else (Fault.KILL_BEFORE,):
            inner = make_store()
            doomed = FaultyStore(inner, at(step.number, fault))
            died = False
            try:
                work(doomed)
            except StepKill:
                died = True
            assert died, f"the work never died at {step}"
            yield Death(step, fault, inner)
