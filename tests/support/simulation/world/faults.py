"""What goes wrong, and how often: drawn at each I/O from the seed, and counted. Making it happen is the store's and the bus's."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from support.simulation.world.scheduler import Process


class Fault(Enum):
    REFUSED = "an error; nothing happened"
    LOST_REQUEST = "no answer; nothing happened"
    LOST_ANSWER = "no answer, but it happened"
    LATE = "no answer; it happens later"
    SLOW = "the answer takes seconds"
    TWICE = "it happens twice"
    DIES_BEFORE = "the process dies before the effect"
    DIES_AFTER = "the process dies after the effect"


@dataclass(frozen=True, slots=True)
class Rates:
    """Of an I/O, how likely each fault is."""

    refused: float = 0.005
    lost_request: float = 0.01
    lost_answer: float = 0.02
    late: float = 0.01
    slow: float = 0.01
    twice: float = 0.03
    death: float = 0.004
    paged: float = 0.15
    """Listings that are put together from several looks."""

    def of(self, fault: Fault) -> float:
        match fault:
            case Fault.REFUSED:
                return self.refused
            case Fault.LOST_REQUEST:
                return self.lost_request
            case Fault.LOST_ANSWER:
                return self.lost_answer
            case Fault.LATE:
                return self.late
            case Fault.SLOW:
                return self.slow
            case Fault.TWICE:
                return self.twice
            case Fault.DIES_BEFORE | Fault.DIES_AFTER:
                return self.death / 2


CALM = Rates(0, 0, 0, 0, 0, 0, 0, 0)

READ_FAULTS = (Fault.REFUSED, Fault.SLOW, Fault.DIES_BEFORE)
APPEND_FAULTS = tuple(Fault)
"""A producer of Kafka without idempotence may deliver a message twice; no conditional write and no transaction happens twice."""
WRITE_FAULTS = tuple(fault for fault in Fault if fault is not Fault.TWICE)
SLOWEST_S = 30.0
PAGED = "store: a listing from several looks"
KINDS = (
    *(f"store: {fault.value}" for fault in WRITE_FAULTS),
    *(f"bus: {fault.value}" for fault in APPEND_FAULTS),
    PAGED,
)
"""What can be injected here, by the names that it is counted by."""


@dataclass(slots=True)
class Planned:
    """A fault of a scripted scenario, at the first I/O that fits."""

    fault: Fault
    operation: str
    key: str
    process: str
    times: int = 1


@dataclass(slots=True)
class Faults:
    random: random.Random
    rates: Rates = CALM
    planned: list[Planned] = field(default_factory=list)
    outages: set[str] = field(default_factory=set)
    """URIs of the stores that answer nobody."""
    slowest_late_ms: int = 20_000
    injected: Counter[str] = field(default_factory=Counter)
    """How often each kind came up, of `KINDS` and of what befalls processes."""

    def draw(self, process: Process, operation: str, key: str, possible: Sequence[Fault]) -> Fault | None:
        fault = self._drawn(process, operation, key, possible)
        if fault is not None:
            self.injected[f"{operation.partition('.')[0]}: {fault.value}"] += 1
        return fault

    def _drawn(self, process: Process, operation: str, key: str, possible: Sequence[Fault]) -> Fault | None:
        for plan in self.planned:
            if plan.operation == operation and plan.key in key and process.name.startswith(plan.process):
                plan.times -= 1
                if plan.times == 0:
                    self.planned.remove(plan)
                return plan.fault
        if self.rates is CALM:
            return None
        drawn = self.random.random()
        for fault in possible:
            drawn -= self.rates.of(fault)
            if drawn < 0:
                return fault
        return None

    def plan(self, fault: Fault, operation: str, key: str = "", *, process: str = "", times: int = 1) -> None:
        self.planned.append(Planned(fault, operation, key, process, times))

    def late_by_ms(self) -> int:
        """Often soon, at times when everybody has forgotten about it."""
        return round(self.slowest_late_ms * self.random.random() ** 3)

    def slow_s(self) -> float:
        """Mostly a moment, at times as long as clients wait."""
        return SLOWEST_S * self.random.random() ** 2

    def page_size(self) -> int | None:
        """How much of a listing one look shows; None for all of it."""
        if self.rates is CALM or self.random.random() >= self.rates.paged:
            return None
        self.injected[PAGED] += 1
        return self.random.randrange(1, 6)
