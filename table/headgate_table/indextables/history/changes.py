"""The added and removed files between two versions, from version files or from states.

Only the net effect counts: a file that was added and removed again in between is in neither result, and neither is one
that was removed and added again unchanged. `format.entries` has the columns of entries, `log.reader` loads versions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import Action, AddFile, CommitInfo, RemoveFile
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import CorruptTable, ObjectMissing, VersionNotRetained
from headgate_table.indextables.format.entries import added_table, column_type, entry_schema
from headgate_table.indextables.format.replay import AddedFile, commit_time
from headgate_table.indextables.log.listing import list_log
from headgate_table.indextables.log.predecessor import is_named
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.stale_versions import late_up_to
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.read.live_difference import difference
from headgate_table.indextables.read.snapshot import DEFAULT_COLUMNS
from headgate_table.interface.answers import Changes

BEGINNING = -1
"""The version before the first: nothing is live at it."""

REMOVED_SCHEMA = pa.schema(
    [
        *(pa.field(column, column_type(column)) for column in ("path", "partition_values", "size", "num_records")),
        pa.field("data_change", pa.bool_()),
        pa.field("removed_at_version", pa.int64()),
        pa.field("removed_at_timestamp", pa.int64()),
    ]
)
"""Columns of removed files. What nobody recorded is null."""

_BATCH = 64
"""Version files held in memory at once."""


def changes(reader: LogReader, newest: LoadedLog, since: int, until: int | None = None) -> Changes:
    """The net effect of the versions after `since` up to `until` (the newest, without it); -1 is before the first.

    Raises `VersionNotRetained` if neither version files nor states still have the files of `since` or `until`.
    """
    last = _checked(reader, newest, since, until)
    return _Feed(reader, newest, since).between(since, last)


def changes_by_version(reader: LogReader, newest: LoadedLog, since: int, until: int | None = None) -> Iterator[Changes]:
    """One `Changes` for each version after `since` up to `until`, in order, each read on demand."""
    last = _checked(reader, newest, since, until)
    feed = _Feed(reader, newest, since)
    return (feed.between(before, version) for before, version in pairwise(range(since, last + 1)))


def added_after(
    reader: LogReader, log: LoadedLog, *, version: int | None = None, timestamp_ms: int | None = None
) -> pa.Table:
    """The live entries that were added after a version or time, according to the entries themselves.

    Manifests that can hold none are not opened. Entries of writers that record no version (docs/format.md, section 5.3)
    are never found by version; `changes` finds them.
    """
    if (version is None) == (timestamp_ms is None):
        raise InvalidInput("entries are filtered by the version or by the time they were added at: give one of them")
    if version is None:
        entries, _ = read_entries(reader.store, reader.resources, log, DEFAULT_COLUMNS)
        return entries.filter(pc.greater(entries.column("added_at_timestamp"), timestamp_ms))
    entries, _ = read_entries(reader.store, reader.resources, _without_older(log, version), DEFAULT_COLUMNS)
    return entries.filter(pc.greater(entries.column("added_at_version"), version))


class _Feed:
    """Computes changes after a version. Keeps the last loaded log."""

    def __init__(self, reader: LogReader, newest: LoadedLog, since: int) -> None:
        self._reader = reader
        self._newest = newest
        self._loaded = {newest.version: newest}
        # The newest version was read from its base and every version file after that.
        are_known = since >= newest.plan.base.version
        self._files = frozenset(newest.plan.versions if are_known else list_log(reader.store, since + 1).versions)

    def between(self, since: int, until: int) -> Changes:
        if since == until:
            return Changes(since, until, entry_schema(DEFAULT_COLUMNS).empty_table(), REMOVED_SCHEMA.empty_table())
        if since == BEGINNING:
            added, _ = read_entries(self._reader.store, self._reader.resources, self._log(until), DEFAULT_COLUMNS)
            return Changes(since, until, added, REMOVED_SCHEMA.empty_table())
        versions = range(since + 1, until + 1)
        whole = all(version in self._files for version in versions)
        net = self._replayed_ours(versions) if whole else None
        if net is not None:
            return net.changes(since, until)
        try:
            before, after = self._log(since), self._log(until)
        except VersionNotRetained as untold:
            if not whole:
                raise
            net = _Net()
            try:
                for version, actions in self._actions(versions):
                    net.apply(version, actions)
            except (ObjectMissing, _CameLate):
                raise untold from None  # cleaned since the log was listed, or before it was read
            return net.changes(since, until)
        added, gone = difference(self._reader, before, after, DEFAULT_COLUMNS)
        return Changes(since, until, added, self._dated(gone, since, after))

    def _log(self, version: int) -> LoadedLog:
        log = self._loaded.get(version)
        if log is None:
            log = self._reader.at_version(version)
            # The newest stays; of the others, only the last one is needed for the next step.
            self._loaded = {self._newest.version: self._newest, version: log}
        return log

    def _replayed_ours(self, versions: range) -> "_Net | None":
        """The net effect of version files; None if states are needed.

        States are needed if a file is damaged, was cleaned since, or is from a writer that may have removed a file that
        wasn't live, or whose commit was lost to a state (docs/format.md, sections 5.3 and 6.3).
        """
        net = _Net()
        try:
            for version, actions in self._actions(versions):
                if not _is_ours(actions):
                    return None
                net.apply(version, actions)
        except (CorruptTable, ObjectMissing, _CameLate):
            return None
        return net

    def _actions(self, versions: Sequence[int]) -> Iterator[tuple[int, list[Action]]]:
        """Raises `_CameLate` at the end if one of them doesn't belong to the log that snapshots use."""
        before: list[Action] | None = None
        is_untold = False
        for start in range(0, len(versions), _BATCH):
            batch = versions[start : start + _BATCH]
            for version, actions in zip(batch, self._reader.many_actions(batch), strict=True):
                is_untold |= before is not None and _check_named(before, actions)
                yield version, actions
                before = actions
        following = self._after(versions[-1])
        if before is not None and following is not None:
            is_untold |= _check_named(before, following)
        if is_untold and versions[0] <= late_up_to(self._reader, self._reader.full_listing(), self._newest):
            raise _CameLate

    def _after(self, version: int) -> list[Action] | None:
        """The next version, if it can be read."""
        if version >= self._newest.version or version + 1 not in self._files:
            return None
        try:
            return self._reader.actions_or_none(version + 1)
        except CorruptTable:
            return None

    def _removals(self, since: int, until: int) -> dict[str, "_Removed"]:
        """The removes in version files; a file that is damaged, came late, or was cleaned since, gives none."""
        told: dict[str, _Removed] = {}
        before: tuple[int, list[Action]] | None = None
        for version in range(since + 1, until + 1):
            if version in self._files:
                try:
                    actions = self._reader.actions(version)
                except (CorruptTable, ObjectMissing):
                    continue
                if before is not None and before[0] == version - 1 and is_named(before[1], actions) is False:
                    told.clear()
                told.update(_removals(version, actions))
                before = version, actions
        return told

    def _dated(self, gone: pa.Table, since: int, after: LoadedLog) -> pa.Table:
        """Removed files with the version that removed each, as far as version files or a single step show it."""
        until = after.version
        told = self._removals(since, until) if gone.num_rows else {}
        single = until if until == since + 1 else None
        at_ms = after.state.created_at if single is not None and after.state and after.state.version == until else None
        rows = [told.get(path) for path in gone.column("path").to_pylist()]
        return pa.Table.from_arrays(
            [
                *(gone.column(name) for name in ("path", "partition_values", "size", "num_records")),
                pa.array([None if row is None else row.remove.data_change for row in rows], pa.bool_()),
                pa.array([single if row is None else row.version for row in rows], pa.int64()),
                pa.array([at_ms if row is None else row.timestamp for row in rows], pa.int64()),
            ],
            schema=REMOVED_SCHEMA,
        )


class _CameLate(Exception):
    """A version file came late, into a number that had been cleaned (docs/format.md, section 6.6)."""


def _check_named(own: Sequence[Action], following: Sequence[Action]) -> bool:
    """Whether the next version doesn't name its predecessor. Raises `_CameLate` if it names another one than this."""
    told = is_named(own, following)
    if told is False:
        raise _CameLate
    return told is None


@dataclass(frozen=True, slots=True)
class _Removed:
    remove: RemoveFile
    version: int
    timestamp: int | None


@dataclass(slots=True)
class _Net:
    """The net effect of version files that remove only live files and add only other ones."""

    added: dict[str, AddedFile] = field(default_factory=dict)
    removed: dict[str, _Removed] = field(default_factory=dict)

    def apply(self, version: int, actions: Sequence[Action]) -> None:
        at_ms = commit_time(actions)
        for action in actions:
            match action:
                case AddFile():
                    self.added.pop(action.path, None)
                    self.added[action.path] = AddedFile(
                        action, version, action.modification_time if at_ms is None else at_ms
                    )
                case RemoveFile():
                    if self.added.pop(action.path, None) is None or action.path in self.removed:
                        self.removed[action.path] = _Removed(action, version, _removed_at(action, at_ms))
                case _:
                    pass

    def changes(self, since: int, until: int) -> Changes:
        back = {path for path, removed in self.removed.items() if _is_back(removed.remove, self.added.get(path))}
        added = added_table((file for path, file in self.added.items() if path not in back), DEFAULT_COLUMNS)
        removed = _removed_table(file for path, file in self.removed.items() if path not in back)
        return Changes(since, until, added, removed)


def _is_back(remove: RemoveFile, added: AddedFile | None) -> bool:
    """Whether a removed file was added again unchanged, as by a restore."""
    return added is not None and remove.size in (None, added.add.size)


def _removals(version: int, actions: Sequence[Action]) -> dict[str, _Removed]:
    at_ms = commit_time(actions)
    removes = [action for action in actions if isinstance(action, RemoveFile)]
    return {remove.path: _Removed(remove, version, _removed_at(remove, at_ms)) for remove in removes}


def _removed_at(remove: RemoveFile, commit_ms: int | None) -> int | None:
    return remove.deletion_timestamp if commit_ms is None else commit_ms


def _removed_table(files: Iterable[_Removed]) -> pa.Table:
    rows = list(files)
    values = [row.remove.partition_values for row in rows]
    return pa.Table.from_arrays(
        [
            pa.array([row.remove.path for row in rows], pa.string()),
            pa.array(
                [None if found is None else list(found.items()) for found in values], column_type("partition_values")
            ),
            pa.array([row.remove.size for row in rows], pa.int64()),
            pa.nulls(len(rows), pa.int64()),
            pa.array([row.remove.data_change for row in rows], pa.bool_()),
            pa.array([row.version for row in rows], pa.int64()),
            pa.array([row.timestamp for row in rows], pa.int64()),
        ],
        schema=REMOVED_SCHEMA,
    )


def _is_ours(actions: Sequence[Action]) -> bool:
    """Whether a version was decided by `decide`: only then do its removes certainly concern live files, and so on."""
    return any(isinstance(action, CommitInfo) and "nonce" in action.body for action in actions)


def _checked(reader: LogReader, newest: LoadedLog, since: int, until: int | None) -> int:
    """`until` as a number; both are in the range of the log."""
    last = newest.version if until is None else until
    if since < BEGINNING:
        raise InvalidInput(f"changes can't be given since version {since}; the first version is 0, and -1 is before it")
    for version in (since, last):
        if version > newest.version:
            raise reader.not_retained(version, reader.full_listing())
    if last < since:
        raise InvalidInput(f"changes go forward: `until` is {last}, which is before `since`, {since}")
    return last


def _without_older(log: LoadedLog, version: int) -> LoadedLog:
    """The log without the manifests whose entries were all added at or before a version, according to their writer.

    0 isn't a version here: it stands for a writer that records none (docs/format.md, section 8).
    """
    if log.state is None:
        return log
    kept = tuple(info for info in log.state.manifests if not 0 < info.max_added_at_version <= version)
    return replace(log, state=replace(log.state, manifests=kept))
