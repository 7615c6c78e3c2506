"""The commit time of each version, and the newest version at a given time.

`log.resolve` decides which versions can be rebuilt, `log.reader` loads one.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import cached_property

from headgate_schemas.actions.actions import Action, Metadata
from headgate_table.errors import CorruptTable, VersionNotRetained
from headgate_table.indextables.format.names import checkpoint_key
from headgate_table.indextables.format.replay import commit_time
from headgate_table.indextables.log.listing import LogListing
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import format_ranges, retained_ranges
from headgate_table.indextables.write.commit_times import MARGIN_MS
from headgate_table.interface.times import format_time, parse_time

LOOK_BACK = 32
"""How many versions before the one found are checked for a later time: clocks of writers run apart by a few commits."""


def log_at(reader: LogReader, timestamp: int | str) -> LoadedLog:
    """The newest version committed at or before a time. Raises `VersionNotRetained`, naming the retained range and its
    start.

    Times count as monotonic: a version counts as committed no earlier than any version before it. Of a long log only a
    few version files are read, so a clock that was ahead for more than `LOOK_BACK` versions isn't noticed.
    """
    listing = reader.full_listing()
    return reader.at_version(_version_at(reader, listing, parse_time(timestamp)), listing)


def version_before(reader: LogReader, timestamp: int | str) -> int:
    """The number of that version, but -1 for a time before the first version of a complete log."""
    asked_ms = parse_time(timestamp)
    listing = reader.full_listing()
    timeline = Timeline(reader, listing)
    if timeline.versions and timeline.versions[0] == 0 and timeline.time_ms(0) > asked_ms:
        return -1
    return _version_at(reader, listing, asked_ms)


class Timeline:
    """The versions that can be rebuilt, and the commit time of each. Times are read on demand."""

    def __init__(self, reader: LogReader, listing: LogListing) -> None:
        self._reader = reader
        self._listing = listing
        self._times: dict[int, int] = {}

    @cached_property
    def ranges(self) -> list[tuple[int, int]]:
        anchors: Collection[int] = self._listing.states
        if set(self._listing.states) - set(self._listing.versions):
            # A number that only a state has may be a late reuse of that number.
            anchors = self._history
        return retained_ranges(self._listing, sorted(anchors))

    @cached_property
    def versions(self) -> tuple[int, ...]:
        return tuple(version for low, high in self.ranges for version in range(low, high + 1))

    def time_ms(self, version: int) -> int:
        """The version's own time if it has one (commit info, state, metadata); else the time of its object."""
        if version not in self._times:
            self._times[version] = self._look_up(version)
        return self._times[version]

    def times_ms(self, versions: Sequence[int]) -> list[int]:
        """The times of several versions, whose files are fetched in parallel."""
        unread = [
            number for number in versions if number not in self._times and number in self._listing.version_objects
        ]
        for number, told_ms in zip(unread, self._reader.resources.each(self._told, unread), strict=True):
            if told_ms is not None:
                self._times[number] = told_ms
        return [self.time_ms(number) for number in versions]

    def _look_up(self, version: int) -> int:
        found = self._listing.version_objects.get(version)
        told_ms = self._told(version) if found is not None else None
        if told_ms is not None:
            return told_ms
        if version in self._listing.states and version in self._history:
            return self._history[version]
        if version == 0 and found is not None:
            created = [action.created_time for action in self._actions(0) if isinstance(action, Metadata)]
            if created and created[-1] is not None:
                return created[-1]
        if found is None:
            found = self._reader.store.head(checkpoint_key(version))
        return found.modified_ms if found is not None else 0

    def _told(self, version: int) -> int | None:
        """The version's own time. If its writer's clock was too far off, the store's time of the file."""
        told_ms, found = commit_time(self._actions(version)), self._listing.version_objects.get(version)
        if told_ms is None or found is None or self._reader.store.clock_ms() is None:
            return told_ms
        return told_ms if told_ms <= found.modified_ms + 2 * MARGIN_MS else found.modified_ms

    def _actions(self, version: int) -> list[Action]:
        """None for a file that is damaged or was cleaned: a version that a state covers must still get a time."""
        try:
            return self._reader.actions_or_none(version) or []
        except CorruptTable:
            return []

    @cached_property
    def _history(self) -> dict[int, int]:
        """The times at which the states of the history were written (docs/format.md, section 5.4), by number."""
        numbers = self._reader.states_in_order(self._listing)
        return {number: self._reader.state(number).created_at for number in numbers}


def _version_at(reader: LogReader, listing: LogListing, asked_ms: int) -> int:
    timeline = Timeline(reader, listing)
    versions = timeline.versions
    uri = reader.store.uri
    if not versions:
        raise VersionNotRetained(f"{uri} has no version that can be rebuilt; `headgate table verify` shows why")
    found = bisect_left(versions, True, key=lambda version: timeline.time_ms(version) > asked_ms) - 1
    while found >= 0:
        start = max(0, found - LOOK_BACK)
        times = timeline.times_ms(versions[start : found + 1])
        later = [place for place, time_ms in enumerate(times, start) if time_ms > asked_ms]
        if not later:
            break
        found = later[0] - 1
    if found < 0:
        raise VersionNotRetained(
            f"{uri} can't be rebuilt as of {format_time(asked_ms)}: the earliest version left is {versions[0]}, "
            f"of {format_time(timeline.time_ms(versions[0]))}; retained: {format_ranges(timeline.ranges)}"
        )
    version = versions[found]
    if found + 1 < len(versions) and versions[found + 1] > version + 1 and timeline.time_ms(version) < asked_ms:
        # One of the versions in between was the newest then, and nobody knows which.
        following = versions[found + 1]
        lost = [each for each in reader.lost(listing) if version < each.first < following]
        why = f"{lost[0].missing}. To have them back, {lost[0].advice}" if lost else "they were cleaned up"
        raise VersionNotRetained(
            f"{uri} can't be rebuilt as of {format_time(asked_ms)}: the versions between {version} "
            f"({format_time(timeline.time_ms(version))}) and {following} ({format_time(timeline.time_ms(following))}) "
            f"are gone: {why}; retained: {format_ranges(timeline.ranges)}"
        )
    return version
