"""The Delta mirror of a table, judged by its objects alone: a commit at a time, in order, each with the files of its version.

It replays the commits by itself, and knows nothing of how Headgate makes them.
"""

import io
import json
from dataclasses import dataclass, field
from urllib.parse import unquote

import pyarrow.parquet as pq

from support.simulation.judge.broken import must

FOLDER = "_delta_log/"
RETENTION_MS = 24 * 3_600_000
"""What `mirror.retention.hours` says in simulations, and what readers of a mirror may rely on."""
CLOCKS_DIFFER_MS = 2 * 60_000


@dataclass(slots=True)
class MirroredCommit:
    live: frozenset[str]
    published_ms: int
    data: bytes


@dataclass(slots=True)
class MirrorModel:
    """What readers of one mirror see."""

    commits: dict[int, MirroredCommit] = field(default_factory=dict)
    checkpoints: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def head(self) -> int:
        return max(self.commits, default=-1)

    def wrote(self, uri: str, key: str, data: bytes, live: dict[int, set[str]], now_ms: int) -> None:
        """An object of the mirror was written; `live` holds the paths of each version of the table."""
        name = key.removeprefix(FOLDER)
        if name.endswith(".checkpoint.parquet"):
            number = int(name[:20])
            self.checkpoints[number] = _checkpointed(data)
            must(
                {*self.checkpoints[number]} == live.get(number),
                f"{uri}: the mirror's checkpoint {number} has other files than the version",
            )
        elif name.endswith(".json"):
            self._committed(uri, int(name[:20]), data, live, now_ms)

    def _committed(self, uri: str, number: int, data: bytes, live: dict[int, set[str]], now_ms: int) -> None:
        before = self.commits.get(number)
        must(
            before is None or before.data == data,
            f"{uri}: the mirror's commit {number} was overwritten by another one",
        )
        if before is not None:
            return
        earlier = self.commits.get(number - 1)
        base = self.checkpoints.get(number)
        must(
            number == 0 or earlier is not None or base is not None,
            f"{uri}: the mirror's commit {number} follows nothing",
        )
        files = set(base if base is not None else earlier.live if earlier is not None else ())
        for line in data.splitlines():
            action = json.loads(line)
            if "add" in action:
                files.add(unquote(action["add"]["path"]))
            elif "remove" in action:
                files.discard(unquote(action["remove"]["path"]))
        must(
            files == live.get(number),
            f"{uri}: the mirror's version {number} has {sorted(files)[:5]}…, the table's {sorted(live.get(number, ()))[:5]}…",
        )
        self.commits[number] = MirroredCommit(frozenset(files), now_ms, data)

    def deleted(self, key: str) -> None:
        name = key.removeprefix(FOLDER)
        if name.endswith(".checkpoint.parquet"):
            self.checkpoints.pop(int(name[:20]), None)
        elif name.endswith(".json"):
            self.commits.pop(int(name[:20]), None)

    def check_file_deleted(self, uri: str, path: str, now_ms: int) -> None:
        """A data file goes: no reader of the mirror needs it, and those that needed it had their time."""
        for number, commit in self.commits.items():
            after = self.commits.get(number + 1)
            until_ms = None if after is None else after.published_ms + RETENTION_MS
            must(
                path not in commit.live or (until_ms is not None and now_ms + CLOCKS_DIFFER_MS > until_ms),
                f"{uri}: {path} was deleted, which readers of the mirror's version {number} still may need",
            )


def _checkpointed(data: bytes) -> frozenset[str]:
    adds = pq.read_table(io.BytesIO(data), columns=["add"]).column("add").to_pylist()
    return frozenset(unquote(add["path"]) for add in adds if add is not None and add["path"] is not None)
