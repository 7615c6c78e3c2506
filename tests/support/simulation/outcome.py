"""What a random run came to, and how a run that went wrong is told."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from headgate_bus.interface import Topic
from support.simulation.judge.model import Decided
from support.simulation.world.world import START_MS, World


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    digest: str
    """Of the whole trace: the same seed gives the same."""
    steps: int
    simulated_s: float
    versions: int
    proposals: int
    receipts: int
    outcomes: Mapping[str, int]
    """What became of proposals: how many were accepted, and refused by which code."""
    injected: Mapping[str, int]
    """What went wrong, by the names that `faults`, `nemesis` and `outsiders` count it by."""
    did: Mapping[str, int]
    """What maintenance came to, on the tables and on the bus."""


class Failure(AssertionError):
    """A run that went wrong: what, the command that replays it, and the last steps."""

    def __init__(self, seed: int, error: BaseException, trace: str, kind: str) -> None:
        self.seed = seed
        super().__init__(
            f"seed {seed}: {type(error).__name__}: {error}\n\nreplay: {replay(seed, kind)}\n\nthe last steps:\n{trace}"
        )


def replay(seed: int, kind: str) -> str:
    return f"make simulate KIND={kind} SEEDS=1 FIRST={seed}"


def outcome_of(
    world: World, versions: int, decided: Collection[Decided], did: Mapping[str, int] | None = None
) -> Outcome:
    outcomes = Counter("accepted" if each.accepted else f"refused: {each.code}" for each in decided)
    outcomes["set aside"] = len(world.receipts.set_aside)
    return Outcome(
        seed=world.seed,
        digest=world.trace.digest(),
        steps=world.trace.count,
        simulated_s=(world.scheduler.now_ms - START_MS) / 1000,
        versions=versions,
        proposals=len(world.receipts.asked),
        receipts=world.receipts.count,
        outcomes=+outcomes,
        injected=+world.faults.injected,
        did={**(did or {}), "proposals trimmed": sum(log.first for log in world.cluster.topic(Topic.PROPOSALS))},
    )
