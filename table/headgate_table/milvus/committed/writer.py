"""Writes one version of a committer: its record, then its manifest, each if absent; and finds out the outcomes.

The create of the manifest is the only commit point. The content that is read back counts, not the intention
(docs/milvus-protocol.md).
"""

from headgate_table.coordination.refusals import NumberTaken, PredecessorGone
from headgate_table.errors import CorruptTable, OutcomeUnknown, StoreError
from headgate_table.milvus.committed.log import RecordedLog
from headgate_table.milvus.committed.records import VersionRecord, digest_of, encode_record
from headgate_table.milvus.format.names import manifest_key
from headgate_table.store.conditions import require_conditions
from headgate_table.store.interface import AlreadyExists, Created, Unknown

_ATTEMPTS = 5
"""How often the same bytes are written when the store doesn't say what became of them."""


class SpokenFor(NumberTaken):
    """Our create wrote the manifest, but another committer's earlier record gives its meaning."""


def write_recorded(log: RecordedLog, record: VersionRecord, manifest: bytes) -> bool:
    """Commit the version. Returns whether it was plainly created; if not, it may have existed for long, with later
    versions.

    After `OutcomeUnknown`, call it again with the same values.

    Raises `NumberTaken` if the version is another writer's, even if the bytes are ours but the record isn't
    (`SpokenFor` if our create wrote it); `PredecessorGone` if the log below it was cleaned meanwhile; `OutcomeUnknown`
    if nobody knows the outcome. After a `StoreError`, nothing was committed.
    """
    require_conditions(log.store, lambda: "" if record.commit is None else record.commit.nonce)
    is_ours = _put_record(log, record)
    version = record.id.version
    is_created = may_be_there = False
    reason = ""
    try:
        for _ in range(_ATTEMPTS):
            match log.store.create(manifest_key("", version), manifest):
                case Created():
                    is_created = True
                    break
                case AlreadyExists():
                    reason = "it was there, and then it wasn't"
                case Unknown(reason):
                    may_be_there = True
            there = log.bytes_of(version)
            if there is not None:
                if digest_of(there) != record.id.digest:
                    raise NumberTaken(f"version {version}")
                break  # whoever wrote them: the record gives the meaning of these bytes
        else:
            raise _unknown(log, record, reason)
        may_be_there = True
        if not is_ours:
            taken = SpokenFor if is_created else NumberTaken
            raise taken(f"version {version}, which another's record speaks for")
        _check_predecessor(log, record)
    except StoreError as error:
        if may_be_there:
            raise _unknown(log, record, str(error)) from error
        raise
    return is_created


def _put_record(log: RecordedLog, record: VersionRecord) -> bool:
    """Whether the record of these bytes is ours; otherwise another committer has decided on top of the same version."""
    data = encode_record(record)
    reason = ""
    for _ in range(_ATTEMPTS):
        match log.store.create(record.id.key, data):
            case Created():
                return True
            case AlreadyExists():
                reason = "it was there, and then it wasn't"
            case Unknown(reason):
                pass
        there = log.record(record.id)
        if there is not None:
            return _is_same(log, there, record)
    raise StoreError(
        f"the store never said whether {record.id.key} of {log.uri} was written ({reason}). Nothing is committed without it; "
        f"it is tried again"
    )


def _is_same(log: RecordedLog, there: VersionRecord, ours: VersionRecord) -> bool:
    if there.commit is None or ours.commit is None:
        return False
    if there.parent != ours.parent:
        raise CorruptTable(
            f"{log.uri}/{ours.id.key} belongs to another history of this table: its parent is {there.parent}, and not "
            f"{ours.parent}. Manifests were taken back or the table was made anew; move `_headgate/commits` away as well, if "
            f"what it says is to be forgotten"
        )
    return there.commit.nonce == ours.commit.nonce


def _check_predecessor(log: RecordedLog, record: VersionRecord) -> None:
    """Check that the predecessor still stands; otherwise the version doesn't count: a late writer must not fill a
    cleaned number.
    """
    version, parent = record.id.version, record.parent
    if parent is not None and log.store.head(parent.key) is None:
        raise PredecessorGone(f"version {version}, whose predecessor's record was cleaned up meanwhile")
    if (version == 1 or not log.is_there(version - 1)) and log.found().latest != version:
        raise PredecessorGone(f"version {version}, whose predecessor was cleaned up meanwhile")


def _unknown(log: RecordedLog, record: VersionRecord, reason: str) -> OutcomeUnknown:
    ids = () if record.commit is None else tuple(decision.id for decision in record.commit.decisions)
    return OutcomeUnknown(
        f"the store never said whether version {record.id.version} of {log.uri} was written ({reason}). Look for proposal "
        f"{', '.join(ids[:3]) or 'it'} with `headgate table history {log.uri}` before you commit again"
    )
