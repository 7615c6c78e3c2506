"""What a run plays: which processes work on which tables, what may befall them, and what is judged in the end.

The plays are `proposals_play` and `maintenance_play`; the run knows neither.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from support.torture.faults import Fault
from support.torture.outcome import Outcome
from support.torture.stage.children import Child
from support.torture.stage.scenes import Scene


@dataclass(frozen=True, slots=True)
class Cast:
    """Who works on the tables. All of them are started again when they end."""

    tables: Mapping[str, Path]
    """By their addresses, the folders where they lie on this machine."""
    committers: list[Child]
    producers: list[Child]
    """These end with 0 when they are told to stop and all that they proposed is answered."""
    workers: list[Child] = field(default_factory=list)
    rival: Child | None = None
    spared: frozenset[str] = frozenset()
    """Names of those that no blow hits, so that something is seen to work all the time."""

    @property
    def children(self) -> list[Child]:
        return [*self.committers, *self.producers, *self.workers]


class Play(Protocol):
    @property
    def cast(self) -> Cast: ...

    @property
    def weights(self) -> Mapping[Fault, int]:
        """The faults that may come, as far as the scene can lose what they hit, and how often each comes."""
        ...

    @property
    def pause_s(self) -> tuple[float, float]:
        """How long the system is left alone between two blows, at least and at most."""
        ...

    @property
    def clocks_apart_s(self) -> int:
        """How far the clock of a process may be off."""
        ...

    def look(self) -> None:
        """Called all the time, so it sees what doesn't stay."""
        ...

    def versions_of(self, table: str) -> int:
        """How many versions the table has had."""
        ...

    def has_shown_enough(self, outcome: Outcome) -> bool:
        """Whether so much was done that keeping the promises means something. A slow machine takes longer."""
        ...

    def is_settled(self) -> bool:
        """The producers have left: whether the others have done what was left to do."""
        ...

    def judge(self, outcome: Outcome) -> None:
        """Everybody has left: note what was done, and every broken promise."""
        ...


NewPlay = Callable[[Scene, int, ExitStack], Play]
"""For a scene and a seed. What it starts ends with the stack."""


def new_child(scene: Scene, name: str, command: list[str], stack: ExitStack) -> Child:
    child = Child(name, command, scene.folder, scene.environment)
    stack.callback(child.end)
    return child


def weights_on(scene: Scene, weights: Mapping[Fault, int]) -> Mapping[Fault, int]:
    """Without the faults that hit what the scene doesn't have."""
    there = {
        Fault.BROKER: "broker" in scene.servers,
        Fault.STORE: "store" in scene.servers,
        Fault.CUT: bool(scene.lines),
        Fault.SLOW: bool(scene.lines),
        Fault.TORN: bool(scene.lines),
        Fault.FULL: scene.disk is not None,
    }
    return {fault: weight for fault, weight in weights.items() if there.get(fault, True)}
