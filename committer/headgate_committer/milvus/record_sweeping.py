"""Deleting old commit records of a Milvus table, beside its commits: always a prefix, from the lowest version on."""

from collections.abc import Sequence
from concurrent.futures import Executor

from headgate_committer.background_task import BackgroundTask
from headgate_committer.feed.partition_source import PartitionSource
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.sources import Source
from headgate_table.milvus.committed.log import RecordedLog
from headgate_table.milvus.committed.records import ManifestId, VersionRecord

KEPT = 1_000
"""The newest versions whose records stay, for the history and for committers that were away that long."""
_EVERY = 100
"""Commits between two looks."""

_log = get_logger("headgate.committer")


class RecordSweeper:
    """Sweeps after every so many commits of this process."""

    def __init__(self, log: RecordedLog, feed: PartitionSource, background: Executor) -> None:
        self._records = log
        self._feed = feed
        self._work = BackgroundTask(background, "commit_records_not_deleted", {"table": log.uri})
        self._commits = 0

    def after_commit(self, record: VersionRecord) -> None:
        self._commits += 1
        if self._commits % _EVERY or self._work.is_under_way:
            return
        source, announced = self._feed.source, self._feed.announced
        self._work.begin(lambda: self._sweep(source, announced))

    def _sweep(self, source: Source, settled: int) -> None:
        old = _old(self._records.recorded())
        if old and self._is_settled(old, source, settled):
            self._records.store.delete([id_.key for id_ in old])
            _log.info("commit_records_deleted", table=self._records.uri, records=len(old))

    def _is_settled(self, old: list[ManifestId], source: Source, settled: int) -> bool:
        """Whether all are settled. Positions only grow, so the newest record that settles an offset decides."""
        for id_ in reversed(old):
            record = self._records.record(id_)
            commit = None if record is None else record.commit
            if commit is not None and commit.settled is not None:
                return commit.settled.source != source or commit.settled.next_offset <= settled
        return True


def _old(recorded: Sequence[ManifestId]) -> list[ManifestId]:
    """Records of all but the newest versions. A version may have several records, of which one counts."""
    versions = sorted({id_.version for id_ in recorded})[-KEPT:]
    return [id_ for id_ in recorded if id_.version < versions[0]]
