"""Steady work by real processes for long, and whether what they hold stays flat; `make soak` runs it.

    python benchmarks/soak.py [--minutes 30] [--warm-up M] [--on kafka|sqlite] [--seed S] [--every SECONDS] [--into DIR]

Writes the samples as CSV and their plots as PNG into a folder. Exit 1 when something grew, or a promise was broken. It uses
the processes of the torture, which lie below `tests/`.
"""

import argparse
import signal
import sys
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import NoReturn

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from parts.soak_plots import draw
from support.soak.flatness import grew, trends
from support.soak.report import soak_report
from support.soak.run import soak
from support.soak.samples import write_csv
from support.soak.soaking import SoakPlay, stays
from support.torture.report import report
from support.torture.stage.scenes import kafka_and_s3, one_machine

MINUTES = 30.0
EVERY_S = 5.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="soak.py", description="steady work for long, and whether it stays flat")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--warm-up", type=float, help="minutes at the beginning that are not judged (default: a tenth)")
    parser.add_argument("--on", choices=("kafka", "sqlite"), default="sqlite", help="Kafka and S3, or one machine")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1_000_000))
    parser.add_argument("--every", type=float, default=EVERY_S, help="seconds between two samples")
    parser.add_argument("--into", type=Path, default=Path("build/soak"), help="the folder for soak.csv and soak.png")
    given = parser.parse_args(arguments)
    console = Console(highlight=False)
    warm_up = "" if given.warm_up is None else f" WARM_UP={given.warm_up:g}"
    repeat = f"make soak MINUTES={given.minutes:g} SEED={given.seed} ON={given.on}{warm_up}"
    console.print(f"to repeat: {repeat}")
    # So that whoever ends this program also ends what it started.
    signal.signal(signal.SIGTERM, _leave)
    with kafka_and_s3() if given.on == "kafka" else one_machine() as scene:
        new_play = partial(SoakPlay, every_s=given.every)
        soaked = soak(scene, given.seed, given.minutes * 60, console.print, new_play)
    given.into.mkdir(parents=True, exist_ok=True)
    write_csv(soaked.samples, given.into / "soak.csv")
    found = trends(soaked.samples, stays, None if given.warm_up is None else given.warm_up * 60)
    draw(soaked.samples, given.into / "soak.png", f"{given.minutes:g} minutes of steady work ({given.on})")
    console.print(report(soaked.outcome, repeat))
    console.print(soak_report(found))
    console.print(f"samples and plots: {given.into}")
    return 1 if soaked.outcome.violations or grew(found) else 0


def _leave(*_: object) -> NoReturn:
    sys.exit("told to stop")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
