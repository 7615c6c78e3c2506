"""Attempts at a merge for tests of the Spark engine: like the real one, except for what befalls them on the executor.

They run in the executor's Python process, which imports this module; they and the test meet in a folder.
"""

import os
import signal
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.engines.spark_task import merge_attempt
from support.processes.waiting import wait_until

LIMIT_S = 120.0
"""How long anything is waited for; then the test has failed."""


@dataclass(frozen=True, slots=True)
class DiesFirst:
    """The first attempt is killed when so many row groups of its output are written."""

    row_groups: int

    def __call__(self, parcel: str, attempt: int) -> str:
        left = self.row_groups

        def die_in_the_middle() -> None:
            nonlocal left
            if attempt == 0 and left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        with mock.patch(
            "headgate_worker.merge.engines.spark_task.ArrowEngine", partial(ArrowEngine, give_up=die_in_the_middle)
        ):
            return merge_attempt(parcel, attempt)


@dataclass(frozen=True, slots=True)
class DiesAlways:
    """No attempt survives."""

    def __call__(self, parcel: str, attempt: int) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("nobody survives that")


@dataclass(frozen=True, slots=True)
class MeetsAnother:
    """Merges only once another attempt is at work at the same time."""

    folder: Path

    def __call__(self, parcel: str, attempt: int) -> str:
        _sign(self.folder)
        wait_until(lambda: len(signed(self.folder)) > 1, "another attempt is at work", LIMIT_S)
        return merge_attempt(parcel, attempt)


@dataclass(frozen=True, slots=True)
class NeverEnds:
    """It has begun as soon as its process is named in the folder."""

    folder: Path

    def __call__(self, parcel: str, attempt: int) -> str:
        _sign(self.folder)
        time.sleep(10 * LIMIT_S)
        raise AssertionError("nobody has ended it")


def _sign(folder: Path) -> None:
    (folder / str(os.getpid())).touch()


def signed(folder: Path) -> list[int]:
    """The processes that are, or were, at work."""
    return [int(path.name) for path in folder.iterdir()]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
