"""The commit event and the receipts of a version, whatever its format. Pure."""

import json
from collections.abc import Iterable

from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.message_shape import MAX_BODY_BYTES
from headgate_schemas.messages.operations import Committed, Receipt, RejectCode, Rejected
from headgate_table.coordination.commit_info import CommitRecord

_MAX_IDS_BYTES = MAX_BODY_BYTES
_MAX_TEXT = 200
_MAX_TIME_MS = 253_402_300_799_999
_MAX_COUNT = 2**63 - 1


def event_of(
    uri: str,
    version: int,
    record: CommitRecord,
    *,
    added: int = 0,
    removed: int = 0,
    added_bytes: int = 0,
    removed_bytes: int = 0,
) -> CommitEvent:
    """The event of a version, whoever wrote it. Values that an event can't hold are cut to its bounds.

    It never fails, because a version that is there can't be refused any more.
    """
    return CommitEvent(
        table=uri,
        version=version,
        time=_within(record.time_ms, _MAX_TIME_MS),
        operation=record.operation[:_MAX_TEXT] or "unknown",
        added=_within(added, _MAX_COUNT),
        removed=_within(removed, _MAX_COUNT),
        added_bytes=_within(added_bytes, _MAX_COUNT),
        removed_bytes=_within(removed_bytes, _MAX_COUNT),
        committer=None if record.term is None else record.term.committer[:_MAX_TEXT],
        epoch=None if record.term is None else _within(record.term.epoch, _MAX_COUNT),
        proposals=_that_fit(decision.id for decision in record.decisions if decision.accepted),
    )


def receipts_of(version: int, record: CommitRecord) -> dict[int, Receipt]:
    """The receipts of a version's decisions, by offset."""
    return {
        decision.offset: Committed(version, decision.id)
        if decision.accepted
        else Rejected(decision.code or RejectCode.INVALID, decision.reason or "", decision.id)
        for decision in record.decisions
        if decision.offset is not None
    }


def _within(number: int, most: int) -> int:
    return max(0, min(number, most))


def _that_fit(ids: Iterable[str]) -> tuple[str, ...]:
    """All ids, or none where one message couldn't hold them. Each has its own receipt anyway."""
    listed = tuple(ids)
    # Measured as JSON, where a character of a foreign writer's id takes up to 12 bytes.
    return listed if sum(len(json.dumps(id_)) + 1 for id_ in listed) <= _MAX_IDS_BYTES else ()
