"""Damage to small tables of every kind: right answers or named errors. Prints what was tried, by kind; 1 for any problem.

`--replay KIND DAMAGE` tries one case again, as a failure prints it.
"""

import argparse
import logging
import sys
from itertools import count, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from headgate_schemas.ambient import SystemAmbient
from support.damage.damages import parse_damage  # found by the line above
from support.damage.run import ALL_KINDS, Tally, all_damages, drawn, judged, run

CLOCK = SystemAmbient()
_STEP = 25
_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="how long; without it, --cases of each kind")
    parser.add_argument("--cases", type=int, default=200, help="of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the drawing (default: %(default)s)")
    parser.add_argument(
        "--kind", choices=ALL_KINDS, action="append", help="of the table; may be repeated (default: all)"
    )
    parser.add_argument("--until-failure", action="store_true", help="no more cases after the first that fails")
    parser.add_argument("--all", action="store_true", help="every case there is of these kinds, once and in order")
    parser.add_argument("--replay", nargs=2, metavar=("KIND", "DAMAGE"), help="try one case again")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if asked.replay is not None:
        verdict = judged(asked.replay[0], parse_damage(asked.replay[1]))
        print(verdict.outcome, *verdict.problems, sep="\n  ")
        return 1 if verdict.problems else 0
    kinds = asked.kind or list(ALL_KINDS)
    tallies = {kind: Tally() for kind in kinds}
    if asked.all:
        for kind in kinds:
            run(kind, all_damages(kind), tallies[kind])
            _print(kind, tallies[kind])
    else:
        _draw(kinds, tallies, asked)
        for kind in kinds:
            _print(kind, tallies[kind])
    problems = [problem for tally in tallies.values() for problem in tally.problems]
    print(f"seed {asked.seed}: {sum(tally.cases for tally in tallies.values())} cases, {len(problems)} problems")
    for problem in problems[:_SHOWN]:
        kind, damage, _ = problem.split(" ", 2)
        print(f"  {problem[:1000]}\n    replay: python tests/tooling/damage.py --replay {kind} '{damage[:-1]}'")
    return 1 if problems else 0


def _draw(kinds: list[str], tallies: dict[str, Tally], asked: argparse.Namespace) -> None:
    end = None if asked.minutes is None else CLOCK.monotonic_s() + 60 * asked.minutes
    sources = {kind: drawn(kind, asked.seed) for kind in kinds}
    for _ in count():
        for kind in kinds:
            if end is not None and CLOCK.monotonic_s() > end:
                return
            step = _STEP if end is not None else min(_STEP, asked.cases - tallies[kind].cases)
            run(kind, list(islice(sources[kind], step)), tallies[kind])
            if asked.until_failure and tallies[kind].problems:
                return
        if end is None and all(tally.cases >= asked.cases for tally in tallies.values()):
            return


def _print(kind: str, tally: Tally) -> None:
    outcomes: dict[str, int] = {}
    for (_, outcome), number in tally.outcomes.items():
        outcomes[outcome] = outcomes.get(outcome, 0) + number
    told = ", ".join(f"{outcome} {number}" for outcome, number in sorted(outcomes.items()))
    print(f"{kind}: {tally.cases} cases; {told}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
