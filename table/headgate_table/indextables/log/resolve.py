"""Decides from a listing which objects must be read: pure decisions about the three name spaces of a log.

Version files, states and JSON checkpoints share one numbering (docs/format.md, sections 5.4 and 6.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from headgate_table.errors import CorruptTable, VersionNotRetained
from headgate_table.indextables.log.listing import LogListing
from headgate_table.indextables.log.lost_versions import Lost


class BaseKind(Enum):
    STATE = "state"
    CHECKPOINT = "checkpoint"
    NOTHING = "nothing"
    """Replay starts with an empty table, at version 0."""


@dataclass(frozen=True, slots=True)
class Base:
    kind: BaseKind
    version: int
    """-1 for NOTHING."""


class DatedState(Protocol):
    """The facts that distinguish a state of the history from one with a reused number."""

    @property
    def created_at(self) -> int: ...

    @property
    def has_coordinator(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ReadPlan:
    version: int
    base: Base
    versions: tuple[int, ...]
    """Version files to apply on top of the base, ascending."""


def states_in_history(states: Mapping[int, DatedState | None]) -> list[int]:
    """The states whose numbers give their order, ascending: a late reuse of a number shows by its time (section 0)."""
    history: list[int] = []
    earliest_later: int | None = None
    for version in sorted(states, reverse=True):
        state = states[version]
        if state is None:
            continue
        # A state with a committer's memory never reuses a number, whatever the clocks said.
        if state.has_coordinator or earliest_later is None or state.created_at <= earliest_later:
            history.append(version)
            earliest_later = state.created_at if earliest_later is None else min(state.created_at, earliest_later)
    return history[::-1]


def bases(listing: LogListing, target: int) -> list[Base]:
    """Every possible base for `target`, best first: the highest number; a state rather than a checkpoint."""
    found = [(number, 1, Base(BaseKind.STATE, number)) for number in listing.states if number <= target]
    found += [(number, 0, Base(BaseKind.CHECKPOINT, number)) for number in listing.checkpoints if number <= target]
    found.append((-1, 0, Base(BaseKind.NOTHING, -1)))
    return [base for _, _, base in sorted(found, key=lambda item: item[:2], reverse=True)]


def plan_from(listing: LogListing, base: Base, target: int) -> ReadPlan | None:
    """The way from `base` to `target`; None if a version file between them is missing."""
    have = [version for version in listing.versions if base.version < version <= target]
    if len(have) != target - base.version:
        return None
    return ReadPlan(target, base, tuple(have))


def missing_versions(listing: LogListing, base: Base, target: int) -> list[int]:
    """The versions between `base` and `target` without a file (at most the first 10)."""
    have = set(listing.versions)
    missing = []
    for version in range(base.version + 1, target + 1):
        if version not in have:
            missing.append(version)
            if len(missing) == 10:
                break
    return missing


def retained_ranges(listing: LogListing, usable_states: Sequence[int]) -> list[tuple[int, int]]:
    """The runs of versions that can still be rebuilt, ascending and merged."""
    anchors = sorted({*usable_states, *listing.checkpoints})
    have = set(listing.versions)
    reachable: set[int] = set()
    for anchor in [-1, *anchors]:
        version = anchor
        if version >= 0:
            reachable.add(version)
        while version + 1 in have and version + 1 not in reachable:
            version += 1
            reachable.add(version)
    ranges: list[tuple[int, int]] = []
    for version in sorted(reachable):
        if ranges and ranges[-1][1] == version - 1:
            ranges[-1] = (ranges[-1][0], version)
        else:
            ranges.append((version, version))
    return ranges


def format_ranges(ranges: Sequence[tuple[int, int]]) -> str:
    if not ranges:
        return "no version"
    return ", ".join(f"{low}" if low == high else f"{low} to {high}" for low, high in ranges)


def not_retained(
    uri: str, version: int, ranges: Sequence[tuple[int, int]], lost: Lost | None = None
) -> VersionNotRetained:
    """The reason why a version can't be read; `lost` are the files that its rebuild needs, if they are lost rather than
    cleaned.
    """
    highest = ranges[-1][1] if ranges else -1
    if version < 0:
        return VersionNotRetained(
            f"{uri} has no version {version}: versions are counted from 0; retained: {format_ranges(ranges)}"
        )
    if version > highest:
        return VersionNotRetained(f"{uri} has no version {version} yet; retained: {format_ranges(ranges)}")
    if lost is not None:
        return VersionNotRetained(
            f"version {version} of {uri} can't be rebuilt: {lost.missing}. To have it back, {lost.advice}; "
            f"retained: {format_ranges(ranges)}"
        )
    return VersionNotRetained(
        f"version {version} of {uri} can't be rebuilt any more: its files were cleaned up; retained: {format_ranges(ranges)}"
    )


def gap(uri: str, missing: Sequence[int], base: Base, target: int) -> CorruptTable:
    """The log contains `target` but lacks files that lead there."""
    start = "the beginning" if base.kind is BaseKind.NOTHING else f"{base.kind.value} {base.version}"
    names = ", ".join(f"{version:020d}.json" for version in missing)
    return CorruptTable(
        f"the log of {uri} has a gap: between {start} and version {target} these version files are missing: {names}. "
        f"Restore them, or read an earlier version; `headgate table verify` lists what is retained. If an older copy of the table was "
        f"put back while somebody wrote to it, they were never part of it: then move the version files above the gap away"
    )
