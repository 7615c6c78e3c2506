"""The tests that draw their cases by hypothesis, with any seed and so many cases, file by file in processes of their own.

Prints what was tried, and for a failure the one command that replays it; exit 1 where there is one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from support.models.files import ROOT, chosen_files, model_files

WIDTH = 130
MAX_FILE_S = 1_500.0
"""A file that takes longer hangs."""
MAX_SHOWN = 8_000
"""Characters of a failed file's output that are shown, from its end."""
TESTS_FAILED = 1
"""What pytest exits with where tests failed. Anything else but 0 means that they could not run."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of the tests of one file. `failed` holds each that failed, and after how many cases."""

    file: str
    tests: int
    cases: int
    failed: dict[str, int | None]
    seconds: float
    code: int
    output: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="models", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the seed (default %(default)s)")
    parser.add_argument("--cases", type=int, default=3_000, help="of all files together (default %(default)s)")
    parser.add_argument(
        "--only", default="", help="files whose path holds this text (default: some that the seed draws)"
    )
    parser.add_argument("--until-failure", action="store_true", help="no more after the first failure, told as found")
    given = parser.parse_args(arguments)
    told = partial(Console(width=WIDTH).print, markup=False, highlight=False, soft_wrap=True)
    files = chosen_files(given.first, given.only)
    if not files:
        told(f"no file's path holds {given.only!r}; there are:", *model_files(), sep="\n  ")
        return 2
    each = max(1, given.cases // len(files))
    cases, failures = 0, 0
    for file in files:
        ran = run(file, given.first, each, until_failure=given.until_failure)
        cases += ran.cases
        state = "ok" if not ran.code else "FAILED"
        told(f"{file}: {ran.cases} cases of {ran.tests} tests, {ran.seconds:.0f} s: {state}")
        if not ran.code:
            continue
        failures += 1
        told(ran.output[-MAX_SHOWN:])
        if ran.code != TESTS_FAILED:
            told(f"the tests of {file} could not run")
            return 2
        for name, after in ran.failed.items():
            told(f"  {name} fails after {after} cases")
        told(f"  replay: make models ONLY={file} FIRST={given.first} CASES={each}")
        if given.until_failure:
            break
    told(f"seed {given.first}: {cases} cases, {failures} files with failures")
    return 1 if failures else 0


def run(file: str, seed: int, cases: int, *, until_failure: bool = False) -> Ran:
    """A process of its own, so that what is drawn depends on nothing but the file, the seed and the number of cases."""
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headgate-models-") as folder:
        into = Path(folder, "drawn.json")
        try:
            done = subprocess.run(
                [sys.executable, *_arguments(file, seed, cases, into, until_failure)],
                cwd=ROOT,
                env=_environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=MAX_FILE_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            text = bytes(error.stdout or b"").decode(errors="replace")  # bytes, whatever was asked for
            told = f"{text}\nit was ended after {MAX_FILE_S:.0f} s"
            return Ran(file, 0, 0, {}, time.monotonic() - began_s, TESTS_FAILED, told)
        drawn = json.loads(into.read_text(encoding="utf-8")) if into.exists() else {}
    failed = {name: each["failed"] for name, each in drawn.items() if each["failed"] is not None}
    seconds = time.monotonic() - began_s
    tried = sum(each["cases"] for each in drawn.values())
    return Ran(file, len(drawn), tried, failed, seconds, done.returncode, done.stdout)


def _arguments(file: str, seed: int, cases: int, into: Path, until_failure: bool) -> list[str]:
    return [
        *("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "support.models.drawing", "--tb=short"),
        *(f"--hypothesis-seed={seed}", f"--draw-cases={cases}", f"--drawn-into={into}"),
        *(("-x", "--draw-once") if until_failure else ()),
        file,
    ]


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    return environment
