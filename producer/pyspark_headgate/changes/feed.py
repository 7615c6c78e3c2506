"""The files that a stream of changes reads next, from a table's log. For drivers; `read.table_reader` reads the rows.

The log lists files. The rows of an added file are inserts, those of a removed file are deletes, and a rewrite of the
same rows (merging, clustering) is no change. `changed_files` describes the files of one version.
"""

from dataclasses import dataclass, replace
from enum import Enum

import pyarrow.compute as pc

from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.errors import VersionNotRetained
from headgate_table.indextables.history.travel import Timeline, version_before
from headgate_table.indextables.log.resolve import format_ranges
from headgate_table.interface.answers import Changes
from headgate_table.interface.times import parse_time
from headgate_table.table import Table
from pyspark_headgate.changes.changed_files import FILE_COLUMNS, ChangedFiles, FileChange, changed_files, snapshot_files
from pyspark_headgate.changes.offset import ChangeOffset

_AHEAD = 32
"""Version files that are fetched side by side, since a stream that is behind reads all of them, one after the other."""
_KEPT = 1024
"""Versions whose files are remembered between planning a batch and listing it; beyond that they are read again."""


class OnRemoval(Enum):
    """How a stream of added rows treats a version that takes rows away; the values are the options."""

    REFUSE = ""
    IGNORE_DELETES = "ignoreDeletes"
    """Versions that only take rows away are passed over."""
    IGNORE_CHANGES = "ignoreChanges"
    """So is what any other version takes away: what it adds is read."""
    DELIVER = "readChangeFeed"
    """They are rows of the feed, like those that came."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a query without a checkpoint. With neither value, it begins with the table as it is."""

    version: int | str | None = None
    """A number, `latest` or `earliest`; the changes of that version are the first."""
    timestamp: str | None = None
    """The first version that was committed then or later."""


class ChangeFeed:
    """The changes of one table from an offset on. It remembers the log for the batch that is being planned."""

    def __init__(self, table: Table, on_removal: OnRemoval, schema_string: str | None = None) -> None:
        """`schema_string`: the fixed columns of the reader; without it, columns may change."""
        self._table = table
        self._on_removal = on_removal
        self._schema_string = schema_string
        self._seen: ChangeOffset | None = None
        self._known: dict[tuple[int, bool], ChangedFiles] = {}

    @property
    def uri(self) -> str:
        return self._table.uri

    def first(self, start: Start) -> ChangeOffset:
        """The offset that a new query starts from. Raises `InvalidInput` and `VersionNotRetained`."""
        newest = self.newest()
        if start.version is not None and start.timestamp is not None:
            raise InvalidInput("a stream starts with startingVersion or with startingTimestamp: leave one of them out")
        match start.version:
            case None if start.timestamp is not None:
                # The versions before that time end with the last one before it.
                before = version_before(self._table.reader, parse_time(start.timestamp) - 1)
                return replace(newest, version=before + 1)
            case None:
                return replace(newest, version=newest.version - 1, is_snapshot=True)
            case "latest":
                return newest
            case "earliest":
                return replace(newest, version=self._earliest())
            case int(version) if 0 <= version <= newest.version:
                return replace(newest, version=version)
            case other:
                raise InvalidInput(
                    f"startingVersion is {other!r}, and {self.uri} has the versions up to {newest.version - 1}: give one of "
                    f"them, {newest.version} or 'latest' for what comes next, or 'earliest'"
                )

    def newest(self) -> ChangeOffset:
        """The offset after the newest version; reads the store again."""
        snapshot = self._table.snapshot()
        metadata = snapshot.metadata
        self._seen = ChangeOffset(metadata.id, snapshot.version + 1)
        if self._schema_string is not None and metadata.schema_string != self._schema_string:
            raise HeadgateError(
                f"the columns of {self.uri} have changed since the query was started, and a running query can't take them in. "
                f"Start it again with the same checkpoint: it goes on where it was, with the new columns"
            )
        return self._seen

    def seen(self) -> ChangeOffset:
        """The newest offset as of the last look."""
        return self._seen or self.newest()

    def end(
        self, start: ChangeOffset, upto: ChangeOffset | None, max_files: int | None, max_versions: int | None
    ) -> ChangeOffset:
        """The end of a batch that begins at `start`: up to `upto` (or the newest version), within the limits.

        A version that can't be read ends the batch before it. Only a batch that would begin with it raises.
        """
        newest = self.newest()
        self._check(start, newest)
        last = newest if upto is None or upto.place > newest.place else upto
        self._forget(start)
        at, left = start, max_files
        versions = last.version - start.version + 1 if max_versions is None else max_versions
        for _ in range(versions):
            if at.place >= last.place or left == 0:
                break
            try:
                files = self._files_from(at, last.version - 1)
            except HeadgateError:
                if at == start:
                    raise
                break
            index, taken = files.cut(at.index, left)
            left = None if left is None else left - taken
            at = replace(at, index=index) if index < files.count else _after(at)
        return at

    def between(self, start: ChangeOffset, end: ChangeOffset) -> list[FileChange]:
        """The files that a batch from `start` to `end` reads. The same offsets always give the same files."""
        self._check(start, self.seen())
        self._forget(start)
        found: list[FileChange] = []
        at = start
        while at.place < end.place:
            files = self._files_from(at, end.version if end.index else end.version - 1)
            is_last = (at.version, at.is_snapshot) == (end.version, end.is_snapshot)
            if is_last and end.index > files.count:
                raise HeadgateError(
                    f"the query's checkpoint has come to file {end.index} of version {end.version} of {self.uri}, which has "
                    f"only {files.count}. Start the query with a new checkpoint"
                )
            found.extend(files.between(at.index, end.index if is_last else files.count))
            if is_last:
                break
            at = _after(at)
        return found

    def _files_from(self, at: ChangeOffset, last: int) -> ChangedFiles:
        """The files of the version at `at`, in order. The caller will ask for the versions up to `last` next."""
        key = at.version, at.is_snapshot
        if key not in self._known:
            if len(self._known) > _KEPT:
                self._known.clear()
            if at.is_snapshot:
                self._read_snapshot(at.version)
            else:
                self._read(at.version, max(at.version, min(last, at.version + _AHEAD - 1)))
        return self._known[key]

    def _forget(self, start: ChangeOffset) -> None:
        """Forget the versions before `start`, which are not needed any more."""
        self._known = {
            (version, is_snapshot): files
            for (version, is_snapshot), files in self._known.items()
            if version >= start.version and (start.is_snapshot or not is_snapshot)
        }

    def _read_snapshot(self, version: int) -> None:
        try:
            snapshot = self._table.snapshot(version=version)
        except VersionNotRetained as error:
            raise self._gone(version, error) from error
        files = snapshot.files(FILE_COLUMNS)
        self._known[version, True] = snapshot_files(files, version, self._time_ms(version))

    def _read(self, first: int, last: int) -> None:
        """Remember the files of the versions from `first` on, up to the first one that can't be read."""
        self._fetch(range(first, last + 1))
        try:
            for changes in self._table.changes_by_version(first - 1, last):
                self._known[changes.version, False] = self._ordered(changes)
        except VersionNotRetained as error:
            if (first, False) not in self._known:
                raise self._gone(first, error) from error
        except HeadgateError:
            if (first, False) not in self._known:
                raise

    def _fetch(self, versions: range) -> None:
        reader = self._table.reader

        def fetch(version: int) -> None:
            try:
                reader.actions(version)
            except HeadgateError:
                return  # a caller that needs it gets the same error; others don't need it

        reader.resources.each(fetch, versions)

    def _ordered(self, changes: Changes) -> ChangedFiles:
        files = changed_files(changes, self._told_time_ms(changes), deletes_count=self._on_removal is OnRemoval.DELIVER)
        if files.removed_with_rows:
            self._check_removal(files)
        return files

    def _check_removal(self, files: ChangedFiles) -> None:
        if self._on_removal in (OnRemoval.IGNORE_CHANGES, OnRemoval.DELIVER):
            return
        if self._on_removal is OnRemoval.IGNORE_DELETES and not files.added_with_rows:
            return
        way = OnRemoval.IGNORE_CHANGES if files.added_with_rows else OnRemoval.IGNORE_DELETES
        also = f" and adds {files.added_with_rows}" if files.added_with_rows else ""
        reads = ", and reads what is added" if files.added_with_rows else ""
        raise InvalidInput(
            f"version {files.version} of {self.uri} removes {files.removed_with_rows} files with their rows{also}, and a "
            f"stream of added rows can't say so. Set the option {way.value}=true, which passes over what is removed{reads}; "
            f"or start a query with a new checkpoint and readChangeFeed=true, which has inserts and deletes as rows"
        )

    def _check(self, start: ChangeOffset, newest: ChangeOffset) -> None:
        if start.table != newest.table:
            raise HeadgateError(
                f"the query's checkpoint belongs to a table with the id {start.table}, and the one at {self.uri} has the id "
                f"{newest.table}: the table was made anew. Start the query with a new checkpoint"
            )
        if start.place > newest.place:
            raise HeadgateError(
                f"the query has read {self.uri} up to version {start.version - 1}, and its newest version is "
                f"{newest.version - 1}: the table was put back to a copy of itself. Start the query with a new checkpoint"
            )

    def _earliest(self) -> int:
        """The first version from which the log lists all changes."""
        reader = self._table.reader
        ranges = reader.retained(reader.full_listing())
        low = ranges[-1][0] if ranges else 0
        # The first version's own changes are unknown if the version before it is gone.
        return 0 if low == 0 else low + 1

    def _gone(self, version: int, error: VersionNotRetained) -> VersionNotRetained:
        reader = self._table.reader
        ranges = reader.retained(reader.full_listing())
        return VersionNotRetained(
            f"the query goes on with version {version} of {self.uri}, and what that changed the log doesn't tell any more: it "
            f"was cleaned up before the query came to it ({error}). Start a query with a new checkpoint: without "
            f"startingVersion it begins with the table as it stands, and startingVersion=earliest with the first version that "
            f"the log tells of. Retained are {format_ranges(ranges)}"
        )

    def _told_time_ms(self, changes: Changes) -> int:
        for table, column in ((changes.added, "added_at_timestamp"), (changes.removed, "removed_at_timestamp")):
            told = pc.max(table.column(column)).as_py() if table.num_rows else None
            if told:
                return int(told)
        return 0 if changes.is_empty else self._time_ms(changes.version)

    def _time_ms(self, version: int) -> int:
        reader = self._table.reader
        return Timeline(reader, reader.full_listing()).time_ms(version)


def _after(offset: ChangeOffset) -> ChangeOffset:
    return ChangeOffset(offset.table, offset.version + 1)
