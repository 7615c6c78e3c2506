"""What is left after a run: files of versions as they lie on the disk, messages as the bus holds them, and journals.

Read by the standard library, except that the bus delivers its messages; what they mean is told by their JSON.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate_bus.interface import Bus, Record, Topic
from support.logs.raw_log import LOG, read_lines
from support.torture.judge.journal import Diary, Told

READ_AT_ONCE = 5_000
SILENCE_S = 60.0
"""A reader that gets nothing for so long, though something is there, is a failure."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A record of the proposals topic."""

    partition: int
    offset: int
    id: str
    body: Mapping[str, Any]


@dataclass(slots=True)
class Evidence:
    """Of one run. Tables are named by their address."""

    asked: dict[str, list[Asked]]
    """In the order of the bus."""
    receipts: dict[str, list[Told]]
    """By proposal id: all that were ever announced."""
    commits: dict[str, dict[int, list[Mapping[str, Any]]]]
    """Announced versions, without the time of the announcement."""
    versions: dict[str, dict[int, list[dict[str, Any]]]]
    """The actions of every version file."""
    changed_files: list[str]
    diaries: list[Diary]
    live: dict[str, set[str]]
    """As `headgate.Table` tells it."""
    verified: dict[str, list[str]]
    """What `table.verify()` finds wrong."""
    had_rivals: bool = False
    """Committers of another group, who read all proposals again from the beginning."""
    unsettled: list[str] = field(default_factory=list)
    """Partitions whose committed offset isn't their end."""
    dead_letters: int = 0


class VersionWatch:
    """Remembers every version file from when it was first seen, since cleaning may take it away."""

    def __init__(self, tables: Mapping[str, Path]) -> None:
        self._folders = {uri: root / LOG for uri, root in tables.items()}
        self._hashes: dict[Path, str] = {}
        self._versions: dict[str, dict[int, list[dict[str, Any]]]] = {uri: {} for uri in tables}
        self.added_names: set[str] = set()
        """Of all files that any version added, without their folders."""

    def look(self) -> None:
        for uri, folder in self._folders.items():
            for path in version_files(folder):
                if path in self._hashes:
                    continue
                with contextlib.suppress(FileNotFoundError):
                    data = path.read_bytes()
                    self._hashes[path] = hashlib.sha256(data).hexdigest()
                    actions = self._versions[uri][version_of(path)] = read_lines(data)
                    self.added_names |= {
                        action["add"]["path"].rpartition("/")[2] for action in actions if "add" in action
                    }

    def newest(self, uri: str) -> int:
        """The highest number seen; -1 before there is one."""
        return max(self._versions[uri], default=-1)

    def changed(self, *, may_be_gone: bool = False) -> list[str]:
        """Version files that aren't any more what they were when they were first seen."""
        return [
            str(path)
            for path, digest in self._hashes.items()
            if (not may_be_gone if not path.exists() else hashlib.sha256(path.read_bytes()).hexdigest() != digest)
        ]

    def versions(self) -> dict[str, dict[int, list[dict[str, Any]]]]:
        """The actions of every version, also of those that are gone by now."""
        self.look()
        return self._versions


def version_files(folder: Path) -> list[Path]:
    """The version files of a log, in order."""
    if not folder.is_dir():
        return []
    names = (entry.name for entry in os.scandir(folder))
    return [folder / name for name in sorted(names) if len(name) == 25 and name.endswith(".json")]


def version_of(path: Path) -> int:
    return int(path.name[:20])


def everything(bus: Bus, topic: Topic) -> list[Record]:
    """All records of a topic, each partition's in order."""
    found: list[Record] = []
    for partition in range(bus.partitions(topic)):
        extent = bus.extent(topic, partition)
        assert extent.first == 0, f"{topic.value}, partition {partition}, was trimmed to {extent.first}"
        with closing(bus.reader(topic, {partition: 0})) as reader:
            while reader.offsets()[partition] < extent.next_offset:
                records = reader.read(SILENCE_S, READ_AT_ONCE)
                if not records:
                    break  # what is left are marks of transactions
                found += records
    return found


def asked_by_table(records: Iterable[Record]) -> dict[str, list[Asked]]:
    found: dict[str, list[Asked]] = {}
    for record in records:
        body = json.loads(record.body)
        found.setdefault(record.key, []).append(Asked(record.partition, record.offset, body["id"], body))
    return found


def receipts_of(records: Iterable[Record]) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {}
    for body in _bodies(records, "receipt"):
        told: Told = (body["outcome"], body["code"] if body["outcome"] == "rejected" else body["version"])
        found.setdefault(body["proposal"], []).append(told)
    return found


def commits_of(records: Iterable[Record]) -> dict[str, dict[int, list[Mapping[str, Any]]]]:
    found: dict[str, dict[int, list[Mapping[str, Any]]]] = {}
    for body in _bodies(records, "commit"):
        found.setdefault(body["table"], {}).setdefault(body["version"], []).append(body)
    return found


def _bodies(records: Iterable[Record], kind: str) -> Iterable[dict[str, Any]]:
    return (body for record in records if (body := json.loads(record.body))["type"] == kind)


def unsettled_partitions(bus: Bus, group: str) -> list[str]:
    found = []
    for partition in range(bus.partitions(Topic.PROPOSALS)):
        extent, committed = bus.extent(Topic.PROPOSALS, partition), bus.committed(group, partition)
        if (committed or 0) != extent.next_offset:
            found.append(f"partition {partition}: committed {committed}, ends at {extent.next_offset}")
    return found
