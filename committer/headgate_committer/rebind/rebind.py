"""Binding a table to the log that feeds it, after that log was replaced, trimmed or restored: an operator's decision.

A rebind is itself a version. It raises the epoch, so a committer that still works from the old log is fenced by it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

from headgate_bus.interface import Bus
from headgate_bus.marks import Proof, look_again
from headgate_committer.committer import DEFAULT_GROUP
from headgate_committer.feed.tail import log_truncated_reason
from headgate_committer.rebind.manifests import bind_manifests
from headgate_committer.rebind.offer import Offer, RebindReport
from headgate_committer.versions.table_log import records_from
from headgate_schemas.ambient import Ambient
from headgate_table.coordination.memory_text import memory_limits
from headgate_table.coordination.refusals import NumberTaken
from headgate_table.errors import CommitConflict, TableNotFound
from headgate_table.indextables.format.protocol_support import check_writable
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.indextables.write.commit_times import commit_time_ms
from headgate_table.indextables.write.version_body import Author, version_body
from headgate_table.indextables.write.version_writer import write_version
from headgate_table.settings.options import TableOptions

_ATTEMPTS = 20


def rebind(
    bus: Bus,
    reader: LogReader,
    ambient: Ambient,
    options_for: Callable[[Mapping[str, str]], TableOptions],
    *,
    group: str = DEFAULT_GROUP,
) -> RebindReport:
    """Feed the table from this bus, from the oldest proposal there that it may not have decided.

    What it decided before is recognised by ids and writers' seqs. Raises `CommitConflict` when others win every attempt.
    """
    uri = reader.store.uri
    source = bus.source(bus.partition_of(uri))
    known, extent = look_again(bus, group, source.partition)
    offer = Offer(source, extent, bus.committed(group, source.partition), known.proof is Proof.CUT)
    for _ in range(_ATTEMPTS):
        with suppress(NumberTaken):
            try:
                return _bound(bus, reader, ambient, options_for, offer)
            except TableNotFound:
                return bind_manifests(bus, reader.store, ambient, memory_limits(options_for({})), offer)
    raise CommitConflict(
        f"other writers took the next version of {uri} {_ATTEMPTS} times in a row. Nothing was bound; try again when fewer "
        f"are writing"
    )


def _bound(
    bus: Bus,
    reader: LogReader,
    ambient: Ambient,
    options_for: Callable[[Mapping[str, str]], TableOptions],
    offer: Offer,
) -> RebindReport:
    uri = reader.store.uri
    log = reader.latest()
    check_writable(log.protocol, uri)
    metadata = reader.metadata(log)
    options = options_for(metadata.configuration)
    memory = recover(reader, log, options)
    records = records_from(reader, log.version)
    lost = log_truncated_reason(uri, bus, offer.source, memory.position(offer.source), records, was_cut=offer.was_cut)
    found = offer.to(uri, memory, lost=lost)
    if isinstance(found, RebindReport):
        return found
    before = log.tip
    body = version_body(
        log.version + 1,
        (),
        metadata,
        log.registry,
        options,
        nonce=ambient.new_id(),
        time_ms=commit_time_ms(reader.store, ambient, log.time_ms or memory.newest_ms),
        author=Author(found.term(ambient), found.settled, rebound=True),
        before=before,
    )
    data = encode_version(body.version, body.actions, compressed=options.transaction_compression)
    write_version(reader, body, data, after_file=log.newest_version_file >= log.version, before=before)
    return found.done(body.version)
