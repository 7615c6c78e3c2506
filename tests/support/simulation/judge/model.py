"""What is known of one table by what its store was told: it knows nothing of Headgate's own replay.

Each effect on the store is judged when it happens, and noted here: writes in `writes`, deletes in `deletes`.
"""

import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.logs.raw_log import LOG
from support.simulation.judge.asked import Ask, Asks
from support.simulation.judge.broken import must
from support.simulation.judge.mirrors import MirrorModel
from support.stores.memory import MemoryStore

HOUR_MS = 3_600_000
CLOCKS_DIFFER_MS = 2 * 60_000


@dataclass(frozen=True, slots=True)
class Decided:
    """What a version says about one proposal."""

    version: int
    accepted: bool
    code: str | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class Floors:
    """Ages under which maintenance leaves everything alone, by its settings."""

    version_ms: int
    state_ms: int
    manifest_ms: int
    file_ms: int


@dataclass(slots=True)
class Version:
    number: int
    digest: str
    live: dict[str, dict[str, Any]]
    """By path, the adds that are live at this version."""
    metadata: Mapping[str, Any]
    is_foreign: bool
    purged: tuple[str, ...] = ()
    swap_adds: tuple[str, ...] = ()
    source: tuple[str, str, int] | None = None
    next_offset: int = 0
    """Behind the last proposal of its source that it settles."""


@dataclass(slots=True)
class State:
    manifests: frozenset[str]
    is_foreign: bool = False
    """Whether it carries no memory: of another program."""


GO_BACK = (
    "versions",
    "present",
    "ghosts",
    "states",
    "void_states",
    "pointer",
    "decided",
    "seqs",
    "newest_term",
    "newest_time_ms",
    "newest_offset",
    "added_in",
    "deleted_files",
    "batch_of_row",
    "purged_ms",
)
"""What is told by the objects of a table alone, and is as it was where a copy of them takes their place."""


@dataclass(slots=True)
class TableModel:
    uri: str
    store: MemoryStore
    asks: Asks
    versions: dict[int, Version] = field(default_factory=dict)
    """All that ever counted, also those that were cleaned up since."""
    present: set[int] = field(default_factory=set)
    """Version files that are on the store and count."""
    ghosts: set[int] = field(default_factory=set)
    """Numbers that were cleaned up and filled again by a late writer, who must not believe in it."""
    states: dict[int, State] = field(default_factory=dict)
    void_states: set[int] = field(default_factory=set)
    """States that came when their manifests had been cleaned. Until its writer takes one back, which it may not live to do, what
    lies between it and the next state can't be read."""
    pointer: int = -1
    mirror: MirrorModel = field(default_factory=MirrorModel)
    decided: dict[str, Decided] = field(default_factory=dict)
    seqs: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """By app, its accepted (seq, version), in order."""
    newest_term: tuple[int, str] = (-1, "")
    newest_time_ms: int = 0
    """What the newest version that tells its time says: time travel and cleaning rely on it that times never go back."""
    newest_offset: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)
    """By cluster, topic and partition, the last proposal that was decided: how often the log had been cut when it came, and its
    offset."""
    added_in: dict[str, int] = field(default_factory=dict)
    deleted_files: set[str] = field(default_factory=set)
    record_at: dict[tuple[str, str, int, int], list[tuple[int, str]]] = field(default_factory=dict)
    """By cluster, topic, partition and offset, the ids of the proposals that the bus held there, each after so many cuts of the
    log."""
    proposed_ms: dict[str, int] = field(default_factory=dict)
    """By proposal, when the bus took it first."""
    acknowledged: int = -1
    """The newest version that anybody was told of."""
    proposed_after: dict[str, int] = field(default_factory=dict)
    """By proposal, the newest version that anybody had been told of when the bus took it first."""
    announced: set[str] = field(default_factory=set)
    """The world's: proposals that have a receipt on the bus."""
    lost: set[str] = field(default_factory=set)
    """The world's: proposals that the bus lost, or that were set aside, before anybody had answered them."""
    ahead: set[str] = field(default_factory=set)
    """The world's: proposals whose refusal may be forgotten, and decided again."""
    on_bus: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """The world's: by partition and offset, the proposals that the bus holds."""
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By path, what a data file holds or held."""
    batch_of_row: dict[str, int] = field(default_factory=dict)
    """By row of a stream, the version that its batch came in."""
    balance: int | None = None
    """What all accounts hold together, in every version; None where no money lies in the table."""
    purged_ms: dict[str, int] = field(default_factory=dict)
    """By path, when a version forbade it last."""
    floors: Floors | None = None
    """None where somebody cleans who is in a hurry."""
    now_ms: Callable[[], int] = field(default=lambda: 0)
    committed_offset: Callable[[], int] = field(default=lambda: 0)
    """Up to where proposals of `place` are settled and announced."""
    place: Callable[[], tuple[str, str]] = field(default=lambda: ("", ""))
    home: Callable[[], int] = field(default=lambda: 0)
    """The partition on which its proposals belong."""
    is_cut: bool = False
    """Whether the bus lost something of its log, so that offsets were said of proposals that are there no more."""
    changes: int = 0
    merges: int = 0
    swaps: int = 0
    cleaned: int = 0
    """Objects that were deleted."""
    decoded: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Entries by manifest, which never changes."""

    @property
    def newest(self) -> int:
        return max(self.versions, default=-1)

    def live(self) -> dict[str, dict[str, Any]]:
        return self.versions[self.newest].live if self.versions else {}

    def base_of(self, version: int) -> int | None:
        """The state, or -1 for the beginning, from which a version can be rebuilt; None when it can't be."""
        while version >= 0:
            if version in self.void_states:
                return None
            if version in self.states:
                return version
            if version not in self.present:
                return None
            version -= 1
        return -1

    def is_surely_readable(self, version: int) -> bool:
        """Whether it can be rebuilt, and nobody can take its base for a number that was used again: of a foreign state only
        times tell that, by clocks that may differ (docs/format.md, section 5.4).
        """
        base = self.base_of(version)
        return base is not None and (base < 0 or not self.states[base].is_foreign)

    def readable(self) -> list[int]:
        return [version for version in self.versions if self.base_of(version) is not None]

    @property
    def is_disturbed(self) -> bool:
        """Whether another program has written here: such may add what is live already."""
        return any(version.is_foreign for version in self.versions.values())

    def rows_of(self, paths: Iterable[str]) -> Counter[str]:
        """What these files hold; one that nobody wrote counts for itself."""
        return Counter(row for path in paths for row in self.rows.get(path, (path,)))

    def undecided(self) -> Iterator[Ask]:
        """Proposals on the bus that nobody has been told about, and no version tells of.

        What lies below the committed offset was set aside, unless that offset was said of a log that is gone.
        """
        settled = 0 if self.is_cut else self.committed_offset()
        home = self.home()
        waiting = {
            identity for (partition, offset), identity in self.on_bus.items() if partition == home and offset >= settled
        }
        for identity in self.proposed_ms:
            if identity in waiting and identity not in self.decided and identity not in self.announced:
                ask = self.asks.by_id.get(identity)
                if ask is not None:
                    yield ask

    def untold_of(self, number: int) -> list[str]:
        """What the version decides and nobody has been told about, where it still lies at the offset that the version settled.

        The same proposal at a later offset is answered by what the table remembers, whichever versions are left.
        """
        home = self.home()
        return [
            identity
            for identity, decided in self.decided.items()
            if decided.version == number
            and decided.offset is not None
            and self.on_bus.get((home, decided.offset)) == identity
            and identity not in self.announced
        ]

    def forget_below(self, number: int) -> list[str]:
        """Expect no version file and no state below this number any more; the keys of those that are to go."""
        versions = [version for version in self.present if version < number]
        states = [version for version in self.states if version < number]
        self.present.difference_update(versions)
        for version in states:
            del self.states[version]
        return [f"{LOG}/{version:020d}.json" for version in versions] + [
            f"{LOG}/state-v{version:020d}/_manifest.avro" for version in states
        ]

    def remembered(self) -> "TableModel":
        """What is known now, which stays as it is."""
        known = copy.copy(self)
        known._take_over(self)
        return known

    def go_back_to(self, earlier: "TableModel") -> None:
        """The table is what it was, and what was told since counts for nothing."""
        self._take_over(earlier)
        self.acknowledged = min(self.acknowledged, self.newest)
        self.proposed_after = {identity: min(told, self.newest) for identity, told in self.proposed_after.items()}

    def _take_over(self, other: "TableModel") -> None:
        for name in GO_BACK:
            setattr(self, name, copy.copy(getattr(other, name)))
        self.seqs = {app: list(history) for app, history in other.seqs.items()}

    def check_files(self) -> None:
        """Every version file still holds what was once written."""
        for number in self.present:
            data = self.store.get(f"{LOG}/{number:020d}.json")
            digest = hashlib.sha256(data).hexdigest()
            must(digest == self.versions[number].digest, f"{self.uri}: version file {number} has changed (invariant 2)")
