"""Running a piece of a test in a process of its own: for what may crash, hang, or be measured."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TESTS = Path(__file__).parents[2]


def module_path() -> str:
    """The `PYTHONPATH` by which another process finds the modules that this one finds."""
    return os.pathsep.join(place for place in sys.path if place)


@contextmanager
def a_program(program: str, *arguments: str, stderr: int | None = None) -> Iterator["subprocess.Popen[str]"]:
    """It is spoken with during the block, has nothing of this process's environment, and is killed at the end if still there."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={"PYTHONPATH": module_path()},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def run_isolated(program: str, *arguments: str, timeout_s: float = 120) -> str:
    """What the program printed. A crash, an exception or a time-out fails the test."""
    path = os.pathsep.join([module_path(), str(_TESTS)])
    try:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env={**os.environ, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "2"},
        )
    except subprocess.TimeoutExpired as expired:
        raise AssertionError(f"the program was not done after {timeout_s} s; it printed:\n{expired.stdout!r}") from None
    if done.returncode != 0:
        raise AssertionError(f"the program ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout
