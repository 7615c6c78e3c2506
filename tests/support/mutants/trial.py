"""One mutant against the tests: a copy of the tree, the bug put into it, then the cheapest runs that may notice."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from support.mutants.mutant import Mutant, Seeds

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("schemas", "table", "bus", "producer", "committer", "worker", "front")
"""Where the code lies that mutants change."""
COPIED = (*ROOMS, "tests", "pyproject.toml")
MAX_TEST_S = 900.0
"""For one run of tests or seeds: on a busy machine they may take some minutes, and a bug may make them go on for ever."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_REPLAY = re.compile(r"^ *replay: (.*)$", re.MULTILINE)
_NO_TESTS = (2, 3, 4, 5)
"""What pytest exits with where it could not run the tests, as it does when they can't be collected."""


class TrialBroken(Exception):
    """The tests themselves could not run, so nothing was shown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    mutant: str
    killer: str
    """The test, or the command that plays the seed, that noticed first; empty for a survivor."""
    seconds: float

    @property
    def survived(self) -> bool:
        return not self.killer


def tried(mutant: Mutant, *, scripted: bool = True, seeds: int | None = None) -> Verdict:
    """What becomes of the mutant. Without `scripted`, random runs alone; `seeds` is another bound for them.

    Raises `TrialBroken`.
    """
    began_s = time.monotonic()
    with copied_tree() as root:
        mutant.apply(root)
        killer = killed_by_tests(root, mutant.tests) if scripted and mutant.tests else ""
        if not killer:
            given = mutant.seeds if seeds is None else replace(mutant.seeds, bound=seeds)
            killer = killed_by_seeds(root, given)
    return Verdict(mutant.name, killer, time.monotonic() - began_s)


@contextmanager
def copied_tree() -> Iterator[Path]:
    """What tests and mutants need of the tree, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="headgate-mutant-") as folder:
        root = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, root / name, symlinks=True)
            else:
                shutil.copy2(source, root / name)
        yield root


def killed_by_tests(root: Path, tests: Sequence[str]) -> str:
    """The first test that fails in that tree; empty where all pass."""
    done = _run(root, ["-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *tests])
    if done.returncode == 0:
        return ""
    found = _FAILED.search(done.stdout)
    if done.returncode in _NO_TESTS or found is None:
        raise TrialBroken(f"the tests {', '.join(tests)} could not run:\n{done.stdout[-3_000:]}{done.stderr[-3_000:]}")
    return found[1]


def killed_by_seeds(root: Path, seeds: Seeds) -> str:
    """The command that plays the first seed that fails in that tree; empty where none does."""
    if not seeds.bound:
        return ""
    done = _run(root, _generator(seeds))
    found = _REPLAY.search(done.stdout)
    if done.returncode == 0:
        return ""
    if found is None:
        raise TrialBroken(f"the generator could not run:\n{done.stdout[-3_000:]}{done.stderr[-3_000:]}")
    return found[1]


def _generator(seeds: Seeds) -> list[str]:
    """The program, which ends at the first failure."""
    match seeds.kind:
        case "oracle":
            return ["tests/tooling/oracle.py", f"--seeds={seeds.bound}", "--jobs=1", "--no-shrink", "--until-failure"]
        case "damage":
            kinds = [f"--kind={seeds.of}"] if seeds.of else []
            return ["tests/tooling/damage.py", *kinds, f"--cases={seeds.bound}", "--until-failure"]
        case "models":
            return ["tests/tooling/models.py", f"--only={seeds.of}", f"--cases={seeds.bound}", "--until-failure"]
        case kind:
            given = [f"--kind={kind}", f"--seeds={seeds.bound}", "--jobs=1", "--until-failure"]
            return ["tests/tooling/simulate.py", *given]


def failing_seeds(root: Path, killers: Sequence[str]) -> str:
    """The first of the killers that is a replay and fails in that tree as well; empty where none does."""
    for killer in killers:
        arguments = replayed(killer)
        if arguments and _run(root, arguments).returncode != 0:
            return killer
    return ""


def replayed(killer: str) -> list[str]:
    """The program and arguments of a command that replays a failure; none for the name of a test."""
    match shlex.split(killer):
        case ["make", target, *variables]:
            given = (variable.partition("=") for variable in variables)
            return [f"tests/tooling/{target}.py", *(f"--{name.lower()}={text}" for name, _, text in given)]
        case ["python", program, *rest]:
            return [program, *rest]
        case _:
            return []


def _run(root: Path, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    # The copy comes before the tree that is installed.
    path = os.pathsep.join(str(root / name) for name in (*ROOMS, "tests"))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("PYTEST_XDIST_WORKER", None)
    try:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MAX_TEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TrialBroken(f"{' '.join(arguments)} took more than {MAX_TEST_S:g} s (MAX_TEST_S)") from error
