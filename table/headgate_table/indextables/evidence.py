"""Gathering the facts that `decide` asks for, from a loaded log: lookups by path, matches of a predicate, earlier files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate_schemas.actions import Action, AddFile, CommitInfo, Metadata, RemoveFile
from headgate_schemas.column_kinds import kinds_of
from headgate_schemas.operations import Alter, Append, CompactState, Operation, Overwrite, Purge, Rewrite
from headgate_schemas.predicates import Predicate
from headgate_schemas.table_schema import column_kinds
from headgate_table.errors import CorruptTable, ObjectMissing, VersionNotRetained
from headgate_table.indextables.added_files import added_files
from headgate_table.indextables.decide import Blocked, Evidence, LiveFile, Questions
from headgate_table.indextables.entries import ALL_COLUMNS
from headgate_table.indextables.entry_reader import EntryFilter, read_entries
from headgate_table.indextables.log_reader import LoadedLog, LogReader
from headgate_table.indextables.names import carried_path
from headgate_table.indextables.path_index import FACT_COLUMNS, find_entries
from headgate_table.indextables.swap import swap_difference


@dataclass(slots=True)
class LogMemory:
    """What the retained version files say that no state keeps: removed and purged paths, and the last metadata change."""

    through: int = -1
    removed: dict[str, int] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)
    metadata_version: int = 0
    complete_from: int = 0
    """From here on every version was read; what earlier ones changed isn't known for sure."""

    def apply(self, version: int, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case RemoveFile():
                    self.removed[action.path] = version
                case AddFile():
                    self.removed.pop(action.path, None)
                case Metadata():
                    self.metadata_version = max(self.metadata_version, version)
                case CommitInfo():
                    self.purged.update(purged_paths(action))
                case _:
                    pass
        self.through = max(self.through, version)


def purged_paths(info: CommitInfo) -> Sequence[str]:
    """The paths that a version forbids for good."""
    value = info.body.get("purged")
    return [path for path in value if isinstance(path, str)] if isinstance(value, list) else []


class EvidenceReader:
    """Answers `Questions` for one table. Remembers what version files said; grows with the log."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._memory: LogMemory | None = None
        self._table_id = ""

    def gather(self, log: LoadedLog, operation: Operation, asked: Questions, metadata: Metadata) -> Evidence:
        if isinstance(operation, Purge):
            self._memory = None  # what cleaning has deleted since must not speak against the purge
        if metadata.id != self._table_id:
            self._memory, self._table_id = None, metadata.id  # another table took the place of the one we knew
        memory = self.memory(log)
        matched: list[LiveFile] = []
        if asked.everything or asked.where is not None:
            matched = self._matching(log, asked.where, metadata)
        live, blocked = self._known(log, asked.paths, _partitions(operation), memory)
        if isinstance(operation, Purge):
            blocked |= dict.fromkeys(self._in_kept_states(asked.paths), Blocked.RETAINED)
        restored = None if asked.version is None else self._restored(asked.version)
        manifests: frozenset[str] = frozenset()
        differs: str | None = None
        if isinstance(operation, CompactState) and log.state is not None:
            state = log.state
            manifests = frozenset(carried_path(info.path, state.version) for info in state.manifests)
            if set(operation.removes) <= manifests:
                differs = swap_difference(self._reader, state, operation)
        changed = memory.metadata_version
        if isinstance(operation, Alter):
            changed = max(changed, min(memory.complete_from - 1, log.version))
        return Evidence(live, blocked, matched, restored, changed, manifests, differs)

    def _in_kept_states(self, paths: Sequence[str]) -> set[str]:
        """Those of the paths that a kept state lists: earlier versions need their files."""
        named: set[str] = set()
        for number in self._reader.full_listing().states:
            state = self._reader.state_or_none(number)
            named.update(find_entries(self._reader.store, self._reader.resources, state, paths))
        return named

    def memory(self, log: LoadedLog) -> LogMemory:
        """What version files up to `log` say; each is read once in the life of this object."""
        if self._memory is None or self._memory.through > log.version:
            self._memory = LogMemory()
        first = self._memory.through + 1
        versions: Sequence[int] = range(first, log.version + 1)
        if log.plan.base.version >= first:
            listed = self._reader.full_listing().versions
            versions = [version for version in listed if first <= version <= log.version]
        read: set[int] = set()
        for version, actions in zip(versions, self._reader.resources.each(self._kept, versions), strict=True):
            if actions is not None:
                self._memory.apply(version, actions)
                read.add(version)
        complete_from = log.version + 1
        while complete_from - 1 in read:
            complete_from -= 1
        if complete_from > first:
            self._memory.complete_from = complete_from
        self._memory.through = max(self._memory.through, log.version)
        return self._memory

    def _kept(self, version: int) -> list[Action] | None:
        """The actions of a version; None when it was cleaned up since the log was listed."""
        try:
            return self._reader.actions(version)
        except ObjectMissing:
            return None

    def _known(
        self,
        log: LoadedLog,
        paths: Sequence[str],
        partitions: Mapping[str, Mapping[str, str]],
        memory: LogMemory,
    ) -> tuple[dict[str, LiveFile], dict[str, Blocked]]:
        live: dict[str, LiveFile] = {}
        blocked: dict[str, Blocked] = {}
        delta = log.delta
        tombstones = set(log.state.tombstones) if log.state is not None else set()
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
            elif path in memory.purged:
                blocked[path] = Blocked.PURGED
            elif path in memory.removed:
                blocked[path] = Blocked.REMOVED
        return live, blocked

    def _matching(self, log: LoadedLog, where: Predicate | None, metadata: Metadata) -> list[LiveFile]:
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

    def _restored(self, version: int) -> dict[str, AddFile] | None:
        """The files that were live at `version`, if all of them still exist."""
        try:
            log = self._reader.at_version(version)
            entries, _ = read_entries(self._reader.store, self._reader.resources, log, ALL_COLUMNS)
        except (VersionNotRetained, CorruptTable):
            return None
        files = {added.add.path: added.add for added in added_files(entries)}
        present = self._reader.resources.each(lambda path: self._reader.store.head(path) is not None, list(files))
        return files if all(present) else None


def _partitions(operation: Operation) -> dict[str, Mapping[str, str]]:
    match operation:
        case Append(files) | Overwrite(files) | Rewrite(adds=files):
            return {file.path: file.partition_values for file in files}
        case _:
            return {}
