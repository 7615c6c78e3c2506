"""The history of a table, version by version: from version files, and from states for versions without a file.

`changes` lists the files; here they are only counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from headgate_schemas.actions.actions import Action, AddFile, CommitInfo, Metadata, Protocol, RemoveFile
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.format.names import carried_path
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.history.travel import Timeline
from headgate_table.indextables.log.listing import LogListing
from headgate_table.indextables.log.predecessor import is_named
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.log.stale_versions import first_left
from headgate_table.interface.answers import UNKNOWN, HistoryEntry, Source
from headgate_table.totals import as_total

_BATCH = 64
"""Version files held in memory at once."""
_MOST_LOST = 10_000
"""Versions of one hole that are listed."""


def history(reader: LogReader, limit: int | None = None) -> list[HistoryEntry]:
    """The versions in the log, newest first. `limit` bounds the reads, too."""
    if limit is not None and limit < 1:
        raise InvalidInput(f"a history of {limit} versions can't be given; the limit is at least 1")
    entries: list[HistoryEntry] = []
    for entry in _entries(reader, reader.full_listing(), limit):
        entries.append(entry)
        if len(entries) == limit:
            break
    return entries


def _entries(reader: LogReader, listing: LogListing, limit: int | None) -> Iterator[HistoryEntry]:
    numbers = sorted({*listing.versions, *listing.states, *listing.checkpoints}, reverse=True)
    lost = _lost_numbers(reader, listing)
    numbers = sorted({*numbers, *lost}, reverse=True)
    time_ms = 0
    step = _BATCH if limit is None else min(limit, _BATCH)
    following: tuple[int, Sequence[Action]] | None = None
    late = -1
    was_cleaned = bool(numbers) and first_left(listing, numbers[0]) > 0
    for start in range(0, len(numbers), step):
        window = numbers[start : start + step]
        # Only later states show whether a state is history; and each is compared with the one before.
        near = replace(listing, states=tuple(number for number in listing.states if number >= window[-1]))
        timeline = Timeline(reader, near)
        files = [number for number in window if number in listing.version_objects]
        found = zip(files, reader.resources.each(reader.actions_or_none, files), strict=True)
        # except for those that were cleaned since
        told = {number: actions for number, actions in found if actions is not None}
        for number in window:
            own = told.get(number)
            if own is not None and was_cleaned and following is not None and following[0] == number + 1:
                late = number if is_named(own, following[1]) is False else late
            if own is not None:
                following = number, own
            if number <= late:
                told.pop(number, None)  # it came late, and snapshots ignore it
        usable = set(reader.states_in_order(near)) if len(told) < len(window) else set()
        for number in window:
            if number in told:
                entry = _of_actions(number, told[number], timeline.time_ms(number))
            elif number in usable:
                entry = _of_state(reader, listing, reader.state(number))
            elif number in listing.checkpoints:
                entry = _untold(number, timeline.time_ms(number))
            elif number in lost:
                entry = _untold(number, time_ms, "lost")
            else:
                continue
            time_ms = entry.time
            yield entry


def _lost_numbers(reader: LogReader, listing: LogListing) -> set[int]:
    """The versions of which nothing is left; of an implausibly large gap, only the highest."""
    return {number for lost in reader.lost(listing) for number in lost.highest(_MOST_LOST)}


def _of_actions(version: int, actions: Sequence[Action], time_ms: int) -> HistoryEntry:
    adds = [action for action in actions if isinstance(action, AddFile)]
    removes = [action for action in actions if isinstance(action, RemoveFile)]
    sizes = [action.size for action in removes]
    info: dict[str, Any] = next((dict(action.body) for action in actions if isinstance(action, CommitInfo)), {})
    return HistoryEntry(
        version=version,
        time=time_ms,
        operation=_operation(info, actions),
        adds=len(adds),
        removes=len(removes),
        proposals=_proposals(info),
        source="version file",
        added_bytes=as_total(sum(add.size for add in adds)),
        removed_bytes=None if None in sizes else as_total(sum(size for size in sizes if size is not None)),
        net_files=len(adds) - len(removes),
    )


def _operation(info: dict[str, Any], actions: Sequence[Action]) -> str:
    told = info.get("operation")
    if isinstance(told, str) and told:
        return told
    kinds = {type(action) for action in actions}
    if kinds == {Protocol, Metadata}:
        return "Create"
    return UNKNOWN


def _proposals(info: dict[str, Any]) -> tuple[str, ...]:
    decisions = info.get("decisions")
    if not isinstance(decisions, list):
        return ()
    ids = [decision.get("id") for decision in decisions if isinstance(decision, dict)]
    return tuple(identity for identity in ids if isinstance(identity, str))


def _of_state(reader: LogReader, listing: LogListing, state: StateManifest) -> HistoryEntry:
    """A version that only a state shows, by its differences from the version before it."""
    entry = _untold(state.version, state.created_at, "state")
    before = _before(reader, listing, state)
    if before is None:
        return entry
    entry = replace(entry, net_files=state.num_files - before.num_files)
    old = {carried_path(info.path, before.version): info for info in before.manifests}
    new = {carried_path(info.path, state.version): info for info in state.manifests}
    if not old.keys() <= new.keys():
        return entry  # manifests were rewritten, so the counts don't show which files were added and removed
    adds = sum(info.num_entries for path, info in new.items() if path not in old)
    removes = len(set(state.tombstones) - set(before.tombstones))
    # Some writers subtract removed bytes from the total at once, others later (docs/format.md, section 2.2).
    added_bytes = as_total(state.total_bytes - before.total_bytes) if removes == 0 else None
    return replace(
        entry, adds=adds, removes=removes, added_bytes=added_bytes, removed_bytes=0 if removes == 0 else None
    )


def _before(reader: LogReader, listing: LogListing, state: StateManifest) -> StateManifest | None:
    """The state of the version before; an empty one if that version created the table; None if unknown."""
    number = state.version - 1
    if number == 0 and number in listing.version_objects:
        if any(isinstance(action, AddFile) for action in reader.actions(number)):
            return None
        return StateManifest(version=0, created_at=0, num_files=0, total_bytes=0, manifests=())
    if number not in listing.states:
        return None
    earlier = replace(listing, states=(number, state.version))
    return reader.state(number) if number in reader.states_in_order(earlier) else None


def _untold(version: int, time_ms: int, source: Source = "checkpoint") -> HistoryEntry:
    return HistoryEntry(version, time_ms, UNKNOWN, None, None, (), source, None, None, None)
