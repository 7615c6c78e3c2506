"""Committers of the rig that die in the middle of what they do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from headgate_bus.interface import Mark, Message
from headgate_committer.committer import Committer
from support.committing.rig import Rig
from support.stores.faulty import Step, StepKill

Publish = Callable[[int, Sequence[Message], Sequence[Message], int | None, Mark | None], None]


@dataclass
class Publishing:
    """Counts what is published, and dies at one of them."""

    inner: Publish
    dies_at: int = 0
    after: bool = False
    count: int = 0

    @classmethod
    def of(cls, committer: Committer, dies_at: int = 0, *, after: bool = False) -> Self:
        """Between this committer and the bus from now on."""
        publishing = cls(committer._seat.publish, dies_at, after)
        committer._seat.publish = publishing  # type: ignore[method-assign]  # a function in its place
        return publishing

    def __call__(
        self,
        partition: int,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None = None,
    ) -> None:
        self.count += 1
        dies = self.count == self.dies_at
        if not dies or self.after:
            self.inner(partition, events, dead_letters, next_offset, mark)
        if dies:
            raise StepKill(Step(self.count, "publish", str(partition)))


def survives(rig: Rig, committer: Committer) -> bool:
    """Whether it comes to its end alive; else the bus notices that it is gone."""
    try:
        rig.settle(committer)
    except StepKill:
        rig.depose(committer)
        return False
    return True
