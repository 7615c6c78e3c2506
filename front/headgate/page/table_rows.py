"""One table in the page's list: its last read, the commits since, and its health. Pure."""

from dataclasses import dataclass, field, replace
from typing import Any

from headgate_schemas.messages.events import CommitEvent

WAITING_AFTER_MS = 5_000
"""A proposal that is undecided for so long is worth a word; committers decide in less than a second, restarts take some."""

OVERTAKEN_MS = 10_000
"""A read that shows an older version than was announced so long ago is of a table that was made anew."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A version of a table in numbers, as read from its store."""

    version: int
    files: int
    bytes: int
    manifests: int
    tombstones: int
    tombstone_ratio: float
    needs_compaction: bool
    format: str
    state_ms: int | None
    """When its newest state was written."""
    read_ms: int
    mirror_version: int | None = None
    """The newest version of its Delta mirror; -1 before the first, None of a table that has no mirror."""
    mirror_problem: str = ""
    """Why the mirror can't go on; empty while it can."""

    @property
    def mirror_is_behind(self) -> bool:
        """Whether the mirror will publish more by itself."""
        return self.mirror_version is not None and not self.mirror_problem and self.mirror_version < self.version


@dataclass(slots=True)
class TableRow:
    uri: str
    facts: TableFacts | None = None
    version: int = -1
    committed_ms: int | None = None
    trouble: str = ""
    """Why it can't be read; empty while it can."""
    refused: str = ""
    """Why its committer leaves it alone."""
    waiting: dict[int, int] = field(default_factory=dict)
    """Undecided proposals: when they were made, by the number of their entry, oldest first."""
    counts: dict[str, int] = field(default_factory=lambda: {"committed": 0, "rejected": 0, "duplicate": 0})
    is_late: bool = False
    """An undecided proposal has been waiting for long."""

    def read(self, facts: TableFacts) -> None:
        """A read of the store has ended. If later commits were announced, it only shows that the store answers."""
        self.trouble = ""
        if facts.version < self.version and facts.read_ms - (self.committed_ms or 0) < OVERTAKEN_MS:
            return
        if self.version < 0:
            self.committed_ms = self.committed_ms or facts.state_ms
        elif facts.version > self.version:
            self.committed_ms = facts.read_ms  # by a writer that announces nothing
        self.facts = facts
        self.version = facts.version

    def committed(self, commit: CommitEvent) -> None:
        """A version was announced. Until the table is read again, the announced counts are used."""
        self.committed_ms = max(self.committed_ms or 0, commit.time)
        if commit.version <= self.version:
            return
        if self.facts is not None and commit.version == self.facts.version + 1:
            self.facts = replace(
                self.facts,
                version=commit.version,
                files=max(0, self.facts.files + commit.added - commit.removed),
                bytes=max(0, self.facts.bytes + commit.added_bytes - commit.removed_bytes),
            )
        self.version = commit.version

    def count(self, outcome: str) -> None:
        self.counts[outcome] += 1

    def look(self, now_ms: int) -> bool:
        """Whether the passing of time alone changes the row."""
        was_late = self.is_late
        oldest_ms = self.oldest_ms
        self.is_late = oldest_ms is not None and now_ms - oldest_ms > WAITING_AFTER_MS
        return self.is_late != was_late

    @property
    def oldest_ms(self) -> int | None:
        return next(iter(self.waiting.values()), None)

    @property
    def health(self) -> list[str]:
        """The problems of the table, worst first; empty if there are none."""
        said = {
            "refused": bool(self.refused),
            "unreadable": bool(self.trouble),
            "waiting": self.is_late,
            "mirror stopped": self.facts is not None and bool(self.facts.mirror_problem),
            "compaction due": self.facts is not None and self.facts.needs_compaction,
        }
        return [word for word, holds in said.items() if holds]

    def shown(self) -> dict[str, Any]:
        facts = self.facts
        return {
            "uri": self.uri,
            "version": self.version if self.version >= 0 else None,
            "files": None if facts is None else facts.files,
            "bytes": None if facts is None else facts.bytes,
            "manifests": None if facts is None else facts.manifests,
            "tombstones": None if facts is None else facts.tombstones,
            "ratio": None if facts is None else facts.tombstone_ratio,
            "format": None if facts is None else facts.format,
            "read": None if facts is None else facts.read_ms,
            "mirror": None if facts is None else facts.mirror_version,
            "mirror_problem": "" if facts is None else facts.mirror_problem,
            "committed": self.committed_ms,
            "waiting": len(self.waiting),
            "oldest": self.oldest_ms,
            "trouble": self.trouble,
            "refused": self.refused,
            "health": self.health,
            "counts": dict(self.counts),
        }
