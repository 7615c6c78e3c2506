"""A soak: the play, for so long, and the samples that came of it."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from support.soak.samples import Sample
from support.soak.soaking import SoakPlay
from support.torture.outcome import Limit, Outcome
from support.torture.run import torture
from support.torture.stage.scenes import Scene

NewSoak = Callable[[Scene, int, ExitStack], SoakPlay]


@dataclass(frozen=True, slots=True)
class Soaked:
    outcome: Outcome
    samples: list[Sample]


def soak(scene: Scene, seed: int, seconds: float, tell: Callable[[str], None], new_play: NewSoak) -> Soaked:
    plays: list[SoakPlay] = []

    def noted(scene: Scene, seed: int, stack: ExitStack) -> SoakPlay:
        plays.append(new_play(scene, seed, stack))
        return plays[0]

    outcome = torture(noted, scene, seed, Limit(seconds=seconds), tell)
    return Soaked(outcome, plays[0].samples)
