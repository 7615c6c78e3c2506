"""A bus that is offered to feed a table: whether a rebind is needed, and from which offset it would feed. Pure but for ids."""

from dataclasses import dataclass

from headgate_bus.interface import Extent
from headgate_committer.backend.own_term import next_epoch
from headgate_committer.feed.guards import feed_mismatch
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Settled, Term
from headgate_table.coordination.memory import TableMemory

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


@dataclass(frozen=True, slots=True)
class Offer:
    """The source on the bus, the extent of its log, and the offset that its committers have settled."""

    source: Source
    extent: Extent
    committed: int | None
    was_cut: bool = False
    """Whether the log is known to have lost its end since they settled."""

    def to(
        self, uri: str, memory: TableMemory, *, lost: str | None, broken: str | None = None
    ) -> "Binding | RebindReport":
        """How this table is to be bound; a report where that isn't needed.

        `lost` is why the end of the log isn't the one that the table knows, if it isn't; `broken` another reason to bind it.
        """
        before = memory.source
        known = memory.position(self.source)
        position_before = None if before is None else memory.position(before)
        reason = feed_mismatch(uri, memory, self.source, self.extent, self.committed) or lost or broken
        if reason is None:
            said = (
                f"{uri} is fed from {self.source} already"
                if before == self.source
                else f"{uri} was not fed from any bus before"
            )
            return RebindReport(uri, None, self.source, known, before, position_before, f"{said}: nothing to do")
        is_there = lost is None and known is not None and self.extent.first <= known <= self.extent.next_offset
        position = known if known is not None and is_there else self.extent.first
        return Binding(uri, self.source, position, before, position_before, reason, next_epoch(memory.term))


@dataclass(frozen=True, slots=True)
class Binding:
    """The contents of the version that binds the table."""

    uri: str
    source: Source
    position: int
    previous: Source | None
    previous_position: int | None
    reason: str
    epoch: int

    @property
    def settled(self) -> Settled:
        return Settled(self.source, self.position, self.position, 0)

    def term(self, ambient: Ambient) -> Term:
        """A term of its own, which ends that of every committer before."""
        return Term(self.epoch, f"rebind-{ambient.new_id()[:12]}")

    def done(self, version: int) -> RebindReport:
        _log.info("table_rebound", table=self.uri, version=version, source=str(self.source), position=self.position)
        return RebindReport(
            self.uri, version, self.source, self.position, self.previous, self.previous_position, self.reason
        )
