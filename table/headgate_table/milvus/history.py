"""The history of a Milvus table, version by version: from commit records, and for foreign versions by comparing
manifests.
"""

from collections.abc import Iterator

from headgate_schemas.errors import InvalidInput
from headgate_table.errors import VersionNotRetained
from headgate_table.interface.answers import UNKNOWN, HistoryEntry
from headgate_table.milvus.committed.log import ReadVersion, RecordedLog
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import manifest_key
from headgate_table.milvus.rules.file_changes import file_counts


def manifest_history(log: RecordedLog, limit: int | None = None) -> list[HistoryEntry]:
    """The versions with an existing manifest, newest first. `limit` bounds the reads, too."""
    if limit is not None and limit < 1:
        raise InvalidInput(f"a history of {limit} versions can't be given; the limit is at least 1")
    entries: list[HistoryEntry] = []
    for entry in _entries(log):
        entries.append(entry)
        if len(entries) == limit:
            break
    return entries


def _entries(log: RecordedLog) -> Iterator[HistoryEntry]:
    later: ReadVersion | None = None
    for version in reversed(log.found().versions):
        read = later if later is not None and later.version == version else _read(log, version)
        if read is None:
            continue  # cleaned since the listing
        before = ReadVersion(read.id, Manifest()) if version == 1 else _read(log, version - 1)
        later = before
        yield _entry(log, read, None if before is None else before.manifest)


def _entry(log: RecordedLog, read: ReadVersion, before: Manifest | None) -> HistoryEntry:
    record = log.record(read.id)
    commit = None if record is None else record.commit
    counts = None if before is None else file_counts(before, read.manifest)
    if counts is None and record is not None and commit is not None:
        counts = record.counts
    looked = log.store.head(manifest_key("", read.version))
    return HistoryEntry(
        version=read.version,
        time=commit.time_ms if commit is not None else 0 if looked is None else looked.modified_ms,
        operation=UNKNOWN if commit is None else commit.operation,
        adds=None if counts is None else counts.added,
        removes=None if counts is None else counts.removed,
        proposals=() if commit is None else tuple(decision.id for decision in commit.decisions),
        source="manifest",
        added_bytes=None if counts is None else counts.added_bytes,
        removed_bytes=None if counts is None else counts.removed_bytes,
        net_files=None if counts is None else counts.added - counts.removed,
    )


def _read(log: RecordedLog, version: int) -> ReadVersion | None:
    try:
        return log.read(version)
    except VersionNotRetained:
        return None
