"""Workers compact, merge and clean a table while four writers append and another overwrites, and are killed every few seconds.

Now and then the committer, a writer or the store is killed as well. For longer: `make torture PLAY=maintenance MINUTES=n`.
"""

from collections import Counter
from functools import partial

from support.torture.faults import Fault
from support.torture.maintenance_play import WEIGHTS, MaintenancePlay
from support.torture.outcome import Limit
from support.torture.play import weights_on
from support.torture.rows import OVERWRITTEN_FILES
from support.torture.run import torture
from support.torture.stage.scenes import kafka_and_s3
from support.torture.upkeep_table import ORPHANS

SEED = 20_261
ENOUGH = {
    "compactions": 2,
    "merges": 3,
    "purges": 1,
    "cleanings": 2,
    "files appended": 150,
    "files overwritten": 4 * OVERWRITTEN_FILES,
    "data files cleaned": ORPHANS + 1,
    "states cleaned": 1,
    "versions cleaned": 10,
}
ENOUGH_KILLS = 4
PLAY = partial(MaintenancePlay, enough=ENOUGH, enough_kills=ENOUGH_KILLS)


def test_no_append_is_refused_and_no_row_lost_while_workers_are_killed_at_their_work() -> None:
    with kafka_and_s3() as scene:
        faults = weights_on(scene, WEIGHTS)
        outcome = torture(PLAY, scene, SEED, Limit(kills=len(faults)), print_line)
    for deed, count in sorted(outcome.deeds.items()):
        print_line(f"{deed}: {count}")
    assert outcome.violations == [], f"python -m support.torture --play maintenance --minutes 1 --seed {SEED}"
    assert set(outcome.blows) == set(faults) == set(WEIGHTS) - {Fault.FULL}
    assert outcome.blows[Fault.WORKER] >= ENOUGH_KILLS
    assert outcome.deeds >= Counter(ENOUGH)


def print_line(line: str) -> None:
    """Shown by pytest where a test fails."""
    print(line)  # noqa: T201
