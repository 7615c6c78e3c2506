"""All mutants, side by side, and a table of who noticed them.

Exit 1 when one survives, when its trial could not run, or when the same tests fail without any bug.
"""

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import assert_never

from rich.console import Console
from rich.table import Table

from support.mutants.catalogue import MUTANTS
from support.mutants.mutant import Mutant
from support.mutants.trial import TrialBroken, Verdict, copied_tree, failing_seeds, killed_by_tests, tried

WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name holds this text")
    parser.add_argument("--by", choices=("all", "seeds"), default="all", help="seeds: without the scripted tests")
    parser.add_argument("--seeds", type=int, help="another bound of random runs for each mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trials side by side")
    given = parser.parse_args(arguments)
    chosen = [mutant for mutant in MUTANTS if given.only in mutant.name]
    console = Console(width=max(WIDTH, Console().width))
    progress = Console(stderr=True, width=WIDTH)
    if not chosen:
        console.print(f"no mutant's name holds {given.only!r}", highlight=False)
        return 2
    began = time.monotonic()
    scripted = given.by == "all"
    verdicts: dict[str, Verdict | TrialBroken] = {}
    with ThreadPoolExecutor(given.jobs) as executor:
        trials = {executor.submit(tried, mutant, scripted=scripted, seeds=given.seeds): mutant for mutant in chosen}
        for trial in as_completed(trials):
            mutant = trials[trial]
            try:
                verdict: Verdict | TrialBroken = trial.result()
            except TrialBroken as trouble:
                verdict = trouble
            verdicts[mutant.name] = verdict
            progress.print(
                f"{len(verdicts)}/{len(chosen)} {mutant.name}: {_said(verdict)}", markup=False, highlight=False
            )
    failing = _control(chosen if scripted else (), verdicts)
    console.print(_table(chosen, verdicts))
    survivors = [name for name, verdict in verdicts.items() if isinstance(verdict, Verdict) and verdict.survived]
    broken_trials = {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, TrialBroken)}
    for name, broken in broken_trials.items():
        console.print(f"{name}: {broken}", markup=False, highlight=False)
    killed = len(chosen) - len(survivors) - len(broken_trials)
    console.print(f"{killed} of {len(chosen)} mutants killed in {time.monotonic() - began:.0f} s")
    if survivors:
        console.print(f"survivors: {', '.join(survivors)}", highlight=False)
    if failing:
        console.print(f"without any bug, this fails as well, so nothing was shown: {failing}", highlight=False)
    return 1 if survivors or broken_trials or failing else 0


def _control(chosen: Sequence[Mutant], verdicts: dict[str, Verdict | TrialBroken]) -> str:
    """What of their tests, and of the seeds that killed, fails in a copy without any bug."""
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    killers = sorted({verdict.killer for verdict in verdicts.values() if isinstance(verdict, Verdict)})
    with copied_tree() as root:
        return (killed_by_tests(root, tests) if tests else "") or failing_seeds(root, killers)


def _table(chosen: Sequence[Mutant], verdicts: dict[str, Verdict | TrialBroken]) -> Table:
    table = Table("mutant", "breaks", "killed by", "seconds")
    for mutant in chosen:
        verdict = verdicts[mutant.name]
        seconds = f"{verdict.seconds:.0f}" if isinstance(verdict, Verdict) else ""
        table.add_row(mutant.name, mutant.rule.value.partition(":")[0], _said(verdict), seconds)
    return table


def _said(verdict: Verdict | TrialBroken) -> str:
    match verdict:
        case Verdict(killer=killer):
            return killer or "nobody: it survives"
        case TrialBroken():
            return "its trial could not run"
        case _:
            assert_never(verdict)
