"""`LogTable`: one table that is a log of versions. Each method calls the packages that do the work."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_schemas.predicates.tree import Predicate
from headgate_table.caching.resources import ReadResources
from headgate_table.indextables.cleaning.cleaner import Cleaner, PurgeReport
from headgate_table.indextables.cleaning.drop_partitions import DropReport, drop_partitions
from headgate_table.indextables.cleaning.plan import Protected
from headgate_table.indextables.cleaning.truncate import TruncateReport, Truncation
from headgate_table.indextables.compaction.compacting import compact
from headgate_table.indextables.history.changes import changes, changes_by_version
from headgate_table.indextables.history.describe import describe
from headgate_table.indextables.history.history import history
from headgate_table.indextables.history.travel import log_at, version_before
from headgate_table.indextables.log.newest import NewestVersion
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.read.snapshot import LogSnapshot
from headgate_table.indextables.verify.verify import verify_table
from headgate_table.indextables.write.commit import DirectCommitter
from headgate_table.interface.answers import Changes, HistoryEntry, TableDescription
from headgate_table.interface.findings import VerifyReport
from headgate_table.interface.table_format import check_one_moment, check_one_start
from headgate_table.settings.options import TableOptions, table_options
from headgate_table.store.interface import Store


class LogTable:
    """A `TableFormat`, with further methods for logs. `commit` proposes changes; without it, they are committed
    directly.
    """

    def __init__(
        self,
        store: Store,
        ambient: Ambient,
        resources: ReadResources,
        settings: Mapping[str, str],
        commit: Callable[[Operation], Receipt] | None,
        after_direct_commit: Callable[[Operation, Receipt, Callable[[], TableOptions]], None],
    ) -> None:
        self._ambient = ambient
        self._settings = settings
        self._propose = commit
        self._after_direct_commit = after_direct_commit
        self.reader = LogReader(store, resources)
        self.newest = NewestVersion(self.reader)

    # ---- reading

    @property
    def version(self) -> int:
        return self.newest.current().version

    @property
    def metadata(self) -> Metadata:
        return self.reader.metadata(self.newest.current())

    @property
    def options(self) -> TableOptions:
        return self._options_for(self.metadata.configuration)

    def seen_options(self) -> TableOptions:
        """The settings as of the last look at the log."""
        return self._options_for(self.reader.metadata(self.newest.seen()).configuration)

    def snapshot(
        self, version: int | None = None, timestamp: int | str | None = None, where: str | Predicate | None = None
    ) -> LogSnapshot:
        check_one_moment(version, timestamp)
        return LogSnapshot(self.reader, self._log_at(version, timestamp), where)

    def changes(
        self, since: int | None = None, until: int | None = None, *, since_timestamp: int | str | None = None
    ) -> Changes:
        check_one_start(since, since_timestamp)
        start = version_before(self.reader, since_timestamp or 0) if since is None else since
        return changes(self.reader, self.newest.current(), start, until)

    def changes_by_version(self, since: int, until: int | None = None) -> Iterator[Changes]:
        return changes_by_version(self.reader, self.newest.current(), since, until)

    def history(self, limit: int | None = None) -> list[HistoryEntry]:
        return history(self.reader, limit)

    def describe(self, *, skips: bool = True) -> TableDescription:
        return describe(self.newest, self._options_for, self._ambient.now_ms() if skips else None)

    def verify(self, *, data_files: bool = True) -> VerifyReport:
        return verify_table(self.reader, self._ambient, data_files=data_files)

    def _log_at(self, version: int | None, timestamp: int | str | None) -> LoadedLog:
        if timestamp is not None:
            return log_at(self.reader, timestamp)
        return self.newest.current() if version is None else self.reader.at_version(version)

    def _options_for(self, configuration: Mapping[str, str]) -> TableOptions:
        return table_options(configuration, self._settings)

    # ---- changing

    @cached_property
    def committer(self) -> DirectCommitter:
        """Made by the first change, because reading doesn't need it. Two committers work side by side, as two processes
        do.
        """
        return DirectCommitter(self.newest, self._ambient, self._options_for)

    def commit(self, operation: Operation) -> Receipt:
        if self._propose is not None:
            return self._propose(operation)
        receipt = self.committer.commit(operation)
        self._after_direct_commit(operation, receipt, self.seen_options)
        return receipt

    def checkpoint(self) -> int:
        return self.committer.checkpoint().version

    def compact(self, *, full: bool) -> Receipt:
        return compact(self.reader, self._ambient, self._options_for, self.committer.checkpoint, self.commit, full=full)

    def purge(
        self, file_hours: int | None, log_hours: int | None, protected: Protected | None, *, dry_run: bool
    ) -> PurgeReport:
        try:
            is_direct = self._propose is None
            cleaner = Cleaner(self.reader, self._ambient, self.options, self.commit, protected, is_direct=is_direct)
            return cleaner.purge(file_hours, log_hours, dry_run=dry_run)
        finally:
            self.newest.forget()

    def truncate_history(self, protected: Protected | None, *, dry_run: bool) -> TruncateReport:
        try:
            truncation = Truncation(self.reader, self._ambient, self.options, self.committer.checkpoint, protected)
            return truncation.run(dry_run=dry_run)
        finally:
            self.newest.forget()

    def drop_partitions(self, where: str) -> DropReport:
        return drop_partitions(
            self.reader, self.metadata, where, lambda text: self.snapshot(where=text).num_files, self.commit
        )
