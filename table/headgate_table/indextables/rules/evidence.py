"""Gathers the facts for `decide` from a loaded log: lookups by path, matches of a predicate, earlier files.

It only reads; the caller passes the table's memory.
"""

from collections.abc import Iterator, Mapping, Sequence

from headgate_schemas.actions.actions import Action, AddFile, Metadata, RemoveFile
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    CompactState,
    Operation,
    Overwrite,
    Purge,
    ReadSet,
    Rewrite,
)
from headgate_schemas.predicates.tree import Predicate
from headgate_table.coordination.memory import TableMemory
from headgate_table.errors import CorruptTable, ObjectMissing, UnsupportedTable, VersionNotRetained
from headgate_table.indextables.format.added_files import added_files
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.format.names import LEGACY_STATE_MANIFEST, STATE_MANIFEST, carried_path, state_key
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.readable_versions import left_versions
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.stale_versions import late_up_to
from headgate_table.indextables.manifests.path_index import FACT_COLUMNS, find_entries
from headgate_table.indextables.read.entry_reader import EntryFilter, read_entries
from headgate_table.indextables.rules.decide import Blocked, Evidence, LiveFile, Questions
from headgate_table.indextables.rules.named_files import file_keys
from headgate_table.indextables.rules.serializable import read_conflict
from headgate_table.indextables.rules.swap import swap_difference, unsafe_manifest
from headgate_table.store.paths import is_key

MAX_VERSIONS_COMPARED = 1_000
"""Versions that a serializable proposal may lie behind. Each is read and compared, so older ones conflict unread."""
_BATCH = 16
"""Version files held in memory at once."""


class EvidenceReader:
    """Answers questions about one table."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._tombstones: tuple[StateManifest, frozenset[str]] | None = None

    def known(
        self,
        log: LoadedLog,
        memory: TableMemory,
        paths: Sequence[str],
        partitions: Mapping[str, Mapping[str, str]] | None = None,
    ) -> tuple[dict[str, LiveFile], dict[str, Blocked]]:
        """Which of the paths are live, and which can't be added although they aren't; for many proposals at once.

        `partitions` may give the partition values of paths, by which manifests are skipped.
        """
        live, blocked = self._in_log(log, paths, partitions or {})
        for path in paths:
            if path not in live and path not in blocked:
                if self._is_purged(memory, path):
                    blocked[path] = Blocked.PURGED
                elif memory.was_removed(path):
                    blocked[path] = Blocked.REMOVED
        return live, blocked

    def _is_purged(self, memory: TableMemory, path: str) -> bool:
        """A purge names keys, and a file may be added under other spellings of its key."""
        if "%" not in path:
            return memory.is_purged(path)
        return any(memory.is_purged(key) for key in {path, *file_keys(path, self._reader.store.uri)})

    def matching(self, log: LoadedLog, where: Predicate | None, metadata: Metadata) -> list[LiveFile]:
        """The live files that match a predicate on partition columns; all without one."""
        entry_filter = None
        if where is not None:
            entry_filter = EntryFilter(
                where, kinds_of(column_kinds(metadata.schema_string)), metadata.partition_columns
            )
        entries, _ = read_entries(self._reader.store, self._reader.resources, log, FACT_COLUMNS, entry_filter)
        return [
            LiveFile(row["path"], dict(row["partition_values"]), row["size"], row["num_records"])
            for row in entries.to_pylist()
        ]

    def conflict(self, log: LoadedLog, reads: ReadSet, metadata: Metadata) -> str | None:
        """The reason why the read set isn't valid any more at the loaded version; None if it is."""
        if reads.based_on > log.version:
            return f"version {reads.based_on} doesn't exist yet; the newest is {log.version}"
        if log.version - reads.based_on > MAX_VERSIONS_COMPARED:
            return (
                f"version {reads.based_on} lies more than {MAX_VERSIONS_COMPARED} versions back; "
                f"read the table again and propose anew"
            )
        try:
            if reads.based_on < log.plan.base.version and reads.based_on < self._late_up_to(log):
                return read_conflict(reads, None, metadata)
            return read_conflict(reads, self._versions(range(reads.based_on + 1, log.version + 1)), metadata)
        except (ObjectMissing, CorruptTable):
            return read_conflict(reads, None, metadata)

    def _late_up_to(self, log: LoadedLog) -> int:
        return late_up_to(self._reader, self._reader.full_listing(), log)

    def gather(
        self,
        log: LoadedLog,
        memory: TableMemory,
        operation: Operation,
        asked: Questions,
        metadata: Metadata,
        reads: ReadSet | None = None,
        taken_ms: int | None = None,
    ) -> Evidence:
        """All facts for one operation that is decided by itself; a bus took it at `taken_ms`."""
        conflict = None if reads is None else self.conflict(log, reads, metadata)
        if conflict is not None:
            return Evidence(conflict=conflict)
        match operation:
            case Purge():
                return self._for_purge(log, memory, asked.paths)
            case CompactState():
                return self._for_swap(log, operation, taken_ms)
            case Alter():
                unknown = min(memory.complete_from - 1, log.version)
                return Evidence(metadata_version=max(memory.metadata_version, unknown))
            case _:
                pass
        matched: list[LiveFile] = []
        if asked.everything or asked.where is not None:
            matched = self.matching(log, asked.where, metadata)
        live, blocked = self.known(log, memory, asked.paths, partitions_named(operation))
        restored = None if asked.version is None else self._restored(asked.version, matched, memory)
        return Evidence(live, blocked, matched, restored)

    def _for_purge(self, log: LoadedLog, memory: TableMemory, paths: Sequence[str]) -> Evidence:
        """The facts for a purge, from the retained log: versions that were cleaned since must not block it.

        A file that was added since the cleaner's look may have another spelling; its version is still there. Unreadable
        retained parts may name any of the paths.
        """
        live, blocked = self._in_log(log, paths, {})
        wanted = set(paths)
        is_told = True
        uri = self._reader.store.uri
        for _, actions in left_versions(self._reader, self._reader.full_listing().versions):
            is_told = is_told and actions is not None
            for action in actions or ():
                if not isinstance(action, AddFile | RemoveFile):
                    continue
                named = {action.path, *file_keys(action.path, uri)} if "%" in action.path else {action.path}
                reason = Blocked.REMOVED if isinstance(action, RemoveFile) else Blocked.RETAINED
                for key in named & wanted:
                    if key not in live:
                        blocked.setdefault(key, reason)
        for path in paths:
            if path not in live and path not in blocked and memory.is_purged(path):
                blocked[path] = Blocked.PURGED
        try:
            blocked |= dict.fromkeys(self._in_kept_states(paths), Blocked.RETAINED)
        except (CorruptTable, UnsupportedTable):
            is_told = False
        if not is_told:
            blocked = dict.fromkeys(paths, Blocked.UNTOLD) | blocked
        return Evidence(live, blocked, can_purge=memory.has_room_to_purge(len(paths)))

    def _for_swap(self, log: LoadedLog, swap: CompactState, taken_ms: int | None) -> Evidence:
        if log.state is None:
            return Evidence(swap_differs="the table has no state whose manifests could be replaced")
        manifests = frozenset(carried_path(info.path, log.state.version) for info in log.state.manifests)
        differs = None
        if set(swap.removes) <= manifests:
            differs = None if taken_ms is None else unsafe_manifest(self._reader.store, swap, taken_ms)
            differs = differs or swap_difference(self._reader, log.state, swap)
        return Evidence(manifests=manifests, swap_differs=differs)

    def _in_log(
        self, log: LoadedLog, paths: Sequence[str], partitions: Mapping[str, Mapping[str, str]]
    ) -> tuple[dict[str, LiveFile], dict[str, Blocked]]:
        """The entries of the paths in the newest state and the versions after it."""
        live: dict[str, LiveFile] = {}
        blocked: dict[str, Blocked] = {}
        delta = log.delta
        tombstones = self._tombstones_of(log.state)
        found = find_entries(self._reader.store, self._reader.resources, log.state, paths, partitions)
        for path in paths:
            if path in delta.added:
                add = delta.added[path].add
                live[path] = LiveFile(path, add.partition_values, add.size, add.num_records)
            elif path in delta.removed:
                blocked[path] = Blocked.REMOVED
            elif path in tombstones:
                blocked[path] = Blocked.TOMBSTONED
            elif path in found:
                entry = found[path][-1]
                live[path] = LiveFile(path, entry.partition_values, entry.size, entry.num_records)
        return live, blocked

    def _tombstones_of(self, state: StateManifest | None) -> frozenset[str]:
        if state is None:
            return frozenset()
        if self._tombstones is None or self._tombstones[0] is not state:
            self._tombstones = state, frozenset(state.tombstones)
        return self._tombstones[1]

    def _in_kept_states(self, paths: Sequence[str]) -> set[str]:
        """The paths that a kept state lists: earlier versions need their files."""
        named: set[str] = set()
        for number in self._reader.full_listing().states:
            # A state that was read before it was cleaned stays cached; and on a local disk its folder exists as long as
            # anything else lies in it.
            if not any(
                self._reader.store.head(state_key(number, name)) for name in (STATE_MANIFEST, LEGACY_STATE_MANIFEST)
            ):
                continue
            state = self._reader.state_or_none(number)
            named.update(find_entries(self._reader.store, self._reader.resources, state, paths))
        return named

    def _versions(self, versions: Sequence[int]) -> Iterator[tuple[int, list[Action]]]:
        """Raises `ObjectMissing` if one is missing."""
        for start in range(0, len(versions), _BATCH):
            some = versions[start : start + _BATCH]
            yield from zip(some, self._reader.many_actions(some), strict=True)

    def _restored(self, version: int, live: Sequence[LiveFile], memory: TableMemory) -> dict[str, AddFile] | None:
        """The files that were live at `version`, if all of them that aren't live now exist and are not to be deleted."""
        try:
            log = self._reader.at_version(version)
            entries, _ = read_entries(self._reader.store, self._reader.resources, log, ALL_COLUMNS)
        except (VersionNotRetained, CorruptTable):
            return None
        files = {added.add.path: added.add for added in added_files(entries)}
        coming_back = sorted(files.keys() - {file.path for file in live})
        if any(self._may_be_deleted(memory, path) for path in coming_back):
            return None
        return files if all(self._reader.resources.each(self._is_there, coming_back)) else None

    def _may_be_deleted(self, memory: TableMemory, path: str) -> bool:
        return any(memory.is_purged(key) for key in file_keys(path, self._reader.store.uri))

    def _is_there(self, path: str) -> bool:
        """A file outside of the table counts as existing; known writers do the same."""
        keys = file_keys(path, self._reader.store.uri)
        return not keys or any(is_key(key) and self._reader.store.head(key) is not None for key in sorted(keys))


def partitions_named(operation: Operation) -> dict[str, Mapping[str, str]]:
    """The partition values of the paths that an operation adds, from the operation."""
    match operation:
        case Append(files) | Overwrite(files) | Rewrite(adds=files):
            return {file.path: file.partition_values for file in files}
        case _:
            return {}
