"""Commit events of a Milvus table. Ours come from records, those of foreign versions from a comparison of manifests."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate_committer.backend.commit_events import event_of
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.events import CommitEvent
from headgate_table.coordination.commit_info import CommitRecord
from headgate_table.milvus.committed.log import RecordedLog
from headgate_table.milvus.committed.records import VersionRecord
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.rules.file_changes import FileCounts, dropped, file_counts

_log = get_logger("headgate.committer")

FOREIGN_ANNOUNCED = 64
"""The newest foreign versions that are announced at once. Each of them is read and compared."""


@dataclass(frozen=True, slots=True)
class Came:
    """Versions that followed the known one: the records up to the newest version."""

    known: int
    manifest: Manifest
    """Of the known version."""
    since: Sequence[VersionRecord]
    latest: int


def record_event(uri: str, record: VersionRecord) -> CommitEvent:
    return _event(uri, record.id.version, record.commit or CommitRecord(), record.counts)


def events_of(log: RecordedLog, came: Came, now_ms: int) -> list[CommitEvent]:
    """The events of the versions that came, in order. A foreign version has no time but that of the look, `now_ms`."""
    ours = {record.id.version: record for record in came.since if record.commit is not None}
    first = max(came.known + 1, came.latest - FOREIGN_ANNOUNCED + 1)
    before = came.manifest if first == came.known + 1 else None
    events: list[CommitEvent] = []
    for version in sorted({*ours, *range(first, came.latest + 1)}):
        record = ours.get(version)
        if record is not None:
            events.append(record_event(log.uri, record))
            before = None
            continue
        before = before or log.readable(version - 1)
        after = log.readable(version)
        if after is not None:
            _warn_of_dropped(log, version, before or Manifest(), after)
            counts = file_counts(before or Manifest(), after)
            events.append(_event(log.uri, version, CommitRecord(time_ms=now_ms), counts))
            before = after
    return events


def _warn_of_dropped(log: RecordedLog, version: int, before: Manifest, after: Manifest) -> None:
    lacks = dropped(before, after)
    if lacks:
        _log.warning(
            "foreign_version_dropped_changes",
            table=log.uri,
            version=version,
            dropped=lacks.counted,
            advice="a program that compacts does this; one that wrote over an older version lost what was committed since: "
            f"run `headgate table verify {log.uri}`, and propose again what is missing",
        )


def _event(uri: str, version: int, commit: CommitRecord, counts: FileCounts) -> CommitEvent:
    return event_of(
        uri,
        version,
        commit,
        added=counts.added,
        removed=counts.removed,
        added_bytes=counts.added_bytes,
        removed_bytes=counts.removed_bytes,
    )
