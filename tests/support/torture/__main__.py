"""`python -m support.torture --minutes N | --kills N [--play proposals|maintenance] [--seed S] [--on kafka|sqlite] [--keep DIR]`.

Exit 1 when a promise was broken.
"""

import argparse
import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import NoReturn

from rich.console import Console

from support.torture.maintenance_play import MaintenancePlay
from support.torture.outcome import Limit, Outcome
from support.torture.play import NewPlay
from support.torture.proposals_play import ProposalsPlay
from support.torture.report import report
from support.torture.run import torture
from support.torture.stage.scenes import kafka_and_s3, one_machine
from support.torture.stage.small_disk import as_root_of_a_namespace

PRODUCERS = 4
SHORT_KILLS = 50
PLAYS: dict[str, NewPlay] = {"proposals": partial(ProposalsPlay, producers=PRODUCERS), "maintenance": MaintenancePlay}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="support.torture", description="faults at random moments, over real processes"
    )
    parser.add_argument("--minutes", type=float, help="how long blows fall")
    parser.add_argument("--kills", type=int, help=f"how many blows fall; {SHORT_KILLS} where nothing is said")
    parser.add_argument("--play", choices=tuple(PLAYS), default="proposals", help="what is done meanwhile")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1_000_000))
    parser.add_argument("--on", choices=("kafka", "sqlite"), default="kafka", help="Kafka and S3, or one machine")
    parser.add_argument("--keep", type=Path, help="a folder that is made for logs, journals and tables of a bad run")
    given = parser.parse_args(arguments)
    if given.on == "sqlite":
        as_root_of_a_namespace("support.torture", arguments)
    kills = given.kills if given.kills is not None or given.minutes is not None else SHORT_KILLS
    limit = Limit(kills, None if given.minutes is None else given.minutes * 60)
    console = Console(highlight=False)
    repeat = f"make torture PLAY={given.play} {_asked(given.minutes, kills)}SEED={given.seed} ON={given.on}"
    console.print(f"to repeat: {repeat}")
    # So that whoever ends this program also ends what it started.
    signal.signal(signal.SIGTERM, _leave)
    outcome = run_once(PLAYS[given.play], given.on, given.seed, limit, given.keep, console)
    console.print(report(outcome, repeat))
    return 1 if outcome.violations else 0


def run_once(play: NewPlay, on: str, seed: int, limit: Limit, keep: Path | None, console: Console) -> Outcome:
    with kafka_and_s3() if on == "kafka" else one_machine() as scene:
        outcome = torture(play, scene, seed, limit, console.print)
        if outcome.violations and keep is not None:
            shutil.copytree(scene.folder, keep)
        return outcome


def _asked(minutes: float | None, kills: int | None) -> str:
    said = {"MINUTES": minutes, "KILLS": kills}
    return "".join(f"{name}={value:g} " for name, value in said.items() if value is not None)


def _leave(*_: object) -> NoReturn:
    sys.exit("told to stop")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
