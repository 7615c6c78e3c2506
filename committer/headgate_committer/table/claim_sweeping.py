"""Deleting claims that were settled long ago, beside the commits of their table."""

from contextlib import closing

from headgate_bus.claims import sweep_claims
from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Topic
from headgate_committer.background_task import BackgroundTask
from headgate_committer.context import CommitterContext
from headgate_committer.feed.partition_source import PartitionSource
from headgate_committer.proposals.intake import QueuedProposal, take_in
from headgate_schemas.logs import get_logger
from headgate_table.coordination.memory import TableMemory
from headgate_table.store.interface import Store

EVERY_S = 3_600.0
MAX_PROPOSALS = 50_000
"""Undecided proposals of a partition that are read at most. With more of them nothing is swept."""
READ_WITHIN_S = 30.0
"""The time for reading all of them."""
_SLICE_S = 1.0

_log = get_logger("headgate.committer")


class ClaimSweeper:
    """Sweeps the claims of one table after its first commit, and every hour in which something is committed."""

    def __init__(self, store: Store, feed: PartitionSource, context: CommitterContext) -> None:
        self._store = store
        self._feed = feed
        self._ambient = context.ambient
        self._work = BackgroundTask(context.background, "claims_not_swept", {"table": store.uri})
        self._next_s = self._ambient.monotonic_s()

    def after_commit(self, memory: TableMemory) -> None:
        """Sweep claims that are older than the newest decided proposal, because proposals are decided in the order of the bus.

        Ages are by the times of the bus, which on a bus in a file are those of its writers' clocks. So claims of waiting
        proposals are always kept, and so are claims that are young by the store's own clock.
        """
        if self._ambient.monotonic_s() < self._next_s or self._work.is_under_way:
            return
        self._next_s = self._ambient.monotonic_s() + EVERY_S
        settled_ms, keep_ms, announced = memory.newest_appended_ms, memory.limits.window_ms, self._feed.announced
        self._work.begin(lambda: self._sweep(settled_ms, keep_ms, announced))

    def _sweep(self, settled_ms: int, keep_ms: int, announced: int) -> None:
        gone = sweep_claims(
            self._store, now_ms=settled_ms, keep_ms=keep_ms, still_needed=lambda: self._waiting(announced)
        )
        if gone:
            _log.info("claims_swept", table=self._store.uri, claims=len(gone))

    def _waiting(self, announced: int) -> set[str]:
        """The claims of the table's proposals from an offset on. Raises `BusError` where not all of them can be read."""
        bus, partition = self._feed.bus, self._feed.source.partition
        extent = bus.extent(Topic.PROPOSALS, partition)
        start = max(announced, extent.first)
        if extent.next_offset - start > MAX_PROPOSALS:
            raise BusError(
                f"{extent.next_offset - start} proposals wait on partition {partition}, more than the {MAX_PROPOSALS} that are "
                f"read (MAX_PROPOSALS): claims are swept when they are decided"
            )
        needed: set[str] = set()
        until_s = self._ambient.monotonic_s() + READ_WITHIN_S
        with closing(bus.reader(Topic.PROPOSALS, {partition: start})) as reader:
            while reader.offsets()[partition] < extent.next_offset:
                if self._ambient.monotonic_s() >= until_s:
                    raise BusUnavailable(
                        f"the proposals that wait on partition {partition} could not be read within {READ_WITHIN_S:g} s; claims are "
                        f"swept later"
                    )
                for record in reader.read(_SLICE_S):
                    taken = take_in(record)
                    if isinstance(taken, QueuedProposal) and record.key == self._store.uri and taken.proposal.claim:
                        needed.add(taken.proposal.claim.key)
        return needed
