"""Binding a table to the log that feeds it, after that log was replaced, trimmed or restored: an operator's decision.

A rebind is itself a version. It raises the epoch, so a committer that still works from the old log is fenced by it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate_bus.interface import Bus, Topic
from headgate_committer.committer import DEFAULT_GROUP
from headgate_committer.guards import refusal
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.sources import Source
from headgate_table.errors import CommitConflict
from headgate_table.indextables.commit_info import Settled, Term
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.memory_reader import recover
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.protocol_support import check_writable
from headgate_table.indextables.version_body import Author, version_body
from headgate_table.indextables.version_writer import NumberTaken, write_version

_ATTEMPTS = 20

_log = get_logger("headgate.committer")


@dataclass(frozen=True, slots=True)
class RebindReport:
    """What a rebind found and did."""

    table: str
    version: int | None
    """The version that binds the table; None where nothing had to be done."""
    source: Source
    """What the table is fed from now."""
    position: int | None
    """The offset from which its proposals are decided; None where none was yet."""
    previous: Source | None
    previous_position: int | None
    reason: str
    """Why it had to be done, or why not."""


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
    extent = bus.extent(Topic.PROPOSALS, source.partition)
    committed = bus.committed(group, source.partition)
    for _ in range(_ATTEMPTS):
        log = reader.latest()
        check_writable(log.protocol, uri)
        metadata = reader.metadata(log)
        options = options_for(metadata.configuration)
        memory = recover(reader, log, options)
        before = memory.source
        known = memory.position(source)
        position_before = None if before is None else memory.position(before)
        reason = refusal(uri, memory, source, extent, committed)
        if reason is None:
            said = (
                f"{uri} is fed from {source} already" if before == source else f"{uri} was not fed from any bus before"
            )
            return RebindReport(uri, None, source, known, before, position_before, f"{said}: nothing to do")
        position = known if known is not None and extent.first <= known <= extent.next_offset else extent.first
        epoch = 1 if memory.term is None else memory.term.epoch + 1
        body = version_body(
            log.version + 1,
            (),
            metadata,
            log.registry,
            options,
            nonce=ambient.new_id(),
            time_ms=max(ambient.now_ms(), log.time_ms),
            author=Author(
                Term(epoch, f"rebind-{ambient.new_id()[:12]}"), Settled(source, position, position, 0), rebound=True
            ),
        )
        try:
            write_version(reader.store, body, compressed=options.transaction_compression)
        except NumberTaken:
            continue
        _log.info("table_rebound", table=uri, version=body.version, source=str(source), position=position)
        return RebindReport(uri, body.version, source, position, before, position_before, reason)
    raise CommitConflict(
        f"other writers took the next version of {uri} {_ATTEMPTS} times in a row. Nothing was bound; try again when fewer "
        f"are writing"
    )
