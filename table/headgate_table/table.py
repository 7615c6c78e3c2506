"""`Table`: a table as users see it, whatever its format. It checks arguments; the format does the work."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from headgate_schemas import arguments
from headgate_schemas.actions.actions import AddFile, Metadata, Protocol
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.arguments import checked
from headgate_schemas.columns.table_schema import HasJson, schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    Create,
    Delete,
    Duplicate,
    Operation,
    Overwrite,
    Receipt,
    Rejected,
    Restore,
    Rewrite,
)
from headgate_schemas.predicates.tree import Predicate
from headgate_table.caching.resources import ReadResources, process_resources
from headgate_table.delta.mirror import DeltaMirror, Published
from headgate_table.errors import CorruptTable, TableNotFound, UnsupportedTable
from headgate_table.indextables.cleaning.cleaner import PurgeReport
from headgate_table.indextables.cleaning.drop_partitions import DropReport
from headgate_table.indextables.cleaning.plan import Protected
from headgate_table.indextables.cleaning.quarantine import BroughtBack, bring_back
from headgate_table.indextables.cleaning.truncate import TruncateReport
from headgate_table.indextables.history.changes import added_after
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.table import LogTable
from headgate_table.indextables.write.create import create_table
from headgate_table.interface.answers import Changes, HistoryEntry, TableDescription
from headgate_table.interface.findings import VerifyReport
from headgate_table.interface.snapshot import Snapshot
from headgate_table.interface.table_format import BY_TRANSACTIONS, TableFormat, meaningless
from headgate_table.interface.times import parse_time
from headgate_table.parquet.file_schema import told_columns
from headgate_table.settings.option_conflicts import check_settings
from headgate_table.settings.options import TableOptions, table_options
from headgate_table.store.interface import Store
from headgate_table.store.open import StoreSettings, open_store

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate_table.rows.incoming import ArrowRows
    from headgate_table.rows.writing import WriteMode


_CLEANED_BY_MILVUS = "cleaning by Headgate: Milvus cleans it"


class Table:
    """One table. Opening it is cheap. Each read of the newest version looks at the store again."""

    def __init__(
        self,
        store: Store,
        ambient: Ambient,
        resources: ReadResources,
        settings: Mapping[str, str] | None = None,
        commit: Callable[[Operation], Receipt] | None = None,
    ) -> None:
        self._store = store
        self._ambient = ambient
        self._format: TableFormat = LogTable(
            store, ambient, resources, dict(settings or {}), commit, self._after_direct_commit
        )

    @classmethod
    @checked(
        uri=arguments.address, storage=arguments.either(StoreSettings, arguments.text_map), settings=arguments.text_map
    )
    def open(
        cls,
        uri: str | os.PathLike[str],
        storage: Mapping[str, str] | StoreSettings | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        ambient: Ambient | None = None,
        resources: ReadResources | None = None,
        commit: Callable[[Operation], Receipt] | None = None,
    ) -> Self:
        """Open the table at `uri`. Its format is found by looking. `settings` override the table's configuration.

        `commit` receives each change, for example to propose it to a committer. Without it, changes are committed directly.

        Raises `TableNotFound` if there is no table, and `StoreError` if the store does not answer.

        Examples:
            >>> headgate.Table.open("lake/events").version
            1
        """
        table = cls._at(uri, storage, settings, ambient, resources, commit)
        # A damaged table can be opened, so that it can be verified and its earlier versions read: calls that need the
        # newest version raise the same error again.
        with suppress(CorruptTable, UnsupportedTable):
            table._find_format(commit)
        return table

    def _find_format(self, commit: Callable[[Operation], Receipt] | None = None) -> None:
        try:
            self._log("a log of versions").newest.find()
        except TableNotFound:
            from headgate_table.milvus.table import MilvusTable  # rarely needed

            found = MilvusTable(self._store, self._ambient, commit)
            if not found.exists:
                raise
            self._format = found

    @classmethod
    @checked(
        uri=arguments.address,
        partition_by=arguments.texts,
        configuration=arguments.text_map,
        name=arguments.text,
        description=arguments.text,
        storage=arguments.either(StoreSettings, arguments.text_map),
        settings=arguments.text_map,
    )
    def create(
        cls,
        uri: str | os.PathLike[str],
        schema: "pa.Schema | str | HasJson",
        partition_by: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        storage: Mapping[str, str] | StoreSettings | None = None,
        settings: Mapping[str, str] | None = None,
        ambient: Ambient | None = None,
        resources: ReadResources | None = None,
    ) -> Self:
        """Create a table. `schema` is an Arrow or Spark schema, Spark's JSON, or columns in SQL. Raises `TableExists`.

        Examples:
            >>> clicks = headgate.Table.create("lake/clicks", "id BIGINT, day STRING", partition_by=["day"])
            >>> clicks.version
            0
        """
        table = cls._at(uri, storage, settings, ambient, resources)
        operation = Create(
            schema_string=schema_string_of(schema),
            partition_columns=tuple(partition_by),
            configuration=dict(configuration or {}),
            name=name,
            description=description,
        )
        create_table(table.reader, table._ambient, operation)
        table.reader.resources.invalidate(table.uri)  # of an earlier table at this place
        return table

    @classmethod
    def _at(
        cls,
        uri: str | os.PathLike[str],
        storage: Mapping[str, str] | StoreSettings | None,
        settings: Mapping[str, str] | None,
        ambient: Ambient | None,
        resources: ReadResources | None,
        commit: Callable[[Operation], Receipt] | None = None,
    ) -> Self:
        chosen = ambient or SystemAmbient()
        check_settings(settings or {})
        own = table_options(settings or {})
        shared = resources or process_resources(
            own.state_read_parallelism, own.cache_expiration_s, own.cache_disk_folder
        )
        return cls(open_store(os.fspath(uri), StoreSettings.of(storage), chosen), chosen, shared, settings, commit)

    @property
    def uri(self) -> str:
        """The table's address."""
        return self._store.uri

    @property
    def store(self) -> Store:
        """The store that holds the table."""
        return self._store

    @property
    def reader(self) -> LogReader:
        """The log under this table, for other parts of Headgate."""
        return self._log("a log of versions").reader

    @property
    def has_log(self) -> bool:
        """Whether the table is a log of versions. A table of Milvus manifests has neither columns nor settings of its own."""
        return isinstance(self._format, LogTable)

    @property
    def version(self) -> int:
        """The newest version."""
        return self._format.version

    @property
    def metadata(self) -> Metadata:
        """The metadata of the newest version: columns, partition columns, configuration."""
        return self._log("metadata: its manifests know columns by name only").metadata

    @property
    def protocol(self) -> Protocol:
        """The protocol version and features that the newest version requires."""
        return self._log("a protocol").newest.current().protocol

    @property
    def options(self) -> TableOptions:
        """The settings in force: the table's configuration, overridden by those given when it was opened."""
        return self._log("settings of its own").options

    @checked(version=arguments.whole, timestamp=arguments.time, where=arguments.predicate)
    def snapshot(
        self, version: int | None = None, timestamp: int | str | None = None, where: str | Predicate | None = None
    ) -> Snapshot:
        """The table now, at a version, or at a time (ISO 8601 or epoch ms). `where` keeps the files that may match.

        Examples:
            >>> table.snapshot(version=0).num_files
            0
            >>> table.snapshot(where="id > 5").paths()
            ['a.parquet']
        """
        return self._format.snapshot(version, timestamp, where)

    @checked(since=arguments.whole, until=arguments.whole, since_timestamp=arguments.time)
    def changes(
        self, since: int | None = None, until: int | None = None, *, since_timestamp: int | str | None = None
    ) -> Changes:
        """The added and removed files after a version (-1: from the beginning) or a time, up to `until` or now.

        Raises `VersionNotRetained` if the log no longer has this information.

        Examples:
            >>> table.changes(since=0).added.column("path").to_pylist()
            ['a.parquet']
        """
        return self._format.changes(since, until, since_timestamp=since_timestamp)

    @checked(since=arguments.whole, until=arguments.whole)
    def changes_by_version(self, since: int, until: int | None = None) -> Iterator[Changes]:
        """The same as `changes`, one version at a time. Each version is read when the iterator reaches it.

        Examples:
            >>> [(step.version, step.added.num_rows) for step in table.changes_by_version(since=0)]
            [(1, 1)]
        """
        return self._format.changes_by_version(since, until)

    @checked(version=arguments.whole, timestamp=arguments.time)
    def added_after(self, version: int | None = None, *, timestamp: int | str | None = None) -> "pa.Table":
        """The live files whose entries have a later version or time of addition. For all other changes, use `changes`.

        Examples:
            >>> table.added_after(0).column("path").to_pylist()
            ['a.parquet']
        """
        log = self._log("the version at which a file was added; use changes()")
        since_ms = None if timestamp is None else parse_time(timestamp)
        return added_after(log.reader, log.newest.current(), version=version, timestamp_ms=since_ms)

    @checked(limit=arguments.whole)
    def history(self, limit: int | None = None) -> list[HistoryEntry]:
        """The versions in the log, newest first.

        Examples:
            >>> [(entry.version, entry.operation) for entry in table.history()]
            [(1, 'Append'), (0, 'Create')]
        """
        return self._format.history(limit)

    @checked(skips=arguments.flag)
    def describe(self, *, skips: bool = True) -> TableDescription:
        """The newest version in numbers, and, with `skips`, the files that merges leave alone for now.

        Skips are only in version files. To find them, this reads the version files of a week, at most a thousand.

        Examples:
            >>> description = table.describe()
            >>> description.num_files, description.total_bytes
            (1, 100)
        """
        found = self._format.describe(skips=skips)
        log = self._format
        if found.version < 0 or not isinstance(log, LogTable) or not log.seen_options().mirror_formats:
            return found
        mirror = DeltaMirror(log.reader, log.seen_options()).status(log.newest.seen())
        return replace(found, mirror_version=mirror.version, mirror_problem=mirror.problem)

    @checked(files=arguments.files)
    def append(self, files: Sequence[AddFile]) -> Receipt:
        """Add files.

        Examples:
            >>> table.append([b])
            Committed(version=2, proposal_id='...')
            >>> table.append([b]).code
            <RejectCode.PATH_IN_USE: 'path_in_use'>
        """
        return self._format.commit(Append(tuple(files), told_columns(files)))

    @checked(files=arguments.files, where=arguments.text)
    def overwrite(self, files: Sequence[AddFile], where: str | None = None) -> Receipt:
        """Replace the files that match `where` (all, without it) by `files`, in one version.

        Examples:
            >>> table.overwrite([b]).version
            2
            >>> table.snapshot().paths()
            ['b.parquet']
        """
        return self._format.commit(Overwrite(tuple(files), where, told_columns(files)))

    @checked(where=arguments.text, paths=arguments.texts)
    def delete(self, where: str | None = None, paths: Sequence[str] | None = None) -> Receipt:
        """Remove the named files, or those that match a predicate on partition columns.

        Examples:
            >>> table.delete(paths=["a.parquet"]).version
            2
            >>> table.snapshot().num_files
            0
        """
        if (where is None) == (paths is None):
            raise InvalidInput("delete takes either `where` or `paths`")
        return self._format.commit(Delete(tuple(paths or ()), where))

    def write(
        self,
        rows: "ArrowRows",
        *,
        mode: "WriteMode" = "append",
        where: str | None = None,
        partition_by: Sequence[str] | None = None,
        schema_evolution: bool = False,
        target_file_size: int | str | None = None,
    ) -> Receipt:
        """Write rows into new files, and commit them in one version. The arguments are those of `headgate.write`.

        Examples:
            >>> import pyarrow as pa
            >>> table.write(pa.table({"id": [1], "text": ["a"]}), mode="overwrite").version
            2
            >>> table.snapshot().num_records
            1
        """
        from headgate_table.rows.writing import RowsOrder, written_rows
        from headgate_table.rows.written_table import WrittenTable  # imports PyArrow's writer

        self._log(BY_TRANSACTIONS)
        order = RowsOrder.of(mode, where, partition_by, schema_evolution, target_file_size)

        def made(_: Create) -> "Table":
            raise TableNotFound(f"there is no table at {self.uri} any more")

        result = written_rows(WrittenTable(self._store, self._ambient, lambda: self, made), rows, order)
        return result if isinstance(result, Duplicate | Rejected) else self._format.commit(result)

    @checked(removes=arguments.texts, adds=arguments.files)
    def rewrite(self, removes: Sequence[str], adds: Sequence[AddFile]) -> Receipt:
        """Replace files by files that hold the same rows.

        Examples:
            >>> table.rewrite(["a.parquet"], [b]).version
            2
        """
        return self._format.commit(Rewrite(tuple(removes), tuple(adds), told_columns(adds)))

    @checked(version=arguments.whole)
    def restore(self, version: int) -> Receipt:
        """Make the files of an earlier version live again.

        Examples:
            >>> table.restore(0).version
            2
            >>> table.snapshot().num_files
            0
        """
        return self._format.commit(Restore(version))

    @checked(configuration=arguments.text_map_or_none, description=arguments.text, name=arguments.text)
    def alter(
        self,
        *,
        configuration: Mapping[str, str | None] | None = None,
        description: str | None = None,
        name: str | None = None,
        schema: "pa.Schema | str | HasJson | None" = None,
    ) -> Receipt:
        """Change metadata. A configuration value of None removes the key. A schema may only gain nullable columns.

        Examples:
            >>> table.alter(configuration={"checkpoint.interval": "1"}).version
            2
            >>> table.metadata.configuration
            {'checkpoint.interval': '1'}
        """
        return self._format.commit(
            Alter(
                based_on=self.version,
                configuration=dict(configuration or {}),
                description=description,
                name=name,
                schema_string=None if schema is None else schema_string_of(schema),
            )
        )

    @checked(operation=arguments.operation)
    def commit(self, operation: Operation) -> Receipt:
        """Commit any operation.

        Examples:
            >>> from headgate_schemas.messages.operations import Append
            >>> table.commit(Append((b,))).version
            2
        """
        return self._format.commit(operation)

    def checkpoint(self) -> int:
        """Write a state (or a JSON checkpoint) of the newest version, if it has none. Returns that version.

        Examples:
            >>> table.checkpoint()
            1
        """
        return self._log("states: every manifest is whole").checkpoint()

    @checked(full=arguments.flag)
    def compact(self, *, full: bool = True) -> Receipt:
        """Write a state without tombstones and with sorted manifests. `full=False` rewrites only manifests that need it.

        A table with JSON checkpoints gets a checkpoint instead. If other writers are faster, the compaction is planned
        again. After several attempts it is rejected with `BASE_GONE`.

        Examples:
            >>> table.compact()
            Committed(version=1, proposal_id='...')
        """
        return self._log("states that could be compacted: every manifest is whole").compact(full=full)

    @checked(data_files=arguments.flag)
    def verify(self, *, data_files: bool = True) -> VerifyReport:
        """Check everything, and return all findings. Damage is a finding, not an exception. Without `data_files`, check only
        the log.

        Examples:
            >>> table.verify(data_files=False).findings
            ()
        """
        return self._format.verify(data_files=data_files)

    @checked(
        older_than_hours=arguments.whole,
        log_retention_hours=arguments.whole,
        dry_run=arguments.flag,
        protected=arguments.instance(Protected),
    )
    def purge(
        self,
        older_than_hours: int | None = None,
        log_retention_hours: int | None = None,
        *,
        dry_run: bool = False,
        protected: Protected | None = None,
    ) -> PurgeReport:
        """Delete expired versions and states, and manifests and data files that no retained version names.

        Without arguments, the table's settings give the ages. Files that a retained version needs stay, whatever their
        age. So do those that are `protected`: the needs of undecided proposals, if a committer feeds the table
        (`headgate_worker.roles.undecided`). Raises `InvalidInput` for a retention of files under 24 hours, unless
        `purge.retentionCheckEnabled` is false.

        Examples:
            >>> table.purge(dry_run=True).message
            'nothing to delete'
        """
        log = self._log(_CLEANED_BY_MILVUS)
        return log.purge(older_than_hours, log_retention_hours, protected, dry_run=dry_run)

    @checked(rebuild=arguments.flag)
    def mirror(self, *, rebuild: bool = False) -> Published:
        """Publish each version that the Delta log beside the table lacks. `rebuild` deletes that log and makes it anew.

        Workers with the role `mirror` do this by themselves if `mirror.formats` is `delta`. Raises `Unmirrorable` for a
        table that Delta can't hold, and `MirrorStopped` if somebody else has written to the Delta log.

        Examples:
            >>> table.mirror().version
            1
        """
        log = self._log("a Delta mirror")
        mirror = DeltaMirror(log.reader, log.options)
        return mirror.rebuild() if rebuild else mirror.publish()

    @checked(prefix=arguments.text)
    def bring_back(self, prefix: str = "") -> BroughtBack:
        """Move files from the quarantine of `purge` to their old places: the ones with this name or prefix.

        The files are still orphans, but young ones. Their paths stay purged for `coordinator.dedupe.window`. To add a file
        to a table within that time, give it another name.

        Examples:
            >>> table.bring_back("day=1/").restored
            ()
        """
        self._log("a quarantine")
        return bring_back(self._store, prefix)

    @checked(dry_run=arguments.flag, protected=arguments.instance(Protected))
    def truncate_history(self, *, dry_run: bool = False, protected: Protected | None = None) -> TruncateReport:
        """Delete earlier versions. Keeps a state of the newest version, and what readers and writers need.

        The newest two states and the versions between them stay, so that a running reader can finish. Other
        implementations delete them. `protected` works as for `purge`.

        Examples:
            >>> table.truncate_history(dry_run=True).versions_deleted
            1
        """
        return self._log(_CLEANED_BY_MILVUS).truncate_history(protected, dry_run=dry_run)

    @checked(where=arguments.text)
    def drop_partitions(self, where: str) -> DropReport:
        """Remove all files of the matching partitions, in one version. `where` names partition columns only.

        Examples:
            >>> clicks = headgate.Table.create("lake/clicks", "id BIGINT, day STRING", partition_by=["day"])
            >>> clicks.append([headgate.DataFile(path="day=1/a.parquet", partition_values={"day": "1"}, size=100, modification_time=0)])
            Committed(version=1, proposal_id='...')
            >>> clicks.drop_partitions("day = '1'").partitions_dropped
            1
        """
        return self._log("partitions").drop_partitions(where)

    def _log(self, what: str) -> LogTable:
        """The table, if it is a log of versions. Otherwise raises `InvalidInput`: it doesn't have `what`."""
        return self._format if isinstance(self._format, LogTable) else meaningless(self.uri, what)

    def _after_direct_commit(
        self, operation: Operation, receipt: Receipt, seen_options: Callable[[], TableOptions]
    ) -> None:
        """Overridden by callers that know more than a table's log, to apply its settings for writes. Must not raise."""
