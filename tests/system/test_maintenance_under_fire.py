"""Workers compact, merge and clean a table while four writers append and another overwrites, and are killed every few seconds.

Now and then the committer, a writer or the store is killed as well. For longer: `make torture PLAY=maintenance MINUTES=n`.
"""

from collections import Counter

from support.torture.faults import Fault
from support.torture.maintenance_play import ENOUGH, ENOUGH_KILLS, WEIGHTS, MaintenancePlay
from support.torture.outcome import Limit
from support.torture.run import torture
from support.torture.scenes import kafka_and_s3

SEED = 20_261
SECONDS = 60.0


def test_no_append_is_refused_and_no_row_lost_while_workers_are_killed_at_their_work() -> None:
    with kafka_and_s3() as scene:
        outcome = torture(MaintenancePlay, scene, SEED, Limit(seconds=SECONDS), print_line)
    for deed, count in sorted(outcome.deeds.items()):
        print_line(f"{deed}: {count}")
    assert outcome.violations == [], f"python -m support.torture --play maintenance --minutes 1 --seed {SEED}"
    assert set(outcome.blows) == set(WEIGHTS) - {Fault.FULL}
    assert outcome.blows[Fault.WORKER] >= ENOUGH_KILLS
    assert outcome.deeds >= Counter(ENOUGH)


def print_line(line: str) -> None:
    """Shown by pytest where a test fails."""
    print(line)  # noqa: T201
