"""`MilvusTable`: one table of Milvus manifests. `transaction` or a committer changes it."""

from collections.abc import Callable, Iterator

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Milvus, Operation, Receipt
from headgate_schemas.predicates.tree import Predicate
from headgate_table.errors import TableNotFound, VersionNotRetained
from headgate_table.interface.answers import OK, Changes, HistoryEntry, TableDescription
from headgate_table.interface.findings import VerifyReport
from headgate_table.interface.table_format import BY_TRANSACTIONS, check_one_moment, check_one_start, meaningless
from headgate_table.interface.times import parse_time
from headgate_table.milvus.committed.log import RecordedLog
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import METADATA_FOLDER, manifest_key
from headgate_table.milvus.history import manifest_history
from headgate_table.milvus.rules.file_changes import changed_files
from headgate_table.milvus.snapshot import MilvusSnapshot, file_table
from headgate_table.milvus.verify import verify_manifests
from headgate_table.store.interface import Store


class MilvusTable:
    """A `TableFormat`. Every read of the newest version reads the store again."""

    def __init__(self, store: Store, ambient: Ambient, commit: Callable[[Operation], Receipt] | None = None) -> None:
        self._store = store
        self._ambient = ambient
        self._proposes = commit
        self._log = RecordedLog(store, ambient)

    @property
    def uri(self) -> str:
        return self._store.uri

    @property
    def exists(self) -> bool:
        """Whether there are manifests, by one request."""
        return bool(self._log.found().latest)

    @property
    def version(self) -> int:
        latest = self._log.found().latest
        if not latest:
            raise TableNotFound(f"there are no Milvus manifests at {self.uri} any more")
        return latest

    def snapshot(
        self, version: int | None = None, timestamp: int | str | None = None, where: str | Predicate | None = None
    ) -> MilvusSnapshot:
        """The table at a version (0 is empty), at a time by the store's clock, or now."""
        if where is not None:
            return meaningless(self.uri, "partitions or bounds that a predicate could select by")
        check_one_moment(version, timestamp)
        number = self.version if version is None else version
        if timestamp is not None:
            number = self._version_at(parse_time(timestamp))
        return MilvusSnapshot(self.uri, number, self._manifest(number))

    def changes(
        self, since: int | None = None, until: int | None = None, *, since_timestamp: int | str | None = None
    ) -> Changes:
        """The added and removed data files after a version (0, or -1: from the beginning), up to `until` or now."""
        check_one_start(since, since_timestamp)
        start = max(since, 0) if since is not None else self._version_before(parse_time(since_timestamp or 0))
        end = self.version if until is None else until
        before = self._manifest(start)
        if end < start:
            raise InvalidInput(f"changes go forward: `until` is {end}, which is before `since`, {start}")
        added, removed = changed_files(before, self._manifest(end))
        return Changes(start, end, file_table(added), file_table(removed))

    def changes_by_version(self, since: int, until: int | None = None) -> Iterator[Changes]:
        end = self.version if until is None else until
        return (self.changes(version - 1, version) for version in range(max(since, 0) + 1, end + 1))

    def history(self, limit: int | None = None) -> list[HistoryEntry]:
        """The versions with an existing manifest, newest first; with proposals for those of a committer."""
        return manifest_history(self._log, limit)

    def describe(self, *, skips: bool = True) -> TableDescription:
        found = self._log.found()
        snapshot = self.snapshot(found.latest)
        looked = self._store.head(manifest_key("", found.latest))
        return TableDescription(
            table_path=self.uri,
            format="milvus",
            version=found.latest,
            num_files=snapshot.num_files,
            num_manifests=len(found.versions),
            num_tombstones=0,
            tombstone_ratio=0.0,
            total_bytes=snapshot.total_bytes,
            needs_compaction=False,
            status=OK,
            created_at=None if looked is None else looked.modified_ms,
            protocol_version=snapshot.manifest.form.version,
        )

    def verify(self, *, data_files: bool = True) -> VerifyReport:
        return verify_manifests(self._log, data_files=data_files)

    def _manifest(self, version: int) -> Manifest:
        return Manifest() if version == 0 else self._log.read(version).manifest

    def _times(self) -> list[tuple[int, int]]:
        """The time of each version by the store's clock, and its number; ascending by number."""
        listed = {info.key: info.modified_ms for info in self._store.list_folder(METADATA_FOLDER).objects}
        versions = self._log.found().versions
        return [(listed[key], number) for number in versions if (key := manifest_key("", number)) in listed]

    def _version_at(self, time_ms: int) -> int:
        times = self._times()
        earlier = [number for at_ms, number in times if at_ms <= time_ms]
        if not earlier:
            raise VersionNotRetained(f"{self.uri} has no manifest that is as old as {time_ms}")
        return earlier[-1]

    def _version_before(self, time_ms: int) -> int:
        return max((number for at_ms, number in self._times() if at_ms < time_ms), default=0)

    def commit(self, operation: Operation) -> Receipt:
        """Propose a transaction, if the table was opened with a way to propose."""
        if self._proposes is None or not isinstance(operation, Milvus):
            return meaningless(self.uri, BY_TRANSACTIONS)
        return self._proposes(operation)
