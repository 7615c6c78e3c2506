"""Time that passes faster for what lies on the disk below a store: an hour in some seconds.

Files look older than they are; nothing else is changed. So cleaning works in a test as it does after hours, by the age
floors that tables have.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headgate_table.indextables.format.names import LOG

HOUR_S = 3600.0
_NEVER_AGED = frozenset({"_last_checkpoint"})
"""Its time means nothing to anybody, and it is replaced all the time."""


class Ageing:
    """Of one table's folder. Files of the same folder that aren't the table's have their own ages."""

    def __init__(self, folder: Path, hour_lasts_s: float) -> None:
        self._folder = folder
        self._hour_lasts_s = hour_lasts_s

    def let_time_pass(self, stays_young: Callable[[str], bool]) -> None:
        """Whatever is as old as an hour lasts, looks older by an hour from now on, except names that stay young."""
        now_s = time.time()
        for path in files_of_table(self._folder):
            if path.name not in _NEVER_AGED and not stays_young(path.name):
                _age(path, now_s, self._hour_lasts_s)


def files_of_table(folder: Path) -> Iterator[Path]:
    """Data files and the log, as far as they are there at the moment."""
    for top in _entries(folder):
        if top.is_dir() and (top.name == LOG or "=" in top.name):
            yield from _below(Path(top.path))


def data_files(folder: Path) -> set[str]:
    """The keys of all objects in folders of partitions."""
    return {
        f"{top.name}/{path.relative_to(top.path).as_posix()}"
        for top in _entries(folder)
        if top.is_dir() and "=" in top.name
        for path in _below(Path(top.path))
    }


def make_old(path: Path, days: float) -> None:
    then = time.time() - days * 24 * HOUR_S
    os.utime(path, (then, then))


def _age(path: Path, now_s: float, hour_lasts_s: float) -> None:
    def is_due(modified_s: float) -> bool:
        return hour_lasts_s <= now_s - modified_s < HOUR_S / 2

    with contextlib.suppress(FileNotFoundError):  # cleaned meanwhile
        if not is_due(path.stat().st_mtime):
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            # By the descriptor, so that a file which has just replaced this one doesn't become old by it.
            modified_s = os.fstat(descriptor).st_mtime
            if is_due(modified_s):
                os.utime(descriptor, (modified_s - HOUR_S, modified_s - HOUR_S))
        finally:
            os.close(descriptor)


def _below(folder: Path) -> Iterator[Path]:
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path))
        else:
            yield Path(entry.path)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
