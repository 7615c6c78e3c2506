"""Finds things in the place of a local file that aren't files: a folder, a pipe, a device, a link that leads to no
file.

A store's listing leaves them out and its `create` refuses to write there; `verify` reports them.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from headgate_table.errors import StoreError
from headgate_table.store.interface import Store


@dataclass(frozen=True, slots=True)
class Obstacle:
    key: str
    what: str
    """As a noun, such as "a named pipe"."""


def obstacle_at(path: str, root: str) -> str | None:
    """The kind of thing, as a noun; None for a file, for a link to one below `root`, and if there is nothing."""
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISLNK(mode):
            return _noun(mode)
        real = os.path.realpath(path)
        if not real.startswith(f"{root.rstrip('/')}/"):
            return f"a symbolic link out of the table, to {real}"
        what = _noun(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return "a symbolic link that leads to nothing" if os.path.islink(path) else None
    except OSError as error:
        return f"a symbolic link that can't be followed ({error.strerror})"
    return None if what is None else f"a symbolic link to {what}"


def _noun(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def local_obstacles(store: Store, folder: str) -> Iterator[Obstacle]:
    """Everything directly in the folder (a key without "/" at its end) that isn't a file, sorted; real folders are
    among them.

    Empty for a store that isn't a local folder. Raises `StoreError`.
    """
    place = store.local_path(f"{folder}/x")
    if place is None:
        return
    try:
        names = sorted(os.listdir(os.path.dirname(place)))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise StoreError(f"could not list {store.uri}/{folder}: {error.strerror}") from error
    for name in names:
        what = obstacle_at(os.path.join(os.path.dirname(place), name), store.place)
        if what is not None:
            yield Obstacle(f"{folder}/{name}", what)
