"""The proposals that a table knows by id: accepted and refused ones, each with their own bound.

Forgotten ids leave a horizon: a proposal that was made before it may be one of them. No author can make other authors'
proposals expire: refusals never move the horizon of accepted ids, and recent ids, or ids from a clock that is ahead,
stay until their time has passed. Pure.
"""

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from headgate_schemas.messages.operations import RejectCode

REASON_CHARS_PER_ID = 4
"""Reasons of refusals are kept up to so many characters for each id that may be remembered. The oldest go first."""
KEPT_MS = 60_000
"""What was accepted or refused in the last minute is kept beyond `max_ids`: whoever repeats it at once gets the same answer, and the
horizon stays away from what is proposed now."""
MAX_YOUNG = 400_000
"""So many are kept for that at any time, however young they are."""
NO_REASON = "no reason was given"
FORGOTTEN_REASON = "it was refused before; the table remembers the code, but not the reason any more"


@dataclass(frozen=True, slots=True)
class IdsOfVersion:
    """Ids that one version accepted, as hashes."""

    version: int
    decided_ms: int
    """By it they age."""
    accepted: tuple[bytes, ...] = ()
    is_direct: bool = False
    made_ms: int | None = None
    """When the newest of them was made, by its author's clock. None where that isn't known."""

    @property
    def horizon_ms(self) -> int:
        """Each of these ids, if it comes again, was made at or before this time. Never 0, which means "no time"."""
        return max(1, self.decided_ms if self.made_ms is None else self.made_ms)


@dataclass(frozen=True, slots=True)
class RememberedRefusal:
    """The refusal of one id."""

    version: int
    decided_ms: int
    code: RejectCode
    reason: str
    """Empty once it is forgotten."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clock by which ids age, and the number that is kept."""

    bus_ms: int
    sure_ms: int
    """What the newest two versions agree to have passed."""
    latest_ms: int
    """What the newest version tells."""
    window_ms: int
    max_ids: int

    def is_old(self, decided_ms: int, *, is_direct: bool) -> bool:
        """Whether it is old by the clock that dated it: the bus's, or that of a direct commit."""
        return decided_ms < (self.sure_ms if is_direct else self.bus_ms) - self.window_ms


@dataclass(slots=True)
class RememberedIds:
    """Grows with `accept` and `refuse`; `forget` keeps it within its bounds. The first decision on an id counts."""

    horizon_ms: int = 0
    """Accepted ids of proposals that were made up to here may have been forgotten."""
    direct_horizon_ms: int = 0
    """The same for ids of direct commits."""
    refused_horizon_ms: int = 0
    """The same for refused ids."""
    forgotten_through: int = -1
    """The newest version of which an id was forgotten."""
    accepted: OrderedDict[int, IdsOfVersion] = field(default_factory=OrderedDict)
    """By version, in their order."""
    refused: OrderedDict[bytes, RememberedRefusal] = field(default_factory=OrderedDict)
    """Oldest first."""
    _count: int = 0
    _version_of: dict[bytes, int] = field(default_factory=dict)
    _by_time: list[tuple[int, int]] = field(default_factory=list, compare=False)
    """A heap of (horizon, version), some of which are forgotten: what was made first goes first where there are too many, so that
    the horizon stays as low as it can."""
    _ahead: list[tuple[int, int]] = field(default_factory=list, compare=False)
    """A heap of those that were made later than `_latest_ms`, some of which are forgotten."""
    _ahead_versions: set[int] = field(default_factory=set, compare=False)
    _ahead_count: int = field(default=0, compare=False)
    _latest_ms: int = field(default=0, compare=False)
    _with_reason: deque[bytes] = field(default_factory=deque)
    _reason_chars: int = 0

    def __len__(self) -> int:
        """The number of remembered accepted ids."""
        return self._count

    @property
    def ahead(self) -> int:
        """Accepted ids that were made later than the newest version's time. They can't be forgotten before that time
        has come.
        """
        return self._ahead_count

    def version_of(self, identity: bytes) -> int | None:
        """The version that accepted the id."""
        return self._version_of.get(identity)

    def refusal_of(self, identity: bytes) -> tuple[RejectCode, str] | None:
        known = self.refused.get(identity)
        return None if known is None else (known.code, known.reason or FORGOTTEN_REASON)

    def accept(self, ids: IdsOfVersion) -> None:
        new = tuple(item for item in dict.fromkeys(ids.accepted) if not self._is_decided(item))
        if not new:
            return
        known = self.accepted.get(ids.version)
        if known is None:
            self.accepted[ids.version] = replace(ids, accepted=new)
            heapq.heappush(self._by_time, (ids.horizon_ms, ids.version))
            if ids.horizon_ms > self._latest_ms:
                heapq.heappush(self._ahead, (ids.horizon_ms, ids.version))
                self._ahead_versions.add(ids.version)
        else:
            self.accepted[ids.version] = replace(known, accepted=known.accepted + new)
        if ids.version in self._ahead_versions:
            self._ahead_count += len(new)
        self._count += len(new)
        self._version_of.update(dict.fromkeys(new, ids.version))

    def refuse(self, identity: bytes, refused: RememberedRefusal) -> None:
        """An empty reason is a forgotten one."""
        if self._is_decided(identity):
            return
        self.refused[identity] = refused
        if refused.reason:
            self._with_reason.append(identity)
            self._reason_chars += len(refused.reason)

    def lose(self, time_ms: int) -> None:
        """Ids that the bus took up to this time may have been decided by versions that can't be read."""
        self.horizon_ms = max(self.horizon_ms, time_ms)

    def let_pass(self, latest_ms: int) -> None:
        """Advance to the newest version's time."""
        self._latest_ms = latest_ms
        while self._ahead and self._ahead[0][0] <= latest_ms:
            version = heapq.heappop(self._ahead)[1]
            if version in self._ahead_versions:
                self._ahead_versions.discard(version)
                self._ahead_count -= len(self.accepted[version].accepted)

    def forget(self, clocks: Clocks) -> None:
        """A version's ids are never forgotten at once; otherwise the group would be decided twice after a crash."""
        self.let_pass(clocks.latest_ms)
        newest = next(reversed(self.accepted), -1)
        for ids in self._due(clocks):
            self._forget(ids)
        kept: list[tuple[int, int]] = []
        while self._by_time and (self._count > clocks.max_ids or self._by_time[0][1] not in self.accepted):
            entry = heapq.heappop(self._by_time)
            is_young = entry[1] in self.accepted and entry[0] > clocks.sure_ms - KEPT_MS
            if is_young and self._count <= clocks.max_ids + MAX_YOUNG:
                kept.append(entry)  # all remaining ones were made later still
                break
            if entry[1] == newest:
                kept.append(entry)
            elif entry[1] in self.accepted:
                self._forget(self.accepted[entry[1]])
        for entry in kept:
            heapq.heappush(self._by_time, entry)
        self._forget_refused(clocks)

    def runs_of_refused(self) -> Iterator[tuple[tuple[int, int], list[tuple[bytes, RememberedRefusal]]]]:
        """Refusals by version and time, oldest first."""
        items = groupby(self.refused.items(), key=lambda item: (item[1].version, item[1].decided_ms))
        return ((key, list(run)) for key, run in items)

    def _due(self, clocks: Clocks) -> list[IdsOfVersion]:
        """Ids whose time is over, except those from a clock that is ahead, because these would set the horizon into the
        future.
        """
        due: list[IdsOfVersion] = []
        for ids in self.accepted.values():
            if not clocks.is_old(ids.decided_ms, is_direct=ids.is_direct) or len(due) + 1 >= len(self.accepted):
                break
            if ids.is_direct or ids.horizon_ms <= clocks.bus_ms:
                due.append(ids)
        return due

    def _forget(self, ids: IdsOfVersion) -> None:
        del self.accepted[ids.version]
        self._count -= len(ids.accepted)
        if ids.version in self._ahead_versions:
            self._ahead_versions.discard(ids.version)
            self._ahead_count -= len(ids.accepted)
        for identity in ids.accepted:
            del self._version_of[identity]
        self.forgotten_through = max(self.forgotten_through, ids.version)
        if ids.is_direct:  # their clock may be wrong, and nobody sends their ids to the bus
            self.direct_horizon_ms = max(self.direct_horizon_ms, ids.horizon_ms)
        else:
            self.horizon_ms = max(self.horizon_ms, ids.horizon_ms)

    def _forget_refused(self, clocks: Clocks) -> None:
        while self._with_reason and self._reason_chars > clocks.max_ids * REASON_CHARS_PER_ID:
            identity = self._with_reason.popleft()
            known = self.refused[identity]
            self._reason_chars -= len(known.reason)
            self.refused[identity] = replace(known, reason="")
        if not self.refused:
            return
        newest = self.refused[next(reversed(self.refused))].version
        while True:
            identity, known = next(iter(self.refused.items()))
            count = len(self.refused)
            is_young = known.decided_ms >= clocks.bus_ms - KEPT_MS and count <= MAX_YOUNG
            is_due = (count > clocks.max_ids and not is_young) or clocks.is_old(known.decided_ms, is_direct=False)
            if not is_due or known.version == newest:
                return
            del self.refused[identity]
            if known.reason:
                self._reason_chars -= len(known.reason)
                self._with_reason.popleft()  # those with a reason are the newest, in the same order
            self.forgotten_through = max(self.forgotten_through, known.version)
            self.refused_horizon_ms = max(self.refused_horizon_ms, known.decided_ms)

    def _is_decided(self, identity: bytes) -> bool:
        return identity in self._version_of or identity in self.refused
