"""Binding a Milvus table to the log that feeds it: a version with an unchanged manifest, whose record says so."""

from headgate_bus.interface import Bus
from headgate_committer.feed.tail import log_truncated_reason
from headgate_committer.rebind.offer import Offer, RebindReport
from headgate_schemas.ambient import Ambient
from headgate_table.coordination.commit_info import record_of
from headgate_table.coordination.memory import MemoryLimits
from headgate_table.coordination.memory_text import format_memory
from headgate_table.errors import CorruptTable, TableNotFound
from headgate_table.indextables.write.commit_times import commit_time_ms
from headgate_table.milvus.committed.log import RecordedLog, always, records_from, recover_memory
from headgate_table.milvus.committed.records import ManifestId, VersionRecord, commit_body, digest_of
from headgate_table.milvus.committed.writer import write_recorded
from headgate_table.milvus.format.encoding import encode_manifest
from headgate_table.milvus.rules.file_changes import FileCounts
from headgate_table.store.interface import Store


def bind_manifests(bus: Bus, store: Store, ambient: Ambient, limits: MemoryLimits, offer: Offer) -> RebindReport:
    """One attempt. Raises `NumberTaken`, and `TableNotFound` where there is no Milvus table either.

    A record whose manifests are gone counts as committed from here on: whoever rebinds has looked.
    """
    log = RecordedLog(store, ambient)
    broken: str | None = None
    try:
        standing = log.stand()
    except CorruptTable as error:
        broken = str(error)
        standing = log.stand(None, always)
    if standing is None:
        raise TableNotFound(f"there is no table at {store.uri}: neither a log of versions nor Milvus manifests")
    newest = standing.record
    memory, _ = recover_memory(log, newest, limits)
    records = records_from(log, newest)
    lost = log_truncated_reason(
        store.uri, bus, offer.source, memory.position(offer.source), records, was_cut=offer.was_cut
    )
    found = offer.to(store.uri, memory, lost=lost, broken=broken)
    if isinstance(found, RebindReport):
        return found
    manifest = standing.manifest
    assert manifest is not None, "without a known record, the newest is always read"
    data = encode_manifest(manifest, sync=bytes.fromhex(ambient.new_id()))
    body = commit_body(
        nonce=ambient.new_id(),
        time_ms=commit_time_ms(store, ambient, memory.newest_ms),
        operation="Rebind",
        counts=FileCounts(),
        decisions=(),
        term=found.term(ambient),
        settled=found.settled,
        rebound=True,
    )
    id_ = ManifestId(newest.id.version + 1, digest_of(data))
    record = VersionRecord(id_, newest.id, record_of(body), body, is_changed=False, memory=format_memory(memory))
    write_recorded(log, record, data)
    return found.done(id_.version)
