"""Every fault that real processes can be given, at random moments, reduced to what every run of the suite can afford.

The whole of it is `make torture`.
"""

from functools import partial

from support.torture.faults import Fault
from support.torture.outcome import Limit
from support.torture.play import weights_on
from support.torture.proposals_play import WEIGHTS, ProposalsPlay
from support.torture.run import torture
from support.torture.stage.scenes import kafka_and_s3, one_machine

SEED = 20_260
PLAY = partial(ProposalsPlay, producers=3)


def test_every_promise_is_kept_on_kafka_and_s3() -> None:
    with kafka_and_s3() as scene:
        faults = weights_on(scene, WEIGHTS)
        outcome = torture(PLAY, scene, SEED, Limit(kills=len(faults)), print_line)
    assert outcome.violations == [], f"python -m support.torture --kills {len(faults)} --seed {SEED}"
    assert set(outcome.blows) == set(faults) == set(WEIGHTS) - {Fault.FULL}
    assert outcome.accepted > 0
    assert outcome.rejected > 0


def test_every_promise_is_kept_on_one_machine() -> None:
    with one_machine() as scene:
        faults = weights_on(scene, WEIGHTS)
        outcome = torture(PLAY, scene, SEED, Limit(kills=len(faults)), print_line)
    assert outcome.violations == [], f"python -m support.torture --kills {len(faults)} --seed {SEED} --on sqlite"
    # Whether a disk can be full is a question of what may be mounted here.
    assert set(outcome.blows) - {Fault.FULL} == {
        Fault.COMMITTER,
        Fault.PRODUCER,
        Fault.ZOMBIE,
        Fault.RIVAL,
        Fault.RESTART,
        Fault.CLOCK,
    }
    assert (Fault.FULL in outcome.blows) == (scene.disk is not None)
    assert outcome.accepted > 0


def print_line(line: str) -> None:
    """Shown by pytest where a test fails."""
    print(line)  # noqa: T201
