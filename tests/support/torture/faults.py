"""The faults that a run injects, and which comes when: a function of the seed and of what the play can lose."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from random import Random


class Fault(Enum):
    COMMITTER = "committer killed"
    PRODUCER = "producer killed"
    BROKER = "broker killed"
    STORE = "store killed"
    ZOMBIE = "committer frozen until another took over"
    RIVAL = "committer of another group at the same time"
    WORKER = "worker killed"
    RESTART = "told to stop, and started again"
    CUT = "connections to a server cut for a while"
    SLOW = "connections to a server slow for a while"
    TORN = "answers of a server torn for a while"
    FULL = "disk full for a while"
    CLOCK = "killed, and started again with another clock"


@dataclass(frozen=True, slots=True)
class Blow:
    """One fault, when it comes, and how it goes on."""

    fault: Fault
    after_s: float
    """Since the system was seen at work."""
    down_s: float
    """How long what was killed stays away."""
    victim: float
    """In [0, 1): which of those that it can hit."""
    waits_for_recovery: bool
    """Else the next fault meets a system that may still be mending this one."""


def blows(seed: int, weights: Mapping[Fault, int], pause_s: tuple[float, float]) -> Iterator[Blow]:
    """Without end; between any two lies a pause of at least and at most so long.

    The first are one of each kind. Then each comes as often as it weighs, in an order that the seed draws, before any of them
    comes more often: so none is left out by chance.
    """
    draw = Random(f"blows/{seed}")
    possible = [fault for fault in Fault if fault in weights]
    counts = [weights[fault] for fault in possible]
    hand = draw.sample(possible, len(possible))
    while True:
        fault = hand.pop()
        yield Blow(
            fault, draw.uniform(*pause_s), draw.choice((0.0, draw.uniform(0, 1.5))), draw.random(), draw.random() < 0.8
        )
        hand = hand or draw.sample(possible, sum(counts), counts=counts)
