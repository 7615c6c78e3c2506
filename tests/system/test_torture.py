"""kill -9 of every part of the system at random moments, reduced to what every run of the suite can afford.

The whole of it is `make torture`.
"""

from functools import partial

from support.torture.faults import Fault
from support.torture.outcome import Limit
from support.torture.proposals_play import WEIGHTS, ProposalsPlay
from support.torture.run import torture
from support.torture.scenes import kafka_and_s3, one_machine

SEED = 20_260
PLAY = partial(ProposalsPlay, producers=3)


def test_every_promise_is_kept_on_kafka_and_s3() -> None:
    with kafka_and_s3() as scene:
        outcome = torture(PLAY, scene, SEED, Limit(kills=8), print_line)
    assert outcome.violations == [], f"python -m support.torture --kills 8 --seed {SEED}"
    assert set(outcome.blows) == set(WEIGHTS)
    assert outcome.accepted > 0
    assert outcome.rejected > 0


def test_every_promise_is_kept_on_one_machine() -> None:
    with one_machine() as scene:
        outcome = torture(PLAY, scene, SEED, Limit(kills=6), print_line)
    assert outcome.violations == [], f"python -m support.torture --kills 6 --seed {SEED} --on sqlite"
    assert set(outcome.blows) == set(WEIGHTS) - {Fault.BROKER, Fault.STORE}
    assert outcome.accepted > 0


def print_line(line: str) -> None:
    """Shown by pytest where a test fails."""
    print(line)  # noqa: T201
