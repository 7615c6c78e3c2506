"""What a run is to do, and what it did: blows, their recoveries, what the parts got done, and the broken promises."""

from collections import Counter
from dataclasses import dataclass, field

from support.torture.faults import Fault


@dataclass(slots=True)
class Limit:
    """Until so many blows have fallen, or the time is over."""

    kills: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Outcome:
    """What a run did, and what it broke."""

    possible: frozenset[Fault] = frozenset()
    """What could have befallen it."""
    blows: Counter[Fault] = field(default_factory=Counter)
    ended_by_themselves: Counter[str] = field(default_factory=Counter)
    """By the first words of what they said."""
    slowest_recovery_s: dict[Fault, float] = field(default_factory=dict)
    """From the blow until the system was seen at work again; of those that were waited for."""
    took_s: float = 0.0
    proposals: int = 0
    accepted: int = 0
    rejected: int = 0
    repeated: int = 0
    versions: int = 0
    deeds: Counter[str] = field(default_factory=Counter)
    """What else was done, by name."""
    violations: list[str] = field(default_factory=list)
