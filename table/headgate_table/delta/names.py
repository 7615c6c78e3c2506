"""The names of a Delta log's objects, relative to the table, and the contents of a listing. Pure."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from headgate_table.store.interface import ObjectInfo

FOLDER = "_delta_log"
LAST_CHECKPOINT = f"{FOLDER}/_last_checkpoint"

_COMMIT = re.compile(rf"{FOLDER}/([0-9]{{20}})\.json")
_CHECKPOINT = re.compile(rf"{FOLDER}/([0-9]{{20}})\.checkpoint\.parquet")


def commit_key(version: int) -> str:
    return f"{FOLDER}/{version:020}.json"


def checkpoint_key(version: int) -> str:
    return f"{FOLDER}/{version:020}.checkpoint.parquet"


@dataclass(frozen=True, slots=True)
class DeltaListing:
    """The objects of a Delta log, by version, in ascending order."""

    commits: dict[int, ObjectInfo]
    checkpoints: dict[int, ObjectInfo]
    others: tuple[ObjectInfo, ...] = ()
    """Neither: a mirror writes nothing of the kind but `_last_checkpoint`."""

    @property
    def is_empty(self) -> bool:
        return not self.commits and not self.checkpoints

    @property
    def head(self) -> int:
        """The newest version that readers see; -1 without any."""
        return max((*self.commits, *self.checkpoints), default=-1)

    @property
    def first(self) -> int:
        """The lowest version from which on every commit is there; above `head` if the newest has none."""
        version = self.head + 1
        while version - 1 in self.commits:
            version -= 1
        return version

    @property
    def base(self) -> int:
        """The start of the part without a gap: its first commit, or the checkpoint before that."""
        return max((version for version in self.checkpoints if version <= self.first), default=0)

    def below(self, version: int) -> list[ObjectInfo]:
        """The commits and checkpoints of lower versions, in ascending order."""
        found = [item for item in (*self.commits.items(), *self.checkpoints.items()) if item[0] < version]
        return [info for _, info in sorted(found, key=itemgetter(0))]


def delta_listing(infos: Iterable[ObjectInfo]) -> DeltaListing:
    """The listing of everything below `FOLDER`."""
    commits: dict[int, ObjectInfo] = {}
    checkpoints: dict[int, ObjectInfo] = {}
    others: list[ObjectInfo] = []
    for info in infos:
        commit, checkpoint = _COMMIT.fullmatch(info.key), _CHECKPOINT.fullmatch(info.key)
        if commit is not None:
            commits[int(commit[1])] = info
        elif checkpoint is not None:
            checkpoints[int(checkpoint[1])] = info
        elif info.key != LAST_CHECKPOINT:
            others.append(info)
    return DeltaListing(dict(sorted(commits.items())), dict(sorted(checkpoints.items())), tuple(others))


def version_of_hint(data: bytes) -> int:
    """The version that `_last_checkpoint` names; 0 if it can't be read, because it is only a hint."""
    try:
        version = json.loads(data)["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return version if type(version) is int and 0 < version < 10**20 else 0
