"""A deployment that nobody meant to start: a committer of another group, or of the same with other roots, for a while.

It must not begin while others are at work, which each `SimulatedSeat` judges; and if all others are gone for a moment, what it
then tells is true.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate_bus.errors import BusError, Fenced
from headgate_committer.errors import Overtaken, RivalDeployment
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import HeadgateError
from support.simulation.actors.committers import CommitterSeat
from support.simulation.judge.broken import must
from support.simulation.world.seats import Seat
from support.simulation.world.world import GROUP, World

STARTED = "rival: another deployment is started on the same bus"
REFUSED = "rival: refuses to begin"
KINDS = (STARTED, REFUSED)
"""By these names it is counted."""
CHANCE = 0.25
"""Of a run to have one."""
ROOTS = ("memory://lake",)
"""Of those who are meant to be there."""
OTHER_ROOTS = (("memory://lake/first",), ("memory://pond",))
_BEGINS_WITHIN_S = 10.0
_LATE_BY_S = 6.0
_STAYS_S = 20.0
_LEAVES_WITHIN_S = 20.0


@dataclass
class RivalSeat(CommitterSeat):
    """It has one life only."""

    def is_expected(self, error: HeadgateError) -> bool:
        self.world.faults.injected[REFUSED] += isinstance(error, RivalDeployment)
        return isinstance(error, RivalDeployment | Overtaken | Fenced | BusError)


@dataclass
class Rivalry:
    """When it comes, and that it goes."""

    world: World
    uris: Sequence[str]
    limits: CommitterLimits
    settings: Mapping[str, str]
    seats: list[RivalSeat] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        self._drawn = random.Random(f"rivals/{self.world.seed}")
        self._left = self._drawn.choice((1, 2, 3))
        self._is_first = False

    def start(self) -> None:
        """At times it is there first."""
        self._is_first = self._drawn.random() < 0.4 and self._may_begin
        if self._is_first:
            self._left -= 1
            self._started()
        self._later(_BEGINS_WITHIN_S * self._drawn.random())

    def before(self, seat: Seat) -> None:
        """Those who are meant to be there begin."""
        scheduler = self.world.scheduler
        if self._is_first:
            scheduler.at(scheduler.now_ms + round(1000 * _LATE_BY_S * self._drawn.random()), seat.keep_alive)
        else:
            seat.keep_alive()

    @property
    def _may_begin(self) -> bool:
        """What would make a table isn't kept from it."""
        return all(self.world.models[uri].newest >= 0 for uri in self.uris)

    def stop(self) -> None:
        self.is_over = True

    def check_end(self) -> None:
        """None of them ended by what nobody expects."""
        for seat in self.seats:
            bad = [ending for ending in seat.endings if ending.startswith("unexpected")]
            must(not bad, f"{seat.name} ended by {bad}")

    def _later(self, seconds: float) -> None:
        scheduler = self.world.scheduler
        scheduler.at(scheduler.now_ms + round(1000 * seconds), self._begin)

    def _begin(self) -> None:
        if self.is_over or not self._left:
            return
        if self._may_begin:
            self._left -= 1
            self._started()
        self._later(_BEGINS_WITHIN_S * self._drawn.random())

    def _started(self) -> None:
        scheduler = self.world.scheduler
        is_other_group = self._drawn.random() < 0.5
        seat = RivalSeat(
            self.world,
            f"rival-{len(self.seats)}",
            group="strangers" if is_other_group else GROUP,
            roots=ROOTS if is_other_group else self._drawn.choice(OTHER_ROOTS),
            limits=self.limits,
            settings=self.settings,
        )
        self.seats.append(seat)
        self.world.faults.injected[STARTED] += 1
        seat.start()
        stays_ms = round(1000 * _STAYS_S * self._drawn.random())
        scheduler.at(scheduler.now_ms + stays_ms, lambda: self._told_to_stop(seat))

    def _told_to_stop(self, seat: RivalSeat) -> None:
        seat.stopping = True
        scheduler = self.world.scheduler
        scheduler.at(scheduler.now_ms + round(1000 * _LEAVES_WITHIN_S), lambda: self._ended(seat))

    def _ended(self, seat: RivalSeat) -> None:
        """Whatever it is doing."""
        if seat.process is not None and seat.bus is not None:
            seat.process.kill()
            seat.bus.inner.expire()
