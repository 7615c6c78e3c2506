"""`MilvusTable`: a table of Milvus manifests, read as other tables are. Changes are `transaction`'s, or a committer's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from headgate_schemas import arguments
from headgate_schemas.actions.actions import AddFile, Metadata, Protocol
from headgate_schemas.ambient import Ambient
from headgate_schemas.arguments import checked
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Milvus, Operation, Receipt
from headgate_schemas.predicates.tree import Predicate
from headgate_table.delta.mirror import Published
from headgate_table.errors import TableNotFound, VersionNotRetained
from headgate_table.indextables.cleaning.cleaner import PurgeReport
from headgate_table.indextables.cleaning.drop_partitions import DropReport
from headgate_table.indextables.cleaning.plan import Protected
from headgate_table.indextables.cleaning.quarantine import BroughtBack
from headgate_table.indextables.cleaning.truncate import TruncateReport
from headgate_table.indextables.history.changes import Changes
from headgate_table.indextables.history.describe import OK, TableDescription
from headgate_table.indextables.history.history import HistoryEntry
from headgate_table.indextables.history.travel import parse_time
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.verify.report import VerifyReport
from headgate_table.milvus.committed.log import RecordedLog
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import METADATA_FOLDER, manifest_key
from headgate_table.milvus.history import manifest_history
from headgate_table.milvus.rules.file_changes import changed_files
from headgate_table.milvus.snapshot import MilvusSnapshot, file_table, meaningless
from headgate_table.milvus.verify import verify_manifests
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store
from headgate_table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate_schemas.columns.table_schema import HasJson

_BY_TRANSACTIONS = "this way to change it: commit a headgate_table.milvus.Transaction, or propose one"


class MilvusTable(Table):
    """One table. Every reading of the newest version looks at the store again.

    It is a `Table`, so that whoever opens one by its address need not know of what kind it is. What only a log of versions
    has raises `InvalidInput` and says so.
    """

    def __init__(self, store: Store, ambient: Ambient, commit: Callable[[Operation], Receipt] | None = None) -> None:
        # None of the parts that read and write a log of versions are made.
        self._store = store
        self._ambient = ambient
        self._proposes = commit
        self._log = RecordedLog(store, ambient)

    @classmethod
    def found_at(
        cls, store: Store, ambient: Ambient, commit: Callable[[Operation], Receipt] | None = None
    ) -> "MilvusTable | None":
        """The table, if there are manifests: by one look."""
        table = cls(store, ambient, commit)
        return table if table._log.found().latest else None

    # ---- reading

    @property
    def version(self) -> int:
        latest = self._log.found().latest
        if not latest:
            raise TableNotFound(f"there are no Milvus manifests at {self.uri} any more")
        return latest

    @checked(version=arguments.whole, timestamp=arguments.time, where=arguments.predicate)
    def snapshot(
        self, version: int | None = None, timestamp: int | str | None = None, where: str | Predicate | None = None
    ) -> MilvusSnapshot:
        """The table at a version (0 is empty), at a time by the store's clock, or now."""
        if where is not None:
            return meaningless(self.uri, "partitions or bounds that a predicate could select by")
        if version is not None and timestamp is not None:
            raise InvalidInput("a snapshot is taken by version or by timestamp, not by both")
        number = self.version if version is None else version
        if timestamp is not None:
            number = self._version_at(parse_time(timestamp))
        return MilvusSnapshot(self.uri, number, self._manifest(number))

    @checked(since=arguments.whole, until=arguments.whole, since_timestamp=arguments.time)
    def changes(
        self, since: int | None = None, until: int | None = None, *, since_timestamp: int | str | None = None
    ) -> Changes:
        """The data files that came and went after a version (0, or -1: from the beginning), up to `until` or now."""
        if (since is None) == (since_timestamp is None):
            raise InvalidInput("changes are asked for since a version or since a time: give one of them")
        start = max(since, 0) if since is not None else self._version_before(parse_time(since_timestamp or 0))
        end = self.version if until is None else until
        before = self._manifest(start)
        if end < start:
            raise InvalidInput(f"changes go forward: `until` is {end}, which is before `since`, {start}")
        added, removed = changed_files(before, self._manifest(end))
        return Changes(start, end, file_table(added), file_table(removed))

    @checked(since=arguments.whole, until=arguments.whole)
    def changes_by_version(self, since: int, until: int | None = None) -> Iterator[Changes]:
        end = self.version if until is None else until
        return (self.changes(version - 1, version) for version in range(max(since, 0) + 1, end + 1))

    @checked(limit=arguments.whole)
    def history(self, limit: int | None = None) -> list[HistoryEntry]:
        """The versions whose manifests are there, newest first; proposals of those that a committer wrote."""
        return manifest_history(self._log, limit)

    @checked(skips=arguments.flag)
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

    @checked(data_files=arguments.flag)
    def verify(self, *, data_files: bool = True) -> VerifyReport:
        return verify_manifests(self._log, data_files=data_files)

    def _manifest(self, version: int) -> Manifest:
        return Manifest() if version == 0 else self._log.read(version).manifest

    def _times(self) -> list[tuple[int, int]]:
        """When each version was written, by the store's clock, and its number; ascending by number."""
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

    # ---- changing

    @checked(operation=arguments.operation)
    def commit(self, operation: Operation) -> Receipt:
        """Propose a transaction, where the table was opened with a way to propose."""
        if self._proposes is None or not isinstance(operation, Milvus):
            return meaningless(self.uri, _BY_TRANSACTIONS)
        return self._proposes(operation)

    # ---- what there is not

    @property
    def reader(self) -> LogReader:
        return meaningless(self.uri, "a log of versions")

    @property
    def metadata(self) -> Metadata:
        return meaningless(self.uri, "metadata: its manifests know columns by name only")

    @property
    def protocol(self) -> Protocol:
        return meaningless(self.uri, "a protocol")

    @property
    def options(self) -> TableOptions:
        return meaningless(self.uri, "settings of its own")

    def added_after(self, version: int | None = None, *, timestamp: int | str | None = None) -> "pa.Table":
        return meaningless(self.uri, "the version at which a file was added; use changes()")

    def append(self, files: Sequence[AddFile]) -> Receipt:
        return meaningless(self.uri, _BY_TRANSACTIONS)

    def write(self, rows: object, **how: object) -> Receipt:
        return meaningless(self.uri, _BY_TRANSACTIONS)

    def overwrite(self, files: Sequence[AddFile], where: str | None = None) -> Receipt:
        return meaningless(self.uri, _BY_TRANSACTIONS)

    def delete(self, where: str | None = None, paths: Sequence[str] | None = None) -> Receipt:
        return meaningless(self.uri, _BY_TRANSACTIONS)

    def rewrite(self, removes: Sequence[str], adds: Sequence[AddFile]) -> Receipt:
        return meaningless(self.uri, _BY_TRANSACTIONS)

    def restore(self, version: int) -> Receipt:
        return meaningless(self.uri, _BY_TRANSACTIONS)

    def alter(
        self,
        *,
        configuration: Mapping[str, str | None] | None = None,
        description: str | None = None,
        name: str | None = None,
        schema: "pa.Schema | str | HasJson | None" = None,
    ) -> Receipt:
        return meaningless(self.uri, "metadata that could be altered")

    def checkpoint(self) -> int:
        return meaningless(self.uri, "states: every manifest is whole")

    def compact(self, *, full: bool = True) -> Receipt:
        return meaningless(self.uri, "states that could be compacted: every manifest is whole")

    def purge(
        self,
        older_than_hours: int | None = None,
        log_retention_hours: int | None = None,
        *,
        dry_run: bool = False,
        protected: Protected | None = None,
    ) -> PurgeReport:
        return meaningless(self.uri, "cleaning by Headgate: Milvus cleans it")

    def mirror(self, *, rebuild: bool = False) -> Published:
        return meaningless(self.uri, "a Delta mirror")

    def bring_back(self, prefix: str = "") -> BroughtBack:
        return meaningless(self.uri, "a quarantine")

    def truncate_history(self, *, dry_run: bool = False, protected: Protected | None = None) -> TruncateReport:
        return meaningless(self.uri, "cleaning by Headgate: Milvus cleans it")

    def drop_partitions(self, where: str) -> DropReport:
        return meaningless(self.uri, "partitions")
